/** The brakes in the cases of the field, played in the small world of `world.ts`. */
import { describe, expect, it } from 'vitest';
import { applyBrakes } from '../../lib/brakes/apply.ts';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES, type ServiceBrakes } from '../../lib/brakes/settings.ts';
import { candidate, HOUR_MS, SECOND_MS, service, sick } from './make.ts';
import { type Pass, play, type Restart, type WorldService } from './world.ts';

const always = () => true;
const seconds = (restarts: readonly Restart[]) => restarts.map(({ atMs }) => atMs / SECOND_MS);

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
