/** The handler as Lambda calls it, its surroundings on this machine: settings (C42) and the token (C43). */
import { inspect } from 'node:util';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { type ListeningDouble, listen } from '../../infra/local/ecs-double/http.ts';
import { deadAddress, json, rawCheck, type ScriptedServer, SOUND, serve } from '../consul/scripted-server.ts';

const TOKEN = 'tok-SECRET-1';
const TABLE = 'watch';
const CLUSTER = 'prod';
const POLICY = { rules: [{ match: {}, checkRestart: { limit: 1, interval: '10s', grace: '0s' } }] };

let dynamo: LocalDynamoDb;
let ecs: EcsDouble;
let ecsServer: ListeningDouble;
let written: string[];

beforeEach(async () => {
  written = [];
  const keep = (chunk: unknown) => written.push(String(chunk)) > 0;
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(keep);
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, method).mockImplementation((...texts) => void keep(texts.map((text) => inspect(text)).join(' ')));
  }
  vi.resetModules();
  dynamo = await startDynamoDb();
  await createTable(createLocalClient(dynamo.endpoint), TABLE);
  ecs = new EcsDouble({ nowMs: () => Date.now(), clusters: [CLUSTER] });
  ecsServer = await listen(ecs);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await Promise.all([dynamo.close(), ecsServer.close()]);
});

/** One invocation of a process with these settings beside the usual ones. */
async function invoke(env: Readonly<Record<string, string>>, event: unknown = { action: 'pass' }): Promise<unknown> {
  const usual = {
    CONSUL_HTTP_TOKEN: TOKEN,
    TABLE_NAME: TABLE,
    ALLOWED_CLUSTERS: CLUSTER,
    ALLOWED_SERVICES: '*',
    DRY_RUN: 'false',
    LOG_LEVEL: 'debug',
    EVENT_BUS_NAME: 'off',
    WINDOW: '0s',
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_ENDPOINT_URL_ECS: ecsServer.url,
  };
  for (const [name, value] of Object.entries({ ...usual, ...env })) vi.stubEnv(name, value);
  const { handler } = await import('../../functions/watch-checks/handler.ts');
  const context: Partial<Context> = {
    functionName: 'watch-checks',
    awsRequestId: 'request-1',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:watch-checks',
    getRemainingTimeInMillis: () => 60_000,
  };
  return handler(event, context as Context);
}

/** The error that an invocation ends with. */
async function failureOf(env: Readonly<Record<string, string>>, event?: unknown): Promise<Error> {
  const error: unknown = await invoke(env, event).then(
    (result) => new Error(`no error but ${inspect(result)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error('not an Error');
  return error;
}

/** Consul with one critical check of one running task; `fails` makes it answer 403 with all that it was asked. */
async function consulWithOneBad(): Promise<{ server: ScriptedServer; fails: { on: boolean }; arn: string }> {
  ecs.world.addService({ name: 'orders', cluster: CLUSTER, desiredCount: 1, startTasks: false });
  const arn = ecs.world.addTask({ service: 'orders', cluster: CLUSTER, startedAtMs: Date.now() - 3_600_000 });
  const fails = { on: false };
  const server = await serve((request, response) => {
    const path = new URL(request.url ?? '', 'http://consul').pathname;
    if (fails.on) {
      const echo = `Permission denied: ${request.url}?token=${String(request.headers['x-consul-token'])}`;
      response.writeHead(403, { ...SOUND, 'content-type': 'text/plain' }).end(echo);
    } else if (path.startsWith('/v1/kv/')) {
      json(response, [{ Value: Buffer.from(JSON.stringify(POLICY)).toString('base64'), ModifyIndex: 1 }]);
    } else if (path === '/v1/catalog/services') json(response, { consul: [], orders: [] });
    else if (path.startsWith('/v1/catalog/service/')) {
      json(response, [
        {
          Node: 'n1',
          ServiceID: 'orders-1',
          ServiceName: 'orders',
          ServiceAddress: '',
          ServiceMeta: { 'task-arn': arn },
        },
      ]);
    } else json(response, path.endsWith('/critical') ? [rawCheck()] : []);
  });
  return { server, fails, arn };
}

/** Everything that the table holds. */
async function items(): Promise<unknown> {
  const { Items } = await createLocalClient(dynamo.endpoint).send(new ScanCommand({ TableName: TABLE }));
  return Items ?? [];
}

function assertNoSecret(...things: unknown[]): void {
  const all = [...written, ...things.map((thing) => inspect(thing, { depth: 20, showHidden: true }))];
  for (const text of all) expect(text).not.toContain('SECRET-1');
}

describe('C42: settings', () => {
  const WRONG = {
    CONSUL_HTTP_ADDR: 'consul.local',
    DRY_RUN: 'ture',
    MAX_OBSERVATION_GAP: '90',
    CHECK_RESTART_LIMIT: '3.5',
    CHECK_RESTART_GRACE: '-5s',
    CHECK_RESTART_LIMTI: '3',
    ALLOWED_CLUSTERS: 'prod;stage',
  };

  test('C42: every wrong one is named in one error, with value and allowed form, each time', async () => {
    for (const event of [{ action: 'pass' }, { action: 'window' }, { action: 'status' }]) {
      const { name, message } = await failureOf(WRONG, event);
      expect(name).toBe('InvalidSettings');
      for (const [variable, value] of Object.entries(WRONG)) {
        expect(message).toContain(`${variable}: `);
        if (variable !== 'CONSUL_HTTP_ADDR' && variable !== 'CHECK_RESTART_LIMTI') expect(message).toContain(value);
      }
      expect(message.match(/allowed: /g)?.length).toBe(Object.keys(WRONG).length);
    }
    expect(ecs.calls).toEqual([]);
    expect(await items()).toEqual([]);
  });

  test('C42: one wrong setting is enough, and Consul is not asked anything', async () => {
    const { server } = await consulWithOneBad();
    for (let time = 0; time < 3; time += 1) {
      expect(await failureOf({ CONSUL_HTTP_ADDR: server.address, SETTLE: '60' })).toMatchObject({
        name: 'InvalidSettings',
        message: expect.stringContaining('SETTLE'),
      });
    }
    expect(server.asked).toEqual([]);
    expect(written.join('')).toContain('settings-invalid');
  });

  test('C42: when they are mended the same process goes on', async () => {
    const { server, arn } = await consulWithOneBad();
    await failureOf({ CONSUL_HTTP_ADDR: server.address, SETTLE: '60' });
    await invoke({ CONSUL_HTTP_ADDR: server.address, SETTLE: '60s' });
    expect(ecs.callsOf('StopTask').map(({ input }) => input.task)).toEqual([arn]);
  });
});

describe('C43: the token', () => {
  test('C43: travels in X-Consul-Token only, and is nowhere else after a restart', async () => {
    const { server } = await consulWithOneBad();
    const result = await invoke({ CONSUL_HTTP_ADDR: server.address });
    expect(result).toMatchObject({ ok: true, restarts: [{ owner: 'orders', outcome: 'accepted' }] });
    expect(server.headers.map((headers) => headers['x-consul-token'])).toEqual(server.asked.map(() => TOKEN));
    expect(server.asked.join(' ')).not.toContain('SECRET');
    expect(server.headers.map(({ authorization }) => authorization)).toEqual(server.asked.map(() => undefined));
    assertNoSecret(result, await items(), ecs.calls);
    expect(written.length).toBeGreaterThan(0);
  });

  test('C43: (a) Consul refuses the connection', async () => {
    const error = await failureOf({ CONSUL_HTTP_ADDR: await deadAddress() });
    expect(error).toMatchObject({ system: 'consul', code: 'unreachable' });
    assertNoSecret(error, await items());
    const status = await invoke({ CONSUL_HTTP_ADDR: await deadAddress() }, { action: 'status' });
    assertNoSecret(status);
  });

  test('C43: (b) a 403 that repeats the request is unknown: no write, no marks changed', async () => {
    const { server, fails, arn } = await consulWithOneBad();
    const counting = { CONSUL_HTTP_ADDR: server.address, DRY_RUN: 'true' };
    await invoke(counting);
    const before = await items();
    expect(inspect(before, { depth: 9 })).toContain(arn);
    fails.on = true;
    vi.resetModules();
    const result = await invoke({ CONSUL_HTTP_ADDR: server.address });
    expect(result).toMatchObject({ ok: false, failures: [{ system: 'consul', code: 'forbidden' }], restarts: [] });
    expect(await items()).toEqual(before);
    expect(ecs.callsOf('StopTask')).toEqual([]);
    assertNoSecret(result, before);
    const status = await invoke({ CONSUL_HTTP_ADDR: server.address }, { action: 'status' });
    expect(status).toMatchObject({
      problems: expect.arrayContaining([
        { problem: expect.stringContaining('403'), remedy: expect.stringContaining('token') },
      ]),
    });
    assertNoSecret(status);
  });

  test.each(['http://127.0.0.1:8500?token=tok-SECRET-1', 'http://user:tok-SECRET-1@127.0.0.1:8500'])(
    'C43: (d) an address that holds it is refused at start, without its value',
    async (address) => {
      const error = await failureOf({ CONSUL_HTTP_ADDR: address, CONSUL_HTTP_TOKEN: '' });
      expect(error).toMatchObject({ name: 'InvalidSettings', message: expect.stringContaining('CONSUL_HTTP_ADDR') });
      assertNoSecret(error);
    },
  );
});

test('a key that the input does not know is refused: a misspelt dryRun restarts nothing', async () => {
  const { server } = await consulWithOneBad();
  for (const event of [
    { action: 'pass', dryrun: true },
    { action: 'pass', dryRun: 'true' },
    { action: 'reload' },
    'pass',
  ]) {
    expect(await failureOf({ CONSUL_HTTP_ADDR: server.address }, event)).toMatchObject({ name: 'InvalidInput' });
  }
  expect(server.asked).toEqual([]);
  expect(ecs.calls).toEqual([]);
});

test('the event of a schedule keeps a window', async () => {
  const { server, arn } = await consulWithOneBad();
  const event = { version: '0', source: 'aws.scheduler', 'detail-type': 'Scheduled Event', detail: '{}' };
  expect(await invoke({ CONSUL_HTTP_ADDR: server.address }, event)).toMatchObject({ outcome: 'done', passes: 1 });
  expect(ecs.callsOf('StopTask').map(({ input }) => input.task)).toEqual([arn]);
});
