/** What deciding needs to know of ECS tasks and services, free of the SDK's optional fields. Filled by `lib/ecs`. */

/** One task as DescribeTasks answered. */
export interface EcsTask {
  /** The ARN as ECS says it; short where the account has not opted in to long ones. */
  readonly arn: string;
  readonly clusterArn: string;
  /** `PROVISIONING` … `RUNNING` … `STOPPED`; where the task is. */
  readonly lastStatus: string;
  /** `RUNNING` or `STOPPED`; where ECS wants it to be. */
  readonly desiredStatus: string;
  /** When it became RUNNING; absent before. */
  readonly startedAtMs?: number;
  /** `ecs-svc/…` for tasks of a service. */
  readonly startedBy?: string;
  /** `service:NAME` or `family:NAME`; anybody may set it in RunTask, so it counts only with `startedBy`. */
  readonly group?: string;
  readonly taskDefinitionArn: string;
  /** True when the task has a network interface of its own (awsvpc). */
  readonly awsvpc: boolean;
  /** Private IPv4 and IPv6 addresses of the task's own interface; empty unless awsvpc. */
  readonly addresses: readonly string[];
  /** Whether its container agent is connected; absent where ECS does not say. */
  readonly connectivity?: string;
  /** Host ports of its containers (bridge and host mode). */
  readonly hostPorts: readonly number[];
  readonly stopCode?: string;
  readonly stoppedReason?: string;
  /** Set by reconcile-proxies alone, of a task that it runs: whose it is. Such a task is its own owner. */
  readonly proxyId?: string;
}

/** One deployment of a service with the ECS controller. */
export interface EcsDeployment {
  readonly id: string;
  /** `PRIMARY`, `ACTIVE`, `INACTIVE`. */
  readonly status: string;
  /** `COMPLETED`, `IN_PROGRESS`, `FAILED`; absent where the circuit breaker's fields are not reported. */
  readonly rolloutState?: string;
  readonly createdAtMs?: number;
  readonly desiredCount: number;
  readonly runningCount: number;
}

/** One service as DescribeServices answered. */
export interface EcsService {
  readonly arn: string;
  readonly name: string;
  readonly clusterArn: string;
  /** `ACTIVE`, `DRAINING`, `INACTIVE`. */
  readonly status: string;
  readonly desiredCount: number;
  readonly runningCount: number;
  /** `ECS` (also where the answer says nothing), `CODE_DEPLOY` or `EXTERNAL`. */
  readonly deploymentController: string;
  readonly deployments: readonly EcsDeployment[];
  /** Number of task sets (CODE_DEPLOY and EXTERNAL); two mean a blue/green deployment under way. */
  readonly taskSets: number;
  /** The scheduler's own messages, newest first. */
  readonly events: readonly { readonly atMs: number; readonly message: string }[];
}

/** What GetTaskProtection says of one task. `unknown` counts as protected. */
export type TaskProtection = 'protected' | 'unprotected' | 'missing' | 'unknown';
