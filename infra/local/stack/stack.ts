/**
 * The local stack: the real functions, and everything that they speak to, in one process.
 *
 *   sample programs → Consul ← watch-checks, reconcile-proxies → ECS double → sample programs, proxies
 *                                   ↓  ↓        ↑                   ↓
 *                           dynalite   event bus → queue ←────── events
 *
 * `startStack` puts the parts up and gives them out; it schedules nothing and tells no story. `npm start`, tests, the
 * bench and the console take from it what they need.
 */
import type { SQSBatchResponse } from 'aws-lambda';
import { systemClock } from '../../../lib/clock.ts';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../dynamodb.ts';
import { EcsDouble } from '../ecs-double/double.ts';
import { type ListeningDouble, listen } from '../ecs-double/http.ts';
import { keepTime } from '../ecs-double/keep-time.ts';
import { type ListeningQueue, listenToQueue } from '../sqs-double/http.ts';
import { LambdaQueue } from '../sqs-double/lambda-queue.ts';
import { putToConsul } from './consul-api.ts';
import { type EventBus, startEventBus } from './event-bus.ts';
import { createFunctionHost, type FunctionHost } from './function-host.ts';
import { type ConsulChoice, type LocalConsul, startLocalConsul } from './local-consul.ts';
import { startProxyFleet } from './proxy-fleet.ts';
import { type SampleFleet, startSampleFleet } from './sample-fleet.ts';
import type { SampleSpec } from './sample-task.ts';
import { PROXY_FAMILIES, SAMPLE_POLICY, SAMPLE_SERVICES } from './samples.ts';
import type { TaskPrograms } from './task-programs.ts';

/** All optional. */
export interface StackOptions {
  /** Default `auto`. */
  readonly consul?: ConsulChoice;
  /** Default `SAMPLE_SERVICES`; an empty list for none. */
  readonly samples?: readonly SampleSpec[];
  /** The policy document. Default `SAMPLE_POLICY`. */
  readonly policy?: unknown;
  /** More settings of the functions; they win over the stack's own. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Gets every line that a function writes. */
  readonly onLine?: (line: string) => void;
  /** Hears of what the sample tasks could not do. */
  readonly onProblem?: (problem: string) => void;
}

/** A stack that is up. Sample tasks are still starting. */
export interface Stack {
  readonly consul: LocalConsul;
  readonly ecs: EcsDouble;
  readonly ecsUrl: string;
  readonly dynamoDbUrl: string;
  readonly table: string;
  /** Gets what the functions publish, and ECS's task state changes. */
  readonly events: EventBus;
  readonly samples: SampleFleet;
  /** Programs of the tasks that reconcile-proxies runs. */
  readonly proxies: TaskPrograms;
  /** What wakes reconcile-proxies. */
  readonly queue: LambdaQueue;
  /** Environment variables with which a function, wherever it runs, works on this stack. */
  readonly environment: Readonly<Record<string, string>>;
  readonly watchChecks: FunctionHost;
  readonly reconcileProxies: FunctionHost;
  close(): Promise<void>;
}

const REGION = 'eu-west-1';
const ACCOUNT = '123456789012';
const TABLE = 'ecs-check-restart-local';
const POLICY_KEY = 'ecs-check-restart/policy';
/** As in `serverless.yml`. */
const TIMEOUT_MS = 90_000;
/** As `serverless.yml` would have it for a stage of this name. */
export const PROXY_STARTED_BY = 'ecs-check-restart/local';

/** Puts the stack up on free ports of the loopback address. Throws when a part does not start; nothing is left then. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const closers: (() => unknown)[] = [];
  const opened = <T extends { close(): Promise<void> }>(part: T): T => {
    closers.unshift(() => part.close());
    return part;
  };
  const close = async () => {
    // From the outside in: nobody may find the part gone that it speaks to.
    for (const closer of closers.splice(0)) await closer();
  };
  try {
    const consul = opened(await startLocalConsul(options.consul ?? 'auto'));
    const dynamoDb = opened(await startDynamoDb());
    await makeTable(dynamoDb);
    const events = opened(await startEventBus());
    const ecs = new EcsDouble({ nowMs: systemClock.nowMs, region: REGION, account: ACCOUNT });
    const ecsServer = opened(await listen(ecs));
    closers.unshift(keepTime(ecs.world), ecs.world.onEvent(events.deliver));
    await putToConsul(consul.url, `kv/${POLICY_KEY}`, options.policy ?? SAMPLE_POLICY);
    const specs = options.samples ?? SAMPLE_SERVICES;
    const onProblem = options.onProblem ?? (() => {});
    const samples = opened(startSampleFleet(specs, ecs, consul, onProblem));
    const proxies = opened(startProxyFleet(ecs, consul, onProblem));
    const hosts: { reconcileProxies?: FunctionHost } = {};
    const queue = opened(startQueue(events, (batch) => hosts.reconcileProxies?.invoke(batch)));
    const queueServer = opened(await listenToQueue(queue));
    const parts = { consul, dynamoDb, events, ecsServer, queueServer };
    const environment = { ...environmentOf(parts, specs), ...options.settings };
    const host = (name: string) =>
      opened(
        createFunctionHost({
          name,
          region: REGION,
          account: ACCOUNT,
          environment,
          timeoutMs: TIMEOUT_MS,
          onLine: options.onLine ?? (() => {}),
        }),
      );
    const watchChecks = host('watch-checks');
    const reconcileProxies = host('reconcile-proxies');
    hosts.reconcileProxies = reconcileProxies;
    const urls = { ecsUrl: ecsServer.url, dynamoDbUrl: dynamoDb.endpoint };
    const running = { samples, proxies, queue, watchChecks, reconcileProxies };
    return { consul, ecs, ...urls, table: TABLE, events, ...running, environment, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The rule, the queue and its mapping, as in `infra/wake-ups.yml`. */
function startQueue(events: EventBus, invoke: (batch: unknown) => Promise<unknown> | undefined): LambdaQueue {
  const queue = new LambdaQueue({
    clock: systemClock,
    name: 'wake-ups',
    visibilityTimeoutMs: 540_000,
    maxReceiveCount: 3,
    handler: async (batch) => (await invoke(batch)) as SQSBatchResponse | undefined,
  });
  events.onEvent((event) => {
    const isChange = event.source === 'aws.ecs' && event['detail-type'] === 'ECS Task State Change';
    if (isChange && event.detail.startedBy === PROXY_STARTED_BY) queue.send(JSON.stringify(event));
  });
  return queue;
}

async function makeTable({ endpoint }: LocalDynamoDb): Promise<void> {
  const client = createLocalClient(endpoint);
  await createTable(client, TABLE);
  client.destroy();
}

interface Parts {
  readonly consul: LocalConsul;
  readonly dynamoDb: LocalDynamoDb;
  readonly events: EventBus;
  readonly ecsServer: ListeningDouble;
  readonly queueServer: ListeningQueue;
}

/** Empty ones are there to overrule what a person's shell may hold. */
function environmentOf({ consul, dynamoDb, events, ecsServer, queueServer }: Parts, specs: readonly SampleSpec[]) {
  return {
    CONSUL_HTTP_ADDR: consul.url,
    CONSUL_HTTP_TOKEN: '',
    AWS_REGION: REGION,
    AWS_ACCOUNT_ID: ACCOUNT,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: '',
    AWS_PROFILE: '',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_ENDPOINT_URL_ECS: ecsServer.url,
    AWS_ENDPOINT_URL_DYNAMODB: dynamoDb.endpoint,
    AWS_ENDPOINT_URL_EVENTBRIDGE: events.url,
    AWS_ENDPOINT_URL_SQS: queueServer.url,
    AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
    TABLE_NAME: TABLE,
    EVENT_BUS_NAME: 'default',
    ALLOWED_CLUSTERS: 'default',
    ALLOWED_SERVICES: specs.map(({ name }) => name).join(','),
    PROXY_STARTED_BY,
    PROXY_FAMILIES: PROXY_FAMILIES.join(','),
    PROXY_CLUSTERS: 'default',
    PROXY_REMOVAL_DELAY: '2s',
    WAKE_UP_QUEUE_URL: queueServer.queueUrl,
    DRY_RUN: 'false',
  };
}
