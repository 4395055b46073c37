import { describe, expect, it } from 'vitest';
import { budgetBrake, budgetSpent, delayBrake } from '../../lib/brakes/budget.ts';
import type { RestartBudget } from '../../lib/brakes/settings.ts';
import { type BrakeState, NO_BRAKE_STATE } from '../../lib/brakes/state.ts';

const BUDGET: RestartBudget = { attempts: 2, intervalMs: 600_000, delayMs: 15_000, mode: 'delay' };
const START_MS = 1_000_000;

function spent(used: number, given: Partial<BrakeState> = {}): BrakeState {
  return { ...NO_BRAKE_STATE, budget: { windowStartMs: START_MS, used }, ...given };
}

describe('budgetBrake', () => {
  it.each([
    // used, instances, cost, after the window's start, held until (undefined: allowed, null: no end known)
    ['nothing used', 0, 1, 1, 0, undefined],
    ['the last one of the budget', 1, 1, 1, 599_999, undefined],
    ['one more than the budget', 2, 1, 1, 1, START_MS + 600_000],
    ['one millisecond before the window ends', 2, 1, 1, 599_999, START_MS + 600_000],
    ['at the window end: the next window (inclusive)', 2, 1, 1, 600_000, undefined],
    ['attempts × instances, the last one', 5, 3, 1, 1, undefined],
    ['attempts × instances, one more', 6, 3, 1, 1, START_MS + 600_000],
    ['a service scaled to 0 counts as one instance', 1, 0, 1, 1, undefined],
    ['a forced deployment that just fits', 3, 3, 3, 1, undefined],
    ['a forced deployment that does not fit', 4, 3, 3, 1, START_MS + 600_000],
  ])('%s', (_, used, instances, cost, afterMs, untilMs) => {
    const brake = budgetBrake(spent(used), BUDGET, instances, cost, START_MS + afterMs);
    expect(brake?.untilMs).toBe(untilMs);
    expect(brake?.reason).toBe(untilMs === undefined ? undefined : 'budget-spent');
  });

  it('has no end in fail mode', () => {
    expect(budgetBrake(spent(2), { ...BUDGET, mode: 'fail' }, 1, 1, START_MS + 1)).toEqual({
      brake: 'restart-budget',
      reason: 'budget-spent',
    });
  });

  it('with 0 attempts never allows and has no end', () => {
    expect(budgetBrake(NO_BRAKE_STATE, { ...BUDGET, attempts: 0 }, 4, 1, START_MS)).toEqual({
      brake: 'restart-budget',
      reason: 'budget-spent',
    });
  });

  it('switched off never applies', () => {
    expect(budgetBrake(spent(99), null, 1, 1, START_MS)).toBeUndefined();
  });
});

describe('delayBrake', () => {
  it.each([
    [0, START_MS + 15_000],
    [14_999, START_MS + 15_000],
    [15_000, undefined],
  ])('%i ms after the last restart', (afterMs, untilMs) => {
    const state = { ...NO_BRAKE_STATE, lastRestartMs: START_MS };
    expect(delayBrake(state, BUDGET, START_MS + afterMs)?.untilMs).toBe(untilMs);
  });

  it('never applies with a delay of 0, without a restart before, or switched off', () => {
    const state = { ...NO_BRAKE_STATE, lastRestartMs: START_MS };
    expect(delayBrake(state, { ...BUDGET, delayMs: 0 }, START_MS)).toBeUndefined();
    expect(delayBrake(NO_BRAKE_STATE, BUDGET, START_MS)).toBeUndefined();
    expect(delayBrake(state, null, START_MS)).toBeUndefined();
  });
});

describe('budgetSpent', () => {
  const web = { key: 'web', instances: 1 };

  it('publishes once a window, and again in the next', () => {
    const first = budgetSpent(spent(2), BUDGET, web, START_MS + 10);
    expect(first.events).toEqual([
      { type: 'budget-spent', service: 'web', mode: 'delay', used: 2, limit: 2, untilMs: START_MS + 600_000 },
    ]);
    const second = budgetSpent(first.state, BUDGET, web, START_MS + 599_999);
    expect(second).toEqual({ state: first.state, events: [] });
    expect(second.state).toBe(first.state);
    expect(budgetSpent(first.state, BUDGET, web, START_MS + 600_000).events).toHaveLength(1);
  });

  it('holds the service until released in fail mode only', () => {
    expect(budgetSpent(spent(2), BUDGET, web, START_MS + 10).state.hold).toBeUndefined();
    expect(budgetSpent(spent(2), { ...BUDGET, mode: 'fail' }, web, START_MS + 10).state.hold).toEqual({
      why: 'restart budget spent',
      byBudget: true,
    });
  });

  it("leaves an operator's hold as it is, but replaces one that is over", () => {
    const fail: RestartBudget = { ...BUDGET, mode: 'fail' };
    const hold = { untilMs: START_MS + 50, why: 'release night' };
    expect(budgetSpent(spent(2, { hold }), fail, web, START_MS + 49).state.hold).toBe(hold);
    expect(budgetSpent(spent(2, { hold }), fail, web, START_MS + 50).state.hold?.byBudget).toBe(true);
  });
});
