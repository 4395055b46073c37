/**
 * The reading half of a pass: Consul's answer in, a decided plan out. It remembers nothing of the checks, so `explain`
 * uses it as it is.
 *
 *   observe → details → ask ECS about new tasks → judge → (due: fresh details, fresh facts) → plan → brakes
 */
import { parseTaskArn } from '../check-restart/task-arn.ts';
import { type InstanceRef, instanceKey, type ReadFailure, type UnhealthyAnswer } from '../ports.ts';
import { type ClusterFailures, describeInto, factsOfDue, isKnown, type TaskRef } from './ask-ecs.ts';
import { type BrakedPlan, brakePlan } from './brake-restarts.ts';
import { isWatched, type Judged, judge } from './judge.ts';
import { observe, type Sightings } from './observe.ts';
import { dueTasks, planRestarts } from './plan-restarts.ts';
import { readDetails, resolveSubjects, type Subject } from './resolve-subjects.ts';
import { claimedTasks, type WatchMemory } from './watch-memory.ts';
import type { PassOptions, WatchSettings } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** What one pass has seen and decided. */
export interface Decision {
  readonly nowMs: number;
  readonly sightings: Sightings;
  /** Instances whose names cannot be sent to Consul. */
  readonly refused: readonly InstanceRef[];
  /** Of the service to which the pass is confined, else all. */
  readonly judged: readonly Judged[];
  readonly plan: BrakedPlan;
  readonly failures: readonly ReadFailure[];
  /** The end of the settling of the whole deployment. */
  readonly settleUntilMs: number | undefined;
}

/** Decides over one answer. Throws `ReadFailure` when Consul's look-ups or the table fail. */
export async function decidePass(
  watcher: Watcher,
  answer: UnhealthyAnswer,
  options: Pick<PassOptions, 'dryRun' | 'service'>,
): Promise<Decision> {
  const { deps, settings, memory } = watcher;
  // A clock that lies behind the last pass would make streaks shrink and grace grow.
  const nowMs = Math.max(deps.clock.nowMs(), memory.lastGoodPassMs ?? 0);
  const sightings = await observe(deps.consul, memory, answer, nowMs);
  const refused = await readDetails(deps, memory, sightings, nowMs);
  const settleUntilMs = settlingUntil(memory, settings, nowMs);
  const first = await judgeAll(watcher, sightings, nowMs, settleUntilMs);
  const all = await withFreshDetails(watcher, sightings, first, nowMs, settleUntilMs);
  const judged = all.judged.filter(({ subject }) => isConcerned(subject, options));
  const tasks = dueTasks(judged);
  const asked = tasks.length > 0 ? await factsOfDue(deps.ecs, memory, tasks, nowMs) : noFacts();
  const eligible = planRestarts(tasks, asked.facts, asked.failures, settings, nowMs);
  // The brakes see the whole estate, whatever service the pass is confined to.
  const plan = await brakePlan(watcher, all.judged, eligible, nowMs, !options.dryRun);
  const failures = [...all.failures.values(), ...asked.failures.values(), ...plan.failures];
  return { nowMs, sightings, refused, judged, plan, failures, settleUntilMs };
}

function isConcerned({ service, sighting }: Subject, options: Pick<PassOptions, 'service'>): boolean {
  return options.service === undefined || service === options.service || sighting.ref.serviceName === options.service;
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
