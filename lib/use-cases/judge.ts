/** Judges every sighting of a pass: pure, from memory and what was read. States are returned, not yet remembered. */
import { isSetAside } from '../check-restart/eligibility.ts';
import { type CheckState, evaluate, type Verdict } from '../check-restart/evaluation.ts';
import { timeLimitMs } from '../check-restart/policy.ts';
import type { Reason } from '../check-restart/reason.ts';
import type { ReadFailure } from '../ports.ts';
import type { Subject } from './resolve-subjects.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchSettings } from './watch-types.ts';

/** An absent check is forgotten after a day, whatever ECS says of its task. */
const ABSENT_FOR_MS = 24 * 3_600_000;

/** What follows for one check. */
export type Finding =
  | Verdict
  /** Bad and watched, but nothing can be done about it: its task cannot be told, is gone, or is being restarted. */
  | { readonly kind: 'skipped'; readonly reason: Reason; readonly why?: string; readonly untilMs?: number };

/** A subject, what follows for it, and its state after this pass (`undefined` = nothing to remember). */
export interface Judged {
  readonly subject: Subject;
  readonly finding: Finding;
  readonly state: CheckState | undefined;
}

/** What judging needs besides memory. */
export interface JudgeContext {
  readonly settings: WatchSettings;
  readonly nowMs: number;
  /** The end of the settling after a gap in all observation. */
  readonly settleUntilMs: number | undefined;
  readonly claimed: ReadonlySet<string>;
  readonly clusterFailures: ReadonlyMap<string, ReadFailure>;
}

/** The long ARN of a subject's task. */
export function taskOf(subject: Subject): string | undefined {
  return subject.mapping.kind === 'mapped' ? subject.mapping.taskArn : undefined;
}

/** True when the check's policy switches watching on. */
export function isWatched(subject: Subject): boolean {
  const policy = subject.resolved?.policy;
  return policy !== undefined && policy.limit > 0 && policy.mode !== 'off';
}

/** One check's finding and new state. */
export function judge(subject: Subject, memory: WatchMemory, context: JudgeContext): Judged {
  const before = memory.tracked.get(subject.sighting.key)?.current;
  if (subject.sighting.status === undefined) return absent(subject, before, memory, context);
  if (subject.problems.length > 0) {
    // Meta that is not understood: hands off, and the streak stays until somebody has mended it.
    return { subject, finding: { kind: 'waiting', reason: 'not-watched' }, state: before };
  }
  if (!isWatched(subject)) return { subject, finding: { kind: 'waiting', reason: 'not-watched' }, state: undefined };
  const { mapping } = subject;
  if (mapping.kind !== 'mapped') {
    return { subject, finding: { kind: 'skipped', reason: mapping.kind, why: mapping.why }, state: before };
  }
  if (context.claimed.has(mapping.taskArn)) {
    return { subject, finding: { kind: 'skipped', reason: 'restart-in-flight' }, state: before };
  }
  return withTask(subject, mapping.taskArn, mapping.cluster, before, memory, context);
}

function absent(subject: Subject, before: CheckState | undefined, memory: WatchMemory, context: JudgeContext): Judged {
  const arn = before?.taskArn ?? '';
  const policy = { limit: 1, graceMs: 0, ignoreWarnings: false, timeLimitMs: 0 };
  const result = evaluate(
    before,
    { status: undefined, unrun: false },
    evaluationContext(subject, arn, policy, context),
  );
  const known = memory.tasks.get(arn);
  const isGone = known && (known.task === undefined || known.task.lastStatus === 'STOPPED');
  const isForgotten = result.verdict.kind === 'absent' && context.nowMs >= result.verdict.sinceMs + ABSENT_FOR_MS;
  const state = isGone ? gone(result.state, known.readAtMs) : result.state;
  return { subject, finding: result.verdict, state: isForgotten ? undefined : state };
}

function withTask(
  subject: Subject,
  arn: string,
  cluster: string,
  before: CheckState | undefined,
  memory: WatchMemory,
  context: JudgeContext,
): Judged {
  const known = memory.tasks.get(arn);
  const startedAtMs = known?.task?.startedAtMs ?? (before?.taskArn === arn ? before.startedAtMs : undefined);
  if (known === undefined && startedAtMs === undefined) {
    const why = context.clusterFailures.get(cluster)?.message ?? 'ECS was not asked';
    return { subject, finding: { kind: 'skipped', reason: 'ecs-error', why }, state: before };
  }
  if (known?.task && isSetAside(known.task, context.settings.proxyStartedBy)) {
    return { subject, finding: { kind: 'skipped', reason: 'proxy' }, state: undefined };
  }
  if (known && (known.task === undefined || known.task.lastStatus === 'STOPPED')) {
    const reason = known.task === undefined ? 'task-not-found' : 'already-stopped';
    const why = 'the task is gone, its registration is left over';
    return { subject, finding: { kind: 'skipped', reason, why }, state: gone(before, known.readAtMs) };
  }
  const { policy } = subject.resolved ?? {};
  if (!policy) throw new Error('judged without a policy');
  const { sighting } = subject;
  const limits = { ...policy, timeLimitMs: timeLimitMs(policy, sighting.intervalMs) };
  const observation = { status: sighting.status, unrun: sighting.unrun };
  const result = evaluate(before, observation, {
    ...evaluationContext(subject, arn, limits, context),
    task: startedAtMs === undefined ? { arn } : { arn, startedAtMs },
  });
  const isAlive = known?.task !== undefined;
  return { subject, finding: result.verdict, state: result.state && isAlive ? alive(result.state) : result.state };
}

function evaluationContext(
  subject: Subject,
  arn: string,
  policy: { limit: number; graceMs: number; ignoreWarnings: boolean; timeLimitMs: number },
  context: JudgeContext,
) {
  const { settings, nowMs, settleUntilMs } = context;
  const { maxObservationGapMs, settleMs } = settings;
  const settling = settleUntilMs === undefined ? {} : { settleUntilMs };
  return { task: { arn }, policy, nowMs, maxObservationGapMs, settleMs, maintenance: subject.maintenance, ...settling };
}

/** A task that ECS calls gone in two readings loses its checks' state; one reading only marks it. */
export function gone(state: CheckState | undefined, readAtMs: number): CheckState | undefined {
  if (state === undefined) return undefined;
  if (state.goneSinceMs === undefined) return { ...state, goneSinceMs: readAtMs };
  return state.goneSinceMs < readAtMs ? undefined : state;
}

function alive(state: CheckState): CheckState {
  const { goneSinceMs: _, ...rest } = state;
  return rest;
}
