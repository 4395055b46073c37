/** What an operator does with proxies by hand, what it costs, and what is told. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { proxyStatus } from '../../lib/use-cases/reconcile/proxy-status.ts';
import { CALLER, mustBeDone, ReconcileWorld, STARTED_BY, told } from './reconcile-world.ts';

const NOTHING = { families: [], clusters: [], commands: [], services: [] };

async function running(ids: readonly string[] = ['a', 'b']) {
  const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(ids);
  await world.pass();
  world.later(60_000);
  await world.pass();
  return world.later(60_000);
}

describe('sync', () => {
  test('dryRun prints the plan and touches nothing at all', async () => {
    const world = await running();
    world.declare('c').declared.delete('a');
    const before = {
      writes: world.writes().length,
      state: world.state.writes.length,
      proxies: world.proxies.writes.length,
    };
    const health = world.health.writes.length;
    const report = mustBeDone(await world.operations.sync(CALLER, { dryRun: true }));
    expect(told(report)).toEqual(['stop a removed planned', 'start c declared planned']);
    expect({
      writes: world.writes().length,
      state: world.state.writes.length,
      proxies: world.proxies.writes.length,
    }).toEqual(before);
    expect([world.health.writes.length, world.wakeUps, world.events.events.length]).toEqual([health, [], 2]);
  });

  test('a deployment in dry run plans every reconcile and does nothing', async () => {
    const world = new ReconcileWorld({ watch: { dryRun: true } }).declare('a');
    expect(told(await world.pass())).toEqual(['start a declared planned']);
    expect([world.writes(), world.proxies.writes]).toEqual([[], []]);
  });

  test('stops lifts the cap once', async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `p${index}`);
    const world = await running([...ids, 'stays']);
    for (const id of ids) world.declared.delete(id);
    expect(told(await world.pass())).toHaveLength(3);
    const lifted = mustBeDone(await world.operations.sync(CALLER, { stops: 4 }));
    expect(told(lifted).filter((one) => one.startsWith('stop'))).toHaveLength(4);
    expect((await world.pass()).waiting.map(({ reason }) => reason)).toEqual(['stop-cap']);
  });
});

describe('restart', () => {
  test('one proxy: its task is stopped and launched again, the others stay', async () => {
    const world = await running();
    const [a, b] = [world.one('a').arn, world.one('b').arn];
    expect(told(mustBeDone(await world.operations.restart(CALLER, { proxyId: 'a' })))).toEqual([
      'stop a operator done',
    ]);
    await world.pass();
    expect([world.one('a').arn === a, world.one('b').arn === b]).toEqual([false, true]);
  });

  test('all of one task definition, by family or by revision', async () => {
    const world = await running();
    world.declare('c', 'x', { taskDefinition: 'other:2' });
    await world.pass();
    world.later(60_000);
    await world.pass();
    const family = mustBeDone(await world.operations.restart(CALLER, { taskDefinition: 'envoy' }));
    expect(told(family)).toEqual(['stop a operator done', 'stop b operator done']);
    const revision = mustBeDone(await world.operations.restart(CALLER, { taskDefinition: 'other:2' }));
    expect(told(revision)).toContain('stop c operator done');
  });

  test('one that waits for its backoff is launched at once', async () => {
    const world = new ReconcileWorld().declare('a');
    world.ecs.launchFailures.push('AGENT', 'AGENT', 'AGENT');
    expect((await world.pass()).waiting).toMatchObject([{ proxyId: 'a', reason: 'launch-failed' }]);
    expect(told(mustBeDone(await world.operations.restart(CALLER, { proxyId: 'a' })))).toEqual([
      'start a restarted done',
    ]);
  });

  test('an ECS service is redeployed; one that nobody knows is a problem', async () => {
    const world = new ReconcileWorld();
    world.ecs.world.addService({ name: 'edge', cluster: 'prod', desiredCount: 1 });
    world.declared.set('edge-proxy', { execMode: 'service', ecsService: 'edge' });
    await world.pass();
    const report = mustBeDone(await world.operations.restart(CALLER, { proxyId: 'edge-proxy' }));
    expect(told(report)).toEqual(['redeploy edge-proxy operator done']);
    const unknown = mustBeDone(await world.operations.restart(CALLER, { proxyId: 'nobody' }));
    expect(unknown.problems).toMatchObject([{ proxyId: 'nobody', reason: 'not-known' }]);
  });
});

describe('close, kill and run', () => {
  test('close leaves everything running and reconciles nothing, again and again', async () => {
    const world = await running();
    expect(mustBeDone(await world.operations.close(CALLER)).runState).toEqual({ phase: 'stopped', kill: false });
    await world.operations.close(CALLER);
    world.declared.delete('a');
    world.ecs.world.exitTask(world.one('b').arn);
    expect((await world.passes(3, 60_000)).flatMap(told)).toEqual([]);
    expect(world.running()).toHaveLength(1);
    expect(world.telemetry.of('run-state-changed')).toMatchObject([{ before: 'running', phase: 'stopped' }]);
  });

  test('kill stops all, is done when all have stopped, and starts nothing while things are declared', async () => {
    const world = await running();
    expect(told(mustBeDone(await world.operations.kill(CALLER)))).toEqual(['stop a killed done', 'stop b killed done']);
    const reports = await world.passes(3, 60_000);
    expect(reports.flatMap(told)).toEqual([]);
    expect(reports.at(-1)?.runState).toEqual({ phase: 'stopped', kill: true });
    expect(world.running()).toEqual([]);
    expect((await world.proxies.loadProxies()).proxies).toEqual([]);
  });

  test('a kill whose stops fail is gone on with by every pass until the last task has stopped', async () => {
    const world = await running();
    const heal = world.ecs.faults.add('StopTask', FAULTS.forbidden);
    const report = mustBeDone(await world.operations.kill(CALLER));
    expect(report.problems).toHaveLength(2);
    expect(report.runState).toEqual({ phase: 'stopping', kill: true });
    heal();
    await world.later(5000).passes(2, 5000);
    expect(world.running()).toEqual([]);
    expect((await world.pass()).runState.phase).toBe('stopped');
  });

  test('kill needs no Consul', async () => {
    const world = await running();
    world.doubt = new ReadFailure('consul', 'unreachable', 'refused');
    const report = mustBeDone(await world.operations.kill(CALLER));
    expect([told(report).length, report.problems]).toEqual([2, []]);
  });

  test('run begins anew after close and after kill, with fresh counts', async () => {
    const world = await running();
    await world.operations.kill(CALLER);
    await world.passes(2, 60_000);
    expect(told(mustBeDone(await world.operations.run(CALLER)))).toEqual([
      'start a declared done',
      'start b declared done',
    ]);
    await world.operations.close(CALLER);
    expect(mustBeDone(await world.operations.run(CALLER)).runState).toEqual({ phase: 'running', kill: false });
    expect(world.running()).toHaveLength(2);
  });
});

describe('status', () => {
  test('ends in OK, with a row for each proxy', async () => {
    const world = await running();
    const status = await proxyStatus(world.deps, world.settings);
    expect([status.status, status.problems, status.notes]).toEqual(['OK', [], []]);
    const row = { proxyId: 'a', phase: 'running', declared: 'yes', launches: 1, taskDefinition: 'envoy:1' };
    expect(status.proxies[0]).toMatchObject({ ...row, task: { lastStatus: 'RUNNING' } });
  });

  test('says what is wrong and how to mend it', async () => {
    const world = await running();
    world.declared.set('bad', { taskDefinition: 'envoy:1', execMode: 'script' });
    world.ecs.faults.add('RunTask', FAULTS.forbidden);
    world.ecs.world.addTask({ cluster: 'prod', family: 'x', startedBy: STARTED_BY });
    world.ecs.world.exitTask(world.one('a').arn);
    await world.pass();
    await world.operations.close(CALLER);
    world.later(600_000);
    const { problems, status } = await proxyStatus(world.deps, {
      ...world.settings,
      rules: { allow: { ...world.settings.rules.allow, families: [], services: [] } },
    });
    const all = problems.map(({ problem }) => problem).join('\n');
    for (const part of [/run state is stopped/, /allow-list of task definition families is empty/, /^bad: /m]) {
      expect(all).toMatch(part);
    }
    expect(all).toMatch(/a: the last launch failed: AccessDenied/);
    expect(all).toMatch(/does not say for which proxy/);
    expect(problems.every(({ remedy }) => remedy.length > 10)).toBe(true);
    expect(status).toBe(`${problems.length} problems`);
  });

  test('an empty allow-list is a note where there are no proxies, and a problem where anything asks for one', async () => {
    const closed = (world: ReconcileWorld) => ({ ...world.settings, rules: { allow: NOTHING } });
    const unused = new ReconcileWorld();
    await unused.pass();
    const status = await proxyStatus(unused.deps, closed(unused));
    expect([status.status, status.problems]).toEqual(['OK', []]);
    expect(status.notes).toContain('no proxies are declared; allow-lists are empty');
    const isClosed = { problem: 'no proxy may be started: the allow-list of clusters is empty' };

    unused.declare('a');
    expect((await proxyStatus(unused.deps, closed(unused))).problems).toContainEqual(expect.objectContaining(isClosed));
    unused.declared.clear();
    unused.doubt = new ReadFailure('consul', 'forbidden', '403');
    expect((await proxyStatus(unused.deps, closed(unused))).problems).toContainEqual(expect.objectContaining(isClosed));

    const undeclared = await running(['a']);
    undeclared.declared.clear();
    const { problems } = await proxyStatus(undeclared.deps, closed(undeclared));
    expect(problems).toMatchObject([isClosed]);
  });

  test('with nothing declared, and without Consul', async () => {
    const world = new ReconcileWorld();
    expect((await proxyStatus(world.deps, world.settings)).notes.join()).toMatch(/nothing is declared/);
    world.doubt = new ReadFailure('consul', 'forbidden', '403');
    const { problems } = await proxyStatus(world.deps, world.settings);
    expect(problems).toMatchObject([{ problem: 'consul: 403', remedy: expect.stringMatching(/ACL token/) }]);
  });
});

describe('what is told', () => {
  test('each action is a log line, an event and a line of history', async () => {
    const world = await running(['a']);
    world.declare('a', 'changed');
    await world.passes(2, 1000);
    const types = world.events.events.map(({ type }) => type);
    expect(types).toEqual(['Proxy Launched', 'Proxy Stopped', 'Proxy Launched']);
    expect(world.state.history.map(({ kind }) => kind)).toEqual(['proxy-launched', 'proxy-stopped', 'proxy-launched']);
    expect(world.state.history[1]?.detail).toMatchObject({ proxyId: 'a', reason: 'replaced', cluster: 'prod' });
    expect(world.telemetry.of('proxy-stopped')).toHaveLength(1);
  });

  test('a task that ends by itself is told once; one that we stopped is not', async () => {
    const world = await running(['a', 'b']);
    world.ecs.world.exitTask(world.one('a').arn, { exitCode: 137 });
    await world.operations.restart(CALLER, { proxyId: 'b' });
    await world.passes(3, 1000);
    expect(world.telemetry.of('proxy-ended')).toMatchObject([{ proxyId: 'a', exitCode: 137 }]);
  });
});

test('1,000 declared and running, nothing to do: 20 calls to ECS, and five writes to the table', async () => {
  const ids = Array.from({ length: 1000 }, (_, index) => `p${String(index).padStart(4, '0')}`);
  const world = new ReconcileWorld({ launchLimit: 1000 }).declare(ids);
  await world.pass();
  await world.later(60_000).pass();
  world.ecs.calls.length = 0;
  const before = {
    state: world.state.calls.length,
    health: world.health.calls.length,
    proxies: world.proxies.calls.length,
  };
  const report = await world.later(60_000).pass();
  expect([report.ok, report.actions, report.running]).toEqual([true, [], 1000]);
  expect(world.ecs.calls).toHaveLength(20);
  const calls = {
    state: world.state.calls.slice(before.state),
    health: world.health.calls.slice(before.health),
    proxies: world.proxies.calls.slice(before.proxies),
  };
  expect(calls).toEqual({
    state: ['acquireLease', 'readEstate', 'releaseLease'],
    health: ['load', 'saveHeartbeat'],
    proxies: ['loadProxies', 'saveControl'],
  });
});
