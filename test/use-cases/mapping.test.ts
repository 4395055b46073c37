/** Cases C10 to C15: from a registration that anybody may have written to the one task behind it, or to hands off. */
import { describe, expect, test } from 'vitest';
import { CLUSTER, reasons, START_MS, WatchWorld } from './watch-world.ts';

const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const T2 = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';
const arnOf = (id: string, cluster = CLUSTER) => `arn:aws:ecs:eu-west-1:123456789012:task/${cluster}/${id}`;

/** A world in which both tasks run; one check of one instance is due. */
function withTwoTasks(instance: { serviceId: string; meta: Record<string, string>; address?: string }): WatchWorld {
  const world = new WatchWorld();
  world.ecs.world.addService({ name: 'orders', cluster: CLUSTER, desiredCount: 2, startTasks: false });
  for (const id of [T1, T2]) {
    world.ecs.world.addTask({
      service: 'orders',
      cluster: CLUSTER,
      id,
      startedAtMs: START_MS - 3_600_000,
      replaceAfterMs: null,
    });
  }
  world.consul.addInstance({ serviceName: 'orders', ...instance });
  world.consul.register({ checkId: 'c1', serviceId: instance.serviceId, serviceName: 'orders' });
  return world;
}

describe('C10: Meta of the user against ours', () => {
  test('C10: (a) a value that is not shaped like an ID is ignored', async () => {
    const world = withTwoTasks({
      serviceId: `orders-${T1}`,
      meta: { 'task-id': 'canary', 'task-arn': arnOf(T1) },
    });
    await world.pass();
    expect(world.stops()).toEqual([T1]);
  });

  test.each([
    {
      part: '(b) two tasks are named: ambiguous',
      instance: { serviceId: 'orders-1', meta: { 'task-id': T2, 'task-arn': arnOf(T1) } },
      reason: 'ambiguous',
    },
    {
      part: '(b) Meta and service ID name two tasks: ambiguous',
      instance: { serviceId: `orders-${T2}`, meta: { 'task-arn': arnOf(T1) } },
      reason: 'ambiguous',
    },
    {
      part: '(c) a cluster that is not on the list: foreign-task',
      instance: { serviceId: 'orders-1', meta: { 'task-arn': arnOf(T1, 'stage') } },
      reason: 'foreign-task',
    },
    {
      part: '(d) a template that nobody filled in: unmapped',
      instance: { serviceId: 'orders-1', meta: { 'task-arn': ['$', '{TASK_ARN}'].join('') } },
      reason: 'unmapped',
    },
    {
      part: 'a task of another account: foreign-task',
      instance: {
        serviceId: 'orders-1',
        meta: { 'task-arn': `arn:aws:ecs:eu-west-1:999999999999:task/prod/${T1}` },
      },
      reason: 'foreign-task',
    },
  ])('C10: $part, and ECS is not asked anything', async ({ instance, reason }) => {
    const world = withTwoTasks(instance);
    const report = await world.pass();
    expect(reasons(report)).toEqual([reason]);
    expect(world.ecs.calls).toEqual([]);
  });

  test('an address that another task owns makes it ambiguous', async () => {
    const world = withTwoTasks({ serviceId: 'orders-1', meta: { 'task-arn': arnOf(T1) }, address: '10.9.9.9' });
    expect(reasons(await world.pass())).toEqual(['ambiguous']);
    expect(world.writes()).toEqual([]);
  });

  test('a task of a service that is not on the list is foreign', async () => {
    const world = withTwoTasks({ serviceId: 'orders-1', meta: { 'task-arn': arnOf(T1) } });
    world.settings = { ...world.settings, allowedServices: ['web-*', 'stage/orders'] };
    expect(reasons(await world.pass())).toEqual(['foreign-task']);
    world.settings = { ...world.settings, allowedServices: ['prod/ord*'] };
    await world.at(1000).pass();
    expect(world.stops()).toEqual([T1]);
  });

  test.each([{ allowedServices: [] }, { mapping: { allowedClusters: [] } }])(
    'an empty list allows nothing: %o',
    async ({ allowedServices = ['*'], mapping }) => {
      const world = withTwoTasks({ serviceId: 'orders-1', meta: { 'task-arn': arnOf(T1) } });
      world.settings = { ...world.settings, allowedServices, mapping: { ...world.settings.mapping, ...mapping } };
      expect(reasons(await world.pass())).toEqual(['foreign-task']);
      expect(world.writes()).toEqual([]);
    },
  );
});

test('C11: an instance without Meta and one that is gone do not keep the third from its restart', async () => {
  const world = new WatchWorld();
  world.consul.addInstance({ serviceId: 'a', serviceName: 'a', meta: {} });
  world.consul.register({ checkId: 'a', serviceId: 'a', serviceName: 'a' });
  world.consul.register({ checkId: 'gone', node: 'n2', serviceId: 'b', serviceName: 'b' });
  const { id } = world.one('web');
  const report = await world.pass();
  expect(report.ok).toBe(true);
  expect(world.stops()).toEqual([id]);
  expect(reasons(report)).toEqual(['unmapped', 'unmapped']);
});

/** List C12. ECS has two tasks of the family on that host, host ports 49153 and 49154. */
const REGISTRATOR = [
  { serviceId: 'ip-10-20-3-11:ecs-orders-api-v2-42-app-a0b1c2d3e4f5a6b7c801:8080', port: 49_153 },
  { serviceId: 'ip-10-20-3-11:ecs-dns-7-resolver-2-a0b1c2d3e4f5a6b7c802:53:udp', port: 49_200 },
  { serviceId: 'ip-10-20-3-11:ecs-orders-api-v2-42-app-a0b1c2d3e4f5a6b7c803:8080', port: 50_000 },
  { serviceId: 'ip-10-20-3-11:ecs-pay-1-web-2-app-a0b1c2d3e4f5a6b7c804:80', port: 49_210 },
  { serviceId: 'ip-10-20-3-11:redis:6379', port: 6379 },
];

test.each(REGISTRATOR)('C12: $serviceId is unmapped: the family is no proof', async ({ serviceId, port }) => {
  const world = new WatchWorld();
  for (const hostPort of [49_153, 49_154]) {
    world.ecs.world.addTask({
      cluster: CLUSTER,
      family: 'orders-api-v2',
      revision: 42,
      networkMode: 'bridge',
      hostPorts: [hostPort],
      startedAtMs: START_MS - 3_600_000,
    });
  }
  world.consul.addInstance({ node: 'ip-10-20-3-11', serviceId, serviceName: 'orders', port, address: '10.20.3.11' });
  world.consul.register({ node: 'ip-10-20-3-11', checkId: 'c1', serviceId, serviceName: 'orders' });
  expect(reasons(await world.pass())).toEqual(['unmapped']);
  expect(world.writes()).toEqual([]);
});

test('C14: an address that a task of another service has by now is no proof', async () => {
  const world = new WatchWorld();
  world.ecs.world.addService({ name: 'billing', cluster: CLUSTER, desiredCount: 1, startTasks: false });
  world.ecs.world.addTask({ service: 'billing', cluster: CLUSTER, address: '10.20.4.77', startedAtMs: START_MS });
  world.consul.addInstance({ serviceId: 'orders-1', serviceName: 'orders', address: '10.20.4.77' });
  world.consul.register({ checkId: 'c1', serviceId: 'orders-1', serviceName: 'orders' });
  expect(reasons(await world.at(400_000).pass())).toEqual(['unmapped']);
  expect(world.writes()).toEqual([]);
});

describe('C15: a registration whose task is gone', () => {
  /** Critical for an hour; ECS does not know the task. */
  async function leftover(): Promise<WatchWorld> {
    const world = new WatchWorld();
    const { arn } = world.one('web');
    world.ecs.world.exitTask(arn);
    world.ecs.world.advance();
    world.later(3_700_000);
    expect(world.ecs.world.isKnown(world.ecs.world.task(arn) ?? expect.fail())).toBe(false);
    return world;
  }

  test('C15: is never restarted, and is one line in many passes, each a cold start', async () => {
    const world = await leftover();
    for (const report of await world.passes(20, 10_000)) expect(reasons(report)).toEqual(['task-not-found']);
    expect(world.writes()).toEqual([]);
    expect(world.telemetry.of('leftover-registration')).toHaveLength(1);
    expect(world.telemetry.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('C15: one that ECS then lists as STOPPED is a new line, and is still not restarted', async () => {
    const world = new WatchWorld({ delays: { missingAfterMs: 30_000 } });
    const { arn } = world.one('web');
    world.ecs.world.exitTask(arn);
    world.later(1000);
    expect((await world.passes(5, 1000)).map(reasons)).toEqual(Array(5).fill(['already-stopped']));
    world.later(60_000);
    expect((await world.passes(5, 1000)).map(reasons)).toEqual(Array(5).fill(['task-not-found']));
    expect(world.telemetry.of('leftover-registration')).toMatchObject([
      { reason: 'already-stopped' },
      { reason: 'task-not-found' },
    ]);
    expect(world.writes()).toEqual([]);
  });

  test('a streak of a task that vanishes ends in no restart, one line, and no more writes', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 3, interval: '10s', grace: '0s' } });
    const { arn } = world.one('web');
    await world.passes(2, 10_000);
    world.ecs.world.exitTask(arn);
    await world.passes(4, 10_000);
    const writesBefore = world.stateWrites().length;
    await world.passes(20, 10_000);
    expect(world.writes()).toEqual([]);
    expect(world.stateWrites()).toHaveLength(writesBefore);
    expect(world.telemetry.of('leftover-registration')).toHaveLength(1);
  });
});
