/**
 * What the brakes remember. Both shapes are plain JSON without `undefined` and are stored on change only: every function
 * of this folder returns the very same object where nothing changed, so `!==` says whether there is something to write.
 * Instants are epoch milliseconds.
 */

/** An operator's stop, or that of a spent budget in `fail` mode. */
export interface Hold {
  /** From this instant on it is over; absent = until released. */
  readonly untilMs?: number;
  readonly why: string;
  /** Set by a spent budget: its release begins a new budget. */
  readonly byBudget?: true;
}

/** A window of the restart budget. One that has ended stays stored until the next restart and counts as none. */
export interface BudgetWindow {
  readonly windowStartMs: number;
  readonly used: number;
  /** The event of this window's spent budget was published. */
  readonly eventSent?: true;
}

/** A service breaker that is open, or half-open when its wait is over. Closed = there is none. */
export interface BreakerState {
  readonly openedMs: number;
  /** The wait runs from here: the opening, or the last failed probe. */
  readonly waitFromMs: number;
  /** Failed probes in a row; each doubles the wait. */
  readonly failedProbes: number;
  /** The last probe passed or an operator released it: the next probe need not wait. */
  readonly ready?: true;
  /** The one restart of half-open whose replacement is not judged yet. */
  readonly probe?: { readonly id: string; readonly atMs: number };
  /** The event of the opening was published. */
  readonly announced?: true;
}

/** One restart from its claim until its replacement runs and is out of grace. */
export interface InFlightRestart {
  /** The candidate's ID. */
  readonly id: string;
  readonly sinceMs: number;
  /** Places it takes, and restarts it costs: 1, or the number of instances of a forced deployment. */
  readonly places: number;
  /** Which budget window paid; absent where the budget was off. For the refund. */
  readonly windowStartMs?: number;
  /** `lastRestartMs` before. For the refund. */
  readonly previousRestartMs?: number;
  /** It is overdue and that was published. */
  readonly reported?: true;
}

/** Brakes' part of an ECS service's versioned item. */
export interface BrakeState {
  readonly budget?: BudgetWindow;
  readonly lastRestartMs?: number;
  readonly hold?: Hold;
  readonly breaker?: BreakerState;
  /** In the order of their claims. */
  readonly inFlight: readonly InFlightRestart[];
  /** Since when all instances run and no claim is open; kept only while something is in flight. */
  readonly fullSinceMs?: number;
}

/** Brakes' part of the control item. */
export interface EstateState {
  /** Since when the estate breaker is open. */
  readonly openSinceMs?: number;
  /** Holds every service. */
  readonly hold?: Hold;
}

/** A service that was never restarted. */
export const NO_BRAKE_STATE: BrakeState = { inFlight: [] };
