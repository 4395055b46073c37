/** A stage on which restarts are watched end to end: a Consul, the ECS double over HTTP, dynalite, and open windows. */
import { createLocalClient, createTable, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { listen } from '../../infra/local/ecs-double/http.ts';
import { NO_DELAYS } from '../../infra/local/ecs-double/model.ts';
import { RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import { type WindowResult, watchWindow } from '../../lib/use-cases/watch.ts';
import type { WatchSettings } from '../../lib/use-cases/watch-types.ts';
import { type ConsulWriter, consulWriter, type Registration, register } from './consul-writes.ts';
import { CLUSTER, POLICY_KEY, SETTINGS, TABLE, tableState, wire } from './watch-stage.ts';

/** A stop as it reached the double. Epoch milliseconds, with their fractions. */
export interface Stop {
  readonly taskArn: string;
  readonly atMs: number;
}

/** What can be done on it. */
export interface RestartStage {
  readonly ecs: EcsDouble;
  readonly writer: ConsulWriter;
  readonly telemetry: RecordingTelemetry;
  /** Oldest first; each task once. */
  readonly stops: readonly Stop[];
  /** Names of the SDK's operations on the table. */
  readonly tableOperations: string[];
  /** Where the double and the table listen. */
  readonly ecsUrl: string;
  readonly tableUrl: string;
  /** A service of one task that has run for an hour, registered with one passing check. Nothing replaces the task. */
  service(name: string): Promise<Registration>;
  /** Keeps a window open, as one invocation does. Brakes are off. */
  window(windowMs: number, settings?: Partial<WatchSettings>): Promise<WindowResult>;
  /** Resolves when ECS is asked to stop the task. Throws after ten seconds. */
  stopOf(taskArn: string): Promise<Stop>;
  close(): Promise<void>;
}

const RUNS_FOR_MS = 3_600_000;
const PATIENCE_MS = 10_000;
/** The function's own time beyond the window. */
const AFTER_WINDOW_MS = 30_000;

/** The time with fractions of a millisecond. */
export function preciseNowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Sets it up on a Consul that runs. `watchedUrl`: the watcher's way to Consul, where it is another one. */
export async function startRestartStage(
  consulUrl: string,
  policy: unknown,
  watchedUrl: string = consulUrl,
): Promise<RestartStage> {
  const ecs = new EcsDouble({ nowMs: () => Date.now(), delays: NO_DELAYS, clusters: [CLUSTER] });
  const listening = await listen(ecs);
  const local = await startDynamoDb();
  await createTable(createLocalClient(local.endpoint), TABLE);
  const writer = consulWriter(consulUrl);
  await writer.put(`kv/${POLICY_KEY}`, policy);
  const telemetry = new RecordingTelemetry();
  const tableOperations: string[] = [];
  const state = tableState(local.endpoint, (operation) => tableOperations.push(operation));
  const { deps, close } = wire({ consulUrl: watchedUrl, ecsUrl: listening.url, state, telemetry });
  const stops: Stop[] = [];
  const waiting = new Map<string, (stop: Stop) => void>();
  ecs.world.onStopping(({ arn }) => {
    const stop = { taskArn: arn, atMs: preciseNowMs() };
    stops.push(stop);
    waiting.get(arn)?.(stop);
  });
  let invocations = 0;
  return {
    ecs,
    writer,
    telemetry,
    stops,
    tableOperations,
    ecsUrl: listening.url,
    tableUrl: local.endpoint,
    service: (name) => addService(ecs, writer, name),
    window: (windowMs, settings = {}) => {
      const endsAtMs = Date.now() + windowMs + AFTER_WINDOW_MS;
      invocations += 1;
      return watchWindow(deps, { ...SETTINGS, ...settings }, { holder: `window-${invocations}`, windowMs, endsAtMs });
    },
    stopOf: (taskArn) =>
      new Promise((resolve, reject) => {
        const known = stops.find((stop) => stop.taskArn === taskArn);
        if (known) return resolve(known);
        const timer = setTimeout(() => reject(new Error(`${taskArn} is not stopped`)), PATIENCE_MS);
        waiting.set(taskArn, (stop) => {
          clearTimeout(timer);
          resolve(stop);
        });
      }),
    close: async () => {
      await close();
      await writer.close();
      await listening.close();
      await local.close();
    },
  };
}

async function addService(ecs: EcsDouble, writer: ConsulWriter, name: string): Promise<Registration> {
  ecs.world.addService({ name, cluster: CLUSTER, desiredCount: 1, startTasks: false });
  const startedAtMs = Date.now() - RUNS_FOR_MS;
  const taskArn = ecs.world.addTask({ cluster: CLUSTER, service: name, startedAtMs, replaceAfterMs: null });
  const task = ecs.world.task(taskArn);
  if (!task) throw new Error(`no task ${taskArn}`);
  const instance = { node: 'host-1', service: name, serviceId: `${name}-${task.id}`, address: task.address, taskArn };
  await register(writer, instance, 'passing');
  return instance;
}
