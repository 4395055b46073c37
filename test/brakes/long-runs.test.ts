/** The brakes over hours and days: half-open probes, the budget over a week, the cap's pace. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyBrakes } from '../../lib/brakes/apply.ts';
import {
  DEFAULT_ESTATE_BRAKES,
  DEFAULT_SERVICE_BRAKES,
  NO_ESTATE_BRAKES,
  NO_SERVICE_BRAKES,
} from '../../lib/brakes/settings.ts';
import { candidate, HOUR_MS, MINUTE_MS, SECOND_MS, service, sick } from './make.ts';
import { play, type Restart, type WorldService } from './world.ts';

const always = () => true;
const firstOf = (count: number) => (slot: number, generation: number) => slot < count && generation === 0;
const seconds = (restarts: readonly Restart[]) => restarts.map(({ atMs }) => atMs / SECOND_MS);

/** Most restarts in any [t, t + lengthMs). */
function mostWithin(restarts: readonly Restart[], lengthMs: number): number {
  let most = 0;
  let first = 0;
  let sum = 0;
  for (const restart of restarts) {
    sum += restart.cost;
    for (let oldest = restarts[first]; oldest && oldest.atMs <= restart.atMs - lengthMs; oldest = restarts[first]) {
      sum -= oldest.cost;
      first += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}

describe('half-open', () => {
  /** Probes are never two at once: after a restart under an open breaker none follows before its replacement ran for grace. */
  function probesOverlap(restarts: readonly Restart[], leastMs: number): boolean {
    return restarts.some(({ atMs }, index) => index > 0 && atMs - (restarts[index - 1]?.atMs ?? 0) < leastMs);
  }

  it('a service of four with three hung is healed one at a time', () => {
    const web: WorldService = { key: 'web', instances: 4, brakes: DEFAULT_SERVICE_BRAKES, bad: firstOf(3) };
    const played = play({ services: [web], estate: DEFAULT_ESTATE_BRAKES, graceMs: 10_000, untilMs: HOUR_MS });
    // The first probe after 10 min; its success brings the share to a half, which closes the breaker.
    expect(seconds(played.restarts)).toEqual([600, 615, 630]);
    expect(played.events.map(({ atMs, event }) => [atMs, event.type])).toEqual([
      [0, 'breaker-opened'],
      [615_000, 'breaker-closed'],
    ]);
    expect(played.state('web')?.breaker).toBeUndefined();
  });

  it('probes follow each other while they pass, even with every other brake off', () => {
    const web: WorldService = { key: 'web', instances: 10, bad: firstOf(8) };
    const estate = { ...NO_ESTATE_BRAKES, serviceBreaker: DEFAULT_ESTATE_BRAKES.serviceBreaker };
    const played = play({ services: [web], estate, graceMs: 10_000, untilMs: HOUR_MS });
    // Three probes bring 8 of 10 down to 5, which closes the breaker; nothing else holds the other five back.
    expect(seconds(played.restarts)).toEqual([600, 615, 630, 645, 645, 645, 645, 645]);
  });

  it('each failed probe doubles the wait, two hours at most', () => {
    const web: WorldService = { key: 'web', instances: 4, bad: (slot) => slot < 3 };
    const estate = { ...NO_ESTATE_BRAKES, serviceBreaker: DEFAULT_ESTATE_BRAKES.serviceBreaker };
    const played = play({ services: [web], estate, graceMs: 10_000, untilMs: 12 * HOUR_MS, pollMs: 5000 });
    const probes = played.restarts.map(({ atMs }) => atMs / MINUTE_MS);
    const gaps = probes.slice(1).map((at, index) => Math.floor(at - (probes[index] ?? 0)));
    expect(probes[0]).toBe(10);
    expect(gaps).toEqual([20, 40, 80, 120, 120, 120, 120]);
    expect(played.events.filter(({ event }) => event.type === 'breaker-opened')).toHaveLength(1);
  });

  it('never has two probes at once', () => {
    fc.assert(
      fc.property(
        fc.record({
          instances: fc.integer({ min: 4, max: 12 }),
          replaceAfterMs: fc.integer({ min: 0, max: 60 }).map((s) => s * SECOND_MS),
          graceMs: fc.integer({ min: 0, max: 60 }).map((s) => s * SECOND_MS),
          healing: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
        }),
        ({ instances, replaceAfterMs, graceMs, healing }) => {
          const probing: number[] = [];
          let open = false;
          const bad = (slot: number, generation: number) => slot > 0 && !healing[(slot * 5 + generation) % 6];
          const played = play({
            services: [{ key: 'web', instances, bad, replaceAfterMs }],
            estate: { ...NO_ESTATE_BRAKES, serviceBreaker: { share: 0, minInstances: 4, retryMs: 60_000 } },
            graceMs,
            pollMs: 5000,
            untilMs: 2 * HOUR_MS,
            onPass: ({ nowMs, result, facts }) => {
              const state = result.services.get('web') ?? facts[0]?.state;
              open = state?.breaker !== undefined;
              expect(result.allowed.length).toBeLessThanOrEqual(1);
              if (open && result.allowed.length > 0) {
                expect(state?.breaker?.probe).toBeUndefined();
                expect(facts[0]?.runningCount).toBe(instances);
                probing.push(nowMs);
              }
            },
          });
          expect(played.restarts).toHaveLength(probing.length);
          expect(probesOverlap(played.restarts, replaceAfterMs + graceMs)).toBe(false);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('a week of unhealthy replacements', () => {
  it('is never more than attempts × instances in a budget window', () => {
    fc.assert(
      fc.property(
        fc.record({
          attempts: fc.integer({ min: 1, max: 3 }),
          instances: fc.integer({ min: 1, max: 5 }),
          intervalMs: fc.constantFrom(10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS),
          delayMs: fc.constantFrom(0, 15_000),
          inFlight: fc.constantFrom(null, { count: 2 }, { share: 0.1 }),
        }),
        ({ attempts, instances, intervalMs, delayMs, inFlight }) => {
          const restart = { attempts, intervalMs, delayMs, mode: 'delay' as const };
          const { restarts } = play({
            services: [{ key: 'web', instances, brakes: { restart, inFlight }, bad: always }],
            graceMs: 20_000,
            pollMs: 20_000,
            untilMs: 7 * 24 * HOUR_MS,
          });
          // The windows, as the design defines them: each begins with the first restart after the one before.
          const windows: { startMs: number; count: number }[] = [];
          for (const { atMs } of restarts) {
            const window = windows.at(-1);
            if (window && atMs < window.startMs + intervalMs) window.count += 1;
            else windows.push({ startMs: atMs, count: 1 });
          }
          expect(windows.length).toBeGreaterThan((7 * 24 * HOUR_MS) / intervalMs / 2);
          expect(Math.max(...windows.map(({ count }) => count))).toBe(attempts * instances);
          if (inFlight !== null && delayMs > 0) expect(mostWithin(restarts, delayMs)).toBe(1);
        },
      ),
      { numRuns: 6 },
    );
  });

  it('with all defaults a service of four is left alone but for probes', () => {
    const web: WorldService = { key: 'web', instances: 4, brakes: DEFAULT_SERVICE_BRAKES, bad: always };
    const played = play({
      services: [web],
      estate: DEFAULT_ESTATE_BRAKES,
      graceMs: 20_000,
      pollMs: 20_000,
      untilMs: 7 * 24 * HOUR_MS,
    });
    // 10, 20, 40, 80, then every 120 min: 84 in a week.
    expect(played.restarts.length).toBeGreaterThan(80);
    expect(played.restarts.length).toBeLessThan(90);
  });
});

describe('the cap per minute', () => {
  it('1 % sick spread over 100 services opens nothing, and is healed at the cap’s pace', () => {
    const services: WorldService[] = Array.from({ length: 100 }, (_, n) => ({
      key: `s${n}`,
      instances: 100,
      brakes: DEFAULT_SERVICE_BRAKES,
      bad: firstOf(1),
    }));
    const played = play({ services, estate: DEFAULT_ESTATE_BRAKES, graceMs: 10_000, untilMs: 12 * MINUTE_MS });
    expect(played.events).toEqual([]);
    expect(played.restarts).toHaveLength(100);
    expect(new Set(played.restarts.map(({ service: key }) => key)).size).toBe(100);
    expect(played.restarts.at(-1)?.atMs).toBe(9 * MINUTE_MS);
    expect(mostWithin(played.restarts, MINUTE_MS)).toBe(10);
  });

  it('is never exceeded in any 60 s, per cluster', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 13 }),
        (perMinute, sizes, pollS) => {
          const services: WorldService[] = sizes.map((instances, n) => ({
            key: `s${n}`,
            cluster: n % 2 ? 'odd' : 'even',
            instances,
            bad: (slot, generation, at) => (slot + generation + Math.floor(at / 30_000)) % 2 === 0,
          }));
          const { restarts } = play({
            services,
            estate: { ...NO_ESTATE_BRAKES, perMinute },
            pollMs: pollS * SECOND_MS,
            untilMs: 20 * MINUTE_MS,
          });
          expect(restarts.length).toBeGreaterThan(0);
          for (const odd of [true, false]) {
            const ofCluster = restarts.filter(({ service: key }) => (Number(key.slice(1)) % 2 === 1) === odd);
            expect(mostWithin(ofCluster, MINUTE_MS)).toBeLessThanOrEqual(perMinute);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it('10,000 unhealthy in one pass with the breakers off: the cap is allowed, every other has a reason', () => {
    const unhealthy = sick(10_000);
    const started = performance.now();
    const result = applyBrakes({
      nowMs: 1_000_000,
      candidates: unhealthy.map(({ id }) => candidate(id)),
      services: [service({ instances: 10_000, unhealthy, brakes: NO_SERVICE_BRAKES })],
      estate: { brakes: { ...NO_ESTATE_BRAKES, perMinute: 10 }, state: {} },
      restarts: new Map(),
    });
    expect(result.allowed).toHaveLength(10);
    expect(result.withheld).toHaveLength(9990);
    expect(result.withheld.every(({ reasons }) => reasons[0]?.reason === 'rate-cap')).toBe(true);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
