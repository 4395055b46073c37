/**
 * `StatePort` in memory, for `simulate` and tests: the same answers as the table gives (one contract suite holds both to
 * that), every write recorded, and failures, conflicts and unreadable items on demand.
 */
import { recentRestarts } from '../../lib/brakes/rate.ts';
import { NO_BRAKE_STATE } from '../../lib/brakes/state.ts';
import { stateFailure } from '../../lib/dynamodb/failure.ts';
import {
  ESTATE_KEY,
  HEARTBEAT_KEY,
  leaseKey,
  POLICY_KEY,
  serviceKey,
  slotKey,
  watchedCheckKey,
} from '../../lib/dynamodb/keys.ts';
import { slotFreeAt } from '../../lib/dynamodb/slots.ts';
import type {
  Heartbeat,
  HistoryEntry,
  Lease,
  ReadFailure,
  ServiceState,
  StatePort,
  StoredEstate,
  StoredPolicy,
  StoredState,
  WatchedCheck,
  WriteResult,
} from '../../lib/ports.ts';

/** A method of the port. */
export type StateOperation = keyof StatePort;

/** One write that took effect: what was stored (`undefined` for a deletion) under which sort key. */
export interface RecordedWrite {
  readonly operation: StateOperation;
  readonly key: string;
  readonly value: unknown;
}

interface Fault {
  readonly of: readonly StateOperation[] | undefined;
  readonly result: ReadFailure | 'conflict';
  readonly takesEffect: boolean;
  timesLeft: number;
}

interface FaultOptions {
  /** Only these methods; all by default. */
  readonly of?: readonly StateOperation[];
  /** How often; until `heal` by default. */
  readonly times?: number;
}

/** The state of one deployment, in memory. */
export class MemoryState implements StatePort {
  /** Writes that took effect, in order. */
  readonly writes: RecordedWrite[] = [];
  /** Every call of a method, failed ones included, in order. */
  readonly calls: StateOperation[] = [];
  /** Lines of history, oldest first. */
  readonly history: HistoryEntry[] = [];

  #heartbeat: Heartbeat | undefined;
  #policy: StoredPolicy | undefined;
  #estate: StoredEstate = { version: 0, state: {} };
  readonly #checks = new Map<string, WatchedCheck>();
  readonly #services = new Map<string, ServiceState>();
  readonly #leases = new Map<string, Lease>();
  readonly #slots = new Map<string, number[]>();
  readonly #unreadable = new Map<string, string>();
  #faults: Fault[] = [];

  /**
   * Makes calls throw. With `takesEffect` a write is made and then throws: its answer was lost, or the function was
   * killed right after it.
   */
  fail(failure: ReadFailure, options: FaultOptions & { readonly takesEffect?: boolean } = {}): void {
    this.#plan(failure, options, options.takesEffect ?? false);
  }

  /** Makes saves and deletes of versioned items answer `conflict`, as if somebody else had written. */
  conflict(options: FaultOptions = {}): void {
    this.#plan('conflict', { of: ['saveCheck', 'deleteCheck', 'saveService', 'saveEstate'], ...options }, false);
  }

  /** Ends all planned faults. */
  heal(): void {
    this.#faults = [];
  }

  /** Makes an item unreadable, by its sort key (`lib/dynamodb/keys.ts`): reported by `load`, and not to be written. */
  setAside(key: string, problem: string): void {
    this.#unreadable.set(key, problem);
  }

  async load(): Promise<StoredState> {
    return this.#run('load', () => ({
      checks: [...this.#checks].filter(([key]) => this.#readable(key)).map(([, check]) => structuredClone(check)),
      services: [...this.#services].filter(([key]) => this.#readable(key)).map(([, one]) => structuredClone(one)),
      unreadable: [...this.#unreadable].map(([key, problem]) => ({ key, problem })),
      ...(this.#heartbeat && this.#readable(HEARTBEAT_KEY.sk) ? { heartbeat: structuredClone(this.#heartbeat) } : {}),
      ...(this.#estate.version > 0 && this.#readable(ESTATE_KEY.sk) ? { estate: structuredClone(this.#estate) } : {}),
      ...(this.#policy && this.#readable(POLICY_KEY.sk) ? { policy: structuredClone(this.#policy) } : {}),
    }));
  }

  async saveCheck(check: WatchedCheck): Promise<WriteResult> {
    return this.#save('saveCheck', this.#checks, watchedCheckKey(check).sk, check);
  }

  async deleteCheck(check: WatchedCheck): Promise<WriteResult> {
    const key = watchedCheckKey(check).sk;
    return this.#guarded('deleteCheck', () => {
      const there = this.#checks.get(key);
      if (!this.#readable(key) || (there && there.version !== check.version)) return 'conflict';
      this.#checks.delete(key);
      this.#record('deleteCheck', key, undefined);
      return 'saved';
    });
  }

  async readService(key: string): Promise<ServiceState> {
    return this.#run('readService', () => {
      this.#refuseUnreadable(serviceKey(key).sk);
      const there = this.#services.get(serviceKey(key).sk);
      return there ? structuredClone(there) : { key, version: 0, claims: [], refused: [], brakes: NO_BRAKE_STATE };
    });
  }

  async saveService(service: ServiceState): Promise<WriteResult> {
    return this.#save('saveService', this.#services, serviceKey(service.key).sk, service);
  }

  async readEstate(): Promise<StoredEstate> {
    return this.#run('readEstate', () => {
      this.#refuseUnreadable(ESTATE_KEY.sk);
      return structuredClone(this.#estate);
    });
  }

  async saveEstate(estate: StoredEstate): Promise<WriteResult> {
    return this.#guarded('saveEstate', () => {
      if (!this.#readable(ESTATE_KEY.sk) || this.#estate.version !== estate.version) return 'conflict';
      this.#estate = { version: estate.version + 1, state: structuredClone(estate.state) };
      this.#record('saveEstate', ESTATE_KEY.sk, estate.state);
      return 'saved';
    });
  }

  async recentRestarts(cluster: string, nowMs: number): Promise<readonly number[]> {
    return this.#run('recentRestarts', () => recentRestarts(this.#slots.get(slotKey(cluster).sk) ?? [], nowMs));
  }

  async takeRestartSlot(
    cluster: string,
    nowMs: number,
    perMinute: number,
    places: number,
  ): ReturnType<StatePort['takeRestartSlot']> {
    return this.#run('takeRestartSlot', () => {
      const { sk } = slotKey(cluster);
      const taken = this.#slots.get(sk) ?? [];
      const freeAtMs = slotFreeAt(taken, nowMs, perMinute, places);
      if (freeAtMs !== undefined) return { freeAtMs };
      this.#slots.set(sk, [...recentRestarts(taken, nowMs), ...Array.from({ length: places }, () => nowMs)]);
      this.#record('takeRestartSlot', sk, nowMs);
      return undefined;
    });
  }

  async saveHeartbeat(heartbeat: Heartbeat): Promise<void> {
    this.#run('saveHeartbeat', () => {
      this.#refuseUnreadable(HEARTBEAT_KEY.sk);
      if (this.#heartbeat && this.#heartbeat.atMs > heartbeat.atMs) return;
      this.#heartbeat = structuredClone(heartbeat);
      this.#record('saveHeartbeat', HEARTBEAT_KEY.sk, heartbeat);
    });
  }

  async savePolicy(policy: StoredPolicy): Promise<void> {
    this.#run('savePolicy', () => {
      this.#refuseUnreadable(POLICY_KEY.sk);
      this.#policy = { ...policy };
      this.#record('savePolicy', POLICY_KEY.sk, policy);
    });
  }

  async acquireLease(
    name: string,
    holder: string,
    nowMs: number,
    untilMs: number,
  ): ReturnType<StatePort['acquireLease']> {
    return this.#run('acquireLease', () => {
      const there = this.#leases.get(name);
      if (there && there.untilMs > nowMs) return { heldBy: there.holder, untilMs: there.untilMs };
      return { lease: this.#setLease('acquireLease', { name, holder, fence: (there?.fence ?? 0) + 1, untilMs }) };
    });
  }

  async renewLease(lease: Lease, untilMs: number): ReturnType<StatePort['renewLease']> {
    return this.#run('renewLease', () =>
      this.#holds(lease) ? { lease: this.#setLease('renewLease', { ...lease, untilMs }) } : 'conflict',
    );
  }

  async releaseLease(lease: Lease): Promise<void> {
    this.#run('releaseLease', () => {
      if (this.#holds(lease)) this.#setLease('releaseLease', { ...lease, holder: '', untilMs: 0 });
    });
  }

  async appendHistory(entry: HistoryEntry): Promise<void> {
    this.#run('appendHistory', () => {
      this.history.push(structuredClone(entry));
      this.#record('appendHistory', `history#${this.history.length}`, entry);
    });
  }

  async recentHistory(limit: number): Promise<readonly HistoryEntry[]> {
    return this.#run('recentHistory', () =>
      this.history
        .toSorted((one, other) => other.atMs - one.atMs)
        .slice(0, limit)
        .map((entry) => structuredClone(entry)),
    );
  }

  #save<T extends { readonly version: number }>(
    operation: StateOperation,
    items: Map<string, T>,
    key: string,
    item: T,
  ): WriteResult {
    return this.#guarded(operation, () => {
      if (!this.#readable(key) || (items.get(key)?.version ?? 0) !== item.version) return 'conflict';
      const stored = { ...structuredClone(item), version: item.version + 1 };
      items.set(key, stored);
      this.#record(operation, key, structuredClone(stored));
      return 'saved';
    });
  }

  #guarded(operation: StateOperation, write: () => WriteResult): WriteResult {
    const fault = this.#faults.find(({ of, result }) => result === 'conflict' && of?.includes(operation));
    if (!fault) return this.#run(operation, write);
    this.#use(fault);
    this.calls.push(operation);
    return 'conflict';
  }

  #run<T>(operation: StateOperation, act: () => T): T {
    this.calls.push(operation);
    const fault = this.#faults.find(({ of, result }) => result !== 'conflict' && (of?.includes(operation) ?? true));
    if (!fault || fault.result === 'conflict') return act();
    this.#use(fault);
    if (fault.takesEffect) act();
    throw fault.result;
  }

  #plan(result: Fault['result'], { of, times }: FaultOptions, takesEffect: boolean): void {
    this.#faults.push({ of, result, takesEffect, timesLeft: times ?? Number.POSITIVE_INFINITY });
  }

  #use(fault: Fault): void {
    fault.timesLeft -= 1;
    if (fault.timesLeft <= 0) this.#faults = this.#faults.filter((one) => one !== fault);
  }

  #setLease(operation: StateOperation, lease: Lease): Lease {
    this.#leases.set(lease.name, lease);
    this.#record(operation, leaseKey(lease.name).sk, { ...lease });
    return { ...lease };
  }

  #holds(lease: Lease): boolean {
    const there = this.#leases.get(lease.name);
    return there?.holder === lease.holder && there.fence === lease.fence;
  }

  #readable(key: string): boolean {
    return !this.#unreadable.has(key);
  }

  #refuseUnreadable(key: string): void {
    const problem = this.#unreadable.get(key);
    if (problem !== undefined) throw stateFailure('malformed', `item ${key} is left alone: ${problem}`);
  }

  #record(operation: StateOperation, key: string, value: unknown): void {
    this.writes.push({ operation, key, value });
  }
}
