/** Registrations that consul-ecs left behind: reported with the command that removes each, when ECS has said so in two passes. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { CLUSTER, failure, WatchWorld } from './watch-world.ts';

const TASK = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const ARN = `arn:aws:ecs:eu-west-1:123456789012:task/${CLUSTER}/${TASK}`;
const NODE = `arn:aws:ecs:eu-west-1:123456789012:cluster/${CLUSTER}`;
const SERVICE_ID = `orders-${TASK}`;

/** An instance as consul-ecs registers it, its check critical, its task unknown to ECS. */
function leftBehind(
  changes: { meta?: Record<string, string>; nodeMeta?: Record<string, string>; serviceId?: string } = {},
) {
  const world = new WatchWorld();
  const serviceId = changes.serviceId ?? SERVICE_ID;
  world.consul.addInstance({
    node: NODE,
    serviceId,
    serviceName: 'orders',
    meta: { source: 'consul-ecs', 'task-id': TASK, 'task-arn': ARN, ...changes.meta },
    nodeMeta: changes.nodeMeta ?? { 'synthetic-node': 'true' },
  });
  world.consul.register({ node: NODE, checkId: `${serviceId}-app`, serviceId, serviceName: 'orders' });
  return world;
}

describe('a consul-ecs registration whose task is MISSING', () => {
  test('is told in the second pass, with the command that removes it, and nothing is written to Consul or stopped', async () => {
    const world = leftBehind();
    expect((await world.pass()).leftovers).toEqual([]);
    const { leftovers } = await world.later(60_000).pass();
    expect(leftovers).toMatchObject([{ service: 'orders', node: NODE, serviceId: SERVICE_ID, task: ARN }]);
    expect(leftovers[0]?.remedy).toContain(`{"Node":"${NODE}","ServiceID":"${SERVICE_ID}"}`);
    expect(leftovers[0]?.remedy).toContain('$CONSUL_HTTP_ADDR/v1/catalog/deregister');
    expect(world.writes()).toEqual([]);
  });

  test('is logged once, however many passes see it', async () => {
    const world = leftBehind();
    await world.passes(5, 60_000);
    expect(world.telemetry.of('leftover-removable')).toHaveLength(1);
  });

  test('is not told while ECS cannot be asked a second time', async () => {
    const world = leftBehind();
    await world.pass();
    const describeTasks = () => Promise.reject(failure('ecs', 'rate-limited'));
    const deps = { ...world.deps, ecs: { ...world.deps.ecs, describeTasks } };
    expect((await world.later(60_000).pass({}, deps)).leftovers).toEqual([]);
  });

  test.each([
    ['somebody else registered it', { meta: { source: 'nomad' } }],
    ['its node is a real one', { nodeMeta: {} }],
  ])('is left to its owner where %s', async (_, changes) => {
    const world = leftBehind(changes);
    const reports = await world.passes(3, 60_000);
    expect(reports.flatMap(({ leftovers }) => leftovers)).toEqual([]);
  });

  test('has a command that a shell takes as it is meant, whatever is in its names', async () => {
    const serviceId = `it's $(id) "x"-${TASK}`;
    const world = leftBehind({ serviceId });
    await world.pass();
    const [leftover] = (await world.later(60_000).pass()).leftovers;
    const script = (leftover?.remedy ?? '').replace(/^curl /, 'printf "%s\\n" ');
    const env = { PATH: process.env.PATH ?? '', CONSUL_HTTP_TOKEN: 'T', CONSUL_HTTP_ADDR: 'http://c' };
    const words = execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).trim().split('\n');
    expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toEqual({ Node: NODE, ServiceID: serviceId });
    expect(words.at(-1)).toBe('http://c/v1/catalog/deregister');
  });
});

test('a registration whose task runs again in the second pass is not left behind', async () => {
  const world = leftBehind();
  await world.pass();
  world.ecs.world.addService({ name: 'orders', cluster: CLUSTER, desiredCount: 1, startTasks: false });
  world.ecs.world.addTask({ cluster: CLUSTER, service: 'orders', id: TASK });
  expect((await world.later(60_000).pass()).leftovers).toEqual([]);
});
