import { describe, expect, it } from 'vitest';
import type { ServiceFacts } from '../../lib/brakes/facts.ts';
import { inFlightBrake, inFlightCap, OVERDUE_MS, observeInFlight } from '../../lib/brakes/in-flight.ts';
import { type InFlightLimit, NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import type { BrakeState } from '../../lib/brakes/state.ts';
import { service, sick } from './make.ts';

const GRACE_MS = 10_000;

function inFlight(sinceMs: readonly number[], given: Partial<BrakeState> = {}): BrakeState {
  return { inFlight: sinceMs.map((since) => ({ id: `t${since}`, sinceMs: since, places: 1 })), ...given };
}

describe('inFlightCap', () => {
  it.each<[string, InFlightLimit, number, number]>([
    ['10 % of 4 is less than one: 1', { share: 0.1 }, 4, 1],
    ['10 % of 19 rounded down', { share: 0.1 }, 19, 1],
    ['10 % of 20', { share: 0.1 }, 20, 2],
    ['29 % of 100 in spite of binary fractions', { share: 0.29 }, 100, 29],
    ['10 % of 0', { share: 0.1 }, 0, 1],
    ['a count', { count: 3 }, 1, 3],
    ['a count of 0 is 1', { count: 0 }, 10, 1],
  ])('%s', (_, limit, instances, cap) => {
    expect(inFlightCap(limit, instances)).toBe(cap);
  });
});

describe('observeInFlight', () => {
  it('notes since when all instances run, once', () => {
    const first = observeInFlight(service({ state: inFlight([0]), runningCount: 10 }), 15_000).state;
    expect(first.fullSinceMs).toBe(15_000);
    expect(observeInFlight(service({ state: first }), 16_000).state).toBe(first);
  });

  it.each([
    [24_999, 1],
    [25_000, 0],
  ])('frees the slot when full has held for grace (inclusive): at %i ms %i in flight', (nowMs, left) => {
    const state = inFlight([10_000], { fullSinceMs: 15_000 });
    expect(observeInFlight(service({ state, graceMs: GRACE_MS }), nowMs).state.inFlight).toHaveLength(left);
  });

  it('counts grace from the restart where the service was full before it', () => {
    const state = inFlight([20_000], { fullSinceMs: 5_000 });
    expect(observeInFlight(service({ state }), 29_999).state.inFlight).toHaveLength(1);
    expect(observeInFlight(service({ state }), 30_000).state.inFlight).toHaveLength(0);
  });

  it.each<[string, Partial<ServiceFacts>]>([
    ['an instance is missing', { runningCount: 9 }],
    ['a claim is open, since its task may still count as running', { openClaims: ['t10000'] }],
  ])('starts over when %s', (_, given) => {
    const state = inFlight([10_000], { fullSinceMs: 15_000 });
    const next = observeInFlight(service({ state, ...given }), 60_000).state;
    expect(next).toEqual(inFlight([10_000]));
  });

  it('forgets `fullSinceMs` with the last slot, and an idle service is left alone', () => {
    const state = inFlight([10_000], { fullSinceMs: 15_000 });
    const freed = observeInFlight(service({ state }), 25_000).state;
    expect(freed).toEqual({ inFlight: [] });
    expect(observeInFlight(service({ state: freed }), 26_000).state).toBe(freed);
  });

  it.each<[string, number | undefined, boolean, number]>([
    ['in grace, started since: in flight', 12_000, true, 1],
    ['in grace at the very instant of the restart: in flight', 10_000, true, 1],
    ['in grace, start unknown: in flight', undefined, true, 1],
    ['in grace, started before the restart: not ours', 9_999, true, 0],
    ['out of grace: not in flight', 12_000, false, 0],
  ])('an unhealthy instance %s', (_, startedAtMs, inGrace, left) => {
    const unhealthy = [{ id: 'new', inGrace, ...(startedAtMs !== undefined && { startedAtMs }) }];
    const state = inFlight([10_000], { fullSinceMs: 11_000 });
    expect(observeInFlight(service({ state, unhealthy }), 21_000).state.inFlight).toHaveLength(left);
  });

  it('keeps the younger of two slots for one replacement in grace', () => {
    const state = inFlight([10_000, 12_000], { fullSinceMs: 13_000 });
    const unhealthy = sick(1, { startedAtMs: 20_000, inGrace: true });
    expect(observeInFlight(service({ state, unhealthy }), 25_000).state.inFlight.map(({ id }) => id)).toEqual([
      't12000',
    ]);
  });

  it('C28: reports a replacement that never runs, once, and keeps its slot', () => {
    const given = { state: inFlight([0]), runningCount: 9, graceMs: GRACE_MS };
    expect(observeInFlight(service(given), GRACE_MS + OVERDUE_MS - 1).events).toEqual([]);
    const late = observeInFlight(service(given), GRACE_MS + OVERDUE_MS);
    expect(late.events).toEqual([{ type: 'replacement-overdue', service: 'prod/service/web', id: 't0', sinceMs: 0 }]);
    const later = observeInFlight(service({ ...given, state: late.state }), 10 * OVERDUE_MS);
    expect(later.events).toEqual([]);
    expect(later.state).toBe(late.state);
    expect(later.state.inFlight).toHaveLength(1);
  });

  it('tracks no more restarts than there are instances', () => {
    const state = inFlight([0, 1, 2, 3]);
    const next = observeInFlight(service({ state, instances: 2, runningCount: 1 }), 10).state;
    expect(next.inFlight.map(({ sinceMs }) => sinceMs)).toEqual([2, 3]);
  });
});

describe('inFlightBrake', () => {
  const stop = { forced: false, alone: false };
  const withCap = (limit: InFlightLimit | null, state: BrakeState) =>
    service({ brakes: { ...NO_SERVICE_BRAKES, inFlight: limit }, state });

  it.each<[string, InFlightLimit | null, readonly number[], boolean]>([
    ['a place left', { count: 2 }, [0], false],
    ['no place left', { count: 2 }, [0, 1], true],
    ['more in flight than a lowered cap', { count: 1 }, [0, 1, 2], true],
    ['switched off', null, [0, 1, 2], false],
  ])('%s', (_, limit, since, applies) => {
    const facts = withCap(limit, inFlight(since));
    expect(inFlightBrake(facts, facts.state, stop, 20_000) !== undefined).toBe(applies);
  });

  it('a forced deployment needs the service to itself, and then takes all places', () => {
    const busy = withCap({ count: 5 }, inFlight([0]));
    expect(inFlightBrake(busy, busy.state, { forced: true, alone: false }, 1)?.reason).toBe('concurrency-cap');
    const deploying = withCap({ count: 5 }, { inFlight: [{ id: 'd', sinceMs: 0, places: 10 }] });
    expect(inFlightBrake(deploying, deploying.state, stop, 1)?.reason).toBe('concurrency-cap');
    const idle = withCap({ count: 1 }, inFlight([]));
    expect(inFlightBrake(idle, idle.state, { forced: true, alone: false }, 1)).toBeUndefined();
  });

  it('its end is unknown while a restart of this very pass is in flight: it will be missing first', () => {
    const facts = withCap({ count: 1 }, inFlight([20_000], { fullSinceMs: 15_000 }));
    expect(inFlightBrake(facts, facts.state, stop, 20_000)).toEqual({ brake: 'in-flight', reason: 'concurrency-cap' });
  });

  it.each<[string, Partial<BrakeState>, number | undefined]>([
    ['unknown while an instance is missing', {}, undefined],
    ['known once all run', { fullSinceMs: 15_000 }, 25_000],
    ['unknown when overdue: a replacement is in grace', { fullSinceMs: 5_000 }, undefined],
  ])('its end is %s', (_, given, untilMs) => {
    const facts = withCap({ count: 1 }, inFlight([4_000], given));
    expect(inFlightBrake(facts, facts.state, stop, 20_000)?.untilMs).toBe(untilMs);
  });
});
