/** The open window: woken by changes, held to deadlines, never a busy loop. */
import { describe, expect, test } from 'vitest';
import { failure, START_MS, WatchWorld } from './watch-world.ts';
import { done, runWindow } from './window-run.ts';

/** When ECS was told to stop a task, after the beginning. */
const stoppedAt = (world: WatchWorld) => world.ecs.callsOf('StopTask').map(({ atMs }) => atMs - START_MS);
/** When passes were made: each ends in one read of a list, or in one answer of `change`. */
const readAt = (world: WatchWorld) => world.consul.callsOf('read').map(({ atMs }) => atMs - START_MS);

describe('a window', () => {
  test('is woken by a change, and restarts at once what is due', async () => {
    const world = new WatchWorld();
    const { checkId } = world.one('web', { status: 'passing' });
    const result = done(await runWindow(world, [[12_345, () => world.consul.set(checkId, 'critical')]]));
    expect(stoppedAt(world)).toEqual([12_345]);
    expect(result.restarts).toHaveLength(1);
  });

  test('keeps a deadline by its own timer, to the millisecond, though nothing changes', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 3, interval: '7s', grace: '0s' } });
    const { checkId } = world.one('web', { status: 'passing' });
    await runWindow(world, [[3210, () => world.consul.set(checkId, 'critical')]]);
    expect(stoppedAt(world)).toEqual([17_210]);
  });

  test('keeps the end of a grace by its own timer', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 1, interval: '10s', grace: '20s' } });
    world.one('web', { task: { startedAtMs: START_MS } });
    await runWindow(world);
    expect(stoppedAt(world)).toEqual([20_000]);
  });

  test('does not stop a task that heals before its deadline', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 3, interval: '7s', grace: '0s' } });
    const { checkId } = world.one();
    await runWindow(world, [[13_999, () => world.consul.set(checkId, 'passing')]]);
    expect(stoppedAt(world)).toEqual([]);
    expect((await world.state.load()).checks).toEqual([]);
  });

  test('restarts on details that are read in that very pass: what it knew from before may be out of date', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 3, interval: '7s', grace: '0s' } });
    world.one();
    const optOut = () => {
      for (const [key, one] of world.consul.instances) {
        world.consul.instances.set(key, { ...one, meta: { ...one.meta, 'check-restart-limit': '0' } });
      }
    };
    await runWindow(world, [[5000, optOut]]);
    expect(world.consul.callsOf('describeInstances').map(({ atMs }) => atMs - START_MS)).toEqual([0, 14_000]);
    expect(stoppedAt(world)).toEqual([]);
  });

  test('looks an absent check up at most every 30s, however often it is woken', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 100, interval: '60s', grace: '0s' } });
    const { checkId } = world.one('web');
    const other = world.one('api');
    const flaps = Array.from(
      { length: 20 },
      (_, n) => [2000 + n * 2000, () => world.consul.set(other.checkId, { createIndex: 1000 + n })] as const,
    );
    const { passes } = done(await runWindow(world, [[1000, () => world.consul.set(checkId, 'absent')], ...flaps]));
    expect(passes).toBeGreaterThan(20);
    expect(world.consul.callsOf('lookUpChecks').map(({ atMs }) => atMs - START_MS)).toEqual([1000, 31_000]);
  });

  test('leaves at least a second between two passes that changes caused', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 100, interval: '60s', grace: '0s' } });
    const { checkId } = world.one('web', { status: 'passing' });
    const flaps = Array.from(
      { length: 400 },
      (_, n) => [1000 + n * 100, () => world.consul.set(checkId, n % 2 === 0 ? 'critical' : 'passing')] as const,
    );
    const { passes } = done(await runWindow(world, flaps));
    expect(passes).toBeGreaterThan(20);
    expect(passes).toBeLessThanOrEqual(52);
  });

  test('keeps a deadline that falls within that second', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '10s', grace: '0s' } });
    world.one('web');
    const other = world.one('api', { status: 'passing' });
    // A change at 9.3s makes a pass; another one at 9.5s must wait until 10.3s, but `web` is due at 10s.
    await runWindow(world, [
      [9300, () => world.consul.set(other.checkId, 'critical')],
      [9500, () => world.consul.set(other.checkId, 'passing')],
    ]);
    expect(stoppedAt(world)).toEqual([10_000]);
  });

  test('sights what it tracks within the gap, though nothing changes', async () => {
    const world = new WatchWorld({
      checkRestart: { limit: 2, interval: '1h', grace: '0s' },
      settings: { maxObservationGapMs: 10_000 },
    });
    world.one();
    await runWindow(world);
    expect(readAt(world)).toEqual([0, 5000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 45_000]);
  });

  test('ends at its end, with nothing left open', async () => {
    const world = new WatchWorld();
    await runWindow(world);
    expect(world.clock.nowMs()).toBe(START_MS + 50_000);
    expect(world.clock.nextWakeMs).toBeUndefined();
  });

  test('of 0 is one pass', async () => {
    const world = new WatchWorld();
    world.one();
    const result = done(await runWindow(world, [], { windowMs: 0 }));
    expect(result).toMatchObject({ passes: 1, failedPasses: 0, restarts: [{ owner: 'web' }] });
    expect(world.clock.nowMs()).toBe(START_MS);
    expect(world.consul.callsOf('read')).toHaveLength(1);
  });
});

describe('a window without Consul', () => {
  test('tries again later and later, is one error line, and goes on when Consul does', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    world.consul.fail('read', failure('consul', 'unreachable'));
    const { passes, failedPasses, failures, restarts } = done(
      await runWindow(world, [[30_000, () => world.consul.heal()]]),
    );
    expect(restarts).toMatchObject([{ task: id }]);
    expect(failures).toMatchObject([{ system: 'consul', code: 'unreachable' }]);
    expect(failedPasses).toBeGreaterThanOrEqual(3);
    expect(failedPasses).toBeLessThanOrEqual(7);
    expect(passes).toBeGreaterThan(failedPasses);
    expect(world.telemetry.of('pass-failed')).toHaveLength(1);
    expect(world.telemetry.of('pass-recovered')).toEqual([{ failedPasses }]);
    expect(world.telemetry.counters.get('PassesFailed')).toBe(failedPasses);
    const pauses = readAt(world)
      .slice(0, failedPasses)
      .map((atMs, index, all) => atMs - (all[index - 1] ?? atMs));
    for (const [index, pause] of pauses.entries()) {
      if (index === 0) continue;
      expect(pause).toBeGreaterThanOrEqual(Math.min(500 * 2 ** (index - 1), 7500));
      expect(pause).toBeLessThanOrEqual(Math.min(1000 * 2 ** (index - 1), 15_000));
    }
  });

  test('that breaks off while it waits, fails one pass and restarts nothing on what it saw before', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '20s', grace: '0s' } });
    world.one();
    const result = done(
      await runWindow(world, [[10_000, () => world.consul.fail(['read', 'change'], failure('consul', 'no-leader'))]]),
    );
    expect(stoppedAt(world)).toEqual([]);
    expect(result.last?.atMs).toBe(START_MS);
    expect(result.failedPasses).toBe(result.passes - 1);
  });

  test('C07: of all its passes writes nothing but its lease', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '20s', grace: '0s' } });
    world.one();
    await world.pass();
    world.at(60_000).state.writes.length = 0;
    world.consul.fail('read', failure('consul', 'timeout'));
    await runWindow(world);
    expect(world.state.writes.map(({ operation }) => operation)).toEqual(['acquireLease', 'releaseLease']);
  });
});

describe('costs', () => {
  test.each([
    { warnings: false, rule: { limit: 1, interval: '10s', grace: '0s', ignoreWarnings: true } },
    { warnings: true, rule: { limit: 1, interval: '10s', grace: '0s' } },
  ])('of a healthy pass are one read of the lists (warnings: $warnings), no write, no call of ECS', async (example) => {
    const world = new WatchWorld({ checkRestart: example.rule });
    world.settings = {
      ...world.settings,
      defaults: { ...world.settings.defaults, ignoreWarnings: !example.warnings },
    };
    world.service('web', { tasks: 50, status: 'passing' });
    await world.pass();
    world.consul.calls.length = 0;
    world.state.calls.length = 0;
    await world.at(60_000).pass();
    expect(world.consul.calls.map(({ method, argument }) => [method, argument])).toEqual([
      ['readKey', world.settings.policyKey],
      ['read', { warnings: example.warnings }],
    ]);
    expect(world.state.calls).toEqual(['load', 'saveHeartbeat']);
    expect(world.ecs.calls).toEqual([]);
  });

  test('of a healthy window: one load, one policy, the lease, one list, one heartbeat', async () => {
    const world = new WatchWorld();
    world.service('web', { tasks: 50, status: 'passing' });
    await world.pass();
    world.consul.calls.length = 0;
    world.state.calls.length = 0;
    (await world.at(60_000)) && (await runWindow(world));
    expect(world.state.calls).toEqual(['acquireLease', 'load', 'saveHeartbeat', 'releaseLease']);
    expect(world.consul.calls.map(({ method }) => method)).toEqual(['readKey', 'read', 'change']);
    expect(world.ecs.calls).toEqual([]);
  });

  test('of a bad check that is only counted: its details and its task are asked for once a window', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 1000, interval: '10s', grace: '0s' } });
    const { checkId } = world.one();
    const outputs = Array.from(
      { length: 40 },
      (_, n) => [n * 1000 + 500, () => world.consul.set(checkId, { output: `${n}` })] as const,
    );
    await runWindow(world, outputs);
    expect(world.consul.callsOf('describeInstances')).toHaveLength(1);
    expect(world.ecs.callsOf('DescribeTasks')).toHaveLength(1);
    expect(world.stateWrites().filter((operation) => operation === 'saveCheck')).toHaveLength(1);
  });
});
