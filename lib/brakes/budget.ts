/**
 * Restart budget and delay, Nomad's `restart` stanza (DESIGN section 2). Boundaries: the window is
 * [first restart, first restart + interval), so a restart at its end belongs to the next one; two restarts of a service
 * exactly `delay` apart are allowed.
 */
import { type BrakeEvent, type Observed, type Withholding, withholding } from './facts.ts';
import { isHeld } from './hold.ts';
import type { RestartBudget } from './settings.ts';
import type { BrakeState, BudgetWindow } from './state.ts';

/** The window that is running, if one is. */
export function runningWindow(state: BrakeState, budget: RestartBudget, nowMs: number): BudgetWindow | undefined {
  const { budget: window } = state;
  return window !== undefined && nowMs < window.windowStartMs + budget.intervalMs ? window : undefined;
}

/** Restarts that one window has. A service without instances counts as one. */
export function budgetLimit(budget: RestartBudget, instances: number): number {
  return budget.attempts * Math.max(1, instances);
}

/** Applies when the window cannot pay `cost` restarts. In `fail` mode, and where no window ever could, without an end. */
export function budgetBrake(
  state: BrakeState,
  budget: RestartBudget | null,
  instances: number,
  cost: number,
  nowMs: number,
): Withholding | undefined {
  if (budget === null) return undefined;
  const window = runningWindow(state, budget, nowMs);
  const limit = budgetLimit(budget, instances);
  if ((window?.used ?? 0) + cost <= limit) return undefined;
  const ends = window !== undefined && budget.mode === 'delay' && cost <= limit;
  return withholding('restart-budget', 'budget-spent', ends ? window.windowStartMs + budget.intervalMs : undefined);
}

/** Applies until `delay` after the service's last restart. */
export function delayBrake(state: BrakeState, budget: RestartBudget | null, nowMs: number): Withholding | undefined {
  if (budget === null || state.lastRestartMs === undefined) return undefined;
  const endMs = state.lastRestartMs + budget.delayMs;
  return nowMs < endMs ? withholding('restart-delay', 'restart-delay', endMs) : undefined;
}

/**
 * What follows from a due restart that the budget refused: an event once a window, and in `fail` mode a hold. A hold
 * that is there already stays: an operator's expiry must not be lengthened by us.
 */
export function budgetSpent(
  state: BrakeState,
  budget: RestartBudget,
  service: { readonly key: string; readonly instances: number },
  nowMs: number,
): Observed {
  const window = runningWindow(state, budget, nowMs) ?? { windowStartMs: nowMs, used: 0 };
  let next = state;
  const events: BrakeEvent[] = [];
  if (!window.eventSent) {
    next = { ...next, budget: { ...window, eventSent: true } };
    events.push({
      type: 'budget-spent',
      service: service.key,
      mode: budget.mode,
      used: window.used,
      limit: budgetLimit(budget, service.instances),
      ...(budget.mode === 'delay' && { untilMs: window.windowStartMs + budget.intervalMs }),
    });
  }
  if (budget.mode === 'fail' && !isHeld(state.hold, nowMs)) {
    next = { ...next, hold: { why: 'restart budget spent', byBudget: true } };
  }
  return { state: next, events };
}
