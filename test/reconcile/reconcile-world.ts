/**
 * A world of proxies: declarations and checks scripted by the test, the real ECS adapters on the strict double, state and
 * telemetry in memory, a virtual clock. Each `reconcile` is a cold start that knows only what the state holds.
 */

import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { type Delays, NO_DELAYS, type TaskRecord } from '../../infra/local/ecs-double/model.ts';
import { requestHandler } from '../../infra/local/ecs-double/request-handler.ts';
import { MemoryProxyState } from '../../infra/local/memory-proxy-state.ts';
import { MemoryState } from '../../infra/local/memory-state.ts';
import { RecordingEvents, RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import { sha256 } from '../../infra/local/scenario/proxies.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';
import { createProxyEcsPort } from '../../lib/ecs/proxy-ecs-port.ts';
import type { ReadFailure } from '../../lib/ports.ts';
import type { DeclarationSources } from '../../lib/proxies/declaration.ts';
import type { ProxyState } from '../../lib/proxies/proxy-state.ts';
import { DEFAULT_PROXY_SETTINGS, type ProxySettings } from '../../lib/proxies/settings.ts';
import type { WakeUp } from '../../lib/proxy-ports.ts';
import { operateProxies, type ProxyOperations } from '../../lib/use-cases/reconcile/operate-proxies.ts';
import { reconcile } from '../../lib/use-cases/reconcile/reconcile.ts';
import type {
  ReconcileDeps,
  ReconcileReport,
  ReconcileRequest,
  ReconcileResult,
  ReconcileSettings,
} from '../../lib/use-cases/reconcile/reconcile-types.ts';
import { ConsulFake } from '../use-cases/consul-fake.ts';
import { POLICY_KEY, SETTINGS, START_MS } from '../use-cases/watch-world.ts';
import { VirtualClock } from '../virtual-clock.ts';

export { START_MS };
export const CLUSTER = 'prod';
export const STARTED_BY = 'ecs-check-restart';
export const CALLER = { holder: 'operator', endsAtMs: Number.POSITIVE_INFINITY };

export interface WorldOptions {
  readonly proxies?: Partial<ProxySettings>;
  readonly watch?: Partial<ReconcileSettings['watch']>;
  readonly launchLimit?: number;
  readonly delays?: Partial<Delays>;
  readonly clusters?: readonly string[];
  /** Default `STARTED_BY`. */
  readonly startedBy?: string;
  /** Another stage, or this one before it lost its state: clock and ECS are shared, nothing else is. */
  readonly beside?: ReconcileWorld;
}

/** Message, and when it was asked for. */
export interface SentWakeUp extends WakeUp {
  readonly sentMs: number;
  readonly delayMs: number;
}

export class ReconcileWorld {
  readonly clock: VirtualClock;
  readonly ecs: EcsDouble;
  readonly startedBy: string;
  readonly consul: ConsulFake;
  readonly state = new MemoryState();
  readonly health = new MemoryState();
  readonly proxies = new MemoryProxyState();
  readonly telemetry = new RecordingTelemetry();
  readonly events = new RecordingEvents();
  readonly wakeUps: SentWakeUp[] = [];
  readonly declared = new Map<string, unknown>();
  /** What reading declarations throws instead. */
  doubt: ReadFailure | undefined;
  readonly deps: ReconcileDeps;
  readonly settings: ReconcileSettings;
  #holders = 0;

  constructor(options: WorldOptions = {}) {
    const { beside, startedBy = STARTED_BY } = options;
    this.startedBy = startedBy;
    this.clock = beside?.clock ?? new VirtualClock(START_MS);
    this.consul = new ConsulFake(this.clock);
    const { clock, consul, state, health, proxies, telemetry, events } = this;
    const nowMs = () => clock.nowMs();
    const clusters = [...(options.clusters ?? [CLUSTER])];
    const delays = { ...NO_DELAYS, ...options.delays };
    this.ecs = beside?.ecs ?? new EcsDouble({ nowMs, delays, clusters });
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const handler = requestHandler(this.ecs);
    const client = createEcsClient({ region: 'eu-west-1', requestHandler: handler, credentials, maxAttempts: 1 });
    this.deps = {
      consul,
      state,
      health,
      proxies,
      telemetry,
      events,
      clock,
      ecs: createEcsPort({ client, clock, callTimeoutMs: 200 }),
      proxyEcs: createProxyEcsPort({ client, clock, callTimeoutMs: 200, startedBy }),
      declarations: { readDeclarations: async () => this.#sources() },
      wakeUps: {
        wakeUp: async (message, delayMs) => {
          this.wakeUps.push({ ...message, delayMs, sentMs: nowMs() });
        },
      },
      hash: sha256,
      parsePolicy: (text) => {
        const parsed = parsePolicyDocument(text);
        return parsed.ok ? { ok: true, value: parsed.document } : parsed;
      },
      parseMeta: (meta) => {
        const parsed = parseMetaPolicy(meta);
        return parsed.ok ? { ok: true, value: parsed.part } : parsed;
      },
    };
    this.settings = {
      proxies: { ...DEFAULT_PROXY_SETTINGS, ...options.proxies },
      rules: { allow: { families: ['*'], clusters: [...clusters], commands: ['*'], services: ['*'] } },
      watch: { ...SETTINGS, ...options.watch },
      ...(options.launchLimit === undefined ? {} : { launchLimit: options.launchLimit }),
    };
  }

  #sources(): DeclarationSources {
    if (this.doubt) throw this.doubt;
    const documents = [...this.declared].map(([id, value]) => ({ id, source: { value } }));
    return { documents, instances: [], defaults: { value: { cluster: CLUSTER } } };
  }

  /** Declares proxies in KV; another `variant` is another command. */
  declare(ids: string | readonly string[], variant = 'a', more: Readonly<Record<string, unknown>> = {}): this {
    for (const id of [ids].flat()) {
      this.declared.set(id, { execMode: 'task', taskDefinition: 'envoy:1', command: ['envoy', variant], ...more });
    }
    return this;
  }

  policy(document: unknown): this {
    this.consul.keys.set(POLICY_KEY, { text: JSON.stringify(document), modifyIndex: '1' });
    return this;
  }

  get operations(): ProxyOperations {
    return operateProxies(this.deps, this.settings);
  }

  /** One invocation, whatever comes of it. */
  invoke(request: Partial<ReconcileRequest> = {}, deps = this.deps): Promise<ReconcileResult> {
    this.ecs.world.advance();
    this.#holders += 1;
    const whole = { holder: `r${this.#holders}`, endsAtMs: Number.POSITIVE_INFINITY, ...request };
    return reconcile(deps, this.settings, whole);
  }

  /** One reconcile that is made. */
  async pass(request: Partial<ReconcileRequest> = {}): Promise<ReconcileReport> {
    return mustBeDone(await this.invoke(request));
  }

  /** Goes on, and lets happen what happens. */
  later(durationMs: number): this {
    this.clock.set(this.clock.nowMs() + durationMs);
    this.ecs.world.advance();
    return this;
  }

  /** Reconciles every so often. */
  async passes(count: number, everyMs: number): Promise<ReconcileReport[]> {
    const reports: ReconcileReport[] = [];
    for (let done = 0; done < count; done += 1) {
      reports.push(await this.pass());
      this.later(everyMs);
    }
    return reports;
  }

  /** Tasks of ours that have not stopped. */
  running(proxyId?: string): Readonly<TaskRecord>[] {
    this.ecs.world.advance();
    return this.ecs.world
      .tasks()
      .filter((task) => task.startedBy === this.startedBy && task.lastStatus !== 'STOPPED')
      .filter((task) => proxyId === undefined || JSON.stringify(task.overrides).includes(`"value":"${proxyId}"`));
  }

  /** The only task of a proxy. */
  one(proxyId: string): Readonly<TaskRecord> {
    const [task, other] = this.running(proxyId);
    if (!task || other) throw new Error(`${proxyId} has not one task`);
    return task;
  }

  async stateOf(proxyId: string): Promise<ProxyState | undefined> {
    const { proxies } = await this.proxies.loadProxies();
    return proxies.find(({ state }) => state.proxyId === proxyId)?.state;
  }

  /** Calls that change something in ECS. */
  writes(): string[] {
    return this.ecs.calls
      .map(({ operation }) => operation)
      .filter((operation) => ['RunTask', 'StopTask', 'UpdateService'].includes(operation));
  }

  /** A check under a proxy's ID, at its task's address. */
  register(proxyId: string, status = 'critical', more: { node?: string; meta?: Record<string, string> } = {}): void {
    const { node = 'n1', meta = {} } = more;
    const { address } = this.one(proxyId);
    this.consul.addInstance({ node, serviceId: proxyId, serviceName: 'envoy', address, meta });
    this.consul.register({ node, checkId: `${proxyId}-ready`, serviceId: proxyId, serviceName: 'envoy', status });
  }
}

/** The report of a reconcile that was made. */
export function mustBeDone(result: ReconcileResult): ReconcileReport {
  if (result.outcome !== 'done') throw new Error(`not done: ${result.outcome}`);
  return result;
}

/** `KIND PROXY REASON OUTCOME` of every action. */
export function told({ actions }: ReconcileReport): string[] {
  return actions.map(({ kind, proxyId, reason, outcome }) => `${kind} ${proxyId} ${reason} ${outcome}`);
}
