/**
 * The reconciler's items while it works: what was read, with the versions that every write names. A write that loses
 * (somebody else has written) or fails costs its own proxy this pass, and no other.
 */
import { inParallel } from '../../in-parallel.ts';
import type { ReadFailure, WriteResult } from '../../ports.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { ReconcileControl, StoredProxies } from '../../proxy-ports.ts';
import { isReadFailure } from '../failure.ts';
import type { ReconcileDeps } from './reconcile-types.ts';

const PARALLEL_WRITES = 16;

/** What could not be written. */
export interface Unsaved {
  /** Proxies whose state is not what we think: nothing is done for them. */
  readonly proxyIds: ReadonlySet<string>;
  readonly conflicts: number;
  readonly failures: readonly ReadFailure[];
}

/** The items in hand. */
export class ProxyStore {
  control: ReconcileControl;
  states: ReadonlyMap<string, ProxyState>;
  readonly unreadable: StoredProxies['unreadable'];
  readonly #proxies: ReconcileDeps['proxies'];
  readonly #versions: Map<string, number>;
  readonly #untouchable: ReadonlySet<string>;

  constructor(proxies: ReconcileDeps['proxies'], stored: StoredProxies) {
    this.#proxies = proxies;
    this.control = stored.control;
    this.states = new Map(stored.proxies.map(({ state }) => [state.proxyId, state]));
    this.#versions = new Map(stored.proxies.map(({ state, version }) => [state.proxyId, version]));
    this.unreadable = stored.unreadable;
    this.#untouchable = new Set(this.unreadableIds());
  }

  /** Proxies whose item is not understood. */
  unreadableIds(): readonly string[] {
    return this.unreadable.flatMap(({ proxyId }) => (proxyId === undefined ? [] : [proxyId]));
  }

  /** Writes the control item where it differs. Throws `ReadFailure`. */
  async saveControl(change: Partial<Omit<ReconcileControl, 'version'>>): Promise<WriteResult> {
    const next = { ...this.control, ...change };
    if (JSON.stringify(next) === JSON.stringify(this.control)) return 'saved';
    const result = await this.#proxies.saveControl(next);
    if (result === 'saved') this.control = { ...next, version: next.version + 1 };
    return result;
  }

  /**
   * Writes changed states and takes forgotten ones away; `skip` are left as they are. An item that is not understood is
   * never written over, so its proxy counts as unsaved.
   */
  async save(
    changed: readonly ProxyState[],
    forgotten: readonly string[],
    skip: ReadonlySet<string> = new Set(),
  ): Promise<Unsaved> {
    const unsaved = new Set([...skip, ...this.#untouchable]);
    const failures: ReadFailure[] = [];
    const states = new Map(this.states);
    let conflicts = 0;
    const write = async (proxyId: string, call: () => Promise<WriteResult>, done: () => void): Promise<void> => {
      try {
        if ((await call()) === 'saved') return done();
        conflicts += 1;
      } catch (error) {
        failures.push(isReadFailure(error));
      }
      unsaved.add(proxyId);
    };
    const writable = changed.filter(({ proxyId }) => !unsaved.has(proxyId));
    await inParallel(writable, PARALLEL_WRITES, (state) => {
      const { proxyId } = state;
      const version = this.#versions.get(proxyId) ?? 0;
      return write(
        proxyId,
        () => this.#proxies.saveProxy({ version, state }),
        () => {
          this.#versions.set(proxyId, version + 1);
          states.set(proxyId, state);
        },
      );
    });
    const gone = forgotten.filter((proxyId) => !unsaved.has(proxyId));
    await inParallel(gone, PARALLEL_WRITES, async (proxyId) => {
      const state = this.states.get(proxyId);
      if (state === undefined) return;
      const version = this.#versions.get(proxyId) ?? 0;
      await write(
        proxyId,
        () => this.#proxies.deleteProxy({ version, state }),
        () => {
          this.#versions.delete(proxyId);
          states.delete(proxyId);
        },
      );
    });
    this.states = states;
    return { proxyIds: unsaved, conflicts, failures };
  }
}
