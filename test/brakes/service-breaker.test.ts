import { describe, expect, it } from 'vitest';
import { announceBreaker, breakerBrake, observeBreaker, probeAtMs } from '../../lib/brakes/service-breaker.ts';
import type { ServiceBreaker } from '../../lib/brakes/settings.ts';
import { type BrakeState, type BreakerState, NO_BRAKE_STATE } from '../../lib/brakes/state.ts';
import { HOUR_MS, MINUTE_MS, service, sick } from './make.ts';

const SETTINGS: ServiceBreaker = { share: 0.5, minInstances: 4, retryMs: 10 * MINUTE_MS };
const OPEN: BreakerState = { openedMs: 0, waitFromMs: 0, failedProbes: 0 };
const withBreaker = (breaker: BreakerState, given: Partial<BrakeState> = {}): BrakeState => ({
  ...NO_BRAKE_STATE,
  breaker,
  ...given,
});

describe('opening', () => {
  it.each([
    ['exactly half', 4, 2, 0.5, true, false],
    ['more than half', 4, 3, 0.5, true, true],
    ['too few instances', 3, 3, 0.5, true, false],
    ['nothing due', 4, 3, 0.5, false, false],
    ['exactly 29 of 100, in spite of binary fractions', 100, 29, 0.29, true, false],
    ['one more', 100, 30, 0.29, true, true],
    ['share 0: the first', 4, 1, 0, true, true],
    ['share 1: never', 4, 4, 1, true, false],
  ])('%s', (_, instances, bad, share, due, opens) => {
    const facts = service({ instances, unhealthy: sick(bad) });
    const { state } = observeBreaker(facts, NO_BRAKE_STATE, { ...SETTINGS, share }, due, 7);
    expect(state.breaker).toEqual(opens ? { openedMs: 7, waitFromMs: 7, failedProbes: 0 } : undefined);
  });

  it('does not count instances in grace, nor one twice', () => {
    const unhealthy = [...sick(2), ...sick(2), { id: 'new', startedAtMs: 5, inGrace: true }];
    expect(observeBreaker(service({ instances: 4, unhealthy }), NO_BRAKE_STATE, SETTINGS, true, 7).state).toBe(
      NO_BRAKE_STATE,
    );
  });

  it('is published once', () => {
    const facts = service({ instances: 4, unhealthy: sick(3) });
    const { state, events } = announceBreaker(facts, withBreaker(OPEN), SETTINGS);
    expect(events).toEqual([
      { type: 'breaker-opened', service: 'prod/service/web', unhealthy: 3, instances: 4, retryAtMs: 10 * MINUTE_MS },
    ]);
    expect(announceBreaker(facts, state, SETTINGS)).toEqual({ state, events: [] });
  });
});

describe('closing', () => {
  it.each([
    ['at the limit', 2, OPEN, false],
    ['above it', 3, OPEN, true],
    ['at the limit while a probe is out', 2, { ...OPEN, probe: { id: 'task-0', atMs: 5 } }, true],
  ])('%s', (_, bad, breaker, stays) => {
    const facts = service({ instances: 4, unhealthy: sick(bad) });
    const inFlight = [{ id: 'task-0', sinceMs: 5, places: 1 }];
    const { state } = observeBreaker(facts, withBreaker(breaker, { inFlight }), SETTINGS, true, 10);
    expect(state.breaker !== undefined).toBe(stays);
  });

  it('happens when the brake is switched off or the service became too small, and is published if the opening was', () => {
    const facts = service({ instances: 3, unhealthy: sick(3) });
    for (const settings of [null, SETTINGS]) {
      const told = observeBreaker(facts, withBreaker({ ...OPEN, announced: true }), settings, true, 10);
      expect(told).toEqual({ state: NO_BRAKE_STATE, events: [{ type: 'breaker-closed', service: facts.key }] });
      expect(observeBreaker(facts, withBreaker(OPEN), settings, true, 10).events).toEqual([]);
    }
  });
});

describe('the wait', () => {
  it.each([
    [10 * MINUTE_MS, 0, 10 * MINUTE_MS],
    [10 * MINUTE_MS, 1, 20 * MINUTE_MS],
    [10 * MINUTE_MS, 3, 80 * MINUTE_MS],
    [10 * MINUTE_MS, 4, 2 * HOUR_MS],
    [10 * MINUTE_MS, 2000, 2 * HOUR_MS],
    [3 * HOUR_MS, 0, 3 * HOUR_MS],
    [3 * HOUR_MS, 5, 3 * HOUR_MS],
  ])('retry %i after %i failed probes', (retryMs, failedProbes, waitMs) => {
    expect(probeAtMs({ ...OPEN, waitFromMs: 1000, failedProbes }, { ...SETTINGS, retryMs })).toBe(1000 + waitMs);
  });

  it.each([
    ['before the retry', OPEN, 10 * MINUTE_MS - 1, { untilMs: 10 * MINUTE_MS }],
    ['at the retry (inclusive)', OPEN, 10 * MINUTE_MS, undefined],
    ['after a good probe', { ...OPEN, ready: true as const }, 1, undefined],
    ['while a probe is out', { ...OPEN, ready: true as const, probe: { id: 'x', atMs: 0 } }, HOUR_MS, {}],
  ])('%s', (_, breaker, nowMs, applies) => {
    const expected = applies && { brake: 'service-breaker', reason: 'breaker-open', ...applies };
    expect(breakerBrake(withBreaker(breaker), SETTINGS, nowMs)).toEqual(expected);
  });

  it('retry null waits until released', () => {
    const settings = { ...SETTINGS, retryMs: null };
    expect(breakerBrake(withBreaker(OPEN), settings, 1e12)).toEqual({
      brake: 'service-breaker',
      reason: 'breaker-open',
    });
    expect(breakerBrake(withBreaker({ ...OPEN, ready: true }), settings, 1)).toBeUndefined();
  });
});

describe('the probe', () => {
  const atMs = 10 * MINUTE_MS;
  const probing: BreakerState = {
    ...OPEN,
    failedProbes: 1,
    ready: true,
    announced: true,
    probe: { id: 'task-0', atMs },
  };
  const flying = withBreaker(probing, { inFlight: [{ id: 'task-0', sinceMs: atMs, places: 1 }] });
  const landed = withBreaker(probing);
  const replaced = (inGrace: boolean, startedAtMs: number) => [...sick(3), { id: 'new', startedAtMs, inGrace }];

  it('is not judged while its slot is taken', () => {
    const facts = service({ instances: 4, unhealthy: replaced(true, atMs + 5) });
    expect(observeBreaker(facts, flying, SETTINGS, true, atMs + 9).state).toBe(flying);
  });

  it('passes when its slot is free and nothing that started since is unhealthy: the next may go at once', () => {
    const facts = service({ instances: 4, unhealthy: sick(3) });
    const { state, events } = observeBreaker(facts, landed, SETTINGS, true, atMs + 20);
    expect(state.breaker).toEqual({ openedMs: 0, waitFromMs: 0, failedProbes: 0, ready: true, announced: true });
    expect(events).toEqual([]);
    expect(breakerBrake(state, SETTINGS, atMs + 20)).toBeUndefined();
  });

  it.each([
    ['its slot is free', landed],
    ['its slot is taken', flying],
  ])('fails when an instance that started since is unhealthy, where %s: the wait doubles', (_, before) => {
    const facts = service({ instances: 4, unhealthy: replaced(false, atMs) });
    const nowMs = atMs + 20;
    const { state, events } = observeBreaker(facts, before, SETTINGS, true, nowMs);
    expect(state.breaker).toEqual({ openedMs: 0, waitFromMs: nowMs, failedProbes: 2, announced: true });
    expect(events).toEqual([
      { type: 'breaker-probe-failed', service: facts.key, failedProbes: 2, retryAtMs: nowMs + 40 * MINUTE_MS },
    ]);
  });

  it('is told from an older restart of the same ID whose slot is still taken', () => {
    const facts = service({ instances: 4, unhealthy: sick(3) });
    const older = withBreaker(probing, { inFlight: [{ id: 'task-0', sinceMs: atMs - 1, places: 4 }] });
    expect(observeBreaker(facts, older, SETTINGS, true, atMs + 20).state.breaker?.ready).toBe(true);
    expect(observeBreaker(facts, older, SETTINGS, true, atMs + 20).state.breaker?.probe).toBeUndefined();
  });

  it('is not failed by instances older than it', () => {
    const facts = service({ instances: 4, unhealthy: replaced(false, atMs - 1) });
    expect(observeBreaker(facts, landed, SETTINGS, true, atMs + 20).state.breaker?.failedProbes).toBe(0);
  });
});
