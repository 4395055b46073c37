/**
 * An invocation of watch-checks: a window by the schedule, or a single pass by hand.
 *
 * Windows exclude each other by a lease; a pass by hand takes none, which is safe since every write is conditional.
 * With everything healthy an invocation costs the lease's two writes, one read of the state, one of the policy document,
 * and the heartbeat's write.
 */
import { countsWarnings } from '../check-restart/policy.ts';
import type { Heartbeat, StoredState } from '../ports.ts';
import { type ExplainRequest, type Explanation, explain } from './explain.ts';
import { isReadFailure } from './failure.ts';
import { keepLease, LAST_CLAIM_MS, LEASE_MARGIN_MS } from './keep-lease.ts';
import { keepWindow, type WindowReport } from './keep-window.ts';
import { type PolicyInForce, policyInForce } from './policy-in-force.ts';
import { runPass } from './run-pass.ts';
import { count, say } from './say.ts';
import { boundedReports, rememberedFrom, unsavedChecks, type WatchMemory } from './watch-memory.ts';
import type { PassReport, WatchDeps, WatchSettings } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** What a scheduled invocation is given. */
export interface WindowRequest {
  /** Names this invocation in the lease. */
  readonly holder: string;
  /** How long the window stays open; 0 = one pass. */
  readonly windowMs: number;
  /** When the function itself is ended; no claim is made in its last seconds. */
  readonly endsAtMs: number;
}

/** A pass by hand. */
export interface PassRequest {
  readonly dryRun: boolean;
  readonly service?: string;
  readonly endsAtMs: number;
}

/** Where the policy came from, beside a report. */
export interface PolicyReport {
  readonly source: PolicyInForce['source'];
  readonly problems: readonly string[];
}

/** What a scheduled invocation came to. */
export type WindowResult =
  | { readonly outcome: 'lease-held'; readonly heldBy: string; readonly untilMs: number }
  | ({ readonly outcome: 'done'; readonly policy: PolicyReport } & WindowReport);

const LEASE_NAME = 'watch';

/** Keeps one window. Throws `ReadFailure` when the table cannot be read; nothing has happened then. */
export async function watchWindow(
  deps: WatchDeps,
  settings: WatchSettings,
  request: WindowRequest,
): Promise<WindowResult> {
  const { clock, state } = deps;
  const startMs = clock.nowMs();
  const untilMs = startMs + request.windowMs;
  const acquired = await state.acquireLease(LEASE_NAME, request.holder, startMs, untilMs + LEASE_MARGIN_MS);
  if (!('lease' in acquired)) {
    say(deps, 'lease-held', { ...acquired });
    return { outcome: 'lease-held', ...acquired };
  }
  const lease = keepLease(deps, acquired.lease, request.endsAtMs);
  try {
    const memory = await load(deps);
    const loaded = heartbeatOf(memory);
    const policy = await policyInForce(deps, settings, memory, { save: true });
    const watcher: Watcher = { deps, settings, memory, document: policy.document };
    const report = await keepWindow(watcher, {
      untilMs,
      warnings: countsWarnings(settings.defaults, policy.document.rules),
      mayClaim: lease.mayClaim,
      mayGoOn: lease.mayGoOn,
    });
    await saveHeartbeat(deps, memory, loaded);
    const { passes, failedPasses, restarts } = report;
    say(deps, 'window-done', { passes, failedPasses, restarts: restarts.length });
    return { outcome: 'done', policy: { source: policy.source, problems: policy.problems }, ...report };
  } finally {
    await lease.release();
  }
}

/** Makes one pass by hand. A dry run writes nothing at all. Throws `ReadFailure` when the table cannot be read. */
export async function passByHand(
  deps: WatchDeps,
  settings: WatchSettings,
  request: PassRequest,
): Promise<PassReport & { readonly policy: PolicyReport }> {
  const memory = await load(deps);
  const loaded = heartbeatOf(memory);
  const policy = await policyInForce(deps, settings, memory, { save: !request.dryRun });
  const watcher: Watcher = { deps, settings, memory, document: policy.document };
  const watch = deps.consul.watchUnhealthy({ warnings: countsWarnings(settings.defaults, policy.document.rules) });
  const abort = new AbortController();
  try {
    const report = await runPass(watcher, () => watch.read(abort.signal), {
      dryRun: request.dryRun,
      mayClaim: async () => deps.clock.nowMs() < request.endsAtMs - LAST_CLAIM_MS,
      ...(request.service === undefined ? {} : { service: request.service }),
    });
    if (!request.dryRun && request.service === undefined && report.ok) await saveHeartbeat(deps, memory, loaded);
    const { ok, restarts, skipped, checks } = report;
    const { dryRun } = request;
    say(deps, 'pass-done', { ok, dryRun, restarts: restarts.length, skipped: skipped.length, bad: checks.length });
    return { ...report, policy: { source: policy.source, problems: policy.problems } };
  } finally {
    abort.abort();
    await watch.close();
  }
}

/** Explains by hand; reads only. Throws `ReadFailure` when the table or Consul cannot be read. */
export async function explainByHand(
  deps: WatchDeps,
  settings: WatchSettings,
  request: ExplainRequest,
): Promise<Explanation & { readonly policy: PolicyReport }> {
  const memory = await load(deps);
  const policy = await policyInForce(deps, settings, memory, { save: false });
  const watch = deps.consul.watchUnhealthy({ warnings: countsWarnings(settings.defaults, policy.document.rules) });
  try {
    const { checks } = await watch.read(new AbortController().signal);
    const explanation = await explain({ deps, settings, memory, document: policy.document }, checks, request);
    return { ...explanation, policy: { source: policy.source, problems: policy.problems } };
  } finally {
    await watch.close();
  }
}

async function load(deps: WatchDeps): Promise<WatchMemory> {
  const stored: StoredState = await deps.state.load();
  for (const { key, problem } of stored.unreadable) say(deps, 'unreadable-item', { key, problem });
  count(deps, 'UnreadableItems', stored.unreadable.length);
  return rememberedFrom(stored);
}

/** What this invocation leaves as the heartbeat; `undefined` before the first good pass ever, or when too little could be written. */
export function heartbeatOf(memory: WatchMemory): Heartbeat | undefined {
  const { lastGoodPassMs, settleUntilMs, provedMs } = memory;
  const unsaved = unsavedChecks(memory);
  if (lastGoodPassMs === undefined || unsaved === undefined) return undefined;
  const settling = settleUntilMs === undefined ? {} : { settleUntilMs };
  const proved = provedMs === undefined ? {} : { provedMs };
  const distrusted = unsaved.length === 0 ? {} : { unsaved };
  return { atMs: lastGoodPassMs, reported: boundedReports(memory), ...settling, ...proved, ...distrusted };
}

/** Writes the heartbeat, unless it is still the one that was loaded: failed passes leave no trace in the table (C07). */
export async function saveHeartbeat(
  deps: Pick<WatchDeps, 'state' | 'telemetry'>,
  memory: WatchMemory,
  loaded: Heartbeat | undefined,
): Promise<void> {
  const heartbeat = heartbeatOf(memory);
  if (heartbeat === undefined || JSON.stringify(heartbeat) === JSON.stringify(loaded)) return;
  try {
    await deps.state.saveHeartbeat(heartbeat);
  } catch (error) {
    // The passes have happened; what the missing heartbeat means is decided by the next invocation, which sees a gap.
    say(deps, 'state-failed', { problem: isReadFailure(error).message });
  }
}
