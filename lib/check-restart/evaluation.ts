/**
 * Evaluation of one check: remembered state + observation + `now` in, new state + verdict out (DESIGN section 1).
 *
 * A streak's age is `now - countedFromMs`. Time that must not count (blindness beyond the gap, maintenance) moves
 * `countedFromMs` on, so that the state changes only when something happens and not with every pass.
 */
import { type CheckState, type Draft, settled } from './check-state.ts';
import { type Counting, sighted, unsighted } from './counted-time.ts';
import type { Reason } from './reason.ts';

export { asOfLastPass, type CheckState, type Streak, sameState } from './check-state.ts';

/** What one pass saw of a check. */
export interface Observation {
  /** As Consul says it; `undefined` = absent from an otherwise good answer. */
  readonly status: string | undefined;
  /** Critical, without output, of a type that an agent runs: it has not run since its registration or its agent's restart. */
  readonly unrun: boolean;
}

/** What the decision is made on, besides state and observation. */
export interface EvaluationContext extends Counting {
  readonly task: { readonly arn: string; readonly startedAtMs?: number };
  readonly policy: {
    readonly limit: number;
    readonly graceMs: number;
    readonly ignoreWarnings: boolean;
    /** `interval * (limit - 1)`. */
    readonly timeLimitMs: number;
  };
  /** The end of the settling of the whole deployment, after a gap in all observation. */
  readonly settleUntilMs?: number;
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
const AGENT_RUN = new Set(['http', 'tcp', 'udp', 'grpc', 'script', 'docker', 'alias', 'h2ping', 'os_service']);

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
  const quiet = withoutStreak(state, observation, nowMs);
  if (startedAtMs === undefined) return { state: quiet, verdict: { kind: 'waiting', reason: 'not-running' } };
  const graceUntilMs = startedAtMs + policy.graceMs;
  if (nowMs < graceUntilMs) {
    // A streak begun under a shorter grace is dropped: under the policy in force it could not have begun.
    return { state: quiet, verdict: { kind: 'waiting', reason: 'in-grace', untilMs: graceUntilMs } };
  }
  const seen = sighted(state ?? { taskArn: task.arn, seenMs: nowMs }, context);
  if (context.maintenance && seen.streak === undefined) {
    return { state: quiet, verdict: { kind: 'waiting', reason: 'maintenance' } };
  }
  return bad(
    { ...seen, startedAtMs, ...(observation.unrun ? {} : { unrunSinceMs: undefined }) },
    graceUntilMs,
    context,
  );
}

/** What stays of a bad check that has no streak: how long it has not run, or its patience would begin again and again. */
function withoutStreak(state: CheckState | undefined, observation: Observation, nowMs: number): CheckState | undefined {
  if (!observation.unrun || state?.unrunSinceMs === undefined) return undefined;
  return { taskArn: state.taskArn, seenMs: nowMs, unrunSinceMs: state.unrunSinceMs };
}

function absent(state: CheckState | undefined, context: EvaluationContext): Evaluation {
  const { nowMs } = context;
  if (state === undefined) return { state, verdict: { kind: 'absent', sinceMs: nowMs } };
  return {
    state: settled(unsighted(state, context)),
    verdict: { kind: 'absent', sinceMs: state.absentSinceMs ?? nowMs },
  };
}

function unrun(state: CheckState | undefined, context: EvaluationContext): Evaluation {
  const { nowMs, task } = context;
  const base = state ?? { taskArn: task.arn, seenMs: nowMs };
  const unrunSinceMs = base.unrunSinceMs ?? nowMs;
  return {
    state: settled({ ...unsighted(base, context), unrunSinceMs }),
    verdict: { kind: 'waiting', reason: 'not-observed', untilMs: unrunSinceMs + UNRUN_PATIENCE_MS },
  };
}

function bad(seen: Draft, graceUntilMs: number, context: EvaluationContext): Evaluation {
  const { nowMs, maintenance, policy } = context;
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
    const untilMs = Math.max(countedFromMs + policy.timeLimitMs, settleUntilMs);
    return { state, verdict: { kind: 'waiting', reason: 'counting', untilMs } };
  }
  if (nowMs < settleUntilMs) {
    return { state, verdict: { kind: 'withheld', reason: 'not-observed', sinceMs, untilMs: settleUntilMs } };
  }
  return { state, verdict: { kind: 'due', sinceMs } };
}
