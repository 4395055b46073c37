/**
 * What ECS says of tasks and services that we name. Every reference asked for is found or missing in the end: an answer
 * that leaves one out, or gives another reason than MISSING for it, is `incomplete`, as use cases take what is not
 * found for gone, and would take a restart for done. References that are not shaped like a task of the cluster are
 * missing without being asked: ECS would refuse them together with all others of their request.
 */
import {
  DescribeServicesCommand,
  DescribeTasksCommand,
  GetTaskProtectionCommand,
  type ProtectedTask,
} from '@aws-sdk/client-ecs';
import type { EcsService, EcsTask, TaskProtection } from '../check-restart/ecs-facts.ts';
import { clusterName, isTaskId, parseTaskArn } from '../check-restart/task-arn.ts';
import { type DescribedTasks, ReadFailure } from '../ports.ts';
import { abort, type Calls, idOf, notAnswered, reading } from './calls.ts';
import { decodeService, decodeTask } from './decode.ts';

/** Limits of the API. */
const MAX_TASKS = 100;
const MAX_SERVICES = 10;
/** Requests at the same time: enough for thousands of tasks within seconds, below the API's rate. */
const PARALLEL = 4;

/** DescribeTasks, in hundreds. */
export async function describeTasks(
  calls: Calls,
  cluster: string,
  references: readonly string[],
): Promise<DescribedTasks> {
  const asked = askable(cluster, references);
  const tasks = new Map<string, EcsTask>();
  const askedFor = new Set([...asked.values()].flat());
  const missing = new Set(references.filter((reference) => !askedFor.has(reference)));
  await inChunks([...asked.keys()], MAX_TASKS, async (ids) => {
    const request = { cluster, tasks: ids.map((id) => asked.get(id)?.[0] ?? id) };
    const answer = await reading('DescribeTasks', calls.client.send(new DescribeTasksCommand(request), abort(calls)));
    for (const entry of answer.tasks ?? []) {
      const task = decodeTask(entry);
      for (const reference of task ? (asked.get(idOf(task.arn)) ?? []) : []) if (task) tasks.set(reference, task);
    }
    for (const { arn, reason } of answer.failures ?? []) {
      if (reason !== 'MISSING') throw notAnswered(`DescribeTasks: ${arn ?? 'a task'}: ${reason ?? 'no reason'}`);
      for (const reference of asked.get(idOf(arn ?? '')) ?? []) missing.add(reference);
    }
  });
  for (const reference of tasks.keys()) missing.delete(reference);
  const left = references.filter((reference) => !tasks.has(reference) && !missing.has(reference));
  if (left.length > 0) throw notAnswered(`DescribeTasks: nothing is said of ${left.length} tasks`);
  return { tasks, missing };
}

/** DescribeServices, in tens. */
export async function describeServices(
  calls: Calls,
  cluster: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, EcsService>> {
  const services = new Map<string, EcsService>();
  const asked = new Map(names.map((name) => [idOf(name), name]));
  await inChunks([...asked.values()], MAX_SERVICES, async (chunk) => {
    const request = new DescribeServicesCommand({ cluster, services: [...chunk] });
    const answer = await reading('DescribeServices', calls.client.send(request, abort(calls)));
    const other = (answer.failures ?? []).find(({ reason }) => reason !== 'MISSING');
    if (other) throw notAnswered(`DescribeServices: ${other.arn ?? 'a service'}: ${other.reason ?? 'no reason'}`);
    const answered = (answer.services?.length ?? 0) + (answer.failures?.length ?? 0);
    if (answered < chunk.length) throw notAnswered('DescribeServices: nothing is said of some services');
    for (const entry of answer.services ?? []) {
      const service = decodeService(entry);
      if (!service) throw new ReadFailure('ecs', 'malformed', 'DescribeServices: a service without name or counts');
      services.set(asked.get(service.name) ?? service.name, service);
    }
  });
  return services;
}

/** GetTaskProtection, in hundreds. Tasks of a call that failed are `unknown`. */
export async function taskProtection(
  calls: Calls,
  cluster: string,
  references: readonly string[],
): Promise<ReadonlyMap<string, TaskProtection>> {
  const asked = askable(cluster, references);
  const known = new Map<string, TaskProtection>(references.map((reference) => [reference, 'unknown']));
  const learn = (arn: string | undefined, protection: TaskProtection) => {
    for (const reference of asked.get(idOf(arn ?? '')) ?? []) known.set(reference, protection);
  };
  await inChunks([...asked.keys()], MAX_TASKS, async (ids) => {
    const request = { cluster, tasks: ids.map((id) => asked.get(id)?.[0] ?? id) };
    const answer = await calls.client.send(new GetTaskProtectionCommand(request), abort(calls)).catch(() => undefined);
    // TASK_NOT_VALID (no service's task, so never protected) stays unknown: it is not asked of those.
    for (const failure of answer?.failures ?? []) if (failure.reason === 'MISSING') learn(failure.arn, 'missing');
    for (const task of answer?.protectedTasks ?? []) learn(task.taskArn, protectionOf(task, calls.clock.nowMs()));
  });
  return known;
}

/** Task IDs with all references that mean them; those that are not tasks of the cluster are left out. */
function askable(cluster: string, references: readonly string[]): Map<string, readonly string[]> {
  const name = clusterName(cluster);
  const asked = new Map<string, readonly string[]>();
  for (const reference of references) {
    const arn = parseTaskArn(reference);
    const isOfCluster = arn ? arn.cluster === undefined || arn.cluster === name : isTaskId(reference);
    if (!isOfCluster) continue;
    const others = asked.get(idOf(reference)) ?? [];
    if (!others.includes(reference)) asked.set(idOf(reference), [...others, reference]);
  }
  return asked;
}

function protectionOf(task: ProtectedTask, nowMs: number): TaskProtection {
  if (task.protectionEnabled === undefined) return 'unknown';
  const endsAtMs = task.expirationDate?.getTime() ?? Number.POSITIVE_INFINITY;
  return task.protectionEnabled && !(endsAtMs <= nowMs) ? 'protected' : 'unprotected';
}

async function inChunks<Item>(
  items: readonly Item[],
  size: number,
  ask: (chunk: readonly Item[]) => Promise<void>,
): Promise<void> {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
  for (let first = 0; first < chunks.length; first += PARALLEL) {
    await Promise.all(chunks.slice(first, first + PARALLEL).map(ask));
  }
}
