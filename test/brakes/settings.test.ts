import { describe, expect, it } from 'vitest';
import {
  DEFAULT_ESTATE_BRAKES,
  DEFAULT_SERVICE_BRAKES,
  mergeEstateBrakes,
  mergeServiceBrakes,
  NO_ESTATE_BRAKES,
  NO_SERVICE_BRAKES,
} from '../../lib/brakes/settings.ts';

describe('defaults', () => {
  it('are those of the design', () => {
    expect(DEFAULT_SERVICE_BRAKES).toEqual({
      restart: { attempts: 2, intervalMs: 30 * 60_000, delayMs: 15_000, mode: 'delay' },
      inFlight: { share: 0.1 },
    });
    expect(DEFAULT_ESTATE_BRAKES).toEqual({
      perMinute: 10,
      serviceBreaker: { share: 0.5, minInstances: 4, retryMs: 10 * 60_000 },
      estateBreaker: { share: 0.5, minServices: 5 },
    });
  });
});

describe('mergeServiceBrakes', () => {
  it('lets later parts win field by field', () => {
    const merged = mergeServiceBrakes(
      DEFAULT_SERVICE_BRAKES,
      { restart: { attempts: 5, mode: 'fail' } },
      { restart: { attempts: 1 }, inFlight: { count: 3 } },
    );
    expect(merged).toEqual({
      restart: { attempts: 1, intervalMs: 1_800_000, delayMs: 15_000, mode: 'fail' },
      inFlight: { count: 3 },
    });
  });

  it.each([
    ['null switches off', { restart: null, inFlight: null }, NO_SERVICE_BRAKES],
    ['an empty part says nothing', {}, DEFAULT_SERVICE_BRAKES],
  ])('%s', (_, part, expected) => {
    expect(mergeServiceBrakes(DEFAULT_SERVICE_BRAKES, part)).toEqual(expected);
  });

  it('switches a brake on again with the defaults of what the part does not state', () => {
    const merged = mergeServiceBrakes(NO_SERVICE_BRAKES, { restart: { attempts: 7 } });
    expect(merged.restart).toEqual({ ...DEFAULT_SERVICE_BRAKES.restart, attempts: 7 });
  });
});

describe('mergeEstateBrakes', () => {
  it('keeps retry null as "until released", not as absent', () => {
    const merged = mergeEstateBrakes(DEFAULT_ESTATE_BRAKES, { serviceBreaker: { retryMs: null } });
    expect(merged.serviceBreaker).toEqual({ share: 0.5, minInstances: 4, retryMs: null });
  });

  it('switches off with null, and 0 a minute is not off', () => {
    expect(
      mergeEstateBrakes(DEFAULT_ESTATE_BRAKES, { perMinute: null, serviceBreaker: null, estateBreaker: null }),
    ).toEqual(NO_ESTATE_BRAKES);
    expect(mergeEstateBrakes(DEFAULT_ESTATE_BRAKES, { perMinute: 0 }).perMinute).toBe(0);
  });
});
