/** Unhealthy proxies: judged like every check, restarted by the reconciler, with the watcher's brakes. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { passByHand } from '../../lib/use-cases/watch.ts';
import { CLUSTER, ReconcileWorld, START_MS, told } from './reconcile-world.ts';

const BRAKES = { service: DEFAULT_SERVICE_BRAKES, estate: DEFAULT_ESTATE_BRAKES };
const POLICY = { rules: [{ match: {}, checkRestart: { limit: 3, interval: '10s', grace: '30s' } }] };

/** A proxy that has run for an hour, and a policy: due 20s after it is first seen bad. */
async function world(options: ConstructorParameters<typeof ReconcileWorld>[0] = {}, ids: readonly string[] = ['a']) {
  const made = new ReconcileWorld(options).declare(ids).policy(POLICY);
  await made.pass();
  made.later(3_600_000);
  await made.pass();
  made.later(61_000);
  await made.pass();
  return made;
}

describe('an unhealthy proxy', () => {
  test('is stopped at its time limit with the reason of its check, and launched again as after a crash', async () => {
    const made = await world();
    const first = made.one('a').arn;
    made.register('a');
    const [seen, counting, due] = await made.passes(3, 10_000);
    expect([seen, counting].map((report) => report?.checks[0]?.reason)).toEqual(['counting', 'counting']);
    expect(told(due ?? (await made.pass()))).toEqual(['stop a unhealthy done']);
    expect(due?.restarts).toMatchObject([{ owner: 'a', check: 'a-ready', action: 'stop-task', outcome: 'accepted' }]);
    expect(made.ecs.world.task(first)?.stoppedReason).toBe(
      'proxy a: unhealthy: healthcheck: check "a-ready" unhealthy',
    );
    expect(told(await made.pass())).toEqual(['start a restarted done']);
    expect(made.one('a').arn).not.toBe(first);
  });

  test('makes a wake-up for its deadline, so that it is restarted then and not a minute later', async () => {
    const made = await world();
    made.register('a');
    made.wakeUps.length = 0;
    const startMs = made.clock.nowMs();
    await made.pass();
    expect(made.wakeUps).toEqual([{ why: 'wait-over', atMs: startMs + 20_000, delayMs: 20_000, sentMs: startMs }]);
  });

  test('has grace from its own start', async () => {
    const made = new ReconcileWorld().declare('a').policy(POLICY);
    await made.pass();
    made.later(1000).register('a');
    expect((await made.pass()).checks).toMatchObject([{ reason: 'in-grace', untilMs: START_MS + 30_000 }]);
  });

  test('is left alone in maintenance, and in mode notify', async () => {
    for (const mode of ['maintenance', 'notify']) {
      const made = await world();
      made.register('a');
      if (mode === 'maintenance') made.consul.register({ checkId: '_node_maintenance', status: 'critical' });
      else made.policy({ rules: [{ match: {}, checkRestart: { limit: 3, interval: '10s' }, mode }] });
      const reports = await made.passes(5, 10_000);
      expect(reports.flatMap(told), mode).toEqual([]);
    }
  });

  test('is not restarted while its declarations are doubtful', async () => {
    const made = await world();
    made.register('a');
    made.doubt = new ReadFailure('consul', 'no-leader', 'no leader');
    const reports = await made.passes(5, 10_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'not-observed' }]);
  });

  test('keeps its streak over a read of the checks that fails, and nothing is concluded from that', async () => {
    const made = await world();
    made.register('a');
    await made.passes(2, 10_000);
    made.consul.fail('read', new ReadFailure('consul', 'timeout', 'slow'), 1);
    const [blind, due] = await made.passes(2, 10_000);
    expect([blind?.ok, blind?.actions, blind?.failures.length]).toEqual([true, [], 1]);
    expect(told(due ?? (await made.pass()))).toEqual(['stop a unhealthy done']);
  });
});

describe('a registration that proves nothing', () => {
  test('two nodes have the ID: which of them is bad says nothing', async () => {
    const made = await world();
    made.register('a');
    made.consul.addInstance({ node: 'n2', serviceId: 'a', serviceName: 'envoy', address: made.one('a').address });
    made.consul.register({ node: 'n2', checkId: 'a-ready', serviceId: 'a', serviceName: 'envoy', status: 'passing' });
    const reports = await made.passes(4, 10_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'ambiguous' }]);
  });

  test('its Meta names another task, another proxy’s too', async () => {
    const made = await world({}, ['a', 'b']);
    made.register('a', 'critical', { meta: { 'task-arn': made.one('b').arn } });
    const reports = await made.passes(4, 10_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'ambiguous' }]);
  });

  test('it has an address that is not the task’s', async () => {
    const network = { subnets: ['subnet-0123456789abcdef0'], securityGroups: [], assignPublicIp: false };
    const made = new ReconcileWorld().declare('a', 'x', { network }).policy(POLICY);
    await made.passes(2, 61_000);
    made.register('a');
    for (const [key, one] of made.consul.instances) made.consul.instances.set(key, { ...one, address: '10.9.9.9' });
    await made.passes(2, 61_000);
    const reports = await made.passes(4, 10_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'ambiguous' }]);
  });
});

describe('brakes', () => {
  test('the budget is the proxy’s own: two restarts in half an hour, the third waits; its neighbour has its own', async () => {
    const made = await world({ watch: { brakes: BRAKES } }, ['a', 'b']);
    made.register('a');
    const reports = await made.passes(60, 10_000);
    expect(reports.flatMap(told).filter((one) => one.startsWith('stop'))).toHaveLength(2);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'budget-spent' }]);
    expect(made.telemetry.of('budget-spent')).toHaveLength(1);
    expect(await made.health.readService(`${CLUSTER}/proxy/a`)).toMatchObject({ brakes: { budget: { used: 2 } } });
    made.register('b');
    expect((await made.passes(4, 10_000)).flatMap(told)).toContain('stop b unhealthy done');
  });

  test('a hold for all holds proxies, too', async () => {
    const made = await world({ watch: { brakes: BRAKES } });
    await made.state.saveEstate({ version: 0, state: { hold: { why: 'an experiment' } } });
    made.register('a');
    const reports = await made.passes(4, 10_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.skipped).toMatchObject([{ reason: 'held' }]);
  });

  test('a refused stop of an unhealthy proxy is charged once, however often it is tried', async () => {
    const made = await world({ watch: { brakes: BRAKES } });
    made.register('a');
    const heal = made.ecs.faults.add('StopTask', FAULTS.throttled);
    await made.passes(6, 10_000);
    expect(made.ecs.callsOf('StopTask').length).toBeGreaterThan(1);
    heal();
    await made.passes(6, 10_000);
    expect(made.running('a')).toHaveLength(1);
    expect(await made.health.readService(`${CLUSTER}/proxy/a`)).toMatchObject({ brakes: { budget: { used: 1 } } });
  });
});

describe('execMode service', () => {
  async function service() {
    const made = new ReconcileWorld().policy({
      rules: [{ match: {}, checkRestart: { limit: 3, interval: '10s', grace: '30s' } }],
    });
    made.ecs.world.addService({ name: 'edge', cluster: CLUSTER, desiredCount: 1 });
    made.declared.set('edge-proxy', { execMode: 'service', ecsService: 'edge' });
    await made.pass();
    made.later(3_600_000);
    await made.passes(2, 61_000);
    const task = made.ecs.world.tasks().find((one) => one.service === 'edge');
    if (!task) throw new Error('no task');
    const { arn, address } = task;
    made.consul.addInstance({ serviceId: 'edge-proxy', serviceName: 'edge', address, meta: { 'task-arn': arn } });
    made.consul.register({ checkId: 'ready', serviceId: 'edge-proxy', serviceName: 'edge', status: 'critical' });
    return made;
  }

  test('an unhealthy one is redeployed once, by a claim on its ECS service; its tasks are neither started nor stopped', async () => {
    const made = await service();
    const reports = await made.passes(5, 10_000);
    expect(made.writes()).toEqual(['UpdateService']);
    expect(reports.flatMap(({ restarts }) => restarts)).toMatchObject([
      { owner: 'edge', action: 'force-new-deployment' },
    ]);
    expect(await made.state.readService(`${CLUSTER}/service/edge`)).toMatchObject({ version: expect.any(Number) });
  });

  test('beside a watcher that judges the same check, it is restarted once', async () => {
    const made = await service();
    for (let pass = 0; pass < 4; pass += 1) {
      await made.pass();
      await passByHand(made.deps, made.settings.watch, { dryRun: false, endsAtMs: Number.POSITIVE_INFINITY });
      made.later(10_000);
    }
    expect(made.writes()).toHaveLength(1);
  });
});

test('watch-checks leaves a proxy’s check alone, and wakes the reconciler once when it turns bad', async () => {
  const made = await world();
  made.register('a', 'critical', { meta: { 'task-arn': made.one('a').arn } });
  made.wakeUps.length = 0;
  for (let pass = 0; pass < 4; pass += 1) {
    const request = { dryRun: false, endsAtMs: Number.POSITIVE_INFINITY };
    const report = await passByHand(made.deps, made.settings.watch, request);
    expect(report.skipped).toMatchObject([{ reason: 'proxy' }]);
    made.later(10_000);
  }
  expect(made.wakeUps).toMatchObject([{ why: 'check-bad', delayMs: 0 }]);
  expect(made.ecs.callsOf('StopTask')).toEqual([]);
});
