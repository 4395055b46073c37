/**
 * A pass with all that belongs to it whatever happens: open claims are followed even when Consul gives no answer, a
 * failed pass is reported once an outage, and the report says whether anything could be concluded.
 */
import type { UnhealthyAnswer } from '../ports.ts';
import { asFailure, isReadFailure } from './failure.ts';
import { claimsDeadlineMs, followClaims } from './open-claims.ts';
import { count, say } from './say.ts';
import { proveSight } from './visibility.ts';
import { watchPass } from './watch-pass.ts';
import type { PassOptions, PassReport } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** Runs a pass over the answer that `read` brings. Never throws for an outside system's failure. */
export async function runPass(
  watcher: Watcher,
  read: () => Promise<UnhealthyAnswer>,
  options: PassOptions,
): Promise<PassReport> {
  const { deps, memory } = watcher;
  const startMs = Math.max(deps.clock.nowMs(), memory.lastGoodPassMs ?? 0);
  // A dry run that was turned on while a claim was open issues its call no more.
  const mayClaim = watcher.settings.dryRun ? async () => false : options.mayClaim;
  const failures = options.dryRun ? [] : await followClaims(deps, memory, startMs, mayClaim);
  for (const failure of failures) {
    say(deps, failure.system === 'ecs' ? 'ecs-failed' : 'state-failed', { ...asFailure(failure) });
  }
  const report = await tryPass(watcher, read, options);
  const deadlines = [report.nextDeadlineMs, claimsDeadlineMs(memory, report.atMs)].filter((atMs) => atMs !== undefined);
  return {
    ...report,
    failures: [...failures.map(asFailure), ...report.failures],
    ...(deadlines.length > 0 ? { nextDeadlineMs: Math.min(...deadlines) } : {}),
  };
}

async function tryPass(
  watcher: Watcher,
  read: () => Promise<UnhealthyAnswer>,
  options: PassOptions,
): Promise<PassReport> {
  const { deps, memory } = watcher;
  try {
    const answer = await read();
    await proveSight(deps.consul, memory, Math.max(deps.clock.nowMs(), memory.lastGoodPassMs ?? 0));
    const report = await watchPass(watcher, answer, options);
    if (memory.failedPasses > 0) say(deps, 'pass-recovered', { failedPasses: memory.failedPasses });
    memory.failedPasses = 0;
    return report;
  } catch (error) {
    const failure = asFailure(isReadFailure(error));
    memory.failedPasses += 1;
    count(deps, 'PassesFailed', 1);
    // One line an outage; the counter tells how long it goes on.
    if (memory.failedPasses === 1) say(deps, 'pass-failed', { ...failure });
    return {
      atMs: deps.clock.nowMs(),
      ok: false,
      failures: [failure],
      restarts: [],
      skipped: [],
      checks: [],
      problems: [],
      leftovers: [],
    };
  }
}
