/** What the ECS double knows of clusters, services and tasks. Instants and durations are milliseconds. */

/** The states that a task passes through, in this order. */
export const TASK_STATUSES = [
  'PROVISIONING',
  'PENDING',
  'RUNNING',
  'DEACTIVATING',
  'STOPPING',
  'DEPROVISIONING',
  'STOPPED',
] as const;

/** Where a task is. */
export type TaskStatus = (typeof TASK_STATUSES)[number];
/** Where ECS wants a task to be. */
export type DesiredStatus = 'RUNNING' | 'STOPPED';
/** How a service is deployed. */
export type Controller = 'ECS' | 'CODE_DEPLOY' | 'EXTERNAL';

/** How long things take. All 0 in `simulate`, where scenarios say what takes time. */
export interface Delays {
  /** From a task's stop (its desired status) to the scheduler's start of the replacement; a task's own `replaceAfterMs` wins. */
  readonly replaceMs: number;
  /** Time in PROVISIONING. */
  readonly provisioningMs: number;
  /** Time in PENDING. */
  readonly pendingMs: number;
  /** From a stop to DEACTIVATING (RUNNING goes on for that long). */
  readonly stopNoticedMs: number;
  readonly deactivatingMs: number;
  readonly stoppingMs: number;
  readonly deprovisioningMs: number;
  /** How long a stopped task can still be described; then it is MISSING. */
  readonly missingAfterMs: number;
  /** From the RUNNING of a deployment's new task to the stop of the old one. */
  readonly drainMs: number;
}

/** About what Fargate takes, shortened for the patience of a person in front of the local stack. */
export const DEFAULT_DELAYS: Delays = {
  replaceMs: 1000,
  provisioningMs: 500,
  pendingMs: 1500,
  stopNoticedMs: 100,
  deactivatingMs: 200,
  stoppingMs: 500,
  deprovisioningMs: 200,
  missingAfterMs: 3_600_000,
  drainMs: 500,
};

/** Everything at once, but for the hour until MISSING. */
export const NO_DELAYS: Delays = {
  replaceMs: 0,
  provisioningMs: 0,
  pendingMs: 0,
  stopNoticedMs: 0,
  deactivatingMs: 0,
  stoppingMs: 0,
  deprovisioningMs: 0,
  missingAfterMs: 3_600_000,
  drainMs: 0,
};

/** One task. Read it, but change it through `EcsWorld` only. */
export interface TaskRecord {
  readonly id: string;
  readonly arn: string;
  readonly cluster: string;
  readonly family: string;
  readonly revision: number;
  /** `service:NAME` or `family:NAME`, unless RunTask said otherwise. */
  readonly group: string;
  readonly startedBy: string | undefined;
  /** Name of the service whose scheduler owns it. */
  readonly service: string | undefined;
  /** Free text that replacements inherit: `simulate` keeps the role there. */
  readonly label: string | undefined;
  /** ARN of the task that this one stands in for. */
  readonly replaces: string | undefined;
  readonly networkMode: 'awsvpc' | 'bridge' | 'host';
  readonly address: string;
  readonly hostPorts: readonly number[];
  readonly createdAtMs: number;
  readonly overrides: unknown;
  /** `null`: never replaced; `undefined`: after `Delays.replaceMs`. */
  readonly replaceAfterMs: number | null | undefined;
  connectivity: 'CONNECTED' | 'DISCONNECTED';
  lastStatus: TaskStatus;
  desiredStatus: DesiredStatus;
  /** Counts up with every change that is an event. */
  version: number;
  startedAtMs: number | undefined;
  stoppingAtMs: number | undefined;
  /** When its containers ended, a while before it is STOPPED. */
  executionStoppedAtMs: number | undefined;
  stoppedAtMs: number | undefined;
  stopCode: string | undefined;
  stoppedReason: string | undefined;
  exitCode: number | undefined;
  /** Dropped when it stops, as ECS does. */
  tags: readonly { readonly key: string; readonly value: string }[];
  protection: ProtectionRecord | undefined;
  /** From then on ECS does not know it any more. */
  missingAtMs: number | undefined;
}

/** Protection against scale-in. */
export interface ProtectionRecord {
  readonly untilMs: number;
  /** True: GetTaskProtection goes on saying `protectionEnabled: true` after its end. */
  readonly stale: boolean;
}

/** One deployment (or task set) of a service. */
export interface DeploymentRecord {
  readonly id: string;
  readonly createdAtMs: number;
  status: 'PRIMARY' | 'ACTIVE';
  rolloutState: 'COMPLETED' | 'IN_PROGRESS' | 'FAILED';
  /** False: it stays as it is until somebody settles it. */
  readonly rolls: boolean;
}

/** One service. Read it, but change it through `EcsWorld` only. */
export interface ServiceRecord {
  readonly name: string;
  readonly arn: string;
  readonly cluster: string;
  readonly family: string;
  readonly revision: number;
  readonly controller: Controller;
  /** True: DescribeServices leaves `deploymentController` out, as it does for services made without one. */
  readonly omitController: boolean;
  readonly networkMode: TaskRecord['networkMode'];
  readonly createdAtMs: number;
  status: 'ACTIVE' | 'DRAINING' | 'INACTIVE';
  desiredCount: number;
  /** Newest first. With CODE_DEPLOY and EXTERNAL these are its task sets. */
  deployments: DeploymentRecord[];
  /** False: forced deployments stay IN_PROGRESS until `settleDeployment`. */
  rollsDeployments: boolean;
  /** Newest first, at most 100. */
  events: { readonly id: string; readonly atMs: number; readonly message: string }[];
}

/** A service to add. */
export interface ServiceSpec {
  readonly name: string;
  /** Default `default`. */
  readonly cluster?: string;
  readonly desiredCount: number;
  /** False: no tasks are started now; they are added one by one. Default true. */
  readonly startTasks?: boolean;
  readonly controller?: Controller;
  readonly omitController?: boolean;
  /** Default: the service's name. */
  readonly family?: string;
  readonly networkMode?: TaskRecord['networkMode'];
  /** True: there are two deployments (or task sets), the newer one in progress for ever. */
  readonly deploying?: boolean;
  /** Default true. */
  readonly rollsDeployments?: boolean;
}

/** A task to add. */
export interface TaskSpec {
  /** Default: the service's, else `default`. */
  readonly cluster?: string;
  /** Absent: a stand-alone task. The service must exist. */
  readonly service?: string;
  readonly label?: string;
  /** When it became RUNNING; default now. May lie in the future: it is PENDING until then. */
  readonly startedAtMs?: number;
  /** True: it starts now, and passes through PROVISIONING and PENDING. */
  readonly launch?: boolean;
  readonly replaceAfterMs?: number | null;
  readonly startedBy?: string;
  readonly group?: string;
  readonly family?: string;
  readonly revision?: number;
  readonly networkMode?: TaskRecord['networkMode'];
  readonly address?: string;
  readonly hostPorts?: readonly number[];
  readonly tags?: TaskRecord['tags'];
  readonly overrides?: unknown;
  readonly replaces?: string;
  /** A task ID of one's own: 32 hexadecimal digits, or a UUID. */
  readonly id?: string;
}
