/**
 * Evaluation of one check: remembered state + observation + `now` in, new state + verdict out (DESIGN section 1).
 *
 * A streak's age is `now - countedFromMs`. Time that must not count (blindness beyond the gap, maintenance) moves
 * `countedFromMs` on, so that the state changes only when something happens and not with every pass.
 */
import type { Reason } from './reason.ts';

/** What is remembered of one check between two observations. Instants are epoch milliseconds. */
export interface CheckState {
  /** Long ARN of the task the check was last seen with. Another one starts afresh. */
  readonly taskArn: string;
  /** When ECS says the task became RUNNING; grace runs from here, so that a changed `grace` applies at once. */
  readonly startedAtMs?: number;
  /** Last sighting of the check. Stored on change only: while the check is present every good pass is a sighting. */
  readonly seenMs: number;
  readonly streak?: Streak;
  /** Since when the check is absent from good answers. */
  readonly absentSinceMs?: number;
  /** Since when maintenance freezes the streak. */
  readonly frozenSinceMs?: number;
  /** Not restarted before, since this check was not observed for longer than the gap allows. */
  readonly settleUntilMs?: number;
  /** Since when the check looks as if it had not run yet. */
  readonly unrunSinceMs?: number;
  /** When ECS first said STOPPED or MISSING of the task. */
  readonly goneSinceMs?: number;
}

/** An unbroken run of bad observations. Its age at a sighting is `seenMs - countedFromMs`. */
export interface Streak {
  /** When the first bad observation was made; for people. */
  readonly sinceMs: number;
  /** `sinceMs`, moved on by all time that does not count. */
  readonly countedFromMs: number;
}

/** What one pass saw of a check. */
export interface Observation {
  /** As Consul says it; `undefined` = absent from an otherwise good answer. */
  readonly status: string | undefined;
  /** Critical, without output, of a type that an agent runs: it has not run since its registration or its agent's restart. */
  readonly unrun: boolean;
}

/** What the decision is made on, besides state and observation. */
export interface EvaluationContext {
  readonly task: { readonly arn: string; readonly startedAtMs?: number };
  readonly policy: {
    readonly limit: number;
    readonly graceMs: number;
    readonly ignoreWarnings: boolean;
    /** `interval * (limit - 1)`. */
    readonly timeLimitMs: number;
  };
  readonly nowMs: number;
  /** Most that a streak ages from one sighting to the next; `null` = all of it, as in Nomad. */
  readonly maxObservationGapMs: number | null;
  /** How long nothing is restarted after a longer gap. */
  readonly settleMs: number;
  /** The end of the settling of the whole deployment, after a gap in all observation. */
  readonly settleUntilMs?: number;
  /** A maintenance check of the instance or its node is on. */
  readonly maintenance: boolean;
}

/** What follows for one check. `untilMs` is when it may change by itself. */
export type Verdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'absent'; readonly sinceMs: number }
  | {
      readonly kind: 'waiting';
      readonly reason: Extract<
        Reason,
        'not-watched' | 'in-grace' | 'counting' | 'not-running' | 'maintenance' | 'not-observed'
      >;
      readonly untilMs?: number;
    }
  /** Old enough for a restart, but not now. */
  | {
      readonly kind: 'withheld';
      readonly reason: Extract<Reason, 'maintenance' | 'not-observed'>;
      readonly sinceMs: number;
      readonly untilMs?: number;
    }
  | { readonly kind: 'due'; readonly sinceMs: number };

/** New state (`undefined` = nothing to remember) and verdict. */
export interface Evaluation {
  readonly state: CheckState | undefined;
  readonly verdict: Verdict;
}

/** How long a check that has not run yet counts as absent. */
export const UNRUN_PATIENCE_MS = 60_000;

/** Types of checks that an agent runs by itself; their output is empty until they have run once. */
const AGENT_RUN = new Set(['http', 'tcp', 'udp', 'grpc', 'script', 'docker', 'h2ping', 'os_service']);

/** True for a check that has not run since its registration or its agent's restart. */
export function isUnrun(check: { readonly status: string; readonly type: string; readonly output: string }): boolean {
  return check.status === 'critical' && check.output === '' && AGENT_RUN.has(check.type.toLowerCase());
}

/** `critical`, and `warning` unless ignored, is bad; every other text is good, as in Nomad. */
export function isBad(status: string, ignoreWarnings: boolean): boolean {
  return status === 'critical' || (status === 'warning' && !ignoreWarnings);
}

/** Evaluates one observation. */
export function evaluate(
  remembered: CheckState | undefined,
  observation: Observation,
  context: EvaluationContext,
): Evaluation {
  const { policy, nowMs, task } = context;
  if (policy.limit === 0) return { state: undefined, verdict: { kind: 'waiting', reason: 'not-watched' } };
  const state = remembered?.taskArn === task.arn ? remembered : undefined;
  if (observation.status === undefined) return absent(state, context);
  if (observation.unrun && nowMs < (state?.unrunSinceMs ?? nowMs) + UNRUN_PATIENCE_MS) return unrun(state, context);
  if (!isBad(observation.status, policy.ignoreWarnings)) return { state: undefined, verdict: { kind: 'good' } };
  const startedAtMs = task.startedAtMs ?? state?.startedAtMs;
  if (startedAtMs === undefined) return { state: undefined, verdict: { kind: 'waiting', reason: 'not-running' } };
  const graceUntilMs = startedAtMs + policy.graceMs;
  if (nowMs < graceUntilMs) {
    // A streak begun under a shorter grace is dropped: under the policy in force it could not have begun.
    return { state: undefined, verdict: { kind: 'waiting', reason: 'in-grace', untilMs: graceUntilMs } };
  }
  const seen = sighted(state ?? { taskArn: task.arn, seenMs: nowMs }, context);
  return bad(
    { ...seen, startedAtMs, ...(observation.unrun ? {} : { unrunSinceMs: undefined }) },
    graceUntilMs,
    context,
  );
}

/** True when both states say the same, apart from a sighting that the next good pass implies anyway. */
export function sameState(one: CheckState | undefined, other: CheckState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.taskArn === other.taskArn &&
    one.startedAtMs === other.startedAtMs &&
    one.streak?.sinceMs === other.streak?.sinceMs &&
    one.streak?.countedFromMs === other.streak?.countedFromMs &&
    one.absentSinceMs === other.absentSinceMs &&
    one.frozenSinceMs === other.frozenSinceMs &&
    one.settleUntilMs === other.settleUntilMs &&
    one.unrunSinceMs === other.unrunSinceMs &&
    one.goneSinceMs === other.goneSinceMs
  );
}

/** A stored state as of the last good pass: every pass since the write saw the check, unless it was absent. */
export function asOfLastPass(stored: CheckState, lastGoodPassMs: number | undefined): CheckState {
  if (stored.absentSinceMs !== undefined || lastGoodPassMs === undefined) return stored;
  return { ...stored, seenMs: Math.max(stored.seenMs, lastGoodPassMs) };
}

interface Draft extends Omit<CheckState, 'unrunSinceMs' | 'absentSinceMs' | 'frozenSinceMs' | 'streak'> {
  readonly unrunSinceMs?: number | undefined;
  readonly absentSinceMs?: number | undefined;
  readonly frozenSinceMs?: number | undefined;
  readonly streak?: Streak | undefined;
}

/** Drops the fields that are undefined: what is stored has no holes. */
function settled(draft: Draft): CheckState {
  const entries = Object.entries(draft).filter(([, value]) => value !== undefined);
  return { taskArn: draft.taskArn, seenMs: draft.seenMs, ...Object.fromEntries(entries) };
}

function absent(state: CheckState | undefined, context: EvaluationContext): Evaluation {
  const { nowMs } = context;
  if (state === undefined) return { state, verdict: { kind: 'absent', sinceMs: nowMs } };
  const sinceMs = state.absentSinceMs ?? nowMs;
  const next = withMaintenance({ ...state, absentSinceMs: sinceMs }, context, false);
  return { state: settled(next), verdict: { kind: 'absent', sinceMs } };
}

function unrun(state: CheckState | undefined, context: EvaluationContext): Evaluation {
  const { nowMs, task } = context;
  const base = state ?? { taskArn: task.arn, seenMs: nowMs };
  const unrunSinceMs = base.unrunSinceMs ?? nowMs;
  const next = { ...base, unrunSinceMs, absentSinceMs: base.absentSinceMs ?? nowMs };
  const untilMs = unrunSinceMs + UNRUN_PATIENCE_MS;
  return {
    state: settled(withMaintenance(next, context, false)),
    verdict: { kind: 'waiting', reason: 'not-observed', untilMs },
  };
}

/** Credits the time since the last sighting: at most the gap, nothing of it while frozen. */
function sighted(state: CheckState, context: EvaluationContext): Draft {
  const { nowMs, maxObservationGapMs, settleMs } = context;
  const thawed = withMaintenance(state, context, true);
  const gapMs = nowMs - thawed.seenMs;
  const blindMs = maxObservationGapMs === null ? 0 : Math.max(0, gapMs - maxObservationGapMs);
  const frozen = thawed.frozenSinceMs !== undefined;
  return {
    ...thawed,
    seenMs: nowMs,
    absentSinceMs: undefined,
    ...(thawed.streak && blindMs > 0 && !frozen ? { streak: later(thawed.streak, blindMs) } : {}),
    ...(blindMs > 0 ? { settleUntilMs: nowMs + settleMs } : {}),
  };
}

/** Freezes a streak when maintenance begins; when it ends, moves it on by all the time that it lasted. */
function withMaintenance(state: Draft, context: EvaluationContext, present: boolean): Draft {
  const { nowMs, maintenance } = context;
  if (maintenance) {
    const frozenSinceMs = state.frozenSinceMs ?? (state.streak ? nowMs : undefined);
    return { ...state, frozenSinceMs };
  }
  if (state.frozenSinceMs === undefined) return state;
  const frozenMs = nowMs - state.frozenSinceMs;
  const streak = state.streak && later(state.streak, frozenMs);
  // What was frozen is settled here; for an absent check it must not count as blindness a second time.
  const seenMs = present ? nowMs : state.seenMs + frozenMs;
  return { ...state, streak, seenMs, frozenSinceMs: undefined };
}

function later(streak: Streak, byMs: number): Streak {
  return { sinceMs: streak.sinceMs, countedFromMs: streak.countedFromMs + byMs };
}

function bad(seen: Draft, graceUntilMs: number, context: EvaluationContext): Evaluation {
  const { nowMs, maintenance, policy } = context;
  if (maintenance && seen.streak === undefined) {
    return { state: undefined, verdict: { kind: 'waiting', reason: 'maintenance' } };
  }
  const streak = seen.streak ?? { sinceMs: nowMs, countedFromMs: nowMs };
  const state = settled({ ...seen, streak });
  // A grace that was lengthened since the streak began takes its part of the streak away again.
  const countedFromMs = Math.max(streak.countedFromMs, graceUntilMs);
  const ageMs = (state.frozenSinceMs ?? nowMs) - countedFromMs;
  const isOldEnough = ageMs >= policy.timeLimitMs;
  const { sinceMs } = streak;
  if (maintenance) {
    return isOldEnough
      ? { state, verdict: { kind: 'withheld', reason: 'maintenance', sinceMs } }
      : { state, verdict: { kind: 'waiting', reason: 'maintenance' } };
  }
  const settleUntilMs = Math.max(state.settleUntilMs ?? 0, context.settleUntilMs ?? 0);
  if (!isOldEnough) {
    const untilMs = Math.max(countedFromMs + policy.timeLimitMs, nowMs < settleUntilMs ? settleUntilMs : 0);
    return { state, verdict: { kind: 'waiting', reason: 'counting', untilMs } };
  }
  if (nowMs < settleUntilMs) {
    return { state, verdict: { kind: 'withheld', reason: 'not-observed', sinceMs, untilMs: settleUntilMs } };
  }
  return { state, verdict: { kind: 'due', sinceMs } };
}
