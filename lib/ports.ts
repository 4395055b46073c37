/**
 * What the use cases need from outside. Adapters (`lib/consul`, `lib/ecs`, `lib/dynamodb`, `lib/telemetry`) implement
 * these; use cases see nothing else. All instants and durations are milliseconds.
 */
import type { BrakeState, EstateState } from './brakes/state.ts';
import type { EcsService, EcsTask, TaskProtection } from './check-restart/ecs-facts.ts';
import type { CheckState } from './check-restart/evaluation.ts';

/** The only clock. Tests and `simulate` hand in a virtual one. */
export interface Clock {
  nowMs(): number;
  /** Resolves at the instant, or at once when it is past, or when the signal aborts (without an error). */
  sleepUntil(atMs: number, signal?: AbortSignal): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- Consul

/** Why an outside system's answer is no data. */
export type ReadFailureCode =
  | 'unreachable' // refused, reset, DNS, TLS
  | 'timeout' // no answer within our own deadline
  | 'no-leader' // Consul 500 "No cluster leader", or KnownLeader: false on a doubtful answer
  | 'rate-limited' // 429, ThrottlingException
  | 'forbidden' // 401, 403, AccessDenied
  | 'filtered' // X-Consul-Results-Filtered-By-ACLs: the answer is a part only
  | 'stale' // X-Consul-LastContact above the bound
  | 'server-error' // any other 4xx or 5xx
  | 'malformed' // not JSON, cut off, HTML, or not of the documented shape
  | 'incomplete'; // a paged listing that did not come to its end

/**
 * A read that failed or is doubtful. Nothing may be concluded from it: no state changes, nothing is restarted.
 * `message` is safe to log: no token, no address with credentials, control characters removed, at most 300 characters.
 */
export class ReadFailure extends Error {
  readonly system: 'consul' | 'ecs' | 'state';
  readonly code: ReadFailureCode;

  constructor(system: ReadFailure['system'], code: ReadFailureCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ReadFailure';
    this.system = system;
    this.code = code;
  }
}

/** One check that is not passing, as `health/state/*` lists it. Node checks have an empty `serviceId`. */
export interface UnhealthyCheck {
  readonly node: string;
  readonly checkId: string;
  readonly name: string;
  /** As Consul says it. */
  readonly status: string;
  readonly serviceId: string;
  readonly serviceName: string;
  /** Empty on open-source Consul. */
  readonly namespace: string;
  readonly partition: string;
  /** `http`, `tcp`, `ttl`, `maintenance`, …; empty where Consul does not say. */
  readonly type: string;
  /** At most 256 characters; only its emptiness decides anything. Never logged above debug level. */
  readonly output: string;
  readonly createIndex: number;
  /** The check's own interval, where Consul states it (from 1.10 on). */
  readonly intervalMs?: number;
}

/** Names one service instance. */
export interface InstanceRef {
  readonly node: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly namespace: string;
  readonly partition: string;
}

/** What `catalog/service/NAME` says of one instance. */
export interface InstanceDetails extends InstanceRef {
  /** `connect-proxy` for a sidecar; empty for a plain service. */
  readonly kind: string;
  /** The registration's own address; empty where it has none (the node's then applies). */
  readonly address: string;
  readonly port: number;
  readonly meta: Readonly<Record<string, string>>;
  readonly nodeMeta: Readonly<Record<string, string>>;
  /** Of a sidecar: whose. */
  readonly destinationServiceName?: string;
  readonly destinationServiceId?: string;
}

/** Names one check. */
export interface CheckRef extends InstanceRef {
  readonly checkId: string;
}

/** One complete, trustworthy answer about what is bad. */
export interface UnhealthyAnswer {
  readonly checks: readonly UnhealthyCheck[];
}

/** Long reads of what is bad, within one window. */
export interface UnhealthyWatch {
  /** An immediate read. Throws `ReadFailure`. */
  read(signal: AbortSignal): Promise<UnhealthyAnswer>;
  /**
   * The next answer that differs from the last one given out, or `undefined` at `untilMs`. Differs means: another set of
   * (node, check, status, service ID, CreateIndex). Throws `ReadFailure`.
   */
  change(untilMs: number, signal: AbortSignal): Promise<UnhealthyAnswer | undefined>;
  /** Ends what is still in flight. */
  close(): Promise<void>;
}

/** Consul, read only. Every method throws `ReadFailure` on an error or a doubtful answer. */
export interface ConsulPort {
  /** Reads `critical`, and `warning` where asked. */
  watchUnhealthy(options: { readonly warnings: boolean }): UnhealthyWatch;
  /** Status of checks that are in neither list, `passing` or whatever Consul says; a check not in the map is absent. Keys: `checkKey`. */
  lookUpChecks(checks: readonly CheckRef[]): Promise<ReadonlyMap<string, UnhealthyCheck>>;
  /**
   * Details of instances, one request a service name (chunked by length). Missing from the map: not registered any more.
   * Keys: `instanceKey`. A name that cannot be sent (`.` and `..`) is in `refused`.
   */
  describeInstances(
    instances: readonly InstanceRef[],
  ): Promise<{ readonly found: ReadonlyMap<string, InstanceDetails>; readonly refused: readonly InstanceRef[] }>;
  /** All checks of a service, whatever their status. */
  listChecks(serviceName: string): Promise<readonly UnhealthyCheck[]>;
  /** A KV value as text with its ModifyIndex; `undefined` where the key does not exist. */
  readKey(key: string): Promise<{ readonly text: string; readonly modifyIndex: string } | undefined>;
  /** Names of all services of the catalog, with their tags. */
  listServices(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** All instances of a service; empty where there is none. */
  listInstances(serviceName: string): Promise<readonly InstanceDetails[]>;
}

/** Identity of a check: IDs are unique per node only. */
export function checkKey(check: Pick<CheckRef, 'partition' | 'namespace' | 'node' | 'checkId'>): string {
  return joined(check, check.checkId);
}

/** Identity of a service instance: service IDs are unique per node (and namespace) only. */
export function instanceKey(instance: Pick<InstanceRef, 'partition' | 'namespace' | 'node' | 'serviceId'>): string {
  return joined(instance, instance.serviceId);
}

function joined(of: Pick<InstanceRef, 'partition' | 'namespace' | 'node'>, id: string): string {
  return `${encoded(of.partition)}/${encoded(of.namespace)}/${encoded(of.node)}/${encoded(id)}`;
}

/** What encoding leaves as it is; with a thousand bad checks keys are made ten thousand times a pass. */
const PLAIN = /^[\w.-]*$/;

/** Half a surrogate pair in a name must not end a pass. */
function encoded(part: string): string {
  return PLAIN.test(part) ? part : encodeURIComponent(part.toWellFormed());
}

// ------------------------------------------------------------------------------------------------------- ECS

/** Tasks found, and those that ECS says are MISSING; by the ARN or ID that was asked for. */
export interface DescribedTasks {
  readonly tasks: ReadonlyMap<string, EcsTask>;
  readonly missing: ReadonlySet<string>;
}

/** How a write to ECS ended. `unknown`: no answer, so it may or may not have taken effect. */
export type ActOutcome =
  | { readonly outcome: 'accepted'; readonly deploymentId?: string }
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'refused';
      readonly code: string;
      readonly message: string;
      readonly controllerMismatch?: boolean;
    }
  | { readonly outcome: 'unknown'; readonly message: string };

/** ECS. Reads throw `ReadFailure` (system `ecs`); writes return an outcome and never throw. */
export interface EcsPort {
  /** In chunks of 100, each ID once; an empty list asks nothing. */
  describeTasks(cluster: string, tasks: readonly string[]): Promise<DescribedTasks>;
  /** In tens; an empty list asks nothing. By service name; missing ones are not in the map. */
  describeServices(cluster: string, services: readonly string[]): Promise<ReadonlyMap<string, EcsService>>;
  /** By the ARN asked for; a failed call makes all of its tasks `unknown`. */
  taskProtection(cluster: string, tasks: readonly string[]): Promise<ReadonlyMap<string, TaskProtection>>;
  /** All task ARNs, paged to the end or `incomplete`. */
  listTasks(
    cluster: string,
    filter: { readonly service?: string; readonly startedBy?: string },
  ): Promise<readonly string[]>;
  /** All service ARNs, paged to the end or `incomplete`. */
  listServices(cluster: string): Promise<readonly string[]>;
  stopTask(request: { readonly cluster: string; readonly task: string; readonly reason: string }): Promise<ActOutcome>;
  forceNewDeployment(request: { readonly cluster: string; readonly service: string }): Promise<ActOutcome>;
}

// ----------------------------------------------------------------------------------------------------- state

/** What is remembered of one check. `version` guards its item: a write names the version that it read. */
export interface WatchedCheck extends CheckRef {
  readonly checkName: string;
  readonly version: number;
  readonly state: CheckState;
}

/** One restart that was decided: from its claim until it is confirmed. */
export interface Claim {
  /** Long ARN of the task; for a deployment the task of the check that named it. */
  readonly taskArn: string;
  readonly action: 'stop-task' | 'force-new-deployment';
  readonly checkName: string;
  readonly consulService: string;
  readonly claimedAtMs: number;
  /** Number of calls made, this one included. */
  readonly tries: number;
  /** When the last call was made; an unanswered one is repeated 30 s later. */
  readonly triedAtMs: number;
  /** `open`: no answer yet; `accepted`: ECS took it, not confirmed yet. */
  readonly outcome: 'open' | 'accepted';
  /** Of a forced deployment: the one that it made, and the PRIMARY one before it. */
  readonly deploymentId?: string;
  readonly primaryBefore?: string;
}

/** A call that ECS refused: the task's next try, with backoff. */
export interface RefusedTry {
  readonly taskArn: string;
  readonly tries: number;
  readonly nextTryMs: number;
}

/** What belongs to one ECS service (stand-alone tasks: cluster + family). */
export interface ServiceState {
  /** `CLUSTER/service/NAME` or `CLUSTER/family/NAME`. */
  readonly key: string;
  /** 0 = there is no item yet. */
  readonly version: number;
  readonly claims: readonly Claim[];
  readonly refused: readonly RefusedTry[];
  /** Budget, restarts in flight, hold and breaker; charged in the same write as a claim. */
  readonly brakes: BrakeState;
  /** Longest grace of the checks that its last restart was for: how long a replacement is not proven. */
  readonly graceMs?: number;
  /** PRIMARY deployment at the time our forced one failed or vanished; none is forced again while it is still that one. */
  readonly failedDeployment?: string;
}

/** The last good pass, and what was last reported of each bad check, so that a line is logged once a change. */
export interface Heartbeat {
  readonly atMs: number;
  /** Nothing is restarted before: set after a gap in observation. */
  readonly settleUntilMs?: number;
  /** When it was last proved that the token sees something. */
  readonly provedMs?: number;
  /** Keys of checks whose states could not be written: what the table has of them is older than this heartbeat says. */
  readonly unsaved?: readonly string[];
  /** Check key → reason word last logged. Bounded. */
  readonly reported: Readonly<Record<string, string>>;
}

/** Brakes of the whole deployment: the estate breaker and the hold for all. */
export interface StoredEstate {
  /** 0 = there is no item yet. */
  readonly version: number;
  readonly state: EstateState;
}

/** The last policy document that was valid, as text. */
export interface StoredPolicy {
  readonly text: string;
  readonly modifyIndex: string;
}

/** Everything that a pass needs to know, from one strong read. */
export interface StoredState {
  readonly heartbeat?: Heartbeat;
  readonly policy?: StoredPolicy;
  readonly checks: readonly WatchedCheck[];
  readonly services: readonly ServiceState[];
  readonly estate?: StoredEstate;
  /** Items that could not be understood: set aside under their key, reported, never acted upon. */
  readonly unreadable: readonly { readonly key: string; readonly problem: string }[];
}

/** A lease held; `fence` grows with every acquisition. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  readonly untilMs: number;
}

/** A line of history. Kept 90 days. */
export interface HistoryEntry {
  readonly atMs: number;
  readonly kind: string;
  readonly detail: Readonly<Record<string, string | number | boolean>>;
}

/** `conflict`: somebody else wrote since we read; nothing was written. */
export type WriteResult = 'saved' | 'conflict';

/** The table. Single-item conditional writes, strong reads. Methods throw `ReadFailure` (system `state`) when it cannot be reached. */
export interface StatePort {
  load(): Promise<StoredState>;
  /** Version 0 = must not exist. Stored with version + 1. */
  saveCheck(check: WatchedCheck): Promise<WriteResult>;
  deleteCheck(check: WatchedCheck): Promise<WriteResult>;
  /** Strong read; version 0 where there is none. */
  readService(key: string): Promise<ServiceState>;
  saveService(service: ServiceState): Promise<WriteResult>;
  /** Strong read; version 0 and an empty state where there is none. */
  readEstate(): Promise<StoredEstate>;
  saveEstate(estate: StoredEstate): Promise<WriteResult>;
  /** Instants of a cluster's restarts of the last 60 s, oldest first. */
  recentRestarts(cluster: string, nowMs: number): Promise<readonly number[]>;
  /**
   * Takes places among the restarts of the last 60 s of a cluster; `undefined` = taken, else when enough are free again.
   * More places than `perMinute` are never free.
   */
  takeRestartSlot(
    cluster: string,
    nowMs: number,
    perMinute: number,
    places: number,
  ): Promise<{ readonly freeAtMs: number } | undefined>;
  saveHeartbeat(heartbeat: Heartbeat): Promise<void>;
  savePolicy(policy: StoredPolicy): Promise<void>;
  /** The lease, or who holds it until when. */
  acquireLease(
    name: string,
    holder: string,
    nowMs: number,
    untilMs: number,
  ): Promise<{ readonly lease: Lease } | { readonly heldBy: string; readonly untilMs: number }>;
  /** `conflict` when it was lost. */
  renewLease(lease: Lease, untilMs: number): Promise<{ readonly lease: Lease } | 'conflict'>;
  releaseLease(lease: Lease): Promise<void>;
  appendHistory(entry: HistoryEntry): Promise<void>;
  /** The last lines of history, newest first; at most `limit`. */
  recentHistory(limit: number): Promise<readonly HistoryEntry[]>;
}

// ------------------------------------------------------------------------------------------------- telemetry

/** An EventBridge event of ours: a restart, a refusal of a due one, an alarm. */
export interface OutgoingEvent {
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Publishes; a failure is logged by the adapter and never stops a pass. */
export interface EventPort {
  publish(events: readonly OutgoingEvent[]): Promise<void>;
}

/** Levels of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A line with a stable code of the catalogue in `lib/event-codes.ts`, and counters. */
export interface TelemetryPort {
  log(level: LogLevel, code: string, fields: Readonly<Record<string, unknown>>): void;
  count(metric: string, value: number): void;
}
