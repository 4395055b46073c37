/**
 * A sample task from RUNNING to STOPPED: what an entrypoint such as consul-ecs's does around a program. It registers
 * the service instance with the task's own address and, in Meta, the task's ARN; keeps its check; and deregisters when
 * it is told to stop.
 *
 * `http`: the Consul agent asks the program every second. The double runs no checks, so that a small loop here asks in
 * its place. `ttl`: the program reports to Consul itself, every second.
 */
import { systemClock } from '../../../lib/clock.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import { putToConsul, segment } from './consul-api.ts';
import type { LocalConsul } from './local-consul.ts';
import { type SampleApp, startSampleApp } from './sample-app.ts';

/** A sample service. */
export interface SampleSpec {
  /** Of the ECS service, and of the Consul service. */
  readonly name: string;
  readonly count: number;
  readonly check: 'http' | 'ttl';
  /** Of the Consul service, beside the task's ARN. */
  readonly meta?: Readonly<Record<string, string>>;
  /** Of the instance in Consul; absent: `NAME-TASKID`. */
  readonly serviceId?: string;
  readonly declaration?: Declaration;
}

/** What else its registration says: how an instance declares its proxy. */
export interface Declaration {
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, string>>;
}

/** One whose program runs. */
export interface SampleTask {
  readonly service: string;
  readonly taskId: string;
  /** Of the instance in Consul. */
  readonly serviceId: string;
  /** Of the program: `PUT /break`, `PUT /heal`. */
  readonly url: string;
  readonly port: number;
  /** Registers again, saying this besides. */
  declare(declaration: Declaration): Promise<void>;
  /** SIGTERM: leaves Consul, and stops reporting. */
  leave(): Promise<void>;
  /** Leaves, and ends the program. */
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 1000;

/** Starts the program on the port (0 = any), registers it, and keeps its check. */
export async function startSampleTask(
  spec: SampleSpec,
  task: Readonly<TaskRecord>,
  consul: LocalConsul,
  port: number,
): Promise<SampleTask> {
  const app = await startSampleApp(`${spec.name} ${task.id}`, port);
  const serviceId = spec.serviceId ?? `${spec.name}-${task.id}`;
  const checkId = `${serviceId}-health`;
  const left = new AbortController();
  let leaving: Promise<void> | undefined;
  const leave = () => {
    leaving ??= (async () => {
      left.abort();
      await reporting;
      await putToConsul(consul.url, `agent/service/deregister/${segment(serviceId)}`);
    })();
    return leaving;
  };
  const check = spec.check === 'http' ? { HTTP: `${app.url}/health`, Interval: '1s', Timeout: '1s' } : { TTL: '5s' };
  let reporting: Promise<void> = Promise.resolve();
  const register = ({ tags, meta }: Declaration = { tags: [], meta: {} }) =>
    putToConsul(consul.url, 'agent/service/register', {
      ID: serviceId,
      Name: spec.name,
      Address: task.address,
      Port: app.port,
      Tags: tags,
      Meta: { 'task-arn': task.arn, ...spec.meta, ...meta },
      Check: { CheckID: checkId, Name: `${spec.name} health`, ...check },
    });
  try {
    await register(spec.declaration);
  } catch (error) {
    await app.close();
    throw error;
  }
  const report = reporterOf(spec, consul, checkId, app);
  if (report) reporting = everySecond(report, left.signal);
  return {
    service: spec.name,
    taskId: task.id,
    serviceId,
    url: app.url,
    port: app.port,
    declare: register,
    leave,
    async close() {
      await leave().catch(() => {});
      await app.close();
    },
  };
}

/** What reports the check's result to Consul; nothing where a real agent finds out for itself. */
function reporterOf(
  spec: SampleSpec,
  { url, double }: LocalConsul,
  checkId: string,
  app: SampleApp,
): (() => Promise<void>) | undefined {
  if (spec.check === 'ttl') {
    return () => {
      const path = `agent/check/${app.isHealthy ? 'pass' : 'fail'}/${segment(checkId)}`;
      return putToConsul(url, path);
    };
  }
  if (!double) return undefined;
  return async () => {
    const target = `${app.url}/health`;
    const response = await fetch(target);
    const output = `HTTP GET ${target}: ${response.status} ${response.statusText} Output: ${await response.text()}`;
    double.agent.reportCheck(checkId, response.ok ? 'passing' : 'critical', output);
  };
}

/** A report that fails is followed by the next one, as it would be in a program. */
async function everySecond(report: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await report().catch(() => {});
    await systemClock.sleepUntil(systemClock.nowMs() + CHECK_EVERY_MS, signal);
  }
}
