import { describe, expect, it } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { launchRequest, OURS, type ProxyStage, proxyStage } from './proxy-stage.ts';
import { arnOf, CLUSTER, START_MS, T1, T2 } from './stage.ts';

const tagsOf = (proxyId: string) => [
  { key: 'ecs-check-restart:proxy-id', value: proxyId },
  { key: 'ecs-check-restart:fingerprint', value: 'F' },
  { key: 'ecs-check-restart:generation', value: '7' },
];
const overridesOf = (proxyId: string) => ({
  containerOverrides: [{ name: 'envoy', environment: [{ name: 'CONNECT_PROXY_ID', value: proxyId }] }],
});

function ours({ double }: ProxyStage, fields: Partial<Parameters<typeof double.world.addTask>[0]> = {}): string {
  return double.world.addTask({
    cluster: CLUSTER,
    startedBy: OURS,
    tags: tagsOf('edge'),
    overrides: overridesOf('edge'),
    ...fields,
  });
}

describe('our own tasks', () => {
  it('are those with our startedBy, and no others', async () => {
    const scene = await proxyStage();
    const mine = ours(scene);
    ours(scene, { startedBy: 'ops' });
    ours(scene, { startedBy: `${OURS}-2` });
    scene.double.world.addTask({ cluster: CLUSTER, tags: tagsOf('edge') });
    scene.double.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 3 });
    const { tasks, missing } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks.map(({ taskArn }) => taskArn)).toEqual([mine]);
    expect(missing).toEqual(new Set());
  });

  it('say what ECS says of them', async () => {
    const scene = await proxyStage();
    const taskArn = ours(scene, { startedAtMs: START_MS - 5000, address: '10.9.8.7' });
    const { tasks } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks).toMatchObject([
      {
        taskArn,
        cluster: CLUSTER,
        lastStatus: 'RUNNING',
        desiredStatus: 'RUNNING',
        startedAtMs: START_MS - 5000,
        proxyId: 'edge',
        fingerprint: 'F',
        generation: 7,
      },
    ]);
    for (const absent of ['stoppedAtMs', 'stopCode', 'stoppedReason', 'exitCode'])
      expect(tasks[0]).not.toHaveProperty(absent);
  });

  it('of others stay theirs, though they are remembered by ARN', async () => {
    const scene = await proxyStage();
    const foreign = ours(scene, { startedBy: 'ops' });
    scene.double.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 1, startTasks: false });
    const ofService = scene.double.world.addTask({ service: 'web', cluster: CLUSTER, tags: tagsOf('edge') });
    const answer = await scene.port.ownTasks(CLUSTER, [foreign, ofService]);
    expect(answer).toEqual({ tasks: [], missing: new Set() });
  });

  it('are known by their overrides when they carry no tags', async () => {
    const scene = await proxyStage();
    ours(scene, { tags: [] });
    ours(scene, { tags: [{ key: 'ecs-check-restart:proxy-id', value: '' }], overrides: overridesOf('north') });
    ours(scene, { tags: [], overrides: { containerOverrides: [{ name: 'envoy' }] } });
    ours(scene, { tags: [], overrides: overridesOf('') });
    const { tasks } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks.map(({ proxyId }) => proxyId)).toEqual(['edge', 'north', undefined, undefined]);
    expect(tasks.every((task) => !('fingerprint' in task) && !('generation' in task))).toBe(true);
  });

  it.each(['', '0', '-1', '1.5', 'seven', '1e400'])('have no generation where the tag says %j', async (value) => {
    const scene = await proxyStage();
    ours(scene, { tags: [{ key: 'ecs-check-restart:generation', value }] });
    const { tasks } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).not.toHaveProperty('generation');
  });

  it('that have stopped are seen where they are remembered: without tags, with the end of their containers', async () => {
    const scene = await proxyStage();
    const launched = await scene.port.runTask(launchRequest());
    const taskArn = launched.kind === 'launched' ? launched.taskArn : '';
    scene.pass(5000);
    scene.double.world.exitTask(taskArn, { exitCode: 137 });
    scene.pass(200);
    expect(scene.double.world.task(taskArn)).toMatchObject({ lastStatus: 'STOPPED', tags: [] });
    expect(await scene.port.ownTasks(CLUSTER, [])).toEqual({ tasks: [], missing: new Set() });
    const { tasks } = await scene.port.ownTasks(CLUSTER, [taskArn]);
    expect(tasks).toMatchObject([
      {
        taskArn,
        lastStatus: 'STOPPED',
        desiredStatus: 'STOPPED',
        startedAtMs: START_MS + 2000,
        // STOPPED only 200 ms later.
        stoppedAtMs: START_MS + 5000,
        stopCode: 'EssentialContainerExited',
        stoppedReason: 'Essential container in task exited',
        exitCode: 137,
        proxyId: 'edge',
      },
    ]);
    expect(tasks[0]).not.toHaveProperty('generation');
  });

  it('that never ran ended when they were STOPPED, and without an exit code', async () => {
    const scene = await proxyStage();
    const taskArn = ours(scene, { launch: true });
    scene.double.world.exitTask(taskArn, { stopCode: 'TaskFailedToStart', reason: 'CannotPullContainerError' });
    scene.pass(200);
    const { tasks } = await scene.port.ownTasks(CLUSTER, [taskArn]);
    expect(tasks).toMatchObject([{ stopCode: 'TaskFailedToStart', stoppedAtMs: START_MS + 200 }]);
    expect(tasks[0]).not.toHaveProperty('startedAtMs');
  });

  it('that are stopping are seen where they are remembered', async () => {
    const scene = await proxyStage();
    const taskArn = ours(scene);
    await scene.port.stopTask({ cluster: CLUSTER, task: taskArn, reason: 'proxy edge: no longer declared' });
    expect((await scene.port.ownTasks(CLUSTER, [])).tasks).toEqual([]);
    const { tasks } = await scene.port.ownTasks(CLUSTER, [taskArn]);
    expect(tasks).toMatchObject([{ lastStatus: 'RUNNING', desiredStatus: 'STOPPED', proxyId: 'edge' }]);
  });

  it.each([
    ['the first container that failed', [0, 3, 4], 3],
    ['0 where none failed', [0, undefined], 0],
    ['nothing where none has ended', [undefined], undefined],
  ])('have as exit code %s', async (_, codes, expected) => {
    const scene = await proxyStage();
    const task = {
      taskArn: arnOf(T1),
      startedBy: OURS,
      lastStatus: 'STOPPED',
      desiredStatus: 'STOPPED',
      containers: codes.map((exitCode, number) => ({
        name: `c${number}`,
        ...(exitCode === undefined ? {} : { exitCode }),
      })),
    };
    scene.double.faults.add('DescribeTasks', { kind: 'body', text: JSON.stringify({ tasks: [task], failures: [] }) });
    const { tasks } = await scene.port.ownTasks(CLUSTER, [arnOf(T1)]);
    expect(tasks.map(({ exitCode }) => exitCode)).toEqual([expected]);
  });

  it('that ECS has forgotten are missing; a launch of a moment ago is not', async () => {
    const scene = await proxyStage({ delays: { missingAfterMs: 60_000 } });
    const gone = ours(scene);
    scene.double.world.exitTask(gone);
    scene.pass(61_000);
    const there = ours(scene);
    const { tasks, missing } = await scene.port.ownTasks(CLUSTER, [gone, there, arnOf(T2)]);
    expect(tasks.map(({ taskArn }) => taskArn)).toEqual([there]);
    expect(missing).toEqual(new Set([gone, arnOf(T2)]));
  });

  it('are told in the form in which they are remembered', async () => {
    const scene = await proxyStage();
    ours(scene, { id: T1 });
    const short = `arn:aws:ecs:eu-west-1:123456789012:task/${T1}`;
    const { tasks } = await scene.port.ownTasks(CLUSTER, [short]);
    expect(tasks.map(({ taskArn }) => taskArn)).toEqual([short]);
    expect(scene.double.callsOf('DescribeTasks').map(({ input }) => input.tasks)).toEqual([[short]]);
  });

  it('of another cluster are neither asked for nor concluded about, and what is no task is missing', async () => {
    const scene = await proxyStage({ clusters: [CLUSTER, 'other'] });
    const mine = ours(scene);
    const elsewhere = ours(scene, { cluster: 'other' });
    const { tasks, missing } = await scene.port.ownTasks(CLUSTER, [elsewhere, 'no task', mine]);
    expect(tasks.map(({ taskArn }) => taskArn)).toEqual([mine]);
    expect(missing).toEqual(new Set(['no task']));
  });
});

describe('many tasks of ours', () => {
  it('are listed to the end and described in hundreds, each once, with their tags', async () => {
    const scene = await proxyStage();
    const running = Array.from({ length: 450 }, (_, number) => ours(scene, { tags: tagsOf(`p${number}`) }));
    const gone = Array.from({ length: 60 }, () => ours(scene));
    for (const arn of gone) scene.double.world.exitTask(arn);
    scene.pass(1000);
    const { tasks } = await scene.port.ownTasks(CLUSTER, [...gone, ...running.slice(0, 10)]);
    expect(new Set(tasks.map(({ taskArn }) => taskArn))).toEqual(new Set([...running, ...gone]));
    expect(tasks).toHaveLength(510);
    expect(scene.double.callsOf('ListTasks').map(({ input }) => input.maxResults)).toEqual([100, 100, 100, 100, 100]);
    const described = scene.double.callsOf('DescribeTasks').map(({ input }) => input);
    expect(described.map(({ tasks: chunk }) => (chunk as string[]).length).sort()).toEqual([
      10, 100, 100, 100, 100, 100,
    ]);
    expect(described.every(({ cluster, include }) => cluster === CLUSTER && String(include) === 'TAGS')).toBe(true);
    expect(scene.double.callsOf('ListTasks').every(({ input }) => input.startedBy === OURS)).toBe(true);
  });

  it('none of ours, nothing remembered: no DescribeTasks', async () => {
    const scene = await proxyStage();
    expect(await scene.port.ownTasks(CLUSTER, [])).toEqual({ tasks: [], missing: new Set() });
    expect(scene.double.callsOf('DescribeTasks')).toEqual([]);
  });

  it('C35: are listed past an empty page', async () => {
    const scene = await proxyStage();
    const mine = ours(scene);
    scene.double.paging.emptyPagesFirst = 1;
    const { tasks } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks.map(({ taskArn }) => taskArn)).toEqual([mine]);
    expect(scene.double.callsOf('ListTasks')).toHaveLength(2);
  });
});

describe('half an answer about our own tasks is none', () => {
  it.each([
    [
      'a later page fails',
      'ListTasks',
      FAULTS.forbidden,
      'incomplete',
      ({ nextToken }: Record<string, unknown>) => nextToken !== undefined,
    ],
    ['the listing is forbidden', 'ListTasks', FAULTS.forbidden, 'forbidden', () => true],
    [
      'one of the hundreds fails',
      'DescribeTasks',
      FAULTS.forbidden,
      'forbidden',
      ({ tasks }: Record<string, unknown>) => (tasks as string[]).length < 100,
    ],
    ['the answer is cut off', 'DescribeTasks', FAULTS.truncated, 'malformed', () => true],
  ] as const)('%s', async (_, operation, fault, code, when) => {
    const scene = await proxyStage();
    for (let number = 0; number < 150; number += 1) ours(scene);
    scene.double.faults.add(operation, fault, { when });
    await expect(scene.port.ownTasks(CLUSTER, [])).rejects.toMatchObject({ name: 'ReadFailure', system: 'ecs', code });
  });

  it.each([
    ['nothing is said of a task', { tasks: [], failures: [] }],
    ['a failure has another reason than MISSING', { tasks: [], failures: [{ arn: arnOf(T1), reason: 'ACCESS' }] }],
    ['a failure does not say whose', { tasks: [], failures: [{ reason: 'MISSING' }] }],
  ])('%s', async (_, body) => {
    const scene = await proxyStage();
    scene.double.faults.add('DescribeTasks', { kind: 'body', text: JSON.stringify(body) });
    await expect(scene.port.ownTasks(CLUSTER, [arnOf(T1)])).rejects.toMatchObject({ code: 'incomplete' });
  });

  it('a cluster that is not there', async () => {
    const scene = await proxyStage();
    await expect(scene.port.ownTasks('gone', [])).rejects.toMatchObject({ name: 'ReadFailure' });
  });
});
