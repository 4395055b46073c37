import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { charge, refund } from '../../lib/brakes/charge.ts';
import { DEFAULT_SERVICE_BRAKES, NO_SERVICE_BRAKES, type ServiceBrakes } from '../../lib/brakes/settings.ts';
import { type BrakeState, NO_BRAKE_STATE } from '../../lib/brakes/state.ts';

const NOW_MS = 10_000_000;
const INTERVAL_MS = DEFAULT_SERVICE_BRAKES.restart?.intervalMs ?? 0;
const one = { id: 'a', cost: 1 };

describe('charge', () => {
  it('opens a window, takes a slot and starts the delay', () => {
    expect(charge(NO_BRAKE_STATE, one, NOW_MS, DEFAULT_SERVICE_BRAKES)).toEqual({
      budget: { windowStartMs: NOW_MS, used: 1 },
      lastRestartMs: NOW_MS,
      inFlight: [{ id: 'a', sinceMs: NOW_MS, places: 1, windowStartMs: NOW_MS }],
    });
  });

  it.each([
    [INTERVAL_MS - 1, NOW_MS, 2],
    [INTERVAL_MS, NOW_MS + INTERVAL_MS, 1],
  ])('%i ms after the first restart pays from the window that began at %i', (afterMs, windowStartMs, used) => {
    const first = charge(NO_BRAKE_STATE, one, NOW_MS, DEFAULT_SERVICE_BRAKES);
    const second = charge(first, { id: 'b', cost: 1 }, NOW_MS + afterMs, DEFAULT_SERVICE_BRAKES);
    expect(second.budget).toEqual({ windowStartMs, used });
  });

  it('counts a forced deployment with all its instances', () => {
    const state = charge(NO_BRAKE_STATE, { id: 'a', cost: 8 }, NOW_MS, DEFAULT_SERVICE_BRAKES);
    expect(state.budget?.used).toBe(8);
    expect(state.inFlight[0]?.places).toBe(8);
  });

  it('makes the restart the probe of a breaker, and only the first', () => {
    const breaker = { openedMs: 0, waitFromMs: 0, failedProbes: 0 };
    const first = charge({ ...NO_BRAKE_STATE, breaker }, one, NOW_MS, NO_SERVICE_BRAKES);
    expect(first.breaker?.probe).toEqual({ id: 'a', atMs: NOW_MS });
    expect(charge(first, { id: 'b', cost: 1 }, NOW_MS, NO_SERVICE_BRAKES).breaker?.probe?.id).toBe('a');
  });
});

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const brakesArbitrary: fc.Arbitrary<ServiceBrakes> = fc.constantFrom(DEFAULT_SERVICE_BRAKES, NO_SERVICE_BRAKES);
/** States whose window, if any, is running: one that has ended counts as none and does not come back. */
const stateArbitrary: fc.Arbitrary<BrakeState> = fc
  .record({
    budget: optional(
      fc.record({
        windowStartMs: fc.integer({ min: NOW_MS - INTERVAL_MS + 1, max: NOW_MS }),
        used: fc.integer({ min: 1, max: 20 }),
      }),
    ),
    lastRestartMs: optional(fc.integer({ min: 0, max: NOW_MS })),
    hold: optional(fc.constant({ why: 'night', untilMs: NOW_MS + 5 })),
    breaker: optional(fc.constant({ openedMs: 0, waitFromMs: 0, failedProbes: 2, ready: true as const })),
    fullSinceMs: optional(fc.integer({ min: 0, max: NOW_MS })),
    sinceMs: fc.array(fc.integer({ min: 0, max: NOW_MS - 1 }), { maxLength: 4 }),
  })
  .map(({ sinceMs, ...rest }) =>
    JSON.parse(
      JSON.stringify({ ...rest, inFlight: sinceMs.map((since, n) => ({ id: `old-${n}`, sinceMs: since, places: 1 })) }),
    ),
  );

describe('refund', () => {
  it('undoes a charge', () => {
    fc.assert(
      fc.property(stateArbitrary, brakesArbitrary, fc.integer({ min: 1, max: 9 }), (state, brakes, cost) => {
        expect(refund(charge(state, { id: 'new', cost }, NOW_MS, brakes), 'new')).toStrictEqual(state);
      }),
    );
  });

  it('in any order leaves what the others would have charged alone', () => {
    const restarts = fc.uniqueArray(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(stateArbitrary, restarts, fc.infiniteStream(fc.nat()), (start, offsets, order) => {
        const state: BrakeState = { ...start, budget: { windowStartMs: NOW_MS, used: 1 } };
        const instants = offsets.toSorted((a, b) => a - b).map((offset) => NOW_MS + 1 + offset);
        let charged = state;
        for (const at of instants) charged = charge(charged, { id: `r${at}`, cost: 1 }, at, DEFAULT_SERVICE_BRAKES);
        const left = [...instants];
        while (left.length > 0) {
          const [gone] = left.splice((order.next().value ?? 0) % left.length, 1);
          charged = refund(charged, `r${gone}`);
          let expected = state;
          for (const at of left) expected = charge(expected, { id: `r${at}`, cost: 1 }, at, DEFAULT_SERVICE_BRAKES);
          expect({ ...charged, breaker: undefined }).toEqual({ ...expected, breaker: undefined });
        }
      }),
    );
  });

  it('of two restarts at one instant gives back one', () => {
    const first = charge(NO_BRAKE_STATE, one, NOW_MS, DEFAULT_SERVICE_BRAKES);
    const both = charge(first, { id: 'b', cost: 1 }, NOW_MS, DEFAULT_SERVICE_BRAKES);
    expect(refund(both, 'a').lastRestartMs).toBe(NOW_MS);
    expect(refund(refund(both, 'a'), 'b')).toEqual(NO_BRAKE_STATE);
    expect(refund(refund(both, 'b'), 'a')).toEqual(NO_BRAKE_STATE);
  });

  it('does not give back into a later window, keeps a window whose event is out, and ignores unknown IDs', () => {
    const first = charge(NO_BRAKE_STATE, one, NOW_MS, DEFAULT_SERVICE_BRAKES);
    const later = charge(first, { id: 'b', cost: 1 }, NOW_MS + INTERVAL_MS, DEFAULT_SERVICE_BRAKES);
    expect(refund(later, 'a').budget).toEqual({ windowStartMs: NOW_MS + INTERVAL_MS, used: 1 });
    const told: BrakeState = { ...first, budget: { windowStartMs: NOW_MS, used: 1, eventSent: true } };
    expect(refund(told, 'a').budget).toEqual({ windowStartMs: NOW_MS, used: 0, eventSent: true });
    expect(refund(first, 'nobody')).toBe(first);
  });
});
