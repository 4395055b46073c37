/** The double as clients meet it: over HTTP, through the real SDK. What AWS refuses, it must refuse. */
import {
  DescribeServicesCommand,
  DescribeTasksCommand,
  ECSClient,
  GetTaskProtectionCommand,
  ListServicesCommand,
  ListTasksCommand,
  RunTaskCommand,
  StopTaskCommand,
  UpdateServiceCommand,
  UpdateTaskProtectionCommand,
} from '@aws-sdk/client-ecs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { type ListeningDouble, listen } from '../../infra/local/ecs-double/http.ts';
import { NO_DELAYS } from '../../infra/local/ecs-double/model.ts';

const cluster = 'prod';
const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const T2 = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';
const KT1 = `arn:aws:ecs:eu-west-1:123456789012:task/prod/${T1}`;
const START_MS = Date.UTC(2026, 7, 1, 10, 0, 0, 250);
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

const clock = { ms: START_MS };
const double = new EcsDouble({ nowMs: () => clock.ms, clusters: ['default', cluster], delays: NO_DELAYS });
let server: ListeningDouble;
let client: ECSClient;

beforeAll(async () => {
  double.world.addService({ name: 'web', cluster, desiredCount: 1, startTasks: false });
  double.world.addTask({ service: 'web', cluster, id: T1, replaceAfterMs: null });
  server = await listen(double);
  client = new ECSClient({ region: 'eu-west-1', endpoint: server.url, credentials, maxAttempts: 1 });
});
afterAll(() => server.close());
beforeEach(() => {
  double.calls.length = 0;
});

function refusal(name: string, message?: string | RegExp) {
  const text = message === undefined ? {} : { message: expect.stringMatching(message) };
  return { name, $metadata: expect.objectContaining({ httpStatusCode: 400 }), ...text };
}

describe('DescribeTasks of the double', () => {
  const send = (tasks: string[], from: string | undefined = cluster) =>
    client.send(new DescribeTasksCommand({ cluster: from, tasks }));

  it('answers in the shape that the SDK decodes, instants included', async () => {
    const { tasks, failures } = await send([T1]);
    expect(failures).toStrictEqual([]);
    expect(tasks).toHaveLength(1);
    expect(tasks?.[0]).toMatchObject({
      taskArn: KT1,
      clusterArn: 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod',
      group: 'service:web',
      startedBy: expect.stringMatching(/^ecs-svc\/\d{19}$/),
      lastStatus: 'RUNNING',
      desiredStatus: 'RUNNING',
      startedAt: new Date(START_MS),
      version: 1,
      connectivity: 'CONNECTED',
      attachments: [{ type: 'ElasticNetworkInterface', status: 'ATTACHED' }],
      containers: [{ name: 'app', networkInterfaces: [{ privateIpv4Address: expect.stringMatching(/^10\./) }] }],
    });
  });

  it('says MISSING of those that it does not know', async () => {
    const failures = [{ arn: KT1.replace(T1, T2), reason: 'MISSING' }];
    expect(await send([T2])).toMatchObject({ tasks: [], failures });
  });

  it.each<[string, string[], string, string]>([
    ['an empty list', [], 'InvalidParameterException', 'Tasks cannot be empty.'],
    ['101 tasks', Array.from({ length: 101 }, () => T1), 'InvalidParameterException', '100'],
    ['an ill-formed ID', [T1, 'canary'], 'InvalidParameterException', 'taskId length should be one of'],
    ["another cluster's task", [KT1.replace('/prod/', '/stage/')], 'InvalidParameterException', 'cluster'],
  ])('refuses %s', async (_, tasks, name, message) => {
    await expect(send(tasks)).rejects.toMatchObject(refusal(name, message));
  });

  it('knows no cluster that is not there', async () => {
    await expect(send([T1], 'stage')).rejects.toMatchObject(refusal('ClusterNotFoundException'));
  });

  it('takes a request without a cluster to mean `default`, where the task is not', async () => {
    const answer = await client.send(new DescribeTasksCommand({ tasks: [T1] }));
    expect(answer.failures?.[0]?.reason).toBe('MISSING');
  });

  it('records the call with its input and instant', async () => {
    await send([T1]);
    expect(double.calls).toStrictEqual([
      { operation: 'DescribeTasks', input: { cluster, tasks: [T1] }, atMs: clock.ms },
    ]);
  });
});

describe('DescribeServices of the double', () => {
  const send = (services: string[]) => client.send(new DescribeServicesCommand({ cluster, services }));

  it('answers with counts, controller and deployments', async () => {
    const { services, failures } = await send(['web', 'gone']);
    expect(failures).toMatchObject([{ reason: 'MISSING' }]);
    expect(services).toMatchObject([
      {
        serviceName: 'web',
        serviceArn: 'arn:aws:ecs:eu-west-1:123456789012:service/prod/web',
        status: 'ACTIVE',
        desiredCount: 1,
        runningCount: 1,
        deploymentController: { type: 'ECS' },
        deployments: [{ status: 'PRIMARY', rolloutState: 'COMPLETED', runningCount: 1, createdAt: new Date(START_MS) }],
      },
    ]);
  });

  it.each([[[]], [Array.from({ length: 11 }, (_, n) => `web-${n}`)]])('refuses %j', async (services) => {
    await expect(send(services)).rejects.toMatchObject(refusal('InvalidParameterException'));
  });
});

describe('task protection of the double', () => {
  it('is set, told and ends', async () => {
    const request = { cluster, tasks: [KT1], protectionEnabled: true, expiresInMinutes: 5 };
    await client.send(new UpdateTaskProtectionCommand(request));
    const ask = () => client.send(new GetTaskProtectionCommand({ cluster, tasks: [KT1] }));
    const expirationDate = new Date(clock.ms + 300_000);
    expect((await ask()).protectedTasks).toStrictEqual([{ taskArn: KT1, protectionEnabled: true, expirationDate }]);
    clock.ms += 300_000;
    expect((await ask()).protectedTasks).toStrictEqual([{ taskArn: KT1, protectionEnabled: false }]);
  });

  it('is not to be had for a stand-alone task', async () => {
    const task = double.world.addTask({ cluster });
    const { failures } = await client.send(new GetTaskProtectionCommand({ cluster, tasks: [task] }));
    expect(failures).toStrictEqual([{ arn: task, reason: 'TASK_NOT_VALID' }]);
  });

  it('refuses 101 tasks', async () => {
    const request = new GetTaskProtectionCommand({ cluster, tasks: Array.from({ length: 101 }, () => T1) });
    await expect(client.send(request)).rejects.toMatchObject(refusal('InvalidParameterException'));
  });
});

describe('listings of the double', () => {
  it('page by token, ListServices in tens unless asked otherwise', async () => {
    for (let n = 0; n < 10; n += 1) double.world.addService({ name: `s-${n}`, cluster, desiredCount: 0 });
    const first = await client.send(new ListServicesCommand({ cluster }));
    expect(first.serviceArns).toHaveLength(10);
    const second = await client.send(new ListServicesCommand({ cluster, nextToken: first.nextToken }));
    expect(second.serviceArns).toHaveLength(1);
    expect(second.nextToken).toBeUndefined();
  });

  it.each([
    [{ nextToken: 'nonsense' }],
    [{ maxResults: 0 }],
    [{ maxResults: 101 }],
    [{ startedBy: 'x', serviceName: 'web' }],
  ])('refuse %j', async (input) => {
    const request = new ListTasksCommand({ cluster, ...input });
    await expect(client.send(request)).rejects.toMatchObject(refusal('InvalidParameterException'));
  });

  it('know no service that is not there', async () => {
    const request = new ListTasksCommand({ cluster, serviceName: 'gone' });
    await expect(client.send(request)).rejects.toMatchObject(refusal('ServiceNotFoundException'));
  });

  it('hold RUNNING tasks unless asked for STOPPED ones', async () => {
    const { taskArns } = await client.send(new ListTasksCommand({ cluster, serviceName: 'web' }));
    expect(taskArns).toStrictEqual([KT1]);
    const stopped = new ListTasksCommand({ cluster, serviceName: 'web', desiredStatus: 'STOPPED' });
    expect((await client.send(stopped)).taskArns).toStrictEqual([]);
  });
});

describe('writes of the double', () => {
  const stop = (input: { task: string; reason?: string }) => client.send(new StopTaskCommand({ cluster, ...input }));

  it('StopTask does not know a task that is not there', async () => {
    const unknown = refusal('InvalidParameterException', 'The referenced task was not found.');
    await expect(stop({ task: T2 })).rejects.toMatchObject(unknown);
  });

  it('StopTask refuses a reason of 256 characters', async () => {
    const tooLong = refusal('InvalidParameterException', '255');
    await expect(stop({ task: T1, reason: 'x'.repeat(256) })).rejects.toMatchObject(tooLong);
  });

  it('StopTask is a wish at first; repeating it changes nothing, until the task is MISSING', async () => {
    const task = double.world.addTask({ cluster });
    const first = await stop({ task, reason: 'why' });
    expect(first.task).toMatchObject({ lastStatus: 'RUNNING', desiredStatus: 'STOPPED', stopCode: 'UserInitiated' });
    clock.ms += 1000;
    const again = await stop({ task, reason: 'again' });
    expect(again.task).toMatchObject({ lastStatus: 'STOPPED', stoppedReason: 'why' });
    clock.ms += 3_600_000;
    await expect(stop({ task })).rejects.toMatchObject(refusal('InvalidParameterException', 'not found'));
  });

  it('UpdateService starts a deployment, and refuses where another controller deploys', async () => {
    const update = (service: string) =>
      client.send(new UpdateServiceCommand({ cluster, service, forceNewDeployment: true }));
    const { service } = await update('web');
    expect(service?.deployments).toMatchObject([
      { status: 'PRIMARY', rolloutState: 'IN_PROGRESS' },
      { status: 'ACTIVE', rolloutState: 'COMPLETED' },
    ]);
    double.world.addService({ name: 'blue', cluster, desiredCount: 1, controller: 'CODE_DEPLOY' });
    const mismatch = refusal('InvalidParameterException', 'CODE_DEPLOY deployment controller');
    await expect(update('blue')).rejects.toMatchObject(mismatch);
    await expect(update('gone')).rejects.toMatchObject(refusal('ServiceNotFoundException'));
  });
});

describe('RunTask of the double', () => {
  const request = { cluster, taskDefinition: 'edge:3', startedBy: 'proxies', clientToken: 'token-1' };
  const run = (input: object = {}) => client.send(new RunTaskCommand({ ...request, ...input }));

  it('answers the same token with the same task, and another request with it by ConflictException', async () => {
    const first = await run();
    expect(first.tasks?.[0]).toMatchObject({ lastStatus: 'PROVISIONING', group: 'family:edge', startedBy: 'proxies' });
    const again = await run();
    expect(again.tasks?.[0]?.taskArn).toBe(first.tasks?.[0]?.taskArn);
    await expect(run({ taskDefinition: 'edge:4' })).rejects.toMatchObject({
      name: 'ConflictException',
      resourceIds: [first.tasks?.[0]?.taskArn],
    });
  });

  it('says in failures[] what it could not start', async () => {
    double.launchFailures.push('RESOURCE:MEMORY');
    const { tasks, failures } = await run({ clientToken: 'token-2' });
    expect(tasks).toStrictEqual([]);
    expect(failures).toMatchObject([{ reason: 'RESOURCE:MEMORY' }]);
  });

  it('refuses more than 8192 bytes of overrides', async () => {
    const environment = [{ name: 'A', value: 'x'.repeat(8192) }];
    const overrides = { containerOverrides: [{ name: 'app', environment }] };
    await expect(run({ clientToken: 'token-3', overrides })).rejects.toMatchObject(
      refusal('InvalidParameterException', '8192'),
    );
  });

  it('keeps tags until the task stops', async () => {
    const { tasks } = await run({ clientToken: 'token-4', tags: [{ key: 'proxy', value: 'p1' }] });
    const task = tasks?.[0]?.taskArn ?? '';
    const tags = async () => {
      const input = { cluster, tasks: [task], include: ['TAGS' as const] };
      return (await client.send(new DescribeTasksCommand(input))).tasks?.[0]?.tags;
    };
    expect(await tags()).toStrictEqual([{ key: 'proxy', value: 'p1' }]);
    await client.send(new StopTaskCommand({ cluster, task }));
    clock.ms += 1000;
    expect(await tags()).toStrictEqual([]);
  });
});
