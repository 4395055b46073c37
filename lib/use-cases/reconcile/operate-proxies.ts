/**
 * What an operator does with proxies by hand. Each action is a reconcile with an order: it takes the lease (and waits for it
 * a while), stores the order first, and then works as every reconcile does, so that it can be cut off at any point and be
 * repeated.
 */
import type { RestartRequest } from '../../proxies/decide.ts';
import { type ProxyState, startAnew } from '../../proxies/proxy-state.ts';
import { close, kill, run } from '../../proxies/run-state.ts';
import { familyOf } from '../../proxies/spec.ts';
import { reconcile } from './reconcile.ts';
import type { Order, ReconcileDeps, ReconcileRequest, ReconcileResult, ReconcileSettings } from './reconcile-types.ts';

/** Who asks, and until when the function lives. */
export type Caller = Pick<ReconcileRequest, 'holder' | 'endsAtMs'>;

/** Which proxies to restart: one, or all whose task definition is this (`family`, or `family:revision`). */
export type RestartTarget = { readonly proxyId: string } | { readonly taskDefinition: string };

/** How long a person waits for a reconcile that is under way. */
const LEASE_PATIENCE_MS = 10_000;

/** Bound to everything outside. */
export interface ProxyOperations {
  /** A reconcile now. `dryRun` prints the plan and does nothing; `stops` lifts the cap on stops, once. */
  sync(caller: Caller, options?: { readonly dryRun?: boolean; readonly stops?: number }): Promise<ReconcileResult>;
  /** Stops tasks, which are launched again at once; what waits is launched at once. Brakes and backoff do not hold it back. */
  restart(caller: Caller, target: RestartTarget): Promise<ReconcileResult>;
  /** Leaves everything running, and reconciles nothing from now on. */
  close(caller: Caller): Promise<ReconcileResult>;
  /** Closes, then stops all tasks of ours. Every stop is tried; all failures are in the report, and tried again by each pass. */
  kill(caller: Caller): Promise<ReconcileResult>;
  /** Begins anew: counts and waits are gone. */
  run(caller: Caller): Promise<ReconcileResult>;
}

/** The operations. Each throws `ReadFailure` when the table cannot be read: nothing has happened then. */
export function operateProxies(deps: ReconcileDeps, settings: ReconcileSettings): ProxyOperations {
  const ordered = (caller: Caller, order: Order) =>
    reconcile(deps, settings, { ...caller, leasePatienceMs: LEASE_PATIENCE_MS, order });
  return {
    sync: (caller, options = {}) =>
      reconcile(deps, settings, { ...caller, leasePatienceMs: LEASE_PATIENCE_MS, ...options }),
    restart: (caller, target) => ordered(caller, { restarts: (states) => restartsOf(states, target) }),
    close: (caller) => ordered(caller, { runState: close }),
    kill: (caller) => ordered(caller, { runState: kill }),
    run: (caller) => ordered(caller, { runState: run, state: startAnew }),
  };
}

function restartsOf(states: readonly ProxyState[], target: RestartTarget): readonly RestartRequest[] {
  const ids =
    'proxyId' in target
      ? [target.proxyId]
      : states.filter(({ spec }) => isOf(spec?.taskDefinition, target.taskDefinition)).map(({ proxyId }) => proxyId);
  return ids.map((proxyId) => ({ proxyId, why: 'operator', detail: '' }));
}

function isOf(definition: string | undefined, wanted: string): boolean {
  return definition !== undefined && (definition === wanted || familyOf(definition) === wanted);
}
