/**
 * A reconcile: makes the proxy tasks that run equal to those declared. Level-triggered: a message says that there may be
 * something to do, and nothing more. Reconciles are serialised by a lease; what comes while one is under way is put back
 * by a delayed message of our own, and what is older than the last one's start has been seen to. So a burst of messages is
 * few reconciles, and none is lost; with no message at all the schedule does the same.
 *
 *   lease → load → (covered?) → declarations, checks (Consul) → our tasks (ECS) → judge → rounds of plan, store, act,
 *   fold, store → remember → one delayed message for the earliest wait → report
 */
import type { Lease } from '../../ports.ts';
import type { WakeUp } from '../../proxy-ports.ts';
import { keepLease } from '../keep-lease.ts';
import { count, say } from '../say.ts';
import { ProxyStore } from './proxy-store.ts';
import type {
  ReconcileDeps,
  ReconcileReport,
  ReconcileRequest,
  ReconcileResult,
  ReconcileSettings,
} from './reconcile-types.ts';
import { tellReconcile } from './tell-reconcile.ts';
import { type Work, workThrough } from './work-through.ts';

const LEASE_NAME = 'reconcile';
/** Renewed while work goes on; a function that is killed blocks the next reconcile for no longer than this. */
const LEASE_MS = 30_000;
/** A message that came during another reconcile comes back after this. */
const PUT_BACK_MS = 2000;
/** Who waits for the lease looks again this often. */
const LEASE_LOOK_MS = 500;
/** Longer waits are the schedule's. */
const LONGEST_WAKE_UP_MS = 60_000;
/** A wait that is over by the time of its message: the least that SQS tells from none. */
const SHORTEST_WAKE_UP_MS = 1000;

/** Makes one reconcile. Throws `ReadFailure` when the table cannot be read: nothing has happened then. */
export async function reconcile(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  request: ReconcileRequest,
): Promise<ReconcileResult> {
  const dryRun = (request.dryRun ?? false) || settings.watch.dryRun;
  if (dryRun) {
    const startMs = deps.clock.nowMs();
    const work = { request, startMs, dryRun, mayAct: async () => false };
    return (await workThrough(deps, settings, await loadStore(deps), work)).report;
  }
  const acquired = await acquire(deps, request);
  if (!('lease' in acquired)) return putBack(deps, request, acquired);
  const lease = keepLease(deps, acquired.lease, request.endsAtMs);
  try {
    // Whatever happens from here on is not seen for certain, so this is what later messages are compared with.
    const startMs = deps.clock.nowMs();
    const store = await loadStore(deps);
    const { lastStartMs } = store.control;
    if (request.newestMessageMs !== undefined && lastStartMs !== undefined && request.newestMessageMs < lastStartMs) {
      say(deps, 'reconcile-covered', { sinceMs: lastStartMs });
      return { outcome: 'covered', sinceMs: lastStartMs };
    }
    return await underLease(deps, settings, store, { request, startMs, dryRun, mayAct: lease.mayClaim });
  } finally {
    await lease.release();
  }
}

async function underLease(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  store: ProxyStore,
  work: Work,
): Promise<ReconcileReport> {
  const result = await workThrough(deps, settings, store, work);
  await tellReconcile(deps, result);
  await result.health?.keep();
  await wakeUpFor(deps, result.report);
  return result.report;
}

async function acquire(
  deps: ReconcileDeps,
  { holder, leasePatienceMs = 0 }: ReconcileRequest,
): Promise<{ readonly lease: Lease } | { readonly heldBy: string; readonly untilMs: number }> {
  const { clock, state } = deps;
  const patientUntilMs = clock.nowMs() + leasePatienceMs;
  while (true) {
    const nowMs = clock.nowMs();
    const acquired = await state.acquireLease(LEASE_NAME, holder, nowMs, nowMs + LEASE_MS);
    if ('lease' in acquired || nowMs >= patientUntilMs) return acquired;
    await clock.sleepUntil(Math.min(nowMs + LEASE_LOOK_MS, patientUntilMs));
  }
}

/** The reconcile under way may have read the world before this message's cause: it comes back, as old as it is. */
async function putBack(
  deps: ReconcileDeps,
  { newestMessageMs, leasePatienceMs }: ReconcileRequest,
  held: { readonly heldBy: string; readonly untilMs: number },
): Promise<ReconcileResult> {
  say(deps, 'lease-held', { ...held });
  // A person is told, and asks again.
  if (leasePatienceMs === undefined) {
    const message: WakeUp = { why: 'wait-over', atMs: newestMessageMs ?? deps.clock.nowMs() };
    await deps.wakeUps.wakeUp(message, PUT_BACK_MS);
  }
  return { outcome: 'lease-held', ...held };
}

async function loadStore(deps: ReconcileDeps): Promise<ProxyStore> {
  const stored = await deps.proxies.loadProxies();
  for (const { key, problem } of stored.unreadable) say(deps, 'unreadable-item', { key, problem });
  count(deps, 'UnreadableItems', stored.unreadable.length);
  return new ProxyStore(deps.proxies, stored);
}

/** `atMs` is the wait's own end: a reconcile that began after it has served it. */
async function wakeUpFor({ wakeUps, clock }: ReconcileDeps, { nextMs, ok }: ReconcileReport): Promise<void> {
  if (nextMs === undefined || !ok) return;
  const nowMs = clock.nowMs();
  const delayMs = Math.max(nextMs - nowMs, SHORTEST_WAKE_UP_MS);
  if (delayMs >= LONGEST_WAKE_UP_MS) return;
  await wakeUps.wakeUp({ why: 'wait-over', atMs: Math.max(nextMs, nowMs) }, delayMs);
}
