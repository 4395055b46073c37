/**
 * One pass of the watcher: Consul's answer in, restarts and a report out.
 *
 *   observe → details → ask ECS about new tasks → judge → (due: fresh details, fresh facts) → plan → claim, act, record
 *   → write what changed → report
 *
 * Whatever cannot be read ends the pass before anything is remembered: an unread world changes no state.
 */
import { parseTaskArn } from '../check-restart/task-arn.ts';
import { instanceKey, type ReadFailure, type UnhealthyAnswer } from '../ports.ts';
import { type ClusterFailures, describeInto, factsOfDue, isKnown, type TaskRef } from './ask-ecs.ts';
import { type BrakedPlan, brakePlan } from './brake-restarts.ts';
import { isReadFailure } from './failure.ts';
import { isWatched, type Judged, judge } from './judge.ts';
import { observe, type Sightings } from './observe.ts';
import { dueTasks, planRestarts, type RestartPlan } from './plan-restarts.ts';
import { type Outcome, reportPass } from './report-pass.ts';
import { readDetails, resolveSubjects, type Subject } from './resolve-subjects.ts';
import { restart } from './restart.ts';
import { count, say } from './say.ts';
import { tellPass } from './tell-pass.ts';
import { claimedTasks, remember, type WatchMemory, writeChanges } from './watch-memory.ts';
import type { PassOptions, PassReport, PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** What all passes of an invocation share. */
export interface Watcher {
  readonly deps: WatchDeps;
  readonly settings: WatchSettings;
  readonly document: PolicyDocument;
  readonly memory: WatchMemory;
}

/** Runs one pass over one answer. Throws `ReadFailure` when Consul's look-ups fail; then nothing has changed. */
export async function watchPass(watcher: Watcher, answer: UnhealthyAnswer, options: PassOptions): Promise<PassReport> {
  const { deps, settings, memory } = watcher;
  // A clock that lies behind the last pass would make streaks shrink and grace grow.
  const nowMs = Math.max(deps.clock.nowMs(), memory.lastGoodPassMs ?? 0);
  const sightings = confined(await observe(deps.consul, memory, answer, nowMs), options);
  const refused = await readDetails(deps, memory, sightings, nowMs);
  const settleUntilMs = settlingUntil(memory, settings, nowMs);
  const first = await judgeAll(watcher, sightings, nowMs, settleUntilMs);
  const judged = await withFreshDetails(watcher, sightings, first, nowMs, settleUntilMs);
  const tasks = dueTasks(judged.judged);
  const asked = tasks.length > 0 ? await factsOfDue(deps.ecs, memory, tasks, nowMs) : noFacts();
  const eligible = planRestarts(tasks, asked.facts, asked.failures, settings, nowMs);
  const plan = await brakePlan(watcher, judged.judged, eligible, nowMs, !options.dryRun);
  const failures = [...judged.failures.values(), ...asked.failures.values(), ...plan.failures];
  const outcomes = options.dryRun ? plannedOnly(plan) : await carryOut(watcher, plan, options, nowMs, failures);
  if (!options.dryRun) {
    rememberAll(memory, judged.judged, plan, outcomes, nowMs);
    const written = await writeChanges(memory, deps.state);
    failures.push(...written.failures);
    count(deps, 'StateConflicts', written.conflicts);
    if (written.conflicts > 0) say(deps, 'state-conflict', { checks: written.conflicts });
    if (options.service === undefined) {
      memory.lastGoodPassMs = nowMs;
      memory.settleUntilMs = settleUntilMs;
    }
  }
  const result = { nowMs, sightings, refused, judged: judged.judged, plan, outcomes, failures, options };
  const report = reportPass(watcher, result);
  if (!options.dryRun) await tellPass(watcher, result, report);
  return report;
}

/** A pass confined to one service looks at nothing else, so that its state of the others stays what it was. */
function confined(sightings: Sightings, options: PassOptions): Sightings {
  const { service } = options;
  if (service === undefined) return sightings;
  const isIt = ({ ref }: Sightings['checks'][number]) =>
    ref.serviceName === service || ref.serviceName === `${service}-sidecar-proxy`;
  return { ...sightings, checks: sightings.checks.filter(isIt) };
}

/** After a gap in all observation, nothing is restarted for a while: what was missed cannot be known. */
function settlingUntil(memory: WatchMemory, settings: WatchSettings, nowMs: number): number | undefined {
  const { lastGoodPassMs, settleUntilMs } = memory;
  const { maxObservationGapMs, settleMs } = settings;
  const isGap =
    maxObservationGapMs !== null && lastGoodPassMs !== undefined && nowMs - lastGoodPassMs > maxObservationGapMs;
  if (isGap && settleMs > 0) return nowMs + settleMs;
  return settleUntilMs !== undefined && settleUntilMs > nowMs ? settleUntilMs : undefined;
}

interface JudgedAll {
  readonly judged: readonly Judged[];
  readonly failures: ClusterFailures;
}

async function judgeAll(
  { deps, settings, document, memory }: Watcher,
  sightings: Sightings,
  nowMs: number,
  settleUntilMs: number | undefined,
): Promise<JudgedAll> {
  const subjects = resolveSubjects(deps, settings, document, memory, sightings);
  const claimed = claimedTasks(memory);
  const unknown = subjects.flatMap((subject) => taskToAsk(subject, memory, claimed, nowMs) ?? []);
  const failures = await describeInto(deps.ecs, memory, unknown, nowMs);
  const context = { settings, nowMs, settleUntilMs, claimed, clusterFailures: failures };
  return { judged: subjects.map((subject) => judge(subject, memory, context)), failures };
}

/** The task to ask ECS about before the subject can be judged: a bad check's unknown one, a missing check's own. */
function taskToAsk(
  subject: Subject,
  memory: WatchMemory,
  claimed: ReadonlySet<string>,
  nowMs: number,
): TaskRef | undefined {
  const { sighting, mapping } = subject;
  const state = memory.tracked.get(sighting.key)?.current;
  if (sighting.status === undefined) {
    const cluster = state && parseTaskArn(state.taskArn)?.cluster;
    const isLookedUp = memory.lookedUpMs.get(sighting.key) === nowMs;
    return state && cluster && isLookedUp ? { taskArn: state.taskArn, cluster } : undefined;
  }
  if (mapping.kind !== 'mapped' || !isWatched(subject) || claimed.has(mapping.taskArn)) return undefined;
  const hasStart = state?.taskArn === mapping.taskArn && state.startedAtMs !== undefined;
  return hasStart || isKnown(memory, mapping.taskArn, nowMs) ? undefined : mapping;
}

/** A restart is decided on details read in this very pass: policy or mapping may have changed since. */
async function withFreshDetails(
  watcher: Watcher,
  sightings: Sightings,
  first: JudgedAll,
  nowMs: number,
  settleUntilMs: number | undefined,
): Promise<JudgedAll> {
  const due = first.judged.filter(({ finding }) => finding.kind === 'due');
  const old = due
    .map(({ subject }) => instanceKey(subject.sighting.ref))
    .filter((key) => watcher.memory.instances.get(key)?.readAtMs !== nowMs);
  if (old.length === 0) return first;
  await readDetails(watcher.deps, watcher.memory, sightings, nowMs, new Set(old));
  const again = await judgeAll(watcher, sightings, nowMs, settleUntilMs);
  return { judged: again.judged, failures: new Map([...first.failures, ...again.failures]) };
}

function noFacts(): Awaited<ReturnType<typeof factsOfDue>> {
  return { facts: new Map(), failures: new Map() };
}

function plannedOnly(plan: RestartPlan): Outcome[] {
  return plan.restarts.map((planned) => ({
    planned,
    result: { kind: 'refused', reason: 'dry-run', why: 'this pass is a dry run' },
  }));
}

/** Carries out the plan in its order. What cannot be claimed any more is left to the next pass. */
async function carryOut(
  { deps, memory }: Watcher,
  plan: BrakedPlan,
  options: PassOptions,
  nowMs: number,
  failures: ReadFailure[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const planned of plan.restarts) {
    const facts = plan.facts.get(planned.ownerKey);
    if (!facts) {
      const why = 'ECS did not describe the service';
      outcomes.push({ planned, result: { kind: 'refused', reason: 'ecs-error', why } });
    } else if (!(await options.mayClaim())) {
      const why = 'too late in this window, or the lease is lost';
      outcomes.push({ planned, result: { kind: 'refused', reason: 'restart-delay', why } });
    } else {
      try {
        const context = { nowMs, facts, brakes: plan.brakes };
        outcomes.push({ planned, result: await restart(deps, memory, planned, context) });
      } catch (error) {
        const failure = isReadFailure(error);
        failures.push(failure);
        // Without the table nobody knows whether another pass has claimed it.
        const reason = failure.system === 'ecs' ? 'ecs-error' : 'restart-in-flight';
        outcomes.push({ planned, result: { kind: 'refused', reason, why: failure.message } });
      }
    }
  }
  return outcomes;
}

/** All states of this pass; those of a restarted task's checks go with it, one that ECS calls gone is marked. */
function rememberAll(
  memory: WatchMemory,
  judged: readonly Judged[],
  plan: RestartPlan,
  outcomes: readonly Outcome[],
  nowMs: number,
): void {
  const restarted = new Set(
    outcomes.filter(isTaken).flatMap(({ planned }) => planned.tasks.map(({ taskArn }) => taskArn)),
  );
  const goneNow = new Set(plan.refusals.filter(isGone).map(({ task }) => task.taskArn));
  for (const { subject, state } of judged) {
    const { ref } = subject.sighting;
    if (state && restarted.has(state.taskArn)) remember(memory, ref, undefined);
    else if (state && goneNow.has(state.taskArn))
      remember(memory, ref, { ...state, goneSinceMs: state.goneSinceMs ?? nowMs });
    else remember(memory, ref, state);
  }
  for (const { current, ref } of memory.tracked.values()) {
    if (current && restarted.has(current.taskArn)) remember(memory, ref, undefined);
  }
}

function isTaken({ result }: Outcome): boolean {
  return result.kind === 'acted' && result.outcome !== 'unanswered';
}

function isGone({ reason }: RestartPlan['refusals'][number]): boolean {
  return reason === 'task-not-found' || reason === 'already-stopped';
}
