/** What must not be touched: by a dry pass, by a pass for one service, by a deployment in dry run. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { START_MS, WatchWorld } from './watch-world.ts';

describe('{"dryRun": true}', () => {
  test('decides and reports, and writes nothing at all: no state, no claim, no event, no history', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    const counting = world.one('api');
    world.policy({
      rules: [
        { match: { service: 'web' }, checkRestart: { limit: 1, interval: '10s', grace: '0s' } },
        { match: { service: 'api' }, checkRestart: { limit: 9, interval: '10s', grace: '0s' } },
      ],
    });
    const report = await world.pass({ dryRun: true });
    expect(report.skipped).toMatchObject([{ task: id, reason: 'dry-run' }]);
    expect(report.checks).toMatchObject([
      { task: id, reason: 'dry-run' },
      { task: counting.id, reason: 'counting' },
    ]);
    expect(world.state.writes).toEqual([]);
    expect(world.writes()).toEqual([]);
    expect(world.events.events).toEqual([]);
    expect(world.state.history).toEqual([]);
  });

  test('leaves open claims alone', async () => {
    const world = new WatchWorld({ callTimeoutMs: 20 });
    world.one();
    world.ecs.faults.add('StopTask', FAULTS.hang, { times: 1 });
    await world.pass();
    const writesBefore = world.state.writes.length;
    await world.at(60_000).pass({ dryRun: true });
    expect(world.stops()).toHaveLength(1);
    expect(world.state.writes).toHaveLength(writesBefore);
  });

  test('does not disturb what is counted: the next pass goes on as if it had not been', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 3, interval: '10s', grace: '0s' } });
    const { id, checkId } = world.one();
    await world.pass();
    world.consul.set(checkId, 'passing');
    await world.at(5000).pass({ dryRun: true });
    world.consul.set(checkId, 'critical');
    await world.at(20_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

describe('{"service": …}', () => {
  test('restarts only what belongs to it, and is no sighting of the others', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '10s', grace: '0s' } });
    const web = world.one('web');
    const api = world.one('api');
    await world.pass();
    const before = await world.state.load();
    world.consul.set(api.checkId, 'passing');
    const report = await world.at(10_000).pass({ service: 'web' });
    expect(world.stops()).toEqual([web.id]);
    expect(report.checks.map(({ service }) => service)).toEqual(['web']);
    // The recovery of `api` was not for it to see.
    expect(await world.streakSince(api.checkId)).toBe(START_MS);
    expect((await world.state.load()).heartbeat).toEqual(before.heartbeat);
  });

  test('restarts nothing when another one is due', async () => {
    const world = new WatchWorld();
    world.one('web');
    expect(await world.pass({ service: 'we' })).toMatchObject({ restarts: [], skipped: [] });
    expect(world.writes()).toEqual([]);
  });
});

describe('a deployment in dry run', () => {
  test('acts on nothing, says dry-run in every pass, and tells it once', async () => {
    const world = new WatchWorld({ settings: { dryRun: true } });
    const { id } = world.one();
    for (const report of await world.passes(20, 10_000)) {
      expect(report.restarts).toEqual([]);
      expect(report.skipped).toMatchObject([{ task: id, reason: 'dry-run' }]);
    }
    expect(world.writes()).toEqual([]);
    expect(world.telemetry.of('dry-run')).toHaveLength(1);
    expect(world.events.events).toMatchObject([{ type: 'Restart Withheld', detail: { reason: 'dry-run' } }]);
    expect((await world.owner()).claims).toEqual([]);
    expect(world.state.history).toEqual([]);
  });

  test('counts as any other, so that the restart is due at once when it ends', async () => {
    const world = new WatchWorld({
      checkRestart: { limit: 3, interval: '10s', grace: '0s' },
      settings: { dryRun: true },
    });
    const { id } = world.one();
    await world.passes(4, 10_000);
    world.settings = { ...world.settings, dryRun: false };
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });

  test('that was turned on while a claim was open issues its call no more', async () => {
    const world = new WatchWorld({ callTimeoutMs: 20 });
    world.one();
    world.ecs.faults.add('StopTask', FAULTS.hang, { times: 1 });
    await world.pass();
    world.settings = { ...world.settings, dryRun: true };
    await world.at(40_000).passes(5, 30_000);
    expect(world.stops()).toHaveLength(1);
  });
});
