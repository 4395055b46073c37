/**
 * Which time counts for a streak (DESIGN section 1): from one sighting of a check to its next at most the gap, and
 * nothing of a maintenance. What does not count moves `countedFromMs` on.
 *
 * A maintenance begins and ends for us when an observation says so; one that ended while nothing could be observed
 * lasts until the next observation. Blindness *before* a freeze is still blindness: it is credited when the check is
 * sighted again, be that during the maintenance or after it.
 */
import type { CheckState, Draft, Streak } from './check-state.ts';

/** What counting needs to know of the pass. */
export interface Counting {
  readonly nowMs: number;
  /** Most that a streak ages from one sighting to the next; `null` = all of it, as in Nomad. */
  readonly maxObservationGapMs: number | null;
  /** How long nothing is restarted after a longer gap. */
  readonly settleMs: number;
  /** A maintenance check of the instance or its node is on. */
  readonly maintenance: boolean;
}

/** The check is in the answer: settles the time since its last sighting. */
export function sighted(state: Draft, counting: Counting): Draft {
  const { nowMs, maxObservationGapMs, settleMs } = counting;
  const maxGapMs = maxObservationGapMs ?? Number.POSITIVE_INFINITY;
  const unfrozenMs = Math.max(0, (state.frozenSinceMs ?? nowMs) - state.seenMs);
  const blindMs = Math.max(0, unfrozenMs - maxGapMs);
  const streak = state.streak && later(state.streak, blindMs);
  // `seenMs` of an absent check moves on with a maintenance that ends; for settling, its absence is what tells.
  const gapMs = nowMs - Math.min(state.seenMs, state.absentSinceMs ?? state.seenMs);
  return {
    ...withMaintenance({ ...state, streak }, counting),
    seenMs: nowMs,
    absentSinceMs: undefined,
    ...(gapMs > maxGapMs ? { settleUntilMs: Math.max(state.settleUntilMs ?? 0, nowMs + settleMs) } : {}),
  };
}

/** The check is not in the answer, or says nothing: only a maintenance that begins or ends changes what counts. */
export function unsighted(state: CheckState, counting: Counting): Draft {
  return withMaintenance({ ...state, absentSinceMs: state.absentSinceMs ?? counting.nowMs }, counting);
}

/** Freezes a streak when maintenance begins; when it ends, moves it on by all the time that it lasted. */
function withMaintenance(state: Draft, { nowMs, maintenance }: Counting): Draft {
  const { frozenSinceMs, streak } = state;
  if (maintenance) return { ...state, frozenSinceMs: frozenSinceMs ?? (streak ? nowMs : undefined) };
  if (frozenSinceMs === undefined) return state;
  const frozenMs = nowMs - frozenSinceMs;
  return {
    ...state,
    streak: streak && later(streak, frozenMs),
    // What was frozen is settled here; for an absent check it must not count as blindness a second time.
    seenMs: Math.min(nowMs, state.seenMs + frozenMs),
    frozenSinceMs: undefined,
  };
}

function later(streak: Streak, byMs: number): Streak {
  return { sinceMs: streak.sinceMs, countedFromMs: streak.countedFromMs + byMs };
}
