/** `ProxyStatePort` in memory, for `simulate` and tests; one contract suite holds it to what the table does. */
import { stateFailure } from '../../lib/dynamodb/failure.ts';
import { CONTROL_SORT_KEY, proxyKey } from '../../lib/dynamodb/keys.ts';
import { UNREADABLE_CONTROL } from '../../lib/dynamodb/proxy-state.ts';
import type { WriteResult } from '../../lib/ports.ts';
import { RUNNING } from '../../lib/proxies/run-state.ts';
import { NO_MEMORY } from '../../lib/proxies/trust.ts';
import type { ProxyStatePort, ReconcileControl, StoredProxies, StoredProxy } from '../../lib/proxy-ports.ts';

/** A method of the port. */
export type ProxyStateOperation = keyof ProxyStatePort;

/** The reconciler's part of one deployment's state. */
export class MemoryProxyState implements ProxyStatePort {
  /** Writes that took effect, in order: the operation and the proxy's ID. */
  readonly writes: { readonly operation: ProxyStateOperation; readonly proxyId?: string }[] = [];
  /** Every call, in order. */
  readonly calls: ProxyStateOperation[] = [];
  readonly #proxies = new Map<string, StoredProxy>();
  readonly #unreadable = new Map<string, string>();
  #control: ReconcileControl = { version: 0, runState: RUNNING, memory: NO_MEMORY };
  #controlProblem: string | undefined;

  /** Makes a proxy's item unreadable. */
  setAside(proxyId: string, problem: string): void {
    this.#unreadable.set(proxyId, problem);
  }

  /** Makes the control item unreadable. */
  setControlAside(problem: string): void {
    this.#controlProblem = problem;
  }

  async loadProxies(): Promise<StoredProxies> {
    this.calls.push('loadProxies');
    const readable = [...this.#proxies.values()].filter(({ state }) => !this.#unreadable.has(state.proxyId));
    const unreadable = [...this.#unreadable].map(([proxyId, problem]) => ({
      key: proxyKey(proxyId).sk,
      problem,
      proxyId,
    }));
    const problem = this.#controlProblem;
    const whole = structuredClone({ control: this.#control, proxies: readable, unreadable });
    if (problem === undefined) return whole;
    return { ...whole, control: UNREADABLE_CONTROL, unreadable: [{ key: CONTROL_SORT_KEY, problem }, ...unreadable] };
  }

  async saveProxy({ version, state }: StoredProxy): Promise<WriteResult> {
    return this.#write('saveProxy', state.proxyId, version, () =>
      this.#proxies.set(state.proxyId, { version: version + 1, state: structuredClone(state) }),
    );
  }

  async deleteProxy({ version, state }: StoredProxy): Promise<WriteResult> {
    if (!this.#proxies.has(state.proxyId) && !this.#unreadable.has(state.proxyId)) {
      this.calls.push('deleteProxy');
      return 'saved';
    }
    return this.#write('deleteProxy', state.proxyId, version, () => this.#proxies.delete(state.proxyId));
  }

  async saveControl(control: ReconcileControl): Promise<WriteResult> {
    this.calls.push('saveControl');
    if (control.version !== this.#control.version || this.#controlProblem !== undefined) return 'conflict';
    this.#control = { ...structuredClone(control), version: control.version + 1 };
    this.writes.push({ operation: 'saveControl' });
    return 'saved';
  }

  #write(operation: ProxyStateOperation, proxyId: string, version: number, write: () => void): WriteResult {
    this.calls.push(operation);
    if (proxyId === '') throw stateFailure('malformed', 'a proxy without an ID cannot be stored');
    const there = this.#proxies.get(proxyId)?.version ?? 0;
    if (this.#unreadable.has(proxyId) || there !== version) return 'conflict';
    write();
    this.writes.push({ operation, proxyId });
    return 'saved';
  }
}
