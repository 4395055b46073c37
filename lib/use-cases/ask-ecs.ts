/**
 * What ECS is asked in a pass, and how little: a task is described when it is first seen bad, when its check went
 * missing, and always when a restart is due. A cluster that cannot be read holds up only its own tasks.
 */
import type { EcsService, EcsTask, TaskProtection } from '../check-restart/ecs-facts.ts';
import { ownerOf, type TaskFacts } from '../check-restart/eligibility.ts';
import { type EcsPort, ReadFailure } from '../ports.ts';
import type { WatchMemory } from './watch-memory.ts';

/** A task by its long ARN and its cluster's name. */
export interface TaskRef {
  readonly taskArn: string;
  readonly cluster: string;
}

/** Clusters that could not be read in this pass, and why. */
export type ClusterFailures = Map<string, ReadFailure>;

/** A task that is neither running nor gone is asked for again after this time, any other after a minute. */
const UNSETTLED_FOR_MS = 10_000;
const SETTLED_FOR_MS = 60_000;

/** True when memory's knowledge of a task is recent enough to judge a streak by. */
export function isKnown(memory: WatchMemory, taskArn: string, nowMs: number): boolean {
  const known = memory.tasks.get(taskArn);
  if (!known) return false;
  return nowMs < known.readAtMs + (known.task?.lastStatus === 'RUNNING' ? SETTLED_FOR_MS : UNSETTLED_FOR_MS);
}

/** Describes tasks into memory, a cluster at a time. */
export async function describeInto(
  ecs: EcsPort,
  memory: WatchMemory,
  refs: readonly TaskRef[],
  nowMs: number,
): Promise<ClusterFailures> {
  const failures: ClusterFailures = new Map();
  for (const [cluster, arns] of byCluster(refs)) {
    try {
      const { tasks } = await ecs.describeTasks(cluster, arns);
      for (const arn of arns) memory.tasks.set(arn, { task: tasks.get(arn), readAtMs: nowMs });
    } catch (error) {
      failures.set(cluster, asReadFailure(error));
      for (const arn of arns) memory.tasks.delete(arn);
    }
  }
  return failures;
}

/** Fresh facts of tasks that are due: the tasks themselves, then their services and protection at the same time. */
export async function factsOfDue(
  ecs: EcsPort,
  memory: WatchMemory,
  refs: readonly TaskRef[],
  nowMs: number,
): Promise<{ readonly facts: ReadonlyMap<string, TaskFacts>; readonly failures: ClusterFailures }> {
  const old = refs.filter(({ taskArn }) => memory.tasks.get(taskArn)?.readAtMs !== nowMs);
  const failures = await describeInto(ecs, memory, old, nowMs);
  const facts = new Map<string, TaskFacts>();
  for (const [cluster, arns] of byCluster(refs)) {
    if (failures.has(cluster)) continue;
    try {
      for (const [arn, found] of await factsOfCluster(ecs, memory, cluster, arns)) facts.set(arn, found);
    } catch (error) {
      failures.set(cluster, asReadFailure(error));
    }
  }
  return { facts, failures };
}

async function factsOfCluster(
  ecs: EcsPort,
  memory: WatchMemory,
  cluster: string,
  arns: readonly string[],
): Promise<Map<string, TaskFacts>> {
  const tasks = arns.map((arn) => ({ arn, task: memory.tasks.get(arn)?.task }));
  const ofServices = tasks.flatMap(({ arn, task }) => {
    const owner = task && isRunning(task) ? ownerOf(task) : undefined;
    return owner?.kind === 'service' ? [{ arn, name: owner.name }] : [];
  });
  const none: ReadonlyMap<string, EcsService> & ReadonlyMap<string, TaskProtection> = new Map();
  const [services, protections] =
    ofServices.length === 0
      ? [none, none]
      : await Promise.all([
          ecs.describeServices(cluster, [...new Set(ofServices.map(({ name }) => name))]),
          ecs.taskProtection(
            cluster,
            ofServices.map(({ arn }) => arn),
          ),
        ]);
  const serviceOf = new Map(ofServices.map(({ arn, name }) => [arn, name]));
  return new Map(
    tasks.map(({ arn, task }) => {
      const service = services.get(serviceOf.get(arn) ?? '');
      return [arn, { task, service, protection: protections.get(arn) ?? 'unknown' }];
    }),
  );
}

function isRunning(task: EcsTask): boolean {
  return task.lastStatus === 'RUNNING' && task.desiredStatus === 'RUNNING';
}

function byCluster(refs: readonly TaskRef[]): Map<string, string[]> {
  const clusters = new Map<string, Set<string>>();
  for (const { cluster, taskArn } of refs) {
    const arns = clusters.get(cluster) ?? new Set();
    clusters.set(cluster, arns.add(taskArn));
  }
  return new Map([...clusters].map(([cluster, arns]) => [cluster, [...arns]]));
}

function asReadFailure(error: unknown): ReadFailure {
  if (error instanceof ReadFailure) return error;
  throw error;
}
