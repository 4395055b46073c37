/**
 * The local stack: the real functions, and everything that they speak to, in one process.
 *
 *   sample programs → Consul ← watch-checks → ECS double → sample programs
 *                                   ↓  ↓
 *                           dynalite   event bus
 *
 * `startStack` puts the parts up and gives them out; it schedules nothing and tells no story. `npm start`, tests, the
 * bench and the console take from it what they need.
 */
import { systemClock } from '../../../lib/clock.ts';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../dynamodb.ts';
import { EcsDouble } from '../ecs-double/double.ts';
import { type ListeningDouble, listen } from '../ecs-double/http.ts';
import { keepTime } from '../ecs-double/keep-time.ts';
import { putToConsul } from './consul-api.ts';
import { type EventBus, startEventBus } from './event-bus.ts';
import { createFunctionHost, type FunctionHost } from './function-host.ts';
import { type ConsulChoice, type LocalConsul, startLocalConsul } from './local-consul.ts';
import { type SampleFleet, startSampleFleet } from './sample-fleet.ts';
import type { SampleSpec } from './sample-task.ts';
import { SAMPLE_POLICY, SAMPLE_SERVICES } from './samples.ts';

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
  /** Environment variables with which a function, wherever it runs, works on this stack. */
  readonly environment: Readonly<Record<string, string>>;
  readonly watchChecks: FunctionHost;
  close(): Promise<void>;
}

const REGION = 'eu-west-1';
const ACCOUNT = '123456789012';
const TABLE = 'ecs-check-restart-local';
const POLICY_KEY = 'ecs-check-restart/policy';
/** As in `serverless.yml`. */
const WATCH_TIMEOUT_MS = 90_000;

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
    const samples = opened(startSampleFleet(specs, ecs, consul, options.onProblem ?? (() => {})));
    const environment = { ...environmentOf({ consul, dynamoDb, events, ecsServer }, specs), ...options.settings };
    const watchChecks = opened(
      createFunctionHost({
        name: 'watch-checks',
        region: REGION,
        account: ACCOUNT,
        environment,
        timeoutMs: WATCH_TIMEOUT_MS,
        onLine: options.onLine ?? (() => {}),
      }),
    );
    const urls = { ecsUrl: ecsServer.url, dynamoDbUrl: dynamoDb.endpoint };
    return { consul, ecs, ...urls, table: TABLE, events, samples, environment, watchChecks, close };
  } catch (error) {
    await close();
    throw error;
  }
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
}

/** Empty ones are there to overrule what a person's shell may hold. */
function environmentOf({ consul, dynamoDb, events, ecsServer }: Parts, specs: readonly SampleSpec[]) {
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
    AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
    TABLE_NAME: TABLE,
    EVENT_BUS_NAME: 'default',
    ALLOWED_CLUSTERS: 'default',
    ALLOWED_SERVICES: specs.map(({ name }) => name).join(','),
    DRY_RUN: 'false',
  };
}
