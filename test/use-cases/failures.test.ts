/** ECS or the table fails, in every method: it is reported, nothing is lost, the next pass goes on. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import type { StateOperation } from '../../infra/local/memory-state.ts';
import { failure, reasons, START_MS, WatchWorld } from './watch-world.ts';

/** Due at 20s. */
const DUE_AT_20S = { limit: 3, interval: '10s', grace: '0s' };
const WRONG = { throttled: FAULTS.throttled, forbidden: FAULTS.forbidden, down: FAULTS.refuse, html: FAULTS.html };
const READS = ['DescribeTasks', 'DescribeServices'] as const;

describe('ECS', () => {
  test.each(READS.flatMap((operation) => Object.entries(WRONG).map(([how, fault]) => ({ operation, how, fault }))))(
    '$operation $how: reported, nothing is stopped, the streak goes on, and the next pass restarts',
    async ({ operation, fault }) => {
      const world = new WatchWorld({ checkRestart: DUE_AT_20S });
      const { id, checkId } = world.one();
      await world.passes(2, 10_000);
      world.ecs.faults.add(operation, fault);
      const report = await world.at(20_000).pass();
      expect(report.ok).toBe(true);
      expect(report.failures).toContainEqual(expect.objectContaining({ system: 'ecs' }));
      expect(reasons(report)).toEqual(['ecs-error']);
      expect(world.writes()).toEqual([]);
      expect(await world.streakSince(checkId)).toBe(START_MS);
      world.ecs.faults.clear();
      await world.at(21_000).pass();
      expect(world.stops()).toEqual([id]);
    },
  );

  test('that fails while the task is first seen leaves the check for the next pass', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AT_20S });
    const { id } = world.one();
    world.ecs.faults.add('DescribeTasks', FAULTS.throttled, { times: 1 });
    expect(await world.pass()).toMatchObject({ failures: [{ system: 'ecs', code: 'rate-limited' }] });
    await world.at(10_000).pass();
    await world.at(29_000).pass();
    expect(world.stops()).toEqual([]);
    await world.at(30_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('that cannot be asked of one cluster does not hold up another', async () => {
    const world = new WatchWorld({
      settings: { mapping: { ...new WatchWorld().settings.mapping, allowedClusters: ['*'] } },
    });
    world.one('web');
    world.ecs.world.addService({ name: 'api', cluster: 'stage', desiredCount: 1, startTasks: false });
    const arn = world.ecs.world.addTask({
      service: 'api',
      cluster: 'stage',
      startedAtMs: START_MS - 3_600_000,
      replaceAfterMs: null,
    });
    const { id } = world.register(arn);
    world.ecs.faults.add('DescribeTasks', FAULTS.forbidden, { when: ({ cluster }) => cluster === 'prod' });
    const report = await world.pass();
    expect(world.stops()).toEqual([id]);
    expect(report.failures).toMatchObject([{ system: 'ecs', code: 'forbidden' }]);
  });

  test('one line tells of it, not one a pass', async () => {
    const world = new WatchWorld();
    world.one();
    world.ecs.faults.add('DescribeTasks', FAULTS.throttled);
    await world.passes(10, 10_000);
    const lines = world.telemetry.lines.filter(({ level }) => level === 'error');
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect(lines.length).toBeLessThanOrEqual(2);
  });
});

describe('the table', () => {
  test('that cannot be read ends the pass before anything was asked', async () => {
    const world = new WatchWorld();
    world.one();
    world.state.fail(failure('state', 'forbidden'), { of: ['load'] });
    await expect(world.pass()).rejects.toMatchObject({ system: 'state', code: 'forbidden' });
    expect(world.ecs.calls).toEqual([]);
    expect(world.consul.calls).toEqual([]);
  });

  /** Before the claim is stored nothing is done. */
  const BEFORE: StateOperation[] = ['readService', 'readEstate', 'saveService', 'takeRestartSlot', 'recentRestarts'];
  test.each(BEFORE)('that fails in %s before the claim: nothing is stopped, and the next pass restarts', async (of) => {
    const world = new WatchWorld({ checkRestart: DUE_AT_20S });
    const { id, checkId } = world.one();
    world.settings = {
      ...world.settings,
      brakes: { ...world.settings.brakes, estate: { ...world.settings.brakes.estate, perMinute: 10 } },
    };
    await world.passes(2, 10_000);
    world.state.fail(failure('state', 'rate-limited'), { of: [of] });
    const report = await world.at(20_000).pass();
    expect(report.failures).toContainEqual(expect.objectContaining({ system: 'state', code: 'rate-limited' }));
    expect(report.restarts).toEqual([]);
    expect(world.writes()).toEqual([]);
    expect(await world.streakSince(checkId)).toBe(START_MS);
    world.state.heal();
    await world.at(21_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('that cannot record the answer: the stop is reported and told, its claim found and confirmed later', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    const stopTask: typeof world.deps.ecs.stopTask = (request) => {
      world.state.fail(failure('state', 'timeout'), { of: ['saveService', 'readService'] });
      return world.deps.ecs.stopTask(request);
    };
    const report = await world.pass({}, { ...world.deps, ecs: { ...world.deps.ecs, stopTask } });
    expect(report.restarts).toMatchObject([{ task: id, outcome: 'accepted' }]);
    expect(report.failures).toMatchObject([{ system: 'state', code: 'timeout' }]);
    expect(world.events.events.map(({ type }) => type)).toEqual(['Restart']);
    world.state.heal();
    expect((await world.owner()).claims).toMatchObject([{ outcome: 'open' }]);
    await world.at(40_000).pass();
    expect((await world.owner()).claims).toEqual([]);
    expect(world.stops()).toEqual([id]);
  });

  test('whose write of the claim took effect without an answer: the task is stopped once', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    world.state.fail(failure('state', 'timeout'), { of: ['saveService'], times: 1, takesEffect: true });
    const report = await world.pass();
    expect(report.restarts).toEqual([]);
    expect(reasons(report)).toEqual(['restart-in-flight']);
    expect(world.stops()).toEqual([]);
    await world.at(10_000).pass();
    expect(world.stops()).toEqual([]);
    await world.at(31_000).passes(4, 10_000);
    expect(world.stops()).toEqual([id]);
    expect((await world.owner()).claims).toEqual([]);
  });

  test.each<StateOperation>(['saveCheck', 'deleteCheck', 'saveHeartbeat', 'appendHistory', 'savePolicy'])(
    'that fails in %s: the pass comes to its end, the restart is made and reported',
    async (of) => {
      const world = new WatchWorld();
      const { id } = world.one('web');
      const healing = world.one('api', { status: 'passing' });
      const begins = world.one('db', { status: 'passing' });
      world.policy({
        rules: [
          { match: { service: 'web' }, checkRestart: { limit: 2, interval: '10s', grace: '0s' } },
          { match: { service: 'api' }, checkRestart: { limit: 9, interval: '10s', grace: '0s' } },
          { match: { service: 'db' }, checkRestart: { limit: 9, interval: '10s', grace: '0s' } },
        ],
      });
      world.consul.set(healing.checkId, 'critical');
      if (of !== 'savePolicy') await world.pass();
      else world.policy({ rules: [{ match: {}, checkRestart: { limit: 1, interval: '10s', grace: '0s' } }] });
      world.consul.set(healing.checkId, 'passing');
      world.consul.set(begins.checkId, 'critical');
      world.state.fail(failure('state', 'rate-limited'), { of: [of] });
      const report = await world.at(10_000).pass();
      expect(report.restarts.map(({ task }) => task)).toContain(id);
      expect(world.stops()).toContain(id);
      const told = report.failures.some(({ system }) => system === 'state');
      expect(told || world.telemetry.of('state-failed').length > 0).toBe(true);
      world.state.heal();
      expect(await world.at(20_000).pass()).toMatchObject({ ok: true });
    },
  );

  test('with an item that is not understood: it is reported and left alone, the others go on', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AT_20S });
    const { checkId } = world.one('web');
    const other = world.one('api');
    await world.passes(2, 10_000);
    const [item] = world.state.writes.filter(
      ({ operation, value }) => operation === 'saveCheck' && Reflect.get(Object(value), 'checkId') === checkId,
    );
    world.state.setAside(item?.key ?? '', 'schema 9 is not known here');
    await world.at(20_000).pass();
    expect(world.stops()).toEqual([other.id]);
    expect(world.telemetry.of('unreadable-item')).toMatchObject([{ key: item?.key }]);
    await world.at(40_000).pass();
    expect(world.stops()).toEqual([other.id]);
  });
});

describe('C45: what the table answers', () => {
  test('C45: (a) a load that did not come to its end decides nothing', async () => {
    const world = new WatchWorld();
    world.one();
    world.state.fail(failure('state', 'incomplete'), { of: ['load'] });
    await expect(world.pass()).rejects.toMatchObject({ code: 'incomplete' });
    expect(world.writes()).toEqual([]);
  });

  test.each([
    { status: 'critical', stops: 1 },
    { status: 'passing', stops: 0 },
  ])('C45: (c) a claim of two hours ago counts as none: $status, $stops stops', async ({ status, stops }) => {
    const world = new WatchWorld();
    const { arn, checkId } = world.one('web', { status: 'passing' });
    await world.state.saveService({
      ...(await world.owner()),
      claims: [
        {
          taskArn: arn,
          action: 'stop-task',
          checkName: checkId,
          consulService: 'web',
          claimedAtMs: START_MS - 7_200_000,
          triedAtMs: START_MS - 7_200_000,
          tries: 1,
          outcome: 'open',
        },
      ],
    });
    world.consul.set(checkId, status);
    await world.passes(3, 10_000);
    expect(world.stops()).toHaveLength(stops);
    expect((await world.owner()).claims).toEqual([]);
  });
});

test('a conflict on a check is decided again by the next pass, and counted', async () => {
  const world = new WatchWorld({ checkRestart: DUE_AT_20S });
  const { id } = world.one();
  world.state.conflict({ of: ['saveCheck'], times: 1 });
  await world.pass();
  expect(world.telemetry.counters.get('StateConflicts')).toBe(1);
  await world.at(10_000).passes(3, 10_000);
  expect(world.stops()).toEqual([id]);
});

test('events that are not published stop nothing', async () => {
  const world = new WatchWorld();
  const { id } = world.one();
  await world.pass();
  expect(world.stops()).toEqual([id]);
  expect(world.events.events).toMatchObject([{ type: 'Restart', detail: { task: id } }]);
});
