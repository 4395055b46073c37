/** What ECS says of the tasks that are ours (by `startedBy`); the caller hands in no others. */

/** One of our tasks as DescribeTasks answered. */
export interface OwnTask {
  readonly taskArn: string;
  /** Name of the cluster. */
  readonly cluster: string;
  readonly lastStatus: string;
  readonly desiredStatus: string;
  /** When it became RUNNING. */
  readonly startedAtMs?: number;
  /** When its containers ended (`executionStoppedAt`), else `stoppedAt`. */
  readonly stoppedAtMs?: number;
  readonly stopCode?: string;
  readonly stoppedReason?: string;
  readonly exitCode?: number;
  /** Private addresses of its own network interface; absent where it has none of its own (not awsvpc). */
  readonly addresses?: readonly string[];
  /** From its tags or its overrides; ECS drops tags when a task stops. */
  readonly proxyId?: string;
  readonly fingerprint?: string;
  readonly generation?: number;
}

/**
 * What ECS answered: of each cluster where a proxy is declared, remembered or may run, all our tasks, and in addition each
 * remembered task by its ARN. A task that is in neither list was not asked for, and nothing is concluded about it.
 */
export type OwnTasks =
  | {
      readonly read: 'good';
      readonly tasks: readonly OwnTask[];
      /** ARNs that DescribeTasks said are MISSING. */
      readonly missing: ReadonlySet<string>;
      /** Clusters that could not be read to the end, and why: proxies there are left alone. */
      readonly doubtfulClusters: ReadonlyMap<string, string>;
    }
  | { readonly read: 'doubtful'; readonly why: string };

/** True until ECS says STOPPED: a task on its way there still runs, for all that is known. */
export function isLive(task: OwnTask): boolean {
  return task.lastStatus !== 'STOPPED' && task.lastStatus !== 'DELETED';
}

/** True for a task that ECS wants stopped already. */
export function isGoing(task: OwnTask): boolean {
  return isLive(task) && task.desiredStatus === 'STOPPED';
}
