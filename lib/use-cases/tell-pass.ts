/**
 * What of a pass is news. A reason is logged and published when it changes, not in every pass: what was last said of
 * each check is kept with the heartbeat.
 */
import type { BrakeEvent } from '../brakes/facts.ts';
import { anyGlobMatches } from '../check-restart/glob.ts';
import type { EventCode } from '../event-codes.ts';
import { checkKey, type OutgoingEvent } from '../ports.ts';
import { asFailure, isReadFailure } from './failure.ts';
import { isWatched, type Judged } from './judge.ts';
import type { Entry, PassResult } from './report-pass.ts';
import { say } from './say.ts';
import type { CheckEntry, PassOptions, PassReport, SkippedEntry } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** Detail types of the brakes' events. */
const EVENT_TYPES: Readonly<Record<BrakeEvent['type'], string>> = {
  'budget-spent': 'Restart Budget Spent',
  'replacement-overdue': 'Replacement Overdue',
  'breaker-opened': 'Breaker Opened',
  'breaker-probe-failed': 'Breaker Probe Failed',
  'breaker-closed': 'Breaker Closed',
  'estate-breaker-opened': 'Estate Breaker Opened',
  'estate-breaker-closed': 'Estate Breaker Closed',
};

/** Reports that are not a pass's: of open claims, and of the reconciler. */
const KEPT_BY_OTHERS = ['claim *', 'proxy *'];

/** Logs and publishes what changed since it was last told, and every restart. */
export async function tellPass(
  watcher: Watcher,
  result: PassResult,
  report: PassReport,
  entries: readonly Entry[],
): Promise<void> {
  const { deps, memory } = watcher;
  const events: OutgoingEvent[] = [];
  for (const restart of report.restarts) {
    say(deps, restart.action === 'stop-task' ? 'restart-accepted' : 'deployment-forced', { ...restart });
    events.push({ type: 'Restart', detail: { ...restart } });
  }
  const said = new Map<string, string>();
  let newProxies = 0;
  for (const { judged, check, skipped } of entries) {
    const { key } = judged.subject.sighting;
    const word = check.reason;
    if (!isWatched(judged.subject) && word !== 'absent') continue;
    said.set(key, word);
    if (memory.reported.get(key) === word || word === 'restarted') continue;
    if (word === 'proxy') newProxies += 1;
    say(deps, codeOf(judged, word, skipped), { ...check, ...skipped });
    if (skipped && (judged.finding.kind === 'due' || judged.finding.kind === 'withheld')) {
      events.push({ type: 'Restart Withheld', detail: { ...skipped } });
    }
  }
  for (const check of result.sightings.nodeChecks) {
    const key = checkKey(check);
    said.set(key, 'node-check');
    if (memory.reported.get(key) === 'node-check') continue;
    say(deps, 'node-check', { node: check.node, check: check.name || check.checkId });
  }
  for (const problem of report.problems) {
    said.set(problem, 'problem');
    if (memory.reported.get(problem) !== 'problem') say(deps, 'registration-problem', { problem });
  }
  for (const failure of result.failures) {
    const key = `failure ${failure.system} ${failure.code}`;
    said.set(key, 'failure');
    if (memory.reported.get(key) === 'failure') continue;
    say(deps, failure.system === 'ecs' ? 'ecs-failed' : 'state-failed', { ...asFailure(failure) });
  }
  for (const event of result.plan.events) {
    say(deps, event.type, { ...event });
    events.push({ type: EVENT_TYPES[event.type], detail: { ...event } });
  }
  for (const [key, word] of result.leftovers.said) said.set(key, word);
  for (const leftover of result.leftovers.news) say(deps, 'leftover-removable', { ...leftover });
  replaceReports(watcher, said, result.options);
  // Its checks are judged by reconcile-proxies, which else would look within a minute.
  if (newProxies > 0) await deps.wakeUps?.wakeUp({ why: 'check-bad', atMs: result.nowMs }, 0);
  await keepHistory(watcher, report);
  if (events.length > 0) await deps.events.publish(events);
}

/** A line that could not be kept is said; the restart has happened all the same. */
async function keepHistory({ deps }: Watcher, { restarts, atMs }: PassReport): Promise<void> {
  for (const restart of restarts) {
    try {
      await deps.state.appendHistory({ atMs, kind: 'restart', detail: { ...restart } });
    } catch (error) {
      say(deps, 'state-failed', { problem: isReadFailure(error).message });
    }
  }
}

/** What is no longer bad is forgotten, so that it is news when it comes again. */
function replaceReports({ memory }: Watcher, said: ReadonlyMap<string, string>, options: PassOptions): void {
  const isOurs = (key: string) => options.service === undefined && !anyGlobMatches(KEPT_BY_OTHERS, key);
  for (const key of [...memory.reported.keys()]) if (isOurs(key) && !said.has(key)) memory.reported.delete(key);
  for (const [key, word] of said) memory.reported.set(key, word);
}

function codeOf({ finding }: Judged, word: CheckEntry['reason'], skipped: SkippedEntry | undefined): EventCode {
  if (word === 'absent') return 'absent-check';
  if (word === 'task-not-found' || word === 'already-stopped') return 'leftover-registration';
  if (word === 'dry-run') return 'dry-run';
  if (word === 'ecs-error') return finding.kind === 'due' ? 'restart-refused' : 'ecs-failed';
  const isDue = finding.kind === 'due' || finding.kind === 'withheld';
  return isDue && skipped ? 'restart-withheld' : 'verdict-changed';
}
