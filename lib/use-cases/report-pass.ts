/**
 * A pass's report, and what of it is news. A reason is logged and published when it changes, not in every pass: what
 * was last said of each check is kept with the heartbeat.
 */
import type { BrakeEvent } from '../brakes/facts.ts';
import { globMatches } from '../check-restart/glob.ts';
import type { Reason } from '../check-restart/reason.ts';
import type { EventCode } from '../event-codes.ts';
import { checkKey, type InstanceRef, type OutgoingEvent, type ReadFailure } from '../ports.ts';
import type { BrakedPlan } from './brake-restarts.ts';
import { asFailure, isReadFailure } from './failure.ts';
import { isWatched, type Judged, taskOf } from './judge.ts';
import { ABSENT_LOOK_UP_MS, type Sightings } from './observe.ts';
import type { DueTask, PlannedRestart, Refusal } from './plan-restarts.ts';
import { type RestartResult, shortTask } from './restart.ts';
import { count, say } from './say.ts';
import type { Watcher } from './watch-pass.ts';
import type { CheckEntry, PassOptions, PassReport, RestartEntry, SkippedEntry } from './watch-types.ts';

/** A planned restart and how it ended. */
export interface Outcome {
  readonly planned: PlannedRestart;
  readonly result: RestartResult;
}

/** All that a pass has come to. */
export interface PassResult {
  readonly nowMs: number;
  readonly sightings: Sightings;
  /** Instances whose names cannot be sent to Consul. */
  readonly refused: readonly InstanceRef[];
  readonly judged: readonly Judged[];
  readonly plan: BrakedPlan;
  readonly outcomes: readonly Outcome[];
  readonly failures: readonly ReadFailure[];
  readonly options: PassOptions;
}

/** A due check that is held back is looked at again after this time, unless its brake says when it ends. */
const WITHHELD_AGAIN_MS = 10_000;
/** Reasons that last until a registration, a list or a task changes; waiting for them would only cost requests. */
const LASTING: ReadonlySet<Reason> = new Set<Reason>([
  'unmapped',
  'ambiguous',
  'foreign-task',
  'proxy',
  'task-not-found',
  'already-stopped',
  'restart-in-flight',
]);

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

/** Builds the report; logs and publishes what is new in it. */
export async function reportPass(watcher: Watcher, result: PassResult): Promise<PassReport> {
  const { nowMs, judged, outcomes, failures, sightings, options } = result;
  const refusedDue = refusalsByCheck(result);
  const skipped = judged.flatMap((one) => skippedEntry(one, refusedDue, nowMs) ?? []);
  const restarts = outcomes.flatMap((outcome) => restartEntry(outcome, nowMs) ?? []);
  const restarted = new Set(
    outcomes.flatMap(({ planned, result: { kind } }) => (kind === 'acted' ? planned.tasks : [])),
  );
  const checks = judged.flatMap((one) => checkEntry(one, refusedDue, restarted) ?? []);
  const nodes = sightings.nodeChecks.map(
    (check): CheckEntry => ({
      node: check.node,
      check: check.name || check.checkId,
      service: '',
      status: check.status,
      reason: 'node-check',
    }),
  );
  const report: PassReport = {
    atMs: nowMs,
    ok: true,
    failures: failures.map(asFailure),
    restarts,
    skipped,
    checks: [...checks, ...nodes],
    problems: problemsOf(result),
    ...deadline(watcher, judged, skipped, nowMs),
  };
  measure(watcher, report, result);
  if (!options.dryRun) await tell(watcher, result, report, refusedDue);
  return report;
}

type Refused = Pick<Refusal, 'reason' | 'why' | 'untilMs' | 'brakes'>;

function refusalsByCheck({ plan, outcomes }: PassResult): ReadonlyMap<string, Refused> {
  const refused = new Map<string, Refused>();
  const note = (task: DueTask, refusal: Refused) => {
    for (const { subject } of task.due) refused.set(subject.sighting.key, refusal);
  };
  for (const { task, ...refusal } of plan.refusals) note(task, refusal);
  for (const { planned, result } of outcomes) {
    if (result.kind === 'refused') for (const task of planned.tasks) note(task, result);
  }
  return refused;
}

function skippedEntry(
  { subject, finding }: Judged,
  refusedDue: ReadonlyMap<string, Refused>,
  nowMs: number,
): SkippedEntry | undefined {
  const refusal =
    finding.kind === 'skipped' || finding.kind === 'withheld' ? finding : refusedDue.get(subject.sighting.key);
  if (!refusal) return undefined;
  const task = taskOf(subject);
  return {
    ...(task === undefined ? {} : { task: shortTask(task) }),
    service: subject.service,
    check: subject.sighting.ref.checkName,
    atMs: nowMs,
    reason: refusal.reason,
    ...('why' in refusal && refusal.why !== undefined ? { why: refusal.why } : {}),
    ...(refusal.untilMs === undefined ? {} : { untilMs: refusal.untilMs }),
    ...('brakes' in refusal && refusal.brakes !== undefined ? { brakes: refusal.brakes } : {}),
  };
}

function restartEntry({ planned, result }: Outcome, nowMs: number): RestartEntry | undefined {
  const [task] = planned.tasks;
  const [first] = task?.due ?? [];
  if (result.kind !== 'acted' || !task || !first) return undefined;
  return {
    task: shortTask(task.taskArn),
    cluster: planned.cluster,
    service: first.subject.service,
    owner: planned.ownerName,
    check: first.subject.sighting.ref.checkName,
    atMs: nowMs,
    action: result.action,
    outcome: result.outcome,
  };
}

function checkEntry(
  { subject, finding }: Judged,
  refusedDue: ReadonlyMap<string, Refused>,
  restarted: ReadonlySet<DueTask>,
): CheckEntry | undefined {
  if (finding.kind === 'good') return undefined;
  const { ref, key, status } = subject.sighting;
  const task = taskOf(subject);
  const refusal = refusedDue.get(key);
  const reasonOf = (): CheckEntry['reason'] => {
    if (finding.kind === 'absent') return 'absent';
    if (finding.kind !== 'due') return finding.reason;
    if (refusal) return refusal.reason;
    return [...restarted].some(({ taskArn }) => taskArn === task) ? 'restarted' : 'ecs-error';
  };
  const untilMs = refusal?.untilMs ?? ('untilMs' in finding ? finding.untilMs : undefined);
  return {
    node: ref.node,
    check: ref.checkName,
    service: subject.service,
    status: status ?? 'absent',
    ...(task === undefined ? {} : { task: shortTask(task) }),
    reason: reasonOf(),
    ...(untilMs === undefined ? {} : { untilMs }),
  };
}

function problemsOf({ refused, judged }: PassResult): string[] {
  const names = refused.map(({ serviceName }) => `service name "${serviceName}" cannot be sent in a path: not watched`);
  const meta = judged.flatMap(({ subject }) =>
    subject.problems.map((problem) => `service "${subject.service}" on ${subject.sighting.ref.node}: ${problem}`),
  );
  return [...new Set([...names, ...meta])];
}

function deadline(
  { memory }: Watcher,
  judged: readonly Judged[],
  skipped: readonly SkippedEntry[],
  nowMs: number,
): { nextDeadlineMs?: number } {
  const ofFindings = judged.flatMap(({ finding, subject }) => {
    if (finding.kind === 'absent') return [(memory.lookedUpMs.get(subject.sighting.key) ?? nowMs) + ABSENT_LOOK_UP_MS];
    return finding.kind === 'waiting' && finding.untilMs !== undefined ? [finding.untilMs] : [];
  });
  const ofSkipped = skipped
    .filter(({ reason }) => !LASTING.has(reason))
    .map(({ untilMs }) => untilMs ?? nowMs + WITHHELD_AGAIN_MS);
  const all = [...ofFindings, ...ofSkipped].map((atMs) => Math.max(atMs, nowMs + 1));
  return all.length > 0 ? { nextDeadlineMs: all.reduce((one, other) => Math.min(one, other)) } : {};
}

function measure({ deps, memory }: Watcher, report: PassReport, { judged, outcomes }: PassResult): void {
  count(deps, 'Passes', 1);
  count(deps, 'ChecksBad', report.checks.length);
  count(deps, 'ChecksWatched', [...memory.tracked.values()].filter(({ current }) => current?.streak).length);
  count(deps, 'ChecksAbsent', judged.filter(({ finding }) => finding.kind === 'absent').length);
  count(deps, 'RestartsIssued', outcomes.filter(({ result: { kind } }) => kind === 'acted').length);
  count(deps, 'RestartsAccepted', report.restarts.filter(({ outcome }) => outcome !== 'unanswered').length);
  count(deps, 'RestartsWithheld', report.skipped.length);
}

/** Logs and publishes what changed since it was last told, and every restart. */
async function tell(
  watcher: Watcher,
  result: PassResult,
  report: PassReport,
  refusedDue: ReadonlyMap<string, Refused>,
): Promise<void> {
  const { deps, memory } = watcher;
  const events: OutgoingEvent[] = [];
  for (const restart of report.restarts) {
    say(deps, restart.action === 'stop-task' ? 'restart-accepted' : 'deployment-forced', { ...restart });
    events.push({ type: 'Restart', detail: { ...restart } });
  }
  const said = new Map<string, string>();
  for (const one of result.judged) {
    const entry = checkEntry(one, refusedDue, new Set());
    const { key } = one.subject.sighting;
    if (!entry || (!isWatched(one.subject) && entry.reason !== 'absent')) continue;
    const isRestarted = one.finding.kind === 'due' && !refusedDue.has(key);
    const word = isRestarted ? 'restarted' : entry.reason;
    said.set(key, word);
    if (memory.reported.get(key) === word || isRestarted) continue;
    const skippedNow = skippedEntry(one, refusedDue, result.nowMs);
    say(deps, codeOf(one, word, skippedNow), { ...entry, ...skippedNow });
    if (skippedNow && (one.finding.kind === 'due' || one.finding.kind === 'withheld')) {
      events.push({ type: 'Restart Withheld', detail: { ...skippedNow } });
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
  for (const event of result.plan.events) {
    say(deps, event.type, { ...event });
    events.push({ type: EVENT_TYPES[event.type], detail: { ...event } });
  }
  replaceReports(watcher, said, result.options);
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
  const isOurs = (key: string) => options.service === undefined && !globMatches('claim *', key);
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
