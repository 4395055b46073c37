/**
 * What a reconcile costs when 1,000 declared proxies run and there is nothing to do: calls to AWS, time, memory; and how
 * many reconciles a burst of 1,000 events is. Half of the proxies are declared by service instances, half by documents.
 *
 * The real handler, bundled, with the limits of the function's memory; the Consul double, the ECS double over HTTP and
 * dynalite in this process.
 */
import { startConsulDouble } from '../../infra/local/consul-double/double.ts';
import { createLocalClient, createTable, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { listen } from '../../infra/local/ecs-double/http.ts';
import { keepTime } from '../../infra/local/ecs-double/keep-time.ts';
import { NO_DELAYS } from '../../infra/local/ecs-double/model.ts';
import { startEventBus } from '../../infra/local/stack/event-bus.ts';
import { proxyIdOf } from '../../infra/local/stack/proxy-fleet.ts';
import { startFaultProxy } from '../dynamodb/fault-proxy.ts';
import type { BenchResult, Figure } from './figures.ts';
import { type Bundle, bundle } from './function-process.ts';
import type { ProxiesMeasured, ProxiesTask } from './proxies-messages.ts';
import { median } from './statistics.ts';

/** How much of it. */
export interface ProxiesOptions {
  readonly proxies: number;
  /** Syncs after the first. */
  readonly rounds: number;
  readonly progress: (line: string) => void;
}

const CHILD = 'proxies-child.ts';
const TABLE = 'bench';
const REGION = 'eu-west-1';
const CLUSTER = 'prod';
const FAMILY = 'envoy';
/** Services that instances are of. */
const SERVICES = 20;
const MOST_CALLS = 40;
const MOST_MS = 3000;
const MOST_MB = 200;
const MOST_RECONCILES = 10;

/** Runs it. Throws when a sync finds something to do. */
export async function benchProxies({ proxies, rounds, progress }: ProxiesOptions): Promise<BenchResult> {
  const bundled = await bundle([CHILD]);
  const stage = await startStage();
  try {
    stage.declare(proxies);
    const run = (task: DistributiveOmit<ProxiesTask, 'environment' | 'proxies'>) =>
      runChild(bundled, { ...task, proxies, environment: stage.environment });
    progress(`${proxies} proxies are started`);
    await run({ kind: 'settle' });
    stage.registerProxies();
    progress(`${rounds + 1} syncs with nothing to do`);
    stage.forgetCalls();
    const first = await run({ kind: 'idle', syncs: 1 });
    const calls = stage.calls();
    const next = await run({ kind: 'idle', syncs: rounds + 1 });
    progress('a burst of 1,000 events');
    stage.forgetCalls();
    await run({ kind: 'burst' });
    const reconciles = stage.reconciles();
    return {
      bench: 'proxies',
      setting: { proxies, rounds, memoryMb: bundled.memoryMb },
      figures: figuresOf({ first, next, calls, reconciles }),
      raw: { first, next, calls, reconciles },
    };
  } finally {
    await stage.close();
    await bundled.remove();
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function runChild(bundled: Bundle, task: ProxiesTask): Promise<ProxiesMeasured> {
  return bundled.run<ProxiesMeasured>(CHILD, task, { limits: task.kind !== 'settle' });
}

function figuresOf(measured: {
  readonly first: ProxiesMeasured;
  readonly next: ProxiesMeasured;
  readonly calls: Readonly<Record<string, number>>;
  readonly reconciles: number;
}): Figure[] {
  const { first, next, calls, reconciles } = measured;
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const note = Object.entries(calls)
    .map(([operation, count]) => `${operation} ${count}`)
    .join(', ');
  const peakMb = Math.max(first.peakMb, next.peakMb);
  return [
    { name: 'calls to AWS of a sync', value: total, unit: 'calls', bound: MOST_CALLS, note },
    { name: 'first sync of a process', value: first.tookMs[0] ?? Number.NaN, unit: 'ms', bound: MOST_MS, below: true },
    { name: 'a sync after that, median', value: median(next.tookMs.slice(1)), unit: 'ms', bound: MOST_MS, below: true },
    { name: 'most memory', value: peakMb, unit: 'MB', bound: MOST_MB, below: true },
    { name: 'reconciles of 1,000 events', value: reconciles, unit: 'reconciles', bound: MOST_RECONCILES },
  ];
}

interface Stage {
  readonly environment: Readonly<Record<string, string>>;
  declare(proxies: number): void;
  /** As the programs in their tasks do: a passing check each. */
  registerProxies(): void;
  /** Calls to AWS since they were forgotten, by operation. */
  calls(): Readonly<Record<string, number>>;
  /** Each one lists the cluster once. */
  reconciles(): number;
  forgetCalls(): void;
  close(): Promise<void>;
}

async function startStage(): Promise<Stage> {
  const consul = await startConsulDouble();
  const ecs = new EcsDouble({ nowMs: Date.now, region: REGION, delays: NO_DELAYS, clusters: [CLUSTER] });
  const stopTime = keepTime(ecs.world);
  const ecsServer = await listen(ecs);
  const dynamoDb = await startDynamoDb();
  const client = createLocalClient(dynamoDb.endpoint);
  await createTable(client, TABLE);
  client.destroy();
  const table = await startFaultProxy(dynamoDb.endpoint);
  const events = await startEventBus();
  return {
    environment: environmentOf(consul.url, ecsServer.url, table.endpoint, events.url),
    declare(proxies) {
      for (let n = 0; n < proxies; n += 1) {
        if (n % 2 === 0) consul.kv.put(`ecs-check-restart/proxies/gateway-${n}`, JSON.stringify(documentOf(n)));
        else consul.agent.registerService(instanceOf(n));
      }
    },
    registerProxies() {
      for (const task of ecs.world.tasks()) {
        const ID = proxyIdOf(task);
        if (ID !== undefined) consul.agent.registerService({ ID, Name: FAMILY, Check: PASSING });
      }
    },
    calls: () => countOf([...ecs.calls, ...table.seen].map(({ operation }) => operation)),
    reconciles: () => ecs.callsOf('ListTasks').filter(({ input }) => input.nextToken === undefined).length,
    forgetCalls() {
      ecs.calls.length = 0;
      table.seen.length = 0;
    },
    async close() {
      stopTime();
      await Promise.all([consul.close(), ecsServer.close(), table.close(), events.close()]);
      await dynamoDb.close();
    },
  };
}

const PASSING = { TTL: '1h', Status: 'passing' };

function documentOf(n: number) {
  return { service: `gateway-${n}`, taskDefinition: FAMILY, cluster: CLUSTER, environment: { PORT: String(9000 + n) } };
}

function instanceOf(n: number) {
  const service = `web-${n % SERVICES}`;
  return {
    ID: `${service}-${n}`,
    Name: service,
    Tags: ['managed-proxy'],
    Meta: { 'proxy-task-definition': FAMILY, 'proxy-cluster': CLUSTER },
    Check: PASSING,
  };
}

function countOf(operations: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const operation of operations) counts[operation] = (counts[operation] ?? 0) + 1;
  return counts;
}

function environmentOf(consulUrl: string, ecsUrl: string, tableUrl: string, eventsUrl: string) {
  return {
    CONSUL_HTTP_ADDR: consulUrl,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_ECS: ecsUrl,
    AWS_ENDPOINT_URL_DYNAMODB: tableUrl,
    AWS_ENDPOINT_URL_EVENTBRIDGE: eventsUrl,
    TABLE_NAME: TABLE,
    DRY_RUN: 'false',
    PROXY_FAMILIES: FAMILY,
    PROXY_CLUSTERS: CLUSTER,
  };
}
