/** The brakes over time: cases of the field and the promises of issue 4, played in the small world of `world.ts`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyBrakes } from '../../lib/brakes/apply.ts';
import {
  DEFAULT_ESTATE_BRAKES,
  DEFAULT_SERVICE_BRAKES,
  NO_ESTATE_BRAKES,
  NO_SERVICE_BRAKES,
  type ServiceBrakes,
} from '../../lib/brakes/settings.ts';
import { candidate, HOUR_MS, MINUTE_MS, SECOND_MS, service, sick } from './make.ts';
import { type Pass, play, type Restart, type WorldService } from './world.ts';

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

function reasonsAt(passes: readonly Pass[], atMs: number): string[] {
  const pass = passes.find(({ nowMs }) => nowMs === atMs);
  return pass?.result.withheld.map(({ reasons }) => reasons.map(({ reason }) => reason).join('+')) ?? [];
}

describe('C25: mass failure', () => {
  const sickFrom30To90 = (isSick: (slot: number) => boolean) => (slot: number, _: number, atMs: number) =>
    isSick(slot) && atMs >= 30_000 && atMs < 90_000;
  const breakersOnly = { ...DEFAULT_ESTATE_BRAKES, perMinute: null };

  it.each([
    [
      'C25a: 60 of 80 in services of ten',
      Array.from({ length: 8 }, (_, n) => ({
        key: `s${n}`,
        instances: 10,
        bad: sickFrom30To90((slot) => slot < (n < 4 ? 7 : 8)),
      })),
    ],
    [
      'C25c: 60 of 80 in services of one',
      Array.from({ length: 80 }, (_, n) => ({ key: `s${n}`, instances: 1, bad: sickFrom30To90(() => n < 60) })),
    ],
  ])('%s: nothing is restarted, one alarm, nothing is made up for', (_, services) => {
    const passes: Pass[] = [];
    const played = play({
      services,
      estate: breakersOnly,
      timeLimitMs: 10_000,
      untilMs: 300_000,
      onPass: (pass) => passes.push(pass),
    });
    expect(played.restarts).toEqual([]);
    expect(played.events.map(({ atMs, event }) => [atMs, event.type])).toEqual([
      [40_000, 'estate-breaker-opened'],
      [90_000, 'estate-breaker-closed'],
    ]);
    const at40 = reasonsAt(passes, 40_000);
    expect(at40).toHaveLength(60);
    expect(at40.every((reason) => reason.includes('breaker-open'))).toBe(true);
    expect(played.state('s0')?.breaker).toBeUndefined();
  });

  it('C25b: the only task of a service of one is restarted when due', () => {
    const services: WorldService[] = Array.from({ length: 80 }, (_, n) => ({
      key: `s${n}`,
      instances: 1,
      bad: sickFrom30To90(() => n === 0),
    }));
    const played = play({ services, estate: breakersOnly, timeLimitMs: 10_000, untilMs: 42_000 });
    expect(played.restarts).toEqual([{ atMs: 40_000, service: 's0', slot: 0, cost: 1 }]);
  });

  it('publishes the breakers of services that outlast the estate breaker', () => {
    const services: WorldService[] = Array.from({ length: 8 }, (_, n) => ({
      key: `s${n}`,
      instances: 10,
      bad: (slot, _g, atMs) => slot < 8 && (n < 2 || atMs < 90_000),
    }));
    const played = play({ services, estate: breakersOnly, untilMs: 100_000 });
    expect(played.restarts).toEqual([]);
    expect(played.events.map(({ atMs, event }) => [atMs, event.type])).toEqual([
      [0, 'estate-breaker-opened'],
      [90_000, 'estate-breaker-closed'],
      [90_000, 'breaker-opened'],
      [90_000, 'breaker-opened'],
    ]);
  });
});

it('C26: the share is that of live tasks; registrations that are left over do not count', () => {
  const result = applyBrakes({
    nowMs: 1000,
    candidates: [candidate('task-0')],
    services: [service({ instances: 4, unhealthy: sick(1), brakes: DEFAULT_SERVICE_BRAKES })],
    estate: { brakes: DEFAULT_ESTATE_BRAKES, state: {} },
    restarts: new Map(),
  });
  expect(result.allowed).toHaveLength(1);
});

describe('C27: the budget belongs to the service', () => {
  const brakes: ServiceBrakes = {
    restart: { attempts: 2, intervalMs: 600_000, delayMs: 15_000, mode: 'delay' },
    inFlight: null,
  };
  const web: WorldService = { key: 'web', instances: 1, brakes, bad: always };

  it('C27: restarts at 10 s and 25 s, then budget-spent from 40 s on, the next at 610 s', () => {
    const passes: Pass[] = [];
    // The first task's grace is over at 10 s.
    const bad = (_slot: number, generation: number, atMs: number) => generation > 0 || atMs >= 10_000;
    const played = play({
      services: [{ ...web, bad }],
      graceMs: 10_000,
      untilMs: 640_000,
      onPass: (pass) => passes.push(pass),
    });
    expect(seconds(played.restarts)).toEqual([10, 25, 610, 625]);
    expect(reasonsAt(passes, 40_000)).toEqual(['budget-spent']);
    expect(reasonsAt(passes, 609_000)).toEqual(['budget-spent']);
    expect(passes.find(({ nowMs }) => nowMs === 40_000)?.result.withheld[0]?.reasons[0]?.untilMs).toBe(610_000);
    expect(played.events.map(({ atMs, event }) => [atMs, event.type])).toEqual([
      [40_000, 'budget-spent'],
      [640_000, 'budget-spent'],
    ]);
  });

  it('C27: in fail mode the service is held for good, with one event', () => {
    const fail: ServiceBrakes = {
      restart: { attempts: 2, intervalMs: 600_000, delayMs: 15_000, mode: 'fail' },
      inFlight: null,
    };
    const played = play({ services: [{ ...web, brakes: fail }], untilMs: 2 * HOUR_MS });
    expect(seconds(played.restarts)).toEqual([0, 15]);
    expect(played.events.map(({ event }) => event.type)).toEqual(['budget-spent']);
    expect(played.state('web')?.hold?.byBudget).toBe(true);
  });
});

describe('C28: restarts in flight', () => {
  const oneAtATime: ServiceBrakes = { restart: null, inFlight: { count: 1 } };

  it('C28: the second goes when the first one’s replacement runs and is out of grace', () => {
    const passes: Pass[] = [];
    const bad = (slot: number, generation: number, atMs: number) =>
      atMs >= 10_000 && generation === 0 && (slot === 1 || atMs < 12_000);
    const web: WorldService = { key: 'web', instances: 2, brakes: oneAtATime, bad };
    const played = play({ services: [web], graceMs: 10_000, untilMs: 30_000, onPass: (pass) => passes.push(pass) });
    expect(played.restarts.map(({ slot, atMs }) => [slot, atMs])).toEqual([
      [0, 10_000],
      [1, 25_000],
    ]);
    expect(reasonsAt(passes, 10_000)).toEqual(['concurrency-cap']);
    expect(reasonsAt(passes, 24_000)).toEqual(['concurrency-cap']);
    expect(passes.find(({ nowMs }) => nowMs === 20_000)?.result.withheld[0]?.nextMs).toBe(25_000);
  });

  it('C28: a replacement that never runs keeps the slot and is reported once', () => {
    const web: WorldService = { key: 'web', instances: 2, brakes: oneAtATime, bad: always, replaceAfterMs: null };
    const played = play({ services: [web], graceMs: 10_000, untilMs: HOUR_MS });
    expect(played.restarts).toHaveLength(1);
    expect(played.events).toEqual([
      { atMs: 610_000, event: { type: 'replacement-overdue', service: 'web', id: 'web/0/0', sinceMs: 0 } },
    ]);
  });
});

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
