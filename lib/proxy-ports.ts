/**
 * What reconciling proxies needs from outside, besides `ports.ts`. Reads throw `ReadFailure`; writes to ECS return an
 * outcome and never throw. All instants and durations are milliseconds.
 */
import type { ActOutcome, WriteResult } from './ports.ts';
import type { DeclarationSources } from './proxies/declaration.ts';
import type { LaunchOutcome } from './proxies/outcome.ts';
import type { OwnTask } from './proxies/own-task.ts';
import type { ProxyState } from './proxies/proxy-state.ts';
import type { RunState } from './proxies/run-state.ts';
import type { ProxySpec } from './proxies/spec.ts';
import type { ReconcileMemory } from './proxies/trust.ts';

/** Consul, where proxies are declared. Every rule for doubtful answers applies: half an answer is none. */
export interface DeclarationPort {
  /**
   * Instances of services with the tag `managed-proxy` (one read of `catalog/services` names the candidates), documents
   * below `…/proxies/`, and the defaults. All of it from good answers, or `ReadFailure`.
   */
  readDeclarations(): Promise<DeclarationSources>;
}

/** One launch. The proxy's ID goes into the environment as CONNECT_PROXY_ID and into the task's tags. */
export interface LaunchRequest {
  readonly proxyId: string;
  readonly spec: ProxySpec;
  readonly fingerprint: string;
  readonly generation: number;
  /** Hashed by the adapter into RunTask's `clientToken`. */
  readonly clientTokenText: string;
}

/** Tasks of ours in one cluster. */
export interface OwnTasksOfCluster {
  readonly tasks: readonly OwnTask[];
  /** Of those asked for by ARN: ECS says MISSING. */
  readonly missing: ReadonlySet<string>;
}

/** ECS, for proxies. */
export interface ProxyEcsPort {
  /**
   * All tasks of a cluster with our `startedBy`, listed to the end, and those named in `remembered` besides (a stopped
   * task is in no listing), described in chunks of 100. Tasks that are not ours are left out, whoever names them.
   */
  ownTasks(cluster: string, remembered: readonly string[]): Promise<OwnTasksOfCluster>;
  /** RunTask with `clientToken`, `startedBy`, tags and overrides. */
  runTask(request: LaunchRequest): Promise<LaunchOutcome>;
  stopTask(request: { readonly cluster: string; readonly task: string; readonly reason: string }): Promise<ActOutcome>;
  forceNewDeployment(request: { readonly cluster: string; readonly service: string }): Promise<ActOutcome>;
}

/** One proxy's item. `version` guards it; 0 = there is none yet. */
export interface StoredProxy {
  readonly version: number;
  readonly state: ProxyState;
}

/** The control item of the reconciler. */
export interface ReconcileControl {
  readonly version: number;
  readonly runState: RunState;
  readonly memory: ReconcileMemory;
  /** When the last finished reconcile began: a message older than that has been seen to. */
  readonly lastStartMs?: number;
}

/** Everything that a reconcile needs to know of proxies, from one strong read, paged to the end. */
export interface StoredProxies {
  readonly control: ReconcileControl;
  readonly proxies: readonly StoredProxy[];
  /** Items that are not understood: set aside, reported, never written over; IDs of proxies where they can be told. */
  readonly unreadable: readonly { readonly key: string; readonly problem: string; readonly proxyId?: string }[];
}

/** The table's part for proxies, in a partition of its own. Leases and history are those of `StatePort`. */
export interface ProxyStatePort {
  loadProxies(): Promise<StoredProxies>;
  saveProxy(proxy: StoredProxy): Promise<WriteResult>;
  deleteProxy(proxy: StoredProxy): Promise<WriteResult>;
  saveControl(control: ReconcileControl): Promise<WriteResult>;
}

/** Why reconcile-proxies is woken. Messages are hints: what is in them decides nothing but whether they are old. */
export interface WakeUp {
  readonly why: 'wait-over' | 'check-bad';
  readonly atMs: number;
}

/** The queue of reconcile-proxies. */
export interface WakeUpPort {
  /** Delivered after `delayMs` (SQS takes whole seconds, up to 15 min; rounded up). A failure is logged, never thrown. */
  wakeUp(message: WakeUp, delayMs: number): Promise<void>;
}
