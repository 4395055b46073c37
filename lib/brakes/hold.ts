/** Holds: an operator's stop, per service or for all, with or without an end. */
import { type BrakeName, type Withholding, withholding } from './facts.ts';
import type { BrakeState, Hold } from './state.ts';

/** Whether a hold is in force; at `untilMs` it is over. */
export function isHeld(hold: Hold | undefined, nowMs: number): boolean {
  return hold !== undefined && (hold.untilMs === undefined || nowMs < hold.untilMs);
}

/** Applies while the hold is in force. */
export function holdBrake(
  brake: Extract<BrakeName, 'hold' | 'hold-all'>,
  hold: Hold | undefined,
  nowMs: number,
): Withholding | undefined {
  return isHeld(hold, nowMs) ? withholding(brake, 'held', hold?.untilMs) : undefined;
}

/** An operator's hold on a service; replaces one that is there. */
export function placeHold(state: BrakeState, hold: { readonly untilMs?: number; readonly why: string }): BrakeState {
  return { ...state, hold };
}

/**
 * An operator's word to go on: lifts the hold, begins a new budget where the old one made the hold (it would hold again
 * at once), and lets an open breaker probe without further wait. A probe under way and restarts in flight stay: they
 * are facts, not decisions.
 */
export function releaseService(state: BrakeState): BrakeState {
  const { hold, budget, breaker, ...rest } = state;
  if (hold === undefined && (breaker === undefined || breaker.ready)) return state;
  return {
    ...rest,
    ...(budget !== undefined && !hold?.byBudget && { budget }),
    ...(breaker !== undefined && { breaker: { ...breaker, ready: true as const } }),
  };
}
