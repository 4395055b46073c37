import { describe, expect, it } from 'vitest';
import { needsConsidered, observeEstate, servicesDown } from '../../lib/brakes/estate-breaker.ts';
import { DEFAULT_ESTATE_BRAKES, mergeEstateBrakes } from '../../lib/brakes/settings.ts';
import { service, sick } from './make.ts';

const brakes = DEFAULT_ESTATE_BRAKES;
const down = (count: number, bad = 1, instances = 1) =>
  Array.from({ length: count }, (_, index) => service({ key: `s${index}`, instances, unhealthy: sick(bad) }));

describe('servicesDown', () => {
  it.each([
    ['one of one', 1, 1, 1],
    ['one of two: exactly the share', 2, 1, 0],
    ['two of three, below minInstances of the service breaker', 3, 2, 1],
    ['one of a service scaled to 0', 0, 1, 1],
    ['none', 4, 0, 0],
  ])('%s', (_, instances, bad, count) => {
    expect(servicesDown(down(1, bad, instances), brakes)).toHaveLength(count);
  });

  it("takes the service breaker's share, and half where that is off", () => {
    const third = mergeEstateBrakes(brakes, { serviceBreaker: { share: 0.3 } });
    expect(servicesDown(down(1, 4, 10), third)).toEqual(['s0']);
    expect(servicesDown(down(1, 4, 10), { ...brakes, serviceBreaker: null })).toEqual([]);
    expect(servicesDown(down(1, 6, 10), { ...brakes, serviceBreaker: null })).toEqual(['s0']);
  });
});

describe('observeEstate', () => {
  it.each([
    ['too few down', 4, 4, false],
    ['enough, and more than half', 5, 9, true],
    ['enough, exactly half', 5, 10, false],
    ['enough, unknown of how many: nothing may be restarted', 5, undefined, true],
    ['too few, unknown of how many', 4, undefined, false],
  ])('%s', (_, count, considered, open) => {
    const estate = { brakes, state: {}, ...(considered !== undefined && { considered }) };
    const verdict = observeEstate(down(count), estate, true, 7);
    expect(verdict.open).toBe(open);
    const opened = open && considered !== undefined;
    expect(verdict.events.map(({ type }) => type)).toEqual(opened ? ['estate-breaker-opened'] : []);
    expect(verdict.state).toEqual(opened ? { openSinceMs: 7 } : {});
  });

  it('publishes opening and closing once', () => {
    const opened = observeEstate(down(6), { brakes, state: {}, considered: 6 }, true, 7);
    expect(opened.events).toEqual([
      { type: 'estate-breaker-opened', down: 6, considered: 6, services: ['s0', 's1', 's2', 's3', 's4', 's5'] },
    ]);
    const still = observeEstate(down(6), { brakes, state: opened.state, considered: 6 }, true, 8);
    expect(still).toEqual({ state: opened.state, events: [], open: true });
    expect(still.state).toBe(opened.state);
    const closed = observeEstate(down(3), { brakes, state: opened.state, considered: 6 }, true, 9);
    expect(closed).toEqual({ state: {}, events: [{ type: 'estate-breaker-closed' }], open: false });
    expect(observeEstate(down(3), { brakes, state: closed.state }, true, 10).state).toBe(closed.state);
  });

  it('raises no alarm before anything is due, and keeps a hold for all', () => {
    const hold = { why: 'night' };
    expect(observeEstate(down(6), { brakes, state: { hold }, considered: 6 }, false, 7)).toEqual({
      state: { hold },
      events: [],
      open: true,
    });
    const opened = observeEstate(down(6), { brakes, state: { hold }, considered: 6 }, true, 7).state;
    expect(opened).toEqual({ hold, openSinceMs: 7 });
    expect(observeEstate([], { brakes, state: opened }, true, 8).state).toEqual({ hold });
  });

  it('switched off is never open, and the number is not needed', () => {
    const off = { ...brakes, estateBreaker: null };
    expect(observeEstate(down(80), { brakes: off, state: {}, considered: 80 }, true, 7).open).toBe(false);
    expect(needsConsidered(down(80), off)).toBe(false);
    expect(needsConsidered(down(5), brakes)).toBe(true);
    expect(needsConsidered(down(4), brakes)).toBe(false);
  });
});
