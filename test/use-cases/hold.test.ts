/** `hold` and `release` through the watcher. */
import { describe, expect, test } from 'vitest';
import { hold, release, targetKey } from '../../lib/use-cases/hold.ts';
import { Estate } from './estate.ts';
import { CLUSTER, reasons, START_MS, WatchWorld } from './watch-world.ts';

const WEB = `${CLUSTER}/service/web`;
const HOUR_MS = 3_600_000;

test.each([
  ['prod/web', 'prod/service/web'],
  ['prod/service/web', 'prod/service/web'],
  ['prod/family/report', 'prod/family/report'],
  ['web', undefined],
  ['/web', undefined],
  ['prod/', undefined],
  ['prod/task/web', undefined],
  ['prod/service/web/x', undefined],
])('%s names the item %s', (text, key) => {
  expect(targetKey(text)).toBe(key);
});

describe('a hold on a service', () => {
  test('holds its restarts back until it expires, with its end and its reason word', async () => {
    const world = new WatchWorld();
    world.one();
    await hold(world.deps, { service: WEB, forMs: HOUR_MS, why: 'moving' });
    const [held] = (await world.pass()).skipped;
    expect(held).toMatchObject({ reason: 'held', untilMs: START_MS + HOUR_MS });
    world.later(HOUR_MS);
    await world.pass();
    expect(world.stops()).toHaveLength(0); // not observed for an hour: it settles first
    world.later(60_000);
    await world.pass();
    expect(world.stops()).toHaveLength(1);
  });

  test('leaves other services alone', async () => {
    const world = new WatchWorld();
    world.one('web');
    const api = world.one('api');
    await hold(world.deps, { service: WEB, why: 'moving' });
    const report = await world.pass();
    expect(world.stops()).toEqual([api.id]);
    expect(reasons(report)).toEqual(['held']);
  });

  test('is lifted by release, and the restart happens', async () => {
    const world = new WatchWorld();
    world.one();
    await hold(world.deps, { service: WEB, why: 'moving' });
    await world.pass();
    expect(await release(world.deps, { service: WEB })).toMatchObject({ hold: null, before: { why: 'moving' } });
    world.later(1000);
    await world.pass();
    expect(world.stops()).toHaveLength(1);
  });

  test('that is placed while a pass is under way holds that pass’s claim back', async () => {
    const world = new WatchWorld();
    world.one();
    const { ecs } = world.deps;
    const describeTasks: typeof ecs.describeTasks = async (...asked) => {
      // Between deciding and claiming: the last question to ECS.
      if (world.ecs.callsOf('DescribeTasks').length === 1) await hold(world.deps, { service: WEB, why: 'now!' });
      return ecs.describeTasks(...asked);
    };
    const report = await world.pass({}, { ...world.deps, ecs: { ...ecs, describeTasks } });
    expect(world.stops()).toEqual([]);
    expect(reasons(report)).toEqual(['held']);
  });

  test('is said, published and kept in the history', async () => {
    const world = new WatchWorld();
    await hold(world.deps, { service: WEB, forMs: HOUR_MS, why: 'moving' });
    expect(world.telemetry.of('hold-placed')).toHaveLength(1);
    expect(world.events.events).toMatchObject([{ type: 'Hold Placed', detail: { target: WEB, why: 'moving' } }]);
    expect(await world.state.recentHistory(1)).toMatchObject([{ kind: 'hold-placed', detail: { target: WEB } }]);
  });
});

describe('a hold for all', () => {
  test('holds everything back, and release of it lifts no service’s own hold', async () => {
    const world = new WatchWorld();
    world.one('web');
    world.one('api');
    await hold(world.deps, { all: true, why: 'game day' });
    await hold(world.deps, { service: WEB, why: 'moving' });
    expect(reasons(await world.pass())).toEqual(['held', 'held']);
    await release(world.deps, { all: true });
    world.later(1000);
    expect(reasons(await world.pass())).toEqual(['held']);
    expect(world.stops()).toHaveLength(1);
  });
});

test('a spent budget in fail mode is a hold until released; its release begins a new budget', async () => {
  const estate = new Estate({
    checkRestart: { limit: 1, interval: '10s', grace: '0s' },
    rule: { brakes: { restart: { attempts: 1, interval: '30m', delay: '1s', mode: 'fail' }, inFlight: null } },
    isBad: () => true,
  });
  estate.add('web', 1);
  await estate.until(2 * HOUR_MS, 60_000);
  expect(estate.stopsMs()).toHaveLength(1);
  const lifted = await release(estate.world.deps, { service: WEB });
  expect(lifted.released).toContain('budget: a new one begins');
  await estate.until(4 * HOUR_MS, 60_000);
  expect(estate.stopsMs()).toHaveLength(2);
});
