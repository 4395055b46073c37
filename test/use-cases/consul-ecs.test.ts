/** Case C09: a registration of consul-ecs, through the real Consul adapter over HTTP. */
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { json, portFor, serve } from '../consul/scripted-server.ts';
import { POLICY_KEY, START_MS, WatchWorld } from './watch-world.ts';

const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const NODE = 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod';
const TASK_ARN = `arn:aws:ecs:eu-west-1:123456789012:task/prod/${T1}`;

const check = (checkId: string, service: string, serviceId: string, createIndex: number) => ({
  Node: NODE,
  CheckID: checkId,
  Name: checkId.endsWith('-app') ? 'Consul ECS health check synced' : 'Consul dataplane readiness',
  Status: 'critical',
  Output: `Service ${service} is not ready`,
  ServiceID: serviceId,
  ServiceName: service,
  ServiceTags: null,
  Type: 'consul-ecs-health-check',
  Definition: {},
  CreateIndex: createIndex,
  ModifyIndex: createIndex,
});

/** Fixture C09: one task, its service and its sidecar on the node named by the cluster, three checks. */
const CHECKS = [
  check(`orders-${T1}-app`, 'orders', `orders-${T1}`, 18_231),
  check(`orders-${T1}-consul-dataplane`, 'orders', `orders-${T1}`, 18_231),
  check(`orders-${T1}-sidecar-proxy-consul-dataplane`, 'orders-sidecar-proxy', `orders-${T1}-sidecar-proxy`, 18_233),
];

const instance = (service: string, serviceId: string, fields: Record<string, unknown>) => ({
  Node: NODE,
  Address: '10.20.1.9',
  ServiceID: serviceId,
  ServiceName: service,
  ServiceTags: ['v3'],
  ServiceAddress: '10.20.4.77',
  ServiceMeta: { source: 'consul-ecs', 'task-id': T1, 'task-arn': TASK_ARN },
  NodeMeta: { 'synthetic-node': 'true' },
  ...fields,
});

const CATALOG: Readonly<Record<string, unknown>> = {
  orders: [instance('orders', `orders-${T1}`, { ServiceKind: '', ServicePort: 8080 })],
  'orders-sidecar-proxy': [
    instance('orders-sidecar-proxy', `orders-${T1}-sidecar-proxy`, {
      ServiceKind: 'connect-proxy',
      ServicePort: 20_000,
      ServiceProxy: { DestinationServiceName: 'orders', DestinationServiceID: `orders-${T1}` },
    }),
  ],
};

/** A policy for `orders` alone: the sidecar's checks are judged by their destination's. */
const POLICY = { rules: [{ match: { service: 'orders' }, checkRestart: { limit: 1, interval: '10s', grace: '0s' } }] };

/** A world whose Consul is the real adapter on a scripted server. */
async function consulEcs(checks: readonly unknown[]) {
  const server = await serve((request, response) => {
    const path = pathOf(request);
    if (path.startsWith('/v1/kv/')) {
      return json(response, [{ Value: Buffer.from(JSON.stringify(POLICY)).toString('base64'), ModifyIndex: 1 }]);
    }
    if (path === '/v1/catalog/services') return json(response, { orders: ['v3'], 'orders-sidecar-proxy': ['v3'] });
    if (path === '/v1/catalog/services') return json(response, { consul: [], orders: [], 'orders-sidecar-proxy': [] });
    if (path.startsWith('/v1/health/state/')) return json(response, path.endsWith('critical') ? checks : []);
    json(response, CATALOG[path.split('/').at(-1) ?? ''] ?? []);
  });
  const world = new WatchWorld();
  // Named otherwise than in Consul, so that it shows whose the claim is.
  world.ecs.world.addService({ name: 'orders-ecs', cluster: 'prod', desiredCount: 1, startTasks: false });
  world.ecs.world.addTask({
    service: 'orders-ecs',
    cluster: 'prod',
    id: T1,
    address: '10.20.4.77',
    startedAtMs: START_MS - 3_600_000,
    replaceAfterMs: null,
  });
  const deps = { ...world.deps, consul: portFor([server.address], { clock: systemClock }) };
  return { world, server, deps };
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? '', 'http://consul').pathname;
}

test('C09: three checks of one task that are due in one pass are one restart of the service', async () => {
  const { world, server, deps } = await consulEcs(CHECKS);
  const report = await world.pass({}, deps);
  expect(report.restarts).toMatchObject([{ task: T1, service: 'orders', owner: 'orders-ecs' }]);
  expect(report.skipped).toEqual([]);
  expect(world.ecs.callsOf('StopTask').map(({ input }) => input)).toMatchObject([{ task: TASK_ARN, cluster: 'prod' }]);
  for (const { input } of world.ecs.calls) expect(input.cluster).toBe('prod');
  const { services } = await world.state.load();
  expect(services).toMatchObject([{ key: 'prod/service/orders-ecs', claims: [{ consulService: 'orders' }] }]);
  const asked = server.asked.map((url) => new URL(url, 'http://consul').pathname);
  for (const name of Object.keys(CATALOG)) {
    // Details are asked for with a filter; the proof that the token sees anything reads one service without.
    const details = server.asked.filter(
      (url) => url.startsWith(`/v1/catalog/service/${name}?`) && url.includes('filter='),
    );
    expect(details.length).toBeLessThanOrEqual(1);
  }
  expect(asked).toContain(`/v1/kv/${POLICY_KEY}`);
});

test("C09: the sidecar's check alone restarts its destination's task under its destination's policy", async () => {
  const { world, deps } = await consulEcs(CHECKS.slice(2));
  expect((await world.pass({}, deps)).restarts).toMatchObject([{ task: T1, service: 'orders' }]);
});
