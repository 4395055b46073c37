/** A restart from its claim to its confirmation, whatever ECS answers. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { CLUSTER, failure, reasons, START_MS, WatchWorld } from './watch-world.ts';

const SLOW_STOP = { stopNoticedMs: 2000, stoppingMs: 3000 };
const FORCED = { action: 'force-new-deployment' };

describe('a stop without an answer', () => {
  test.each([
    { what: 'that took effect is not repeated', fault: FAULTS.hangAfterEffect, stops: 1 },
    { what: 'that took no effect is repeated after 30s', fault: FAULTS.hang, stops: 2 },
    { what: 'whose connection broke after it took effect is not repeated', fault: FAULTS.resetAfterEffect, stops: 1 },
    { what: 'whose connection broke before is repeated after 30s', fault: FAULTS.reset, stops: 2 },
  ])('$what', async ({ fault, stops }) => {
    const world = new WatchWorld({ delays: SLOW_STOP, callTimeoutMs: 30 });
    const { id, checkId } = world.one();
    world.ecs.faults.add('StopTask', fault, { times: 1 });
    const report = await world.pass();
    expect(report.restarts).toMatchObject([{ task: id, outcome: 'unanswered' }]);
    expect((await world.owner()).claims).toMatchObject([{ outcome: 'open', tries: 1 }]);
    // Nobody knows yet whether it is restarted, so its streak stays.
    expect(await world.streakSince(checkId)).toBe(START_MS);
    expect(world.telemetry.of('restart-unanswered')).toHaveLength(1);
    for (const atMs of [5000, 15_000, 29_000]) {
      expect(reasons(await world.at(atMs).pass()).filter((reason) => reason !== 'already-stopped')).toEqual([
        'restart-in-flight',
      ]);
    }
    expect(world.stops()).toHaveLength(1);
    await world.at(30_000).pass();
    expect(world.stops()).toHaveLength(stops);
    expect(world.telemetry.of('restart-repeated')).toHaveLength(stops - 1);
    await world.at(40_000).passes(3, 10_000);
    expect(world.stops()).toHaveLength(stops);
    expect((await world.owner()).claims).toEqual([]);
    expect(world.ecs.world.task(id)?.lastStatus).toBe('STOPPED');
  });

  test('that is never answered is repeated every 30s, not more often', async () => {
    const world = new WatchWorld({ callTimeoutMs: 20 });
    world.one();
    world.ecs.faults.add('StopTask', FAULTS.hang);
    for (let atMs = 0; atMs <= 120_000; atMs += 10_000) await world.at(atMs).pass();
    expect(world.ecs.callsOf('StopTask').map(({ atMs }) => atMs - START_MS)).toEqual([
      0, 30_000, 60_000, 90_000, 120_000,
    ]);
  });
});

test('a stop that is never answered ends after 10 min, with all that it was charged', async () => {
  const world = new WatchWorld({
    callTimeoutMs: 20,
    settings: { brakes: { service: DEFAULT_SERVICE_BRAKES, estate: DEFAULT_ESTATE_BRAKES } },
  });
  const { checkId } = world.one();
  world.ecs.faults.add('StopTask', FAULTS.hang);
  await world.pass();
  expect((await world.owner()).brakes).toMatchObject({ budget: { used: 1 }, inFlight: [{ places: 1 }] });
  world.consul.set(checkId, 'passing');
  for (let atMs = 60_000; atMs <= 600_000; atMs += 60_000) await world.at(atMs).pass();
  expect(await world.owner()).toMatchObject({ claims: [], brakes: { inFlight: [] } });
  expect((await world.owner()).brakes.budget).toBeUndefined();
  expect(world.telemetry.of('restart-unconfirmed')).toHaveLength(1);
  const stopsBefore = world.stops().length;
  await world.at(660_000).passes(3, 60_000);
  expect(world.stops()).toHaveLength(stopsBefore);
});

describe('a forced deployment without an answer', () => {
  test.each([
    { what: 'that began is not repeated', fault: FAULTS.hangAfterEffect, calls: 1 },
    { what: 'that never began is repeated', fault: FAULTS.hang, calls: 2 },
  ])('$what', async ({ fault, calls }) => {
    const world = new WatchWorld({ rule: FORCED, callTimeoutMs: 30 });
    const { id } = world.one('web', { task: { replaceAfterMs: 20_000 } });
    world.ecs.faults.add('UpdateService', fault, { times: 1 });
    expect((await world.pass()).restarts).toMatchObject([{ outcome: 'unanswered' }]);
    await world.at(15_000).pass();
    expect(world.writes()).toHaveLength(1);
    await world.at(30_000).passes(6, 10_000);
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(calls);
    expect((await world.owner()).claims).toEqual([]);
    expect(world.ecs.world.task(id)?.lastStatus).toBe('STOPPED');
  });

  test('is not repeated when somebody else has deployed since', async () => {
    const world = new WatchWorld({ rule: FORCED, callTimeoutMs: 30 });
    world.one('web', { task: { replaceAfterMs: 20_000 } });
    world.ecs.faults.add('UpdateService', FAULTS.hang, { times: 1 });
    await world.pass();
    world.at(10_000).ecs.world.deploy(CLUSTER, 'web');
    await world.at(30_000).passes(6, 10_000);
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(1);
    expect((await world.owner()).claims).toEqual([]);
  });

  test('whose answer names no deployment is confirmed all the same', async () => {
    const world = new WatchWorld({ rule: FORCED });
    world.one('web', { task: { replaceAfterMs: 20_000 } });
    const forceNewDeployment: typeof world.deps.ecs.forceNewDeployment = async (request) => {
      await world.deps.ecs.forceNewDeployment(request);
      return { outcome: 'accepted' };
    };
    await world.pass({}, { ...world.deps, ecs: { ...world.deps.ecs, forceNewDeployment } });
    await world.at(10_000).passes(6, 10_000);
    expect((await world.owner()).claims).toEqual([]);
  });
});

describe('an accepted stop', () => {
  test('is confirmed when the task has stopped, and told once', async () => {
    const world = new WatchWorld({ delays: SLOW_STOP });
    world.one();
    await world.pass();
    await world.at(1000).pass();
    expect((await world.owner()).claims).toHaveLength(1);
    await world.at(10_000).passes(3, 10_000);
    expect((await world.owner()).claims).toEqual([]);
    expect(world.telemetry.of('restart-confirmed')).toHaveLength(1);
    expect(world.stops()).toHaveLength(1);
  });

  test('that never ends is an alarm after 10 min, once, over cold starts; the task is not stopped again', async () => {
    const world = new WatchWorld({ delays: { stopNoticedMs: 86_400_000 } });
    world.one();
    for (let atMs = 0; atMs < 600_000; atMs += 20_000) await world.at(atMs).pass();
    expect(world.telemetry.of('restart-unconfirmed')).toEqual([]);
    for (let atMs = 600_000; atMs <= 1_200_000; atMs += 20_000) await world.at(atMs).pass();
    expect(world.telemetry.of('restart-unconfirmed')).toHaveLength(1);
    expect(world.stops()).toHaveLength(1);
  });

  test('that ECS took without doing anything is an alarm after 10 min, and is then decided anew', async () => {
    const world = new WatchWorld();
    const { arn, id } = world.one();
    const text = JSON.stringify({ task: { taskArn: arn, desiredStatus: 'STOPPED', lastStatus: 'RUNNING' } });
    world.ecs.faults.add('StopTask', { kind: 'body', text }, { times: 1 });
    await world.pass();
    for (let atMs = 20_000; atMs < 600_000; atMs += 20_000) await world.at(atMs).pass();
    expect(world.stops()).toEqual([id]);
    await world.at(600_000).passes(2, 1000);
    expect(world.telemetry.of('restart-unconfirmed')).toHaveLength(1);
    expect(world.stops()).toEqual([id, id]);
  });

  test('is followed while Consul gives no answer', async () => {
    const world = new WatchWorld({ delays: SLOW_STOP });
    world.one();
    await world.pass();
    world.consul.fail('read', failure('consul', 'unreachable'));
    expect(await world.at(20_000).pass()).toMatchObject({ ok: false });
    expect((await world.owner()).claims).toEqual([]);
  });
});

describe('a forced deployment that fails', () => {
  /** Ours was begun, and a deployment of somebody else's took its place (a rollback). */
  async function rolledBack(): Promise<WatchWorld> {
    const world = new WatchWorld({ rule: FORCED });
    world.one('web', { spec: { rollsDeployments: false } });
    await world.pass();
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(1);
    world.at(10_000).ecs.world.deploy(CLUSTER, 'web');
    world.ecs.world.settleDeployment(CLUSTER, 'web', 'COMPLETED');
    await world.at(20_000).pass();
    return world;
  }

  test('is reported, and none is forced again until another deployment', async () => {
    const world = await rolledBack();
    expect(world.telemetry.of('deployment-failed')).toHaveLength(1);
    expect((await world.owner()).claims).toEqual([]);
    for (let atMs = 30_000; atMs <= 3_600_000; atMs += 30_000) {
      expect(reasons(await world.at(atMs).pass())).toEqual(['deployment-failed']);
    }
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(1);
    world.ecs.world.deploy(CLUSTER, 'web');
    world.ecs.world.settleDeployment(CLUSTER, 'web', 'COMPLETED');
    await world.later(30_000).pass();
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(2);
    expect(world.telemetry.of('deployment-failed')).toHaveLength(1);
  });

  test('that FAILED and stays is reported as well', async () => {
    const world = new WatchWorld({ rule: FORCED });
    world.one('web', { spec: { rollsDeployments: false } });
    await world.pass();
    world.at(10_000).ecs.world.settleDeployment(CLUSTER, 'web', 'FAILED');
    await world.at(20_000).passes(20, 30_000);
    expect(world.telemetry.of('deployment-failed')).toHaveLength(1);
    expect(world.ecs.callsOf('UpdateService')).toHaveLength(1);
  });
});

test('a claim says when its call was made, though the pass began long before', async () => {
  const world = new WatchWorld();
  const [, second] = world.service('web', { tasks: 2 });
  const stopTask: typeof world.deps.ecs.stopTask = (request) => {
    world.later(40_000);
    return world.deps.ecs.stopTask(request);
  };
  await world.pass({}, { ...world.deps, ecs: { ...world.deps.ecs, stopTask } });
  const claim = (await world.owner()).claims.find(({ taskArn }) => taskArn === second?.arn);
  expect(claim?.triedAtMs).toBeGreaterThanOrEqual(START_MS + 40_000);
});
