import { describe, expect, it } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { arnOf, CLUSTER, START_MS, type Stage, serviceOfOne, stage, T1, T2 } from './stage.ts';

function addTasks({ double }: Stage, count: number): string[] {
  return Array.from({ length: count }, () => double.world.addTask({ cluster: CLUSTER }));
}

/** The lists that requests of an operation carried. */
function asked({ double }: Stage, operation: string, member: string): string[][] {
  return double.callsOf(operation).map(({ input }) => input[member] as string[]);
}

describe('describing tasks', () => {
  it('C34: 101 tasks take two requests of at most 100, each ID once, each naming the cluster', async () => {
    const scene = stage();
    const arns = addTasks(scene, 101);
    const { tasks, missing } = await scene.port.describeTasks(CLUSTER, arns);
    expect([...tasks.keys()].sort()).toStrictEqual([...arns].sort());
    expect(missing.size).toBe(0);
    const lists = asked(scene, 'DescribeTasks', 'tasks');
    expect(lists.map((list) => list.length).sort()).toStrictEqual([1, 100]);
    expect(new Set(lists.flat()).size).toBe(101);
    expect(scene.double.calls.map(({ input }) => input.cluster)).toStrictEqual([CLUSTER, CLUSTER]);
  });

  it('C34: an empty list asks nothing', async () => {
    const scene = stage();
    await scene.port.describeTasks(CLUSTER, []);
    await scene.port.describeServices(CLUSTER, []);
    await scene.port.taskProtection(CLUSTER, []);
    expect(scene.double.calls).toStrictEqual([]);
  });

  it('C34: a task asked for twice, by ARN and by ID, is asked once and found under both', async () => {
    const scene = stage();
    serviceOfOne(scene);
    const { tasks } = await scene.port.describeTasks(CLUSTER, [arnOf(T1), T1, arnOf(T1)]);
    expect([...tasks.keys()]).toStrictEqual([arnOf(T1), T1]);
    expect(asked(scene, 'DescribeTasks', 'tasks')).toStrictEqual([[arnOf(T1)]]);
  });

  it('finds a task under its long ARN though the account says short ones', async () => {
    const scene = stage({ shortArns: true });
    serviceOfOne(scene);
    const { tasks } = await scene.port.describeTasks(CLUSTER, [arnOf(T1)]);
    expect(tasks.get(arnOf(T1))?.arn).toBe(`arn:aws:ecs:eu-west-1:123456789012:task/${T1}`);
  });

  it('decodes what decides', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.world.addTask({ cluster: CLUSTER, id: T2, networkMode: 'bridge', hostPorts: [49153], family: 'job' });
    const { tasks } = await scene.port.describeTasks(CLUSTER, [T1, T2]);
    const task = scene.double.world.task(T1);
    expect(tasks.get(T1)).toStrictEqual({
      arn: arnOf(T1),
      clusterArn: 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod',
      taskDefinitionArn: 'arn:aws:ecs:eu-west-1:123456789012:task-definition/web:1',
      lastStatus: 'RUNNING',
      desiredStatus: 'RUNNING',
      startedAtMs: START_MS,
      startedBy: task?.startedBy,
      group: 'service:web',
      awsvpc: true,
      addresses: [task?.address],
      hostPorts: [],
      connectivity: 'CONNECTED',
    });
    const bridged = { awsvpc: false, addresses: [], hostPorts: [49153], group: 'family:job' };
    expect(tasks.get(T2)).toMatchObject(bridged);
    expect(tasks.get(T2)).not.toHaveProperty('startedBy');
  });

  it('says which are missing', async () => {
    const scene = stage();
    serviceOfOne(scene);
    const { tasks, missing } = await scene.port.describeTasks(CLUSTER, [arnOf(T1), arnOf(T2)]);
    expect([...tasks.keys()]).toStrictEqual([arnOf(T1)]);
    expect([...missing]).toStrictEqual([arnOf(T2)]);
  });

  it('does not let one ill-formed reference spoil the request for the others', async () => {
    const scene = stage();
    serviceOfOne(scene);
    const foreign = arnOf(T2).replace('/prod/', '/stage/');
    const { tasks, missing } = await scene.port.describeTasks(CLUSTER, ['canary', foreign, arnOf(T1)]);
    expect([...tasks.keys()]).toStrictEqual([arnOf(T1)]);
    expect([...missing]).toStrictEqual(['canary', foreign]);
    expect(asked(scene, 'DescribeTasks', 'tasks')).toStrictEqual([[arnOf(T1)]]);
  });

  it.each([
    ['another reason than MISSING', `{"tasks":[],"failures":[{"arn":"${arnOf(T1)}","reason":"ACCESS"}]}`],
    ['no word of the task', '{"tasks":[],"failures":[]}'],
    ['a task without an ARN', '{"tasks":[{"lastStatus":"RUNNING"}],"failures":[]}'],
  ])('takes %s for an incomplete answer, not for absence', async (_, text) => {
    const scene = stage();
    scene.double.faults.add('DescribeTasks', { kind: 'body', text });
    await expect(scene.port.describeTasks(CLUSTER, [arnOf(T1)])).rejects.toMatchObject({
      system: 'ecs',
      code: 'incomplete',
    });
  });
});

describe('describing services', () => {
  it('C34: eleven take two requests of at most ten, each name once', async () => {
    const scene = stage();
    const names = Array.from({ length: 11 }, (_, n) => `web-${n}`);
    for (const name of names) scene.double.world.addService({ name, cluster: CLUSTER, desiredCount: 0 });
    const services = await scene.port.describeServices(CLUSTER, [...names, 'web-0']);
    expect([...services.keys()].sort()).toStrictEqual([...names].sort());
    const lists = asked(scene, 'DescribeServices', 'services');
    expect(lists.map((list) => list.length).sort()).toStrictEqual([1, 10]);
    expect(scene.double.calls.map(({ input }) => input.cluster)).toStrictEqual([CLUSTER, CLUSTER]);
  });

  it('leaves out those that are missing', async () => {
    const scene = stage();
    serviceOfOne(scene);
    expect([...(await scene.port.describeServices(CLUSTER, ['web', 'gone'])).keys()]).toStrictEqual(['web']);
  });

  it('C30: a controller that the answer leaves out is ECS; task sets are counted', async () => {
    const scene = stage();
    const { world } = scene.double;
    world.addService({ name: 'plain', cluster: CLUSTER, desiredCount: 1, omitController: true });
    const blueGreen = { cluster: CLUSTER, desiredCount: 1, controller: 'CODE_DEPLOY' } as const;
    world.addService({ ...blueGreen, name: 'one' });
    world.addService({ ...blueGreen, name: 'two', deploying: true });
    const services = await scene.port.describeServices(CLUSTER, ['plain', 'one', 'two']);
    const shapes = [...services.values()].map((service) => [service.deploymentController, service.taskSets]);
    expect(shapes).toStrictEqual([
      ['ECS', 0],
      ['CODE_DEPLOY', 1],
      ['CODE_DEPLOY', 2],
    ]);
  });

  it("puts the scheduler's messages newest first", async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.world.addServiceMessage(CLUSTER, 'web', 'older');
    scene.pass(1000);
    scene.double.world.addServiceMessage(CLUSTER, 'web', 'newer');
    const services = await scene.port.describeServices(CLUSTER, ['web']);
    expect(services.get('web')?.events.slice(0, 2)).toStrictEqual([
      { atMs: START_MS + 1000, message: 'newer' },
      { atMs: START_MS, message: 'older' },
    ]);
  });

  it.each([
    ['another reason than MISSING', '{"services":[],"failures":[{"arn":"web","reason":"ACCESS"}]}', 'incomplete'],
    ['no word of the service', '{"services":[],"failures":[]}', 'incomplete'],
    ['a service without counts', '{"services":[{"serviceName":"web"}],"failures":[]}', 'malformed'],
  ])('does not take %s for absence', async (_, text, code) => {
    const scene = stage();
    scene.double.faults.add('DescribeServices', { kind: 'body', text });
    await expect(scene.port.describeServices(CLUSTER, ['web'])).rejects.toMatchObject({ code });
  });
});

describe('asking for task protection', () => {
  async function protection(scene: Stage) {
    return (await scene.port.taskProtection(CLUSTER, [arnOf(T1)])).get(arnOf(T1));
  }

  it('C32: (a) one that has not ended protects', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.world.protect(arnOf(T1), START_MS + 1000);
    expect(await protection(scene)).toBe('protected');
  });

  it('C32: (a) one without an end protects', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.world.protect(arnOf(T1));
    expect(await protection(scene)).toBe('protected');
  });

  it.each([0, 1000])('C32: (b) one that ended %i ms ago does not, whatever the flag says', async (agoMs) => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.world.protect(arnOf(T1), START_MS - agoMs, true);
    expect(await protection(scene)).toBe('unprotected');
  });

  it('C32: (c) a call that fails leaves it unknown', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('GetTaskProtection', FAULTS.throttled);
    expect(await protection(scene)).toBe('unknown');
  });

  it('C32: (d) a task that is missing is missing', async () => {
    expect(await protection(stage())).toBe('missing');
  });

  it('C32: a flag that is not there, a task not spoken of, another failure: unknown', async () => {
    for (const text of [
      `{"protectedTasks":[{"taskArn":"${arnOf(T1)}"}],"failures":[]}`,
      '{"protectedTasks":[],"failures":[]}',
      `{"protectedTasks":[],"failures":[{"arn":"${arnOf(T1)}","reason":"TASK_NOT_VALID"}]}`,
    ]) {
      const scene = stage();
      scene.double.faults.add('GetTaskProtection', { kind: 'body', text });
      expect(await protection(scene)).toBe('unknown');
    }
  });

  it('C32: at most 100 tasks a call; where one call fails only its tasks are unknown', async () => {
    const scene = stage();
    scene.double.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 101 });
    const arns = scene.double.world.tasks().map(({ arn }) => arn);
    const isSecond = (input: Readonly<Record<string, unknown>>) =>
      Array.isArray(input.tasks) && input.tasks.length === 1;
    scene.double.faults.add('GetTaskProtection', FAULTS.forbidden, { when: isSecond });
    const answers = [...(await scene.port.taskProtection(CLUSTER, arns)).values()];
    expect(answers.filter((answer) => answer === 'unprotected')).toHaveLength(100);
    expect(answers.filter((answer) => answer === 'unknown')).toHaveLength(1);
    expect(asked(scene, 'GetTaskProtection', 'tasks').every((list) => list.length <= 100)).toBe(true);
  });
});
