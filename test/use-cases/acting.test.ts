/** Cases C29 to C36: what ECS says of a due task, and what becomes of the call. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { CLUSTER, reasons, START_MS, WatchWorld } from './watch-world.ts';

const RUNNING_LONG = { startedAtMs: START_MS - 3_600_000, replaceAfterMs: null };

describe('C29: a service that is deploying', () => {
  test.each(['stop-task', 'force-new-deployment'])(
    'C29: is left alone by %s, its old and its new task',
    async (action) => {
      const world = new WatchWorld({ rule: { action } });
      world.service('orders', { tasks: 2, spec: { deploying: true } });
      for (const report of await world.passes(120, 60_000)) expect(reasons(report)).toEqual(['deploying', 'deploying']);
      expect(world.writes()).toEqual([]);
      expect(world.telemetry.of('restart-withheld')).toHaveLength(2);
    },
  );

  test('C29: is judged as any other when its deployment is COMPLETED', async () => {
    const world = new WatchWorld();
    const { id } = world.one('orders', { spec: { deploying: true } });
    await world.pass();
    world.ecs.world.settleDeployment(CLUSTER, 'orders', 'COMPLETED');
    await world.at(10_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

describe('C30: a forced deployment that the controller does not take', () => {
  const rule = { action: 'force-new-deployment' };

  test('C30: CODE_DEPLOY with one task set: no UpdateService, one StopTask', async () => {
    const world = new WatchWorld({ rule });
    const { id } = world.one('orders', { spec: { controller: 'CODE_DEPLOY' } });
    const report = await world.pass();
    expect(world.writes().map(({ operation }) => operation)).toEqual(['StopTask']);
    expect(report.restarts).toMatchObject([{ task: id, action: 'stop-task' }]);
  });

  test('C30: two task sets: deploying', async () => {
    const world = new WatchWorld({ rule });
    world.one('orders', { spec: { controller: 'CODE_DEPLOY', deploying: true } });
    expect(reasons(await world.pass())).toEqual(['deploying']);
    expect(world.writes()).toEqual([]);
  });

  test.each([
    'Cannot force a new deployment on services with a CODE_DEPLOY deployment controller.',
    'Unable to update: the service uses an EXTERNAL deployment controller',
  ])(
    'C30: no controller in the answer, and UpdateService says "%s": the fallback in the same pass',
    async (message) => {
      const world = new WatchWorld({ rule });
      const { id } = world.one('orders', { spec: { omitController: true } });
      world.ecs.faults.add('UpdateService', { kind: 'error', code: 'InvalidParameterException', message });
      const report = await world.pass();
      expect(world.writes().map(({ operation }) => operation)).toEqual(['UpdateService', 'StopTask']);
      expect(report.restarts).toMatchObject([{ task: id, action: 'stop-task', outcome: 'accepted' }]);
      expect((await world.owner('orders')).claims).toMatchObject([{ action: 'stop-task', outcome: 'accepted' }]);
      await world.passes(20, 10_000);
      expect(world.writes()).toHaveLength(2);
    },
  );

  test('C30: the fallback stops one task; the others that are due keep their streaks and follow', async () => {
    const world = new WatchWorld({ rule, checkRestart: { limit: 2, interval: '20s', grace: '0s' } });
    const [one, other] = world.service('orders', { tasks: 2, spec: { omitController: true } });
    const message = 'the deployment controller does not support this';
    world.ecs.faults.add('UpdateService', { kind: 'error', code: 'InvalidParameterException', message });
    await world.passes(2, 10_000);
    const report = await world.at(20_000).pass();
    expect(report.restarts.map(({ task }) => task)).toEqual([one?.id]);
    expect(world.stops()).toEqual([one?.id]);
    await world.at(25_000).pass();
    await world.at(35_000).pass();
    expect(world.stops()).toEqual([one?.id, other?.id]);
  });

  test('takes the whole service: one UpdateService for all its due tasks, and none while it is under way', async () => {
    const world = new WatchWorld({ rule, delays: { replaceMs: 30_000, pendingMs: 30_000 } });
    const tasks = world.service('orders', { tasks: 3, task: { replaceAfterMs: 30_000 } });
    const report = await world.pass();
    expect(world.writes().map(({ operation }) => operation)).toEqual(['UpdateService']);
    expect(report.restarts).toMatchObject([{ owner: 'orders', action: 'force-new-deployment' }]);
    expect(tasks.map(({ id }) => id)).toContain(report.restarts[0]?.task);
    await world.at(1000).passes(5, 10_000);
    expect(world.writes()).toHaveLength(1);
  });
});

describe('C31: a stand-alone task', () => {
  test.each([
    { part: '(a)', spec: { family: 'report', startedBy: 'nightly' }, owner: 'family/report' },
    { part: '(b)', spec: { family: 'job', group: 'service:report', startedBy: 'ops' }, owner: 'family/job' },
  ])('C31: $part is not stopped, unless the policy says so', async ({ spec, owner }) => {
    const world = new WatchWorld();
    const { id } = world.task({ ...spec, ...RUNNING_LONG });
    expect(reasons(await world.pass())).toEqual(['standalone']);
    expect(world.writes()).toEqual([]);
    world.policy({
      rules: [{ match: {}, checkRestart: { limit: 1, interval: '10s', grace: '0s' }, standalone: 'stop' }],
    });
    await world.at(10_000).pass();
    expect(world.stops()).toEqual([id]);
    expect((await world.state.load()).services.map(({ key }) => key)).toEqual([`${CLUSTER}/${owner}`]);
  });

  test.each(['ecs-check-restart', 'ecs-check-restart/another-stage'])(
    'that a reconcile-proxies started (%s) is left to it',
    async (startedBy) => {
      const world = new WatchWorld();
      world.task({ family: 'proxy', startedBy, ...RUNNING_LONG });
      world.policy({
        rules: [{ match: {}, checkRestart: { limit: 1, interval: '10s', grace: '0s' }, standalone: 'stop' }],
      });
      expect(reasons(await world.pass())).toEqual(['proxy']);
      expect(world.writes()).toEqual([]);
    },
  );
});

describe('C32: task protection', () => {
  test('C32: (a) a protected task is not stopped, and is asked for again in each pass', async () => {
    const world = new WatchWorld();
    const { arn, id } = world.one();
    world.ecs.world.protect(arn, START_MS + 25_000);
    for (const report of await world.passes(3, 10_000)) expect(reasons(report)).toEqual(['protected']);
    expect(world.ecs.callsOf('GetTaskProtection')).toHaveLength(3);
    expect(world.writes()).toEqual([]);
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });

  test('C32: (b) a protection that ended a second ago holds nothing back, though ECS still calls it enabled', async () => {
    const world = new WatchWorld();
    const { arn, id } = world.one();
    world.ecs.world.protect(arn, START_MS - 1000, true);
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });

  test('C32: (c) a call that fails counts as protected', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    world.ecs.faults.add('GetTaskProtection', FAULTS.throttled, { times: 1 });
    expect(reasons(await world.pass())).toEqual(['protected']);
    expect(world.writes()).toEqual([]);
    await world.at(10_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('C32: (d) a task that it does not know is task-not-found', async () => {
    const world = new WatchWorld();
    const { arn } = world.one();
    const text = JSON.stringify({ protectedTasks: [], failures: [{ arn, reason: 'MISSING' }] });
    world.ecs.faults.add('GetTaskProtection', { kind: 'body', text });
    expect(reasons(await world.pass())).toEqual(['task-not-found']);
    expect(world.writes()).toEqual([]);
  });

  test('is not asked where the policy ignores it', async () => {
    const world = new WatchWorld({ rule: { protection: 'ignore' } });
    const { arn, id } = world.one();
    world.ecs.world.protect(arn);
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });
});

describe("C33: the check's name in the stop reason", () => {
  test.each([100, 101])('C33: %i x A and 249 flames are cut at 255 units, and the task is stopped', async (letters) => {
    const world = new WatchWorld();
    const { arn, checkId } = world.one();
    world.consul.set(checkId, { name: `${'A'.repeat(letters)}\n${'🔥'.repeat(249)}Z` });
    await world.pass();
    const reason = world.ecs.world.task(arn)?.stoppedReason ?? '';
    expect(reason.length).toBeLessThanOrEqual(255);
    expect(reason).toMatch(/^healthcheck: check "A+ (🔥)+…" unhealthy$/u);
    expect(reason.isWellFormed()).toBe(true);
    expect(world.ecs.world.task(arn)?.desiredStatus).toBe('STOPPED');
  });
});

describe('C36: two due tasks, one gone, one that may not be stopped', () => {
  const GONE = {
    kind: 'error',
    code: 'InvalidParameterException',
    message: 'The referenced task was not found.',
  } as const;

  test.each([
    { order: 'the gone one first', first: 'gone' },
    { order: 'the gone one last', first: 'forbidden' },
  ])('C36: $order', async ({ first }) => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '10s', grace: '0s' } });
    const [one, other] = world.service('web', { tasks: 2 });
    if (!one || !other) throw new Error('no tasks');
    const [gone, forbidden] = first === 'gone' ? [one, other] : [other, one];
    const isOf = (arn: string) => (input: Readonly<Record<string, unknown>>) => input.task === arn;
    world.ecs.faults.add('StopTask', GONE, { when: isOf(gone.arn) });
    world.ecs.faults.add('StopTask', FAULTS.forbidden, { when: isOf(forbidden.arn) });
    await world.pass();
    const report = await world.at(10_000).pass();

    expect(report.restarts).toMatchObject([{ task: gone.id, outcome: 'already-gone' }]);
    expect(await world.streakSince(gone.checkId)).toBeUndefined();
    expect(report.skipped).toMatchObject([{ task: forbidden.id, reason: 'ecs-error' }]);
    expect(await world.streakSince(forbidden.checkId)).toBe(START_MS);
    const refused = world.telemetry.of('restart-refused');
    expect(refused).toMatchObject([{ task: forbidden.id }]);
    expect(JSON.stringify(refused)).not.toContain(gone.id);
    const owner = await world.owner();
    expect(owner.claims).toEqual([]);
    expect(owner.refused.map(({ taskArn }) => taskArn)).toEqual([forbidden.arn]);
    expect(owner.brakes.inFlight).toEqual([]);
    expect(owner.brakes.lastRestartMs).toBeUndefined();
  });

  test('C36: a refused stop is tried again with backoff, at most once a pass, until it is allowed', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    const allow = world.ecs.faults.add('StopTask', FAULTS.forbidden);
    const attempts: number[] = [];
    for (let atMs = 0; atMs <= 1_800_000; atMs += 5000) {
      const before = world.stops().length;
      await world.at(atMs).pass();
      expect(world.stops().length - before).toBeLessThanOrEqual(1);
      if (world.stops().length > before) attempts.push(atMs / 1000);
    }
    // 10s after the first refusal, then twice as long each time, ten minutes at most.
    expect(attempts).toEqual([0, 10, 30, 70, 150, 310, 630, 1230]);
    expect(world.telemetry.of('restart-refused')).toHaveLength(1);
    expect(world.telemetry.counters.get('RestartsRefused')).toBe(8);
    allow();
    await world.at(1_830_000).pass();
    expect(world.stops().at(-1)).toBe(id);
    expect(world.ecs.world.task(id)?.desiredStatus).toBe('STOPPED');
    expect((await world.owner()).refused).toEqual([]);
  });

  test('C36: refusals of tasks that are long gone do not pile up', async () => {
    const world = new WatchWorld({ settings: { maxObservationGapMs: null } });
    world.ecs.faults.add('StopTask', FAULTS.forbidden);
    world.ecs.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 1, startTasks: false });
    for (let day = 0; day < 20; day += 1) {
      const task = world.at(day * 86_400_000).task({ service: 'web' });
      await world.pass();
      world.deregister(task);
      world.ecs.world.exitTask(task.arn);
    }
    expect(world.stops()).toHaveLength(20);
    expect((await world.owner()).refused).toHaveLength(1);
  });

  test('a refusal of one task does not hold back the other', async () => {
    const world = new WatchWorld();
    const [one, other] = world.service('web', { tasks: 2 });
    world.ecs.faults.add('StopTask', FAULTS.forbidden, { when: ({ task }) => task === one?.arn });
    const report = await world.pass();
    expect(report.restarts.map(({ task }) => task)).toEqual([other?.id]);
  });
});
