import { describe, expect, it } from 'vitest';
import { holdBrake, isHeld, placeHold, releaseService } from '../../lib/brakes/hold.ts';
import { type BrakeState, type Hold, NO_BRAKE_STATE } from '../../lib/brakes/state.ts';

describe('a hold', () => {
  it.each<[string, Hold | undefined, number, boolean]>([
    ['until released', { why: 'x' }, 1e15, true],
    ['before its end', { why: 'x', untilMs: 100 }, 99, true],
    ['at its end (over)', { why: 'x', untilMs: 100 }, 100, false],
    ['none', undefined, 0, false],
  ])('%s', (_, hold, nowMs, held) => {
    expect(isHeld(hold, nowMs)).toBe(held);
    expect(holdBrake('hold', hold, nowMs)?.reason).toBe(held ? 'held' : undefined);
    expect(holdBrake('hold', hold, nowMs)?.untilMs).toBe(held ? hold?.untilMs : undefined);
  });
});

describe('releaseService', () => {
  const budget = { windowStartMs: 5, used: 3 };

  it("lifts an operator's hold and leaves the budget", () => {
    const held = placeHold({ ...NO_BRAKE_STATE, budget }, { why: 'night', untilMs: 10 });
    expect(held.hold).toEqual({ why: 'night', untilMs: 10 });
    expect(releaseService(held)).toEqual({ ...NO_BRAKE_STATE, budget });
  });

  it('begins a new budget where the old one made the hold', () => {
    const held: BrakeState = { ...NO_BRAKE_STATE, budget, hold: { why: 'spent', byBudget: true } };
    expect(releaseService(held)).toEqual(NO_BRAKE_STATE);
  });

  it('lets an open breaker probe at once, and keeps its probe and what is in flight', () => {
    const probe = { id: 'a', atMs: 5 };
    const inFlight = [{ id: 'a', sinceMs: 5, places: 1 }];
    const breaker = { openedMs: 0, waitFromMs: 0, failedProbes: 1, probe };
    expect(releaseService({ inFlight, breaker })).toEqual({ inFlight, breaker: { ...breaker, ready: true } });
  });

  it('changes nothing where nothing is held', () => {
    const state: BrakeState = { ...NO_BRAKE_STATE, budget };
    expect(releaseService(state)).toBe(state);
  });
});
