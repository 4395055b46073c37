/** The proxy and event cases of cases.md, through the use case and the real ECS adapter. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { ReconcileWorld, START_MS, told } from './reconcile-world.ts';

const SIX = ['a', 'b', 'c', 'd', 'e', 'f'];

test('C37: failures[] are failed launches with their reasons; the third runs, and nobody waits for the other proxy', async () => {
  const world = new ReconcileWorld().declare(['web-proxy', 'db-proxy']);
  const reasons = {
    'web-proxy': ['AGENT', 'RESOURCE:MEMORY'],
    'db-proxy': Array.from({ length: 20 }, () => 'ATTRIBUTE'),
  };
  const launches: string[] = [];
  const { proxyEcs } = world.deps;
  const deps = {
    ...world.deps,
    proxyEcs: {
      ...proxyEcs,
      runTask: async (request: Parameters<typeof proxyEcs.runTask>[0]) => {
        const { proxyId } = request;
        launches.push(`${(world.clock.nowMs() - START_MS) / 1000} ${proxyId}`);
        const reason = reasons[proxyId as keyof typeof reasons].shift();
        if (reason !== undefined) world.ecs.launchFailures.push(reason);
        return proxyEcs.runTask(request);
      },
    },
  };
  const problems: string[] = [];
  for (let second = 0; second < 20; second += 1) {
    const result = await world.invoke({}, deps);
    if (result.outcome === 'done')
      problems.push(...result.problems.map(({ proxyId, message }) => `${proxyId} ${message}`));
    world.later(1000);
  }
  expect(launches.filter((launch) => launch.endsWith('web-proxy'))).toEqual([
    '0 web-proxy',
    '0 web-proxy',
    '0 web-proxy',
  ]);
  const ofDb = launches.filter((launch) => launch.endsWith('db-proxy'));
  expect(ofDb).toEqual(['0 db-proxy', '0 db-proxy', '0 db-proxy', '2 db-proxy', '6 db-proxy', '14 db-proxy']);
  expect(problems).toContain('web-proxy RunTask: AGENT');
  expect(problems).toContain('web-proxy RunTask: RESOURCE:MEMORY');
  expect(problems).toContain('db-proxy RunTask: ATTRIBUTE (not temporary: it needs a change)');
  expect(world.running('web-proxy')).toHaveLength(1);
  expect(await world.stateOf('web-proxy')).toMatchObject({ launches: 3, counted: 3 });
  expect(world.telemetry.of('proxy-launch-failed').map(({ message }) => message)).toEqual(['AGENT', 'RESOURCE:MEMORY']);
  expect(world.telemetry.of('proxy-launch-refused').length).toBe(6);
});

test('C38: the answer to RunTask is lost and the task is MISSING for 20s: one task, one token', async () => {
  const world = new ReconcileWorld().declare('web-proxy');
  world.ecs.faults.add('RunTask', FAULTS.resetAfterEffect, { times: 1 });
  const { proxyEcs } = world.deps;
  const isBlind = () => world.clock.nowMs() < START_MS + 20_000;
  const deps = {
    ...world.deps,
    proxyEcs: {
      ...proxyEcs,
      ownTasks: async (cluster: string, asked: readonly string[]) =>
        isBlind() ? { tasks: [], missing: new Set(asked) } : proxyEcs.ownTasks(cluster, asked),
    },
  };
  for (let second = 0; second < 40; second += 1) {
    await world.invoke({}, deps);
    world.later(1000);
  }
  const tokens = world.ecs.callsOf('RunTask').map(({ input }) => String(input.clientToken));
  expect(new Set(tokens).size).toBe(1);
  expect(tokens[0]).toMatch(/^[!-~]{1,64}$/);
  expect(world.running('web-proxy')).toHaveLength(1);
  expect(world.ecs.world.tasks()).toHaveLength(1);
});

describe('C39: six proxies run, and three tasks that are not ours', () => {
  async function six() {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(SIX);
    const foreign = [1, 2, 3].map(() =>
      world.ecs.world.addTask({ cluster: 'prod', family: 'envoy', startedBy: 'somebody' }),
    );
    await world.pass();
    world.later(60_000);
    return { world, foreign };
  }

  test('C39: one read that gives nothing stops nothing, and the next good one changes nothing', async () => {
    const { world } = await six();
    world.declared.clear();
    const surprised = await world.pass();
    expect(surprised.problems.map(({ reason }) => reason)).toEqual(['empty-declarations']);
    world.later(60_000).declare(SIX);
    await world.pass();
    expect(world.ecs.callsOf('StopTask')).toEqual([]);
    expect(world.ecs.callsOf('RunTask')).toHaveLength(6);
  });

  test.each([undefined, new ReadFailure('consul', 'no-leader', 'no leader')])(
    'C39: empty twice in succession is believed, under the cap; with %s between it is not',
    async (between) => {
      const { world, foreign } = await six();
      world.declared.clear();
      await world.pass();
      world.later(60_000);
      if (between) {
        world.doubt = between;
        await world.pass();
        world.later(60_000);
        world.doubt = undefined;
      }
      const second = await world.pass();
      expect(world.ecs.callsOf('StopTask')).toHaveLength(between ? 0 : 3);
      expect(second.waiting.filter(({ reason }) => reason === 'stop-cap')).toHaveLength(between ? 0 : 3);
      for (const arn of foreign) expect(world.ecs.world.task(arn)?.desiredStatus).toBe('RUNNING');
    },
  );
});

describe('events are hints', () => {
  const EVENTS = ['6 STOPPED', '4 RUNNING', '6 STOPPED', '5 STOPPING'];

  test('C40: late and doubled events of one stopped task: one launch', async () => {
    const world = new ReconcileWorld().declare('web-proxy');
    await world.pass();
    world.later(60_000);
    world.ecs.world.exitTask(world.one('web-proxy').arn);
    const eventMs = world.clock.nowMs();
    const results: string[] = [];
    for (const _event of EVENTS) {
      world.later(50);
      results.push((await world.invoke({ newestMessageMs: eventMs })).outcome);
    }
    expect(results).toEqual(['done', 'covered', 'covered', 'covered']);
    expect(world.ecs.callsOf('RunTask')).toHaveLength(2);
  });

  test('C40: without the declaration nothing is launched for them', async () => {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(['web-proxy', 'db-proxy']);
    await world.pass();
    world.later(60_000);
    world.ecs.world.exitTask(world.one('web-proxy').arn);
    world.declared.delete('web-proxy');
    for (const _event of EVENTS) {
      await world.pass();
      world.later(50);
    }
    expect(world.ecs.callsOf('RunTask')).toHaveLength(2);
    expect(await world.stateOf('web-proxy')).toBeUndefined();
  });

  test('C41: DescribeTasks decides, not the event; an exit without an event is mended by the schedule alone', async () => {
    const world = new ReconcileWorld().declare(['web-proxy', 'db-proxy']);
    await world.pass();
    world.later(60_000);
    expect(told(await world.pass({ newestMessageMs: world.clock.nowMs() }))).toEqual([]);
    world.ecs.world.exitTask(world.one('db-proxy').arn);
    world.later(60_000);
    expect(told(await world.pass())).toEqual(['start db-proxy restarted done']);
    expect(world.running()).toHaveLength(2);
  });
});
