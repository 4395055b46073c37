/** What the seed got wrong, and what must not stop a proxy. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { ReadFailure, type ReadFailureCode } from '../../lib/ports.ts';
import { CALLER, mustBeDone, ReconcileWorld, told } from './reconcile-world.ts';

const THREE = ['a', 'b', 'c'];
const refusedFor = (ids: readonly string[], world: ReconcileWorld) => {
  const arns = new Set(ids.map((id) => world.one(id).arn));
  return world.ecs.faults.add('StopTask', FAULTS.forbidden, { when: ({ task }) => arns.has(String(task)) });
};

describe("the seed's faults", () => {
  test('kill reports every failed stop: two of three', async () => {
    const world = new ReconcileWorld().declare(THREE);
    await world.pass();
    refusedFor(['a', 'c'], world);
    const report = mustBeDone(await world.operations.kill(CALLER));
    expect(told(report)).toEqual(['stop a killed failed', 'stop b killed done', 'stop c killed failed']);
    expect(report.problems.map(({ proxyId, reason }) => `${proxyId} ${reason}`)).toEqual([
      'a stop-failed',
      'c stop-failed',
    ]);
    expect(world.telemetry.of('proxy-stop-failed')).toHaveLength(2);
  });

  test('a proxy whose stop failed is still known, and its stop is tried again until it succeeds', async () => {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(['a', 'b']);
    await world.pass();
    const heal = refusedFor(['a'], world);
    world.declared.delete('a');
    world.later(60_000);
    expect(told(await world.pass())).toEqual(['stop a removed failed']);
    expect(await world.stateOf('a')).toMatchObject({ phase: 'stopping', stop: { tries: 1, outcome: 'failed' } });
    world.later(2000);
    expect(told(await world.pass())).toEqual(['stop a removed failed']);
    heal();
    await world.later(4000).passes(3, 1000);
    expect(world.running('a')).toEqual([]);
    expect(await world.stateOf('a')).toBeUndefined();
  });

  test('a failed start is tried again without any further change', async () => {
    const world = new ReconcileWorld().declare('a');
    world.ecs.faults.add('RunTask', FAULTS.forbidden, { times: 3 });
    await world.pass();
    expect(world.running()).toEqual([]);
    await world.passes(3, 1000);
    expect(world.running('a')).toHaveLength(1);
  });

  test('a changed declaration restarts, an equal one in another order does not', async () => {
    const world = new ReconcileWorld().declare('a', 'x', { environment: { A: '1', B: '2' } });
    await world.pass();
    const first = world.one('a').arn;
    world.declare('a', 'x', { environment: { B: '2', A: '1' }, config: { any: 'thing' } });
    await world.later(60_000).pass();
    expect(world.one('a').arn).toBe(first);
    world.declare('a', 'y', { environment: { B: '2', A: '1' } });
    await world.later(60_000).pass();
    await world.pass();
    expect(world.one('a').arn).not.toBe(first);
    expect(world.writes()).toEqual(['RunTask', 'StopTask', 'RunTask']);
  });

  test('backoff begins anew after a healthy run, even once it had begun', async () => {
    const world = new ReconcileWorld().declare('a');
    const crash = async (uptimeMs: number) => {
      await world.pass();
      world.later(uptimeMs);
      world.ecs.world.exitTask(world.one('a').arn);
      return world.pass();
    };
    await world.pass();
    for (let quick = 0; quick < 2; quick += 1) await crash(100);
    expect((await crash(100)).waiting).toMatchObject([{ proxyId: 'a', reason: 'backoff' }]);
    world.later(2000);
    expect(told(await crash(11_000))).toEqual(['start a restarted done']);
    expect(told(await crash(100))).toEqual(['start a restarted done']);
  });

  test('the loop does not end after its first sync: every later pass serves what has changed', async () => {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } });
    for (const id of THREE) {
      await world.declare(id).pass();
      world.later(60_000);
      expect(world.running(id)).toHaveLength(1);
    }
    world.declared.delete('b');
    await world.pass();
    expect(world.running('b')).toEqual([]);
  });
});

describe('nothing is stopped', () => {
  const CODES: readonly ReadFailureCode[] = [
    'unreachable',
    'timeout',
    'no-leader',
    'rate-limited',
    'forbidden',
    'filtered',
    'stale',
    'server-error',
    'malformed',
    'incomplete',
  ];

  test.each(CODES)(
    'on a read of the declarations that is %s; a crashed proxy is launched from the last good one',
    async (code) => {
      const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(THREE);
      await world.pass();
      world.later(60_000);
      world.doubt = new ReadFailure('consul', code, `Consul is ${code}`);
      world.declared.clear();
      world.ecs.world.exitTask(world.one('a').arn);
      for (const report of await world.passes(4, 60_000)) expect(report.ok).toBe(true);
      expect(world.ecs.callsOf('StopTask')).toEqual([]);
      expect(world.running()).toHaveLength(3);
      expect(world.telemetry.of('declarations-doubtful'), 'as long as it lasts').toHaveLength(4);
    },
  );

  test('of a proxy whose declaration has become invalid, and its neighbour is served', async () => {
    const world = new ReconcileWorld().declare('a');
    await world.pass();
    world.declared.set('a', { execMode: 'script', taskDefinition: 'envoy:1' });
    world.declare('b');
    const report = await world.later(60_000).pass();
    expect(told(report)).toEqual(['start b declared done']);
    expect(report.problems).toMatchObject([{ proxyId: 'a', reason: 'declaration-invalid', temporary: false }]);
    expect(world.running('a')).toHaveLength(1);
    await world.passes(3, 60_000);
    expect(world.telemetry.of('declaration-invalid'), 'one alarm, not one a minute').toHaveLength(1);
  });

  test('in a cluster that cannot be read; proxies of the others are served', async () => {
    const world = new ReconcileWorld({ clusters: ['prod', 'edge'], proxies: { removalDelayMs: 0 } });
    world.declare('a').declare('b', 'x', { cluster: 'edge' });
    await world.pass();
    world.declare('a', 'changed').declare('b', 'changed', { cluster: 'edge' });
    world.ecs.faults.add('ListTasks', FAULTS.throttled, { when: ({ cluster }) => cluster === 'edge' });
    const report = await world.later(60_000).pass();
    await world.pass();
    expect(report.ok).toBe(true);
    expect(report.problems.map(({ reason }) => reason)).toEqual(['ecs-error']);
    expect(world.ecs.callsOf('StopTask').map(({ input }) => input.cluster)).toEqual(['prod']);
    expect(world.running('a')).toHaveLength(1);
  });

  test('where ECS cannot be read at all: nothing is concluded, and the message must come again', async () => {
    const world = new ReconcileWorld().declare('a');
    await world.pass();
    world.ecs.faults.add('ListTasks', FAULTS.broken);
    const report = await world.later(60_000).pass();
    expect([report.ok, report.actions]).toEqual([false, []]);
    expect(world.telemetry.of('pass-failed')).toHaveLength(1);
  });

  test('that is not ours, whoever names it', async () => {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } });
    const tags = [{ key: 'ecs-check-restart:proxy-id', value: 'a' }];
    const foreign = world.ecs.world.addTask({ cluster: 'prod', family: 'envoy', startedBy: 'a-person', tags });
    world.declare('b');
    await world.passes(3, 60_000);
    await world.operations.kill(CALLER);
    await world.passes(2, 60_000);
    expect(world.ecs.world.task(foreign)?.desiredStatus).toBe('RUNNING');
    expect(world.running()).toEqual([]);
  });
});

test('an item that is not understood is left alone, reported, and not started again; others are served', async () => {
  const world = new ReconcileWorld().declare(['a', 'b']);
  await world.pass();
  world.proxies.setAside('a', 'a newer schema');
  world.later(60_000);
  world.ecs.world.exitTask(world.one('b').arn);
  const report = await world.pass();
  expect(told(report)).toEqual(['start b restarted done']);
  expect(report.problems).toMatchObject([{ proxyId: 'a', reason: 'state-unreadable' }]);
  expect(world.running('a')).toHaveLength(1);
});

test('every failure of a reconcile is in one report: an invalid declaration, a refused launch, a refused stop, a blind cluster', async () => {
  const world = new ReconcileWorld({ clusters: ['prod', 'edge'], proxies: { removalDelayMs: 0 } }).declare(['a', 'b']);
  await world.pass();
  refusedFor(['a'], world);
  world.ecs.faults.add('RunTask', FAULTS.forbidden);
  world.ecs.faults.add('ListTasks', FAULTS.throttled, { when: ({ cluster }) => cluster === 'edge' });
  world.declared.delete('a');
  world.declare('c').declared.set('d', { taskDefinition: 7 });
  const report = await world.later(60_000).pass();
  const found = new Set(report.problems.map(({ reason }) => reason));
  expect(found).toEqual(new Set(['ecs-error', 'declaration-invalid', 'stop-failed', 'launch-failed']));
  expect(world.running('b')).toHaveLength(1);
});
