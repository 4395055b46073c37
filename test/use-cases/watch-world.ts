/**
 * A world to watch: scripted Consul, the real ECS adapter on the strict double, state and telemetry in memory, a virtual
 * clock, the real parsers. Brakes are off unless a test sets them. `pass` is a pass by hand, and so a cold start: it knows only what the state holds.
 */
import { EcsDouble, type RecordedCall } from '../../infra/local/ecs-double/double.ts';
import { type Delays, NO_DELAYS, type ServiceSpec, type TaskSpec } from '../../infra/local/ecs-double/model.ts';
import { requestHandler } from '../../infra/local/ecs-double/request-handler.ts';
import { MemoryState, type StateOperation } from '../../infra/local/memory-state.ts';
import { RecordingEvents, RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import { NO_ESTATE_BRAKES, NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { DEFAULT_POLICY } from '../../lib/check-restart/policy.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';
import { ReadFailure, type ReadFailureCode, type ServiceState } from '../../lib/ports.ts';
import { passByHand } from '../../lib/use-cases/watch.ts';
import type { PassReport, WatchDeps, WatchSettings } from '../../lib/use-cases/watch-types.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { ConsulFake } from './consul-fake.ts';

export const START_MS = Date.UTC(2026, 7, 1, 10);
export const CLUSTER = 'prod';
export const POLICY_KEY = 'ecs-check-restart/policy';
/** Tasks run for so long when the test begins, so that grace is over. */
const RUNS_FOR_MS = 3_600_000;
const WRITES: readonly string[] = ['StopTask', 'UpdateService', 'RunTask'];

export const SETTINGS: WatchSettings = {
  defaults: DEFAULT_POLICY,
  policyKey: POLICY_KEY,
  maxObservationGapMs: 90_000,
  settleMs: 60_000,
  dryRun: false,
  mapping: {
    partition: 'aws',
    region: 'eu-west-1',
    account: '123456789012',
    metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
    allowedClusters: [CLUSTER],
  },
  allowedServices: ['*'],
  requireAddress: false,
  proxyStartedBy: 'ecs-check-restart',
  brakes: { service: NO_SERVICE_BRAKES, estate: NO_ESTATE_BRAKES },
};

/** A rule of the policy document that matches everything: due at the first bad observation. */
export const AT_ONCE = { limit: 1, interval: '10s', grace: '0s' };

export interface WorldOptions {
  /** `checkRestart` of a rule that matches everything; `null`: there is no policy document. */
  readonly checkRestart?: Readonly<Record<string, unknown>> | null;
  /** More fields of that rule, such as `mode` or `action`. */
  readonly rule?: Readonly<Record<string, unknown>>;
  readonly settings?: Partial<WatchSettings>;
  readonly delays?: Partial<Delays>;
  readonly callTimeoutMs?: number;
}

/** A task with its registration and its one check. */
export interface Registered {
  readonly arn: string;
  readonly id: string;
  readonly serviceId: string;
  readonly checkId: string;
}

export class WatchWorld {
  readonly clock = new VirtualClock(START_MS);
  readonly ecs: EcsDouble;
  readonly consul = new ConsulFake(this.clock);
  readonly state = new MemoryState();
  readonly telemetry = new RecordingTelemetry();
  readonly events = new RecordingEvents();
  readonly deps: WatchDeps;
  settings: WatchSettings;

  constructor(options: WorldOptions = {}) {
    const { checkRestart = AT_ONCE, rule = {}, delays = NO_DELAYS, callTimeoutMs = 5000 } = options;
    const nowMs = () => this.clock.nowMs();
    this.ecs = new EcsDouble({ nowMs, delays: { ...NO_DELAYS, ...delays }, clusters: [CLUSTER] });
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = createEcsClient({
      region: 'eu-west-1',
      requestHandler: requestHandler(this.ecs),
      credentials,
      maxAttempts: 1,
    });
    this.settings = { ...SETTINGS, ...options.settings };
    this.deps = {
      consul: this.consul,
      ecs: createEcsPort({ client, clock: this.clock, callTimeoutMs }),
      state: this.state,
      events: this.events,
      telemetry: this.telemetry,
      clock: this.clock,
      parsePolicy: (text) => {
        const parsed = parsePolicyDocument(text);
        return parsed.ok ? { ok: true, value: parsed.document } : parsed;
      },
      parseMeta: (meta) => {
        const parsed = parseMetaPolicy(meta);
        return parsed.ok ? { ok: true, value: parsed.part } : parsed;
      },
    };
    if (checkRestart !== null) this.policy({ rules: [{ match: {}, checkRestart, ...rule }] });
  }

  /** Writes the policy document; a text is written as it is. */
  policy(document: unknown): void {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    this.consul.keys.set(POLICY_KEY, { text, modifyIndex: String(this.consul.keys.size + 1) });
  }

  /** An ECS service of tasks that were started long ago, each registered with one check of this status. */
  service(
    name: string,
    options: { tasks?: number; status?: string; spec?: Partial<ServiceSpec>; task?: Partial<TaskSpec> } = {},
  ): Registered[] {
    const { tasks = 1, status = 'critical' } = options;
    this.ecs.world.addService({
      name,
      cluster: CLUSTER,
      desiredCount: tasks,
      startTasks: false,
      ...options.spec,
    });
    return Array.from({ length: tasks }, () => this.task({ service: name, ...options.task }, { status }));
  }

  /** The only task of a service of one. */
  one(name = 'web', options: Parameters<WatchWorld['service']>[1] = {}): Registered {
    const [task] = this.service(name, { ...options, tasks: 1 });
    if (!task) throw new Error('no task');
    return task;
  }

  /** A task that was started long ago, registered with one check. */
  task(spec: TaskSpec, options: { status?: string; consulService?: string } = {}): Registered {
    const arn = this.ecs.world.addTask({
      cluster: CLUSTER,
      startedAtMs: START_MS - RUNS_FOR_MS,
      replaceAfterMs: null,
      ...spec,
    });
    return this.register(arn, options);
  }

  /** Registers a task in Consul, with its address, its ARN in Meta, and one check. */
  register(arn: string, options: { status?: string; consulService?: string } = {}): Registered {
    const task = this.ecs.world.task(arn);
    if (!task) throw new Error(`no task ${arn}`);
    const serviceName = options.consulService ?? task.service ?? task.family;
    const serviceId = `${serviceName}-${task.id.slice(0, 8)}`;
    this.consul.addInstance({ serviceId, serviceName, address: task.address, meta: { 'task-arn': arn } });
    const checkId = `${serviceId}-http`;
    this.consul.register({ checkId, serviceId, serviceName, status: options.status ?? 'critical' });
    return { arn, id: task.id, serviceId, checkId };
  }

  /** Takes a task's registration away. */
  deregister({ serviceId, checkId }: Registered): void {
    this.consul.set(checkId, 'absent');
    for (const [key, one] of this.consul.instances) if (one.serviceId === serviceId) this.consul.instances.delete(key);
  }

  /** Goes to an instant after the beginning. */
  at(sinceStartMs: number): this {
    this.clock.set(START_MS + sinceStartMs);
    this.ecs.world.advance();
    return this;
  }

  /** Goes on. */
  later(durationMs: number): this {
    return this.at(this.clock.nowMs() - START_MS + durationMs);
  }

  /** One pass by hand, a cold start. */
  pass(request: { dryRun?: boolean; service?: string; endsAtMs?: number } = {}, deps = this.deps) {
    this.ecs.world.advance();
    return passByHand(deps, this.settings, { dryRun: false, endsAtMs: Number.POSITIVE_INFINITY, ...request });
  }

  /** Several passes, the clock going on after each. */
  async passes(count: number, everyMs: number): Promise<PassReport[]> {
    const reports: PassReport[] = [];
    for (let done = 0; done < count; done += 1) {
      reports.push(await this.pass());
      this.later(everyMs);
    }
    return reports;
  }

  /** Calls that change something in ECS, whether or not they took effect. */
  writes(): RecordedCall[] {
    return this.ecs.calls.filter(({ operation }) => WRITES.includes(operation));
  }

  /** IDs of the tasks of all StopTask calls. */
  stops(): string[] {
    return this.ecs.callsOf('StopTask').map(({ input }) => String(input.task).split('/').at(-1) ?? '');
  }

  /** Operations on the state that took effect, in order; those of the heartbeat left out. */
  stateWrites(): StateOperation[] {
    return this.state.writes.map(({ operation }) => operation).filter((operation) => operation !== 'saveHeartbeat');
  }

  /** An ECS service as the state has it. */
  async owner(name = 'web'): Promise<ServiceState> {
    return this.state.readService(`${CLUSTER}/service/${name}`);
  }

  /** When the stored streak of a check began; `undefined`: there is none. */
  async streakSince(checkId: string): Promise<number | undefined> {
    const { checks } = await this.state.load();
    return checks.find((check) => check.checkId === checkId)?.state.streak?.sinceMs;
  }
}

/** A failure of an outside system. */
export function failure(system: ReadFailure['system'], code: ReadFailureCode): ReadFailure {
  return new ReadFailure(system, code, `${system} is ${code}`);
}

/** Reason words of what was due and not restarted. */
export function reasons({ skipped }: PassReport): string[] {
  return skipped.map(({ reason }) => reason);
}
