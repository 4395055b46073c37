/**
 * The brakes through the whole watcher: cold passes, the strict ECS double, state in memory. The module alone is tested
 * in test/brakes; here it is whether the watcher feeds it the truth and does what it says.
 */
import { describe, expect, test } from 'vitest';
import { Estate } from './estate.ts';
import { AT_ONCE, CLUSTER, reasons, START_MS, WatchWorld } from './watch-world.ts';

const SECOND = 1000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DUE_AFTER_10S = { limit: 2, interval: '10s', grace: '0s' };

describe('C25: a fault that hits most at once', () => {
  test('C25a: 60 of 80 in services of ten: nothing is stopped, one alarm a service, nothing is made up for afterwards', async () => {
    const estate = new Estate({
      checkRestart: DUE_AFTER_10S,
      isBad: ({ place }, atMs) => place < 8 && atMs >= 30 * SECOND && atMs < 90 * SECOND,
    });
    for (let n = 0; n < 8; n += 1) estate.add(`s${n}`, 10);
    await estate.until(39 * SECOND, SECOND);
    estate.world.later(SECOND);
    estate.judge();
    const due = await estate.world.pass();
    expect(new Set(reasons(due))).toEqual(new Set(['breaker-open']));
    expect(due.skipped).toHaveLength(64);
    await estate.until(300 * SECOND, SECOND);
    expect(estate.stopsMs()).toEqual([]);
    const loud = estate.world.telemetry.lines.filter(({ level }) => level === 'error').map(({ code }) => code);
    expect(loud).toEqual(['estate-breaker-opened']);
  });

  test('C25b: the one task of a one-task service is restarted when due', async () => {
    const estate = new Estate({
      checkRestart: DUE_AFTER_10S,
      isBad: ({ service, generation }, atMs) => service === 's0' && generation === 0 && atMs >= 30 * SECOND,
    });
    for (let n = 0; n < 80; n += 1) estate.add(`s${n}`, 1);
    await estate.until(120 * SECOND, SECOND);
    expect(estate.stopsMs()).toEqual([40 * SECOND]);
  });

  test('C25c: 60 of 80 services of one task each: the estate breaker, no stop, one alarm', async () => {
    const estate = new Estate({
      checkRestart: DUE_AFTER_10S,
      isBad: ({ service }, atMs) => Number(service.slice(1)) < 60 && atMs >= 30 * SECOND && atMs < 90 * SECOND,
    });
    for (let n = 0; n < 80; n += 1) estate.add(`s${n}`, 1);
    await estate.until(300 * SECOND, SECOND);
    expect(estate.stopsMs()).toEqual([]);
    expect(estate.world.telemetry.of('estate-breaker-opened')).toHaveLength(1);
    expect(estate.world.telemetry.of('estate-breaker-closed')).toHaveLength(1);
  });
});

test('C26: leftovers of tasks that are MISSING do not count as unhealthy instances', async () => {
  const estate = new Estate({ isBad: ({ place }, atMs) => place === 0 && atMs >= SECOND });
  estate.add('web', 4);
  const { world } = estate;
  for (let n = 0; n < 6; n += 1) {
    const id = `${n}`.repeat(32);
    const serviceId = `web-left-${n}`;
    const meta = { 'task-arn': `arn:aws:ecs:eu-west-1:123456789012:task/${CLUSTER}/${id}` };
    world.consul.addInstance({ serviceId, serviceName: 'web', meta });
    world.consul.register({ checkId: `left-${n}`, serviceId, serviceName: 'web' });
  }
  world.later(SECOND);
  estate.judge();
  const report = await world.pass();
  expect(report.restarts).toHaveLength(1);
  expect(reasons(report)).toEqual(Array.from({ length: 6 }, () => 'task-not-found'));
});

test('C27: the budget is the service’s: new tasks and a cold start do not refill it', async () => {
  const brakes = { restart: { attempts: 2, interval: '10m', delay: '15s', mode: 'delay' } };
  const estate = new Estate({
    checkRestart: { limit: 1, interval: '10s', grace: '10s' },
    rule: { brakes: { ...brakes, inFlight: null } },
    isBad: () => true,
  });
  estate.add('web', 1);
  await estate.until(12 * MINUTE, SECOND);
  const [first = 0, second = 0, third = 0] = estate.stopsMs();
  expect(estate.stopsMs()).toHaveLength(4);
  expect(second - first).toBe(15 * SECOND);
  expect(third - first).toBe(10 * MINUTE);
  expect(estate.world.telemetry.of('budget-spent')).toHaveLength(2);
});

test('C28: a second task of a service waits until the first one’s replacement runs and is out of grace', async () => {
  const estate = new Estate({
    checkRestart: { limit: 1, interval: '10s', grace: '10s' },
    rule: { brakes: { restart: null, inFlight: 1 } },
    isBad: ({ generation }, atMs) => generation === 0 && atMs >= 5 * SECOND,
  });
  estate.add('web', 2);
  await estate.until(40 * SECOND, SECOND);
  const [first = 0, second = 0] = estate.stopsMs();
  expect(estate.stopsMs()).toHaveLength(2);
  // 5 s until the replacement runs, 10 s of its grace.
  expect(second - first).toBe(15 * SECOND);
});

test('one unhealthy in a hundred, spread over 100 services: no breaker opens, all are healed at the cap’s pace', async () => {
  const estate = new Estate({
    isBad: ({ place, generation }, atMs) => place === 0 && generation === 0 && atMs >= SECOND,
  });
  for (let n = 0; n < 100; n += 1) estate.add(`s${n}`, n % 10 === 0 ? 100 : 3);
  await estate.until(13 * MINUTE, 5 * SECOND);
  const stops = estate.stopsMs();
  expect(stops).toHaveLength(100);
  for (const atMs of stops)
    expect(stops.filter((other) => other > atMs - MINUTE && other <= atMs).length).toBeLessThanOrEqual(10);
  expect(estate.world.telemetry.lines.filter(({ code }) => code.includes('breaker'))).toEqual([]);
});

test('three of four hung: the half-open breaker heals them one at a time', async () => {
  const estate = new Estate({
    checkRestart: { limit: 2, interval: '10s', grace: '30s' },
    isBad: ({ place, generation }, atMs) => place < 3 && generation === 0 && atMs >= SECOND,
  });
  estate.add('web', 4);
  await estate.until(HOUR, 10 * SECOND);
  const stops = estate.stopsMs();
  expect(stops).toHaveLength(3);
  // Not before the breaker's 10 min; the next only when the replacement is proven.
  expect(stops[0]).toBeGreaterThanOrEqual(10 * MINUTE);
  for (const [index, atMs] of stops.slice(1).entries())
    expect(atMs - (stops[index] ?? 0)).toBeGreaterThanOrEqual(35 * SECOND);
  expect(estate.healthy('web')).toBe(4);
});

test('over a week a service whose every replacement is unhealthy, too, is restarted attempts × instances times a window at most', async () => {
  const estate = new Estate({
    checkRestart: { limit: 1, interval: '10s', grace: '20s' },
    rule: { brakes: { inFlight: null } },
    // Passes five minutes apart, so that a week is over soon.
    settings: { maxObservationGapMs: null },
    isBad: () => true,
  });
  estate.add('web', 2);
  await estate.until(7 * 24 * HOUR, 5 * MINUTE);
  const stops = estate.stopsMs();
  expect(stops.length).toBeGreaterThan(7 * 24);
  let index = 0;
  while (index < stops.length) {
    const windowEndMs = (stops[index] ?? 0) + 30 * MINUTE;
    const within = stops.filter((atMs) => atMs >= (stops[index] ?? 0) && atMs < windowEndMs).length;
    expect(within).toBeLessThanOrEqual(2 * 2);
    index += within;
  }
}, 120_000);

test('10,000 unhealthy tasks with the breakers off: the cap is stopped in any 60 s, every other has a reason', async () => {
  const world = new WatchWorld();
  world.policy({
    rules: [{ match: {}, checkRestart: AT_ONCE, brakes: { restart: null, inFlight: null } }],
    brakes: { perMinute: 10, serviceBreaker: null, estateBreaker: null },
  });
  for (let n = 0; n < 1000; n += 1) world.service(`s${n}`, { tasks: 10 });
  const first = await world.pass();
  expect(first.restarts).toHaveLength(10);
  expect(first.skipped).toHaveLength(9990);
  expect(new Set(reasons(first))).toEqual(new Set(['rate-cap']));
  world.later(59 * SECOND);
  expect((await world.pass()).restarts).toHaveLength(0);
  world.later(SECOND);
  expect((await world.pass()).restarts).toHaveLength(10);
}, 120_000);

describe('modes', () => {
  test('notify decides as restart does, brakes included, publishes once, and touches nothing', async () => {
    const world = new WatchWorld({ rule: { mode: 'notify' } });
    world.one();
    const [first, second] = await world.passes(2, SECOND);
    expect([first, second].map((report) => report?.skipped.map(({ reason }) => reason))).toEqual([
      ['notify-only'],
      ['notify-only'],
    ]);
    expect(world.writes()).toEqual([]);
    expect(world.events.events.map(({ type }) => type)).toEqual(['Restart Withheld']);
  });
});

test('a claim, the budget and the slot of one restart are one write', async () => {
  const estate = new Estate({ isBad: ({ place }, atMs) => place === 0 && atMs >= SECOND });
  estate.add('web', 3);
  estate.world.later(SECOND);
  estate.judge();
  await estate.world.pass();
  const [claim] = estate.world.state.writes.filter(({ operation }) => operation === 'saveService');
  expect(claim?.value).toMatchObject({
    claims: [{ outcome: 'open' }],
    brakes: { budget: { used: 1 }, inFlight: [{ places: 1 }], lastRestartMs: START_MS + SECOND },
  });
});
