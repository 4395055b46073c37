/**
 * The open window of an invocation: passes at Consul's changes and at deadlines, until the window ends.
 *
 *   read → pass → wait for: a change of what is bad | the next deadline | the window's end → (read →) pass → …
 *
 * A wake-up by a change is primary; the deadline of a tracked check is kept by our own timer, since Consul ends a
 * blocking query up to wait/16 late. Two passes caused by changes lie at least a second apart, so that a flapping estate
 * does not turn the window into a busy loop. After a failed pass the next try comes later and later.
 */
import type { UnhealthyAnswer, UnhealthyWatch } from '../ports.ts';
import { runPass } from './run-pass.ts';
import type { PassOptions, PassReport } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** What a window came to. */
export interface WindowReport {
  readonly passes: number;
  readonly failedPasses: number;
  readonly restarts: PassReport['restarts'];
  /** Of the last pass that could conclude anything. */
  readonly last: PassReport | undefined;
  readonly failures: PassReport['failures'];
}

/** What a window is given. */
export interface WindowOptions extends Pick<PassOptions, 'mayClaim'> {
  readonly untilMs: number;
  /** True when warnings must be read. */
  readonly warnings: boolean;
  /** Called before each pass; false ends the window (the lease is lost). */
  readonly mayGoOn: () => Promise<boolean>;
  /** 0 to 1; spreads retries after failures. */
  readonly random?: () => number;
}

/** Between two passes caused by changes. */
const CHANGE_FLOOR_MS = 1000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

/** Keeps the window open. At least one pass is made, whatever the time. */
export async function keepWindow(watcher: Watcher, options: WindowOptions): Promise<WindowReport> {
  const { deps } = watcher;
  const watch = deps.consul.watchUnhealthy({ warnings: options.warnings });
  const abort = new AbortController();
  const passes = { done: 0, failed: 0, restarts: [] as PassReport['restarts'][number][] };
  const failures = new Map<string, PassReport['failures'][number]>();
  let last: PassReport | undefined;
  let next: Next = { read: () => watch.read(abort.signal), isChange: false };
  let changedAtMs = Number.NEGATIVE_INFINITY;
  try {
    while (true) {
      if (next.isChange) changedAtMs = deps.clock.nowMs();
      const passOptions = { dryRun: false, mayClaim: options.mayClaim };
      const report = await runPass(watcher, next.read, passOptions);
      passes.done += 1;
      passes.failed += report.ok ? 0 : 1;
      passes.restarts.push(...report.restarts);
      for (const failure of report.failures) failures.set(`${failure.system} ${failure.code}`, failure);
      if (report.ok) last = report;
      next = await nextPass(watcher, watch, report, options, abort.signal, changedAtMs);
      if (next.isOver || !(await options.mayGoOn())) break;
    }
  } finally {
    abort.abort();
    await watch.close();
  }
  return {
    passes: passes.done,
    failedPasses: passes.failed,
    restarts: passes.restarts,
    last,
    failures: [...failures.values()],
  };
}

interface Next {
  readonly read: () => Promise<UnhealthyAnswer>;
  readonly isChange: boolean;
  readonly isOver?: boolean;
}

/** Waits for what makes the next pass, or for the window's end. */
async function nextPass(
  watcher: Watcher,
  watch: UnhealthyWatch,
  report: PassReport,
  options: WindowOptions,
  signal: AbortSignal,
  changedAtMs: number,
): Promise<Next> {
  const { clock } = watcher.deps;
  const read = () => watch.read(signal);
  const over: Next = { read, isChange: false, isOver: true };
  if (!report.ok) {
    const backoffMs = Math.min(FIRST_RETRY_MS * 2 ** (watcher.memory.failedPasses - 1), LONGEST_RETRY_MS);
    const retryMs = clock.nowMs() + backoffMs * (0.5 + 0.5 * (options.random ?? Math.random)());
    await clock.sleepUntil(Math.min(retryMs, options.untilMs), signal);
    return clock.nowMs() >= options.untilMs ? over : { read, isChange: false };
  }
  const nowMs = clock.nowMs();
  const deadlineMs = Math.min(
    report.nextDeadlineMs ?? options.untilMs,
    options.untilMs,
    nextSightingMs(watcher, nowMs),
  );
  try {
    const answer = await watch.change(deadlineMs, signal);
    if (!answer) return clock.nowMs() >= options.untilMs ? over : { read, isChange: false };
    const floorMs = changedAtMs + CHANGE_FLOOR_MS;
    if (clock.nowMs() >= floorMs) return { read: async () => answer, isChange: true };
    // A deadline within the floor is kept: the pass that it makes sees the change, too.
    await clock.sleepUntil(Math.min(floorMs, deadlineMs), signal);
    return clock.nowMs() >= options.untilMs ? over : { read, isChange: clock.nowMs() >= floorMs };
  } catch (error) {
    // The failure is the next pass's: it is reported, counted and backed off from there.
    return { read: () => Promise.reject(error), isChange: false };
  }
}

/** Tracked checks must be sighted within the gap even when nothing changes. */
function nextSightingMs({ settings, memory }: Watcher, nowMs: number): number {
  if (settings.maxObservationGapMs === null || memory.tracked.size === 0) return Number.POSITIVE_INFINITY;
  return nowMs + Math.max(settings.maxObservationGapMs / 2, CHANGE_FLOOR_MS);
}
