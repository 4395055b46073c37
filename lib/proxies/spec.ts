/** What a declared proxy is, once its document is known to be usable. Filled by `declaration.ts` only. */

/** `task`: RunTask and StopTask, the daemon of old. `service`: an existing ECS service, whose health alone is judged. */
export type ExecMode = 'task' | 'service';
/** Allowed values. */
export const EXEC_MODES: readonly ExecMode[] = ['task', 'service'];

/** Where ECS places a task when no capacity provider is named. */
export type LaunchType = 'EC2' | 'FARGATE' | 'EXTERNAL';
/** Allowed values. */
export const LAUNCH_TYPES: readonly LaunchType[] = ['EC2', 'FARGATE', 'EXTERNAL'];

/** awsvpc settings of RunTask. Subnets and groups are sorted: their order means nothing. */
export interface NetworkSettings {
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly assignPublicIp: boolean;
}

/** One entry of RunTask's capacity provider strategy. */
export interface CapacityProvider {
  readonly capacityProvider: string;
  readonly weight: number;
  readonly base: number;
}

/** Everything that RunTask needs; also what the fingerprint covers. Never a secret. */
export interface ProxySpec {
  /** The Consul service that it serves, or that it is. */
  readonly service?: string;
  readonly execMode: ExecMode;
  /** Name of the cluster. */
  readonly cluster: string;
  /** `family` or `family:revision`; present where execMode is `task`. */
  readonly taskDefinition?: string;
  /** Name of the ECS service; present where execMode is `service`. */
  readonly ecsService?: string;
  /** Container that command and environment go to; absent: the caller's choice (the first essential one). */
  readonly container?: string;
  /** Absent: the task definition's own. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly network?: NetworkSettings;
  readonly launchType?: LaunchType;
  readonly capacityProviders?: readonly CapacityProvider[];
  readonly platformVersion?: string;
}

/** The variable that every proxy gets; no declaration may set it. */
export const PROXY_ID_VARIABLE = 'CONNECT_PROXY_ID';

/** Family of a task definition given as `family` or `family:revision`. */
export function familyOf(taskDefinition: string): string {
  return taskDefinition.split(':')[0] ?? '';
}
