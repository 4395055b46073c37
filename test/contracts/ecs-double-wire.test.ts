/** How the double behaves as a server: what is a call, what it does when told to fail, what drives its clock. */
import { ECSClient, ListTasksCommand } from '@aws-sdk/client-ecs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { type ListeningDouble, listen } from '../../infra/local/ecs-double/http.ts';
import { keepTime } from '../../infra/local/ecs-double/keep-time.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';

const cluster = 'prod';
const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

const clock = { ms: Date.UTC(2026, 7, 1, 10) };
const double = new EcsDouble({ nowMs: () => clock.ms, clusters: [cluster] });
let server: ListeningDouble;
let client: ECSClient;

beforeAll(async () => {
  server = await listen(double);
  client = new ECSClient({ region: 'eu-west-1', endpoint: server.url, credentials, maxAttempts: 1 });
});
afterAll(() => server.close());
beforeEach(() => {
  double.calls.length = 0;
  double.faults.clear();
});

describe('the wire of the double', () => {
  it('is no call without an operation of ECS, and none without a signature', async () => {
    const post = async (headers: Record<string, string>) => {
      const response = await fetch(server.url, { method: 'POST', headers, body: '{}' });
      return [response.status, ((await response.json()) as { __type: string }).__type];
    };
    const type = { 'content-type': 'application/x-amz-json-1.1' };
    const target = { 'x-amz-target': 'AmazonEC2ContainerServiceV20141113.ListTasks' };
    expect(await post({ ...type, 'x-amz-target': 'Other.ListTasks' })).toStrictEqual([
      400,
      'UnknownOperationException',
    ]);
    expect(await post({ ...type, ...target })).toStrictEqual([403, 'MissingAuthenticationTokenException']);
  });

  it.each(['reset', 'refuse'] as const)('%s: the connection drops', async (name) => {
    double.faults.add('*', FAULTS[name], { times: 1 });
    await expect(client.send(new ListTasksCommand({ cluster }))).rejects.toMatchObject({ code: 'ECONNRESET' });
    await client.send(new ListTasksCommand({ cluster }));
  });

  it('hang: the port gives up at its deadline', async () => {
    double.faults.add('DescribeTasks', FAULTS.hang);
    const own = createEcsClient({ region: 'eu-west-1', endpoint: server.url, credentials });
    const port = createEcsPort({ client: own, clock: { nowMs: () => clock.ms }, callTimeoutMs: 100 });
    await expect(port.describeTasks(cluster, [T1])).rejects.toMatchObject({ code: 'timeout' });
    own.destroy();
  });

  it('hang: each try of the client of ours ends by itself', async () => {
    double.faults.add('StopTask', FAULTS.hang, { times: 1 });
    const own = createEcsClient({ region: 'eu-west-1', endpoint: server.url, credentials });
    const port = createEcsPort({ client: own, clock: { nowMs: () => clock.ms } });
    const task = double.world.addTask({ cluster });
    expect(await port.stopTask({ cluster, task, reason: 'x' })).toStrictEqual({ outcome: 'accepted' });
    expect(double.callsOf('StopTask')).toHaveLength(2);
    own.destroy();
  });
});

describe('short ARNs and the real clock', () => {
  it('a world of short ARNs and UUIDs is described by either', async () => {
    const short = new EcsDouble({ nowMs: () => clock.ms, shortArns: true });
    const arn = short.world.addTask({});
    expect(arn).toMatch(/:task\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(short.handle('DescribeTasks', { tasks: [arn] })).toMatchObject({ tasks: [{ taskArn: arn }], failures: [] });
  });

  it('keepTime lets things happen without anybody asking', async () => {
    const live = new EcsDouble({ nowMs: () => performance.now(), delays: { provisioningMs: 5, pendingMs: 5 } });
    const stopped = keepTime(live.world);
    const running = new Promise<void>((resolve) => {
      live.world.onTaskChange((task) => {
        if (task.lastStatus === 'RUNNING') resolve();
      });
    });
    live.world.addTask({ launch: true });
    const hold = setInterval(() => undefined, 1000);
    await running;
    clearInterval(hold);
    stopped();
  });
});
