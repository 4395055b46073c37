/** A pass's report: every bad check with the reason why nothing happened, and what was restarted. */
import type { Reason } from '../check-restart/reason.ts';
import { type RestartResult, shortTask } from './act-and-record.ts';
import type { Decision } from './decide-pass.ts';
import { asFailure } from './failure.ts';
import { type Judged, taskOf } from './judge.ts';
import type { leftoversOf } from './leftovers.ts';
import { ABSENT_LOOK_UP_MS } from './observe.ts';
import type { DueTask, PlannedRestart, Refusal } from './plan-restarts.ts';
import { count } from './say.ts';
import type { CheckEntry, PassOptions, PassReport, RestartEntry, SkippedEntry } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** A planned restart and how it ended. */
export interface Outcome {
  readonly planned: PlannedRestart;
  readonly result: RestartResult;
}

/** Tasks that a restart took: all of its plan, but only the first where a stop had to stand in for a deployment (C30). */
export function takenTasks({ planned, result }: Outcome): readonly DueTask[] {
  if (result.kind !== 'acted') return [];
  return result.action === 'stop-task' ? planned.tasks.slice(0, 1) : planned.tasks;
}

/** All that a pass has come to. `failures` holds those of acting, too. */
export interface PassResult extends Decision {
  readonly outcomes: readonly Outcome[];
  readonly options: PassOptions;
  readonly leftovers: ReturnType<typeof leftoversOf>;
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

/** What a report says of one check; made once, for the report and for what is told of it. */
export interface Entry {
  readonly judged: Judged;
  readonly check: CheckEntry;
  readonly skipped: SkippedEntry | undefined;
}

/** Entries of all checks that are not good. */
export function entriesOf(result: PassResult): readonly Entry[] {
  const refusedDue = refusalsByCheck(result);
  const restarted = new Set(result.outcomes.flatMap(takenTasks));
  return result.judged.flatMap((judged) => {
    const check = checkEntry(judged, refusedDue, restarted);
    return check ? [{ judged, check, skipped: skippedEntry(judged, refusedDue, result.nowMs) }] : [];
  });
}

/** Builds the report, and counts what is in it. */
export function reportPass(watcher: Watcher, result: PassResult, entries: readonly Entry[]): PassReport {
  const { nowMs, judged, outcomes, failures, sightings } = result;
  const skipped = entries.flatMap((entry) => entry.skipped ?? []);
  const restarts = outcomes.flatMap((outcome) => restartEntry(outcome, nowMs) ?? []);
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
    checks: [...entries.map(({ check }) => check), ...nodes],
    problems: problemsOf(result),
    leftovers: result.leftovers.all,
    ...deadline(watcher, judged, skipped, nowMs),
  };
  measure(watcher, report, result);
  return report;
}

/** Why a due check was not restarted. */
export type RefusedCheck = Pick<Refusal, 'reason' | 'why' | 'untilMs' | 'brakes'>;

function refusalsByCheck({ plan, outcomes }: PassResult): ReadonlyMap<string, RefusedCheck> {
  const refused = new Map<string, RefusedCheck>();
  const note = (task: DueTask, refusal: RefusedCheck) => {
    for (const { subject } of task.due) refused.set(subject.sighting.key, refusal);
  };
  for (const { task, ...refusal } of plan.refusals) note(task, refusal);
  for (const outcome of outcomes) {
    const { planned, result } = outcome;
    const why = 'the service takes no forced deployment: its due tasks are stopped one after the other';
    const refusal = result.kind === 'refused' ? result : ({ reason: 'restart-in-flight', why } as const);
    const taken = takenTasks(outcome);
    for (const task of planned.tasks) if (!taken.includes(task)) note(task, refusal);
  }
  return refused;
}

function skippedEntry(
  { subject, finding }: Judged,
  refusedDue: ReadonlyMap<string, RefusedCheck>,
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
  refusedDue: ReadonlyMap<string, RefusedCheck>,
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
    return [...restarted].some(({ taskArn }) => taskArn === task) ? 'restarted' : 'restart-in-flight';
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
