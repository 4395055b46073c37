/**
 * What a restart costs, and how it is given back. A charge is written in the same conditional write as the claim, so
 * that a function killed in between has either both or neither; a refused call gives everything back.
 */
import { runningWindow } from './budget.ts';
import type { ServiceBrakes } from './settings.ts';
import type { BrakeState, BudgetWindow, InFlightRestart } from './state.ts';

/**
 * Charges budget, delay and slot, and makes the restart the probe of a breaker that is half-open. The state is one of
 * which `applyBrakes` said that the restart is allowed; `cost` is `costOf`.
 */
export function charge(
  state: BrakeState,
  restart: { readonly id: string; readonly cost: number },
  nowMs: number,
  brakes: ServiceBrakes,
): BrakeState {
  const { id, cost } = restart;
  const paying = chargedWindow(state, cost, nowMs, brakes);
  const entry: InFlightRestart = {
    id,
    sinceMs: nowMs,
    places: cost,
    ...(paying !== undefined && { windowStartMs: paying.windowStartMs }),
    ...(state.lastRestartMs !== undefined && { previousRestartMs: state.lastRestartMs }),
  };
  return {
    ...state,
    ...(paying !== undefined && { budget: paying }),
    lastRestartMs: nowMs,
    ...(state.breaker !== undefined && {
      breaker: { ...state.breaker, ...(state.breaker.probe === undefined && { probe: { id, atMs: nowMs } }) },
    }),
    inFlight: [...state.inFlight, entry],
  };
}

/**
 * The state as if the restart had not been charged, whatever was charged since. Unknown IDs change nothing. What is not
 * brought back is a budget window that had ended before the charge: it counted as none.
 */
export function refund(state: BrakeState, id: string): BrakeState {
  const index = state.inFlight.findLastIndex((restart) => restart.id === id);
  const entry = state.inFlight[index];
  if (entry === undefined) return state;
  const { budget, lastRestartMs, breaker, inFlight: _, ...rest } = state;
  const left = state.inFlight.toSpliced(index, 1);
  const refunded = refundedWindow(budget, entry);
  const last = left.some((other) => other.sinceMs === entry.sinceMs) || lastRestartMs !== entry.sinceMs;
  const previousMs = last ? lastRestartMs : entry.previousRestartMs;
  return {
    ...rest,
    ...(refunded !== undefined && { budget: refunded }),
    ...(previousMs !== undefined && { lastRestartMs: previousMs }),
    ...(breaker !== undefined && { breaker: withoutProbe(breaker, entry) }),
    inFlight: left.map((other, position) => (position < index ? other : relinked(other, entry))),
  };
}

function chargedWindow(
  state: BrakeState,
  cost: number,
  nowMs: number,
  brakes: ServiceBrakes,
): BudgetWindow | undefined {
  if (brakes.restart === null) return undefined;
  const window = runningWindow(state, brakes.restart, nowMs) ?? { windowStartMs: nowMs, used: 0 };
  return { ...window, used: window.used + cost };
}

/** A window that nothing was paid from any longer has not begun, unless its event is out. */
function refundedWindow(budget: BudgetWindow | undefined, entry: InFlightRestart): BudgetWindow | undefined {
  if (budget === undefined || budget.windowStartMs !== entry.windowStartMs) return budget;
  const used = Math.max(0, budget.used - entry.places);
  return used === 0 && !budget.eventSent ? undefined : { ...budget, used };
}

function withoutProbe(
  breaker: NonNullable<BrakeState['breaker']>,
  entry: InFlightRestart,
): NonNullable<BrakeState['breaker']> {
  const { probe, ...rest } = breaker;
  return probe !== undefined && probe.id === entry.id && probe.atMs === entry.sinceMs ? rest : breaker;
}

/** A later restart that named the refunded one as its predecessor names that one's predecessor. */
function relinked(other: InFlightRestart, gone: InFlightRestart): InFlightRestart {
  const { previousRestartMs, ...rest } = other;
  if (previousRestartMs !== gone.sinceMs) return other;
  return gone.previousRestartMs === undefined ? rest : { ...rest, previousRestartMs: gone.previousRestartMs };
}
