/**
 * Tasks that reconcile-proxies runs: those with our `startedBy`, and no others, whoever names them. Which proxy a task
 * is for stands in its tags (which ECS drops when it stops) and in its overrides (which it keeps).
 */
import { DescribeTasksCommand, type Task } from '@aws-sdk/client-ecs';
import { clusterName, isTaskId, parseTaskArn } from '../check-restart/task-arn.ts';
import { inParallel } from '../in-parallel.ts';
import type { OwnTask } from '../proxies/own-task.ts';
import { PROXY_ID_VARIABLE } from '../proxies/spec.ts';
import type { OwnTasksOfCluster } from '../proxy-ports.ts';
import { abort, type Calls, idOf, notAnswered, reading } from './calls.ts';
import { decodeTask } from './decode.ts';
import { listTasks } from './listing.ts';

/** Tags of a proxy's task. */
export const TAGS = {
  proxyId: 'ecs-check-restart:proxy-id',
  fingerprint: 'ecs-check-restart:fingerprint',
  generation: 'ecs-check-restart:generation',
} as const;

const MAX_TASKS = 100;
const PARALLEL = 4;

/** Lists and describes; throws `ReadFailure` when either does not come to its end. */
export async function ownTasks(
  calls: Calls,
  startedBy: string,
  cluster: string,
  remembered: readonly string[],
): Promise<OwnTasksOfCluster> {
  const listed = await listTasks(calls, cluster, { startedBy });
  const askable = remembered.filter((arn) => isTask(arn) && !isElsewhere(arn, cluster));
  const asked = new Map([...listed, ...askable].map((arn) => [idOf(arn), arn]));
  const tasks: OwnTask[] = [];
  const missingIds = new Set<string>();
  const answered = new Set<string>();
  const ids = [...asked.keys()];
  const chunks = Array.from({ length: Math.ceil(ids.length / MAX_TASKS) }, (_, n) =>
    ids.slice(n * MAX_TASKS, (n + 1) * MAX_TASKS),
  );
  await inParallel(chunks, PARALLEL, async (chunk) => {
    const command = new DescribeTasksCommand({
      cluster,
      tasks: chunk.map((id) => asked.get(id) ?? id),
      include: ['TAGS'],
    });
    const answer = await reading('DescribeTasks', calls.client.send(command, abort(calls)));
    for (const entry of answer.tasks ?? []) {
      answered.add(idOf(entry.taskArn ?? ''));
      if (entry.startedBy !== startedBy) continue;
      const task = ownTask(entry, cluster, asked.get(idOf(entry.taskArn ?? '')));
      if (task) tasks.push(task);
    }
    for (const { arn, reason } of answer.failures ?? []) {
      if (reason !== 'MISSING') throw notAnswered(`DescribeTasks: ${arn ?? 'a task'}: ${reason ?? 'no reason'}`);
      answered.add(idOf(arn ?? ''));
      missingIds.add(idOf(arn ?? ''));
    }
  });
  const left = ids.filter((id) => !answered.has(id));
  if (left.length > 0) throw notAnswered(`DescribeTasks: nothing is said of ${left.length} tasks`);
  const isMissing = (arn: string) => missingIds.has(idOf(arn)) || !isTask(arn);
  // Nothing is concluded about a task of another cluster: it was not asked for.
  const told = remembered.filter((arn) => !isElsewhere(arn, cluster));
  return { tasks, missing: new Set(told.filter(isMissing)) };
}

/** ECS would refuse what is not a task together with the hundred it comes with. */
function isTask(reference: string): boolean {
  return parseTaskArn(reference) !== undefined || isTaskId(reference);
}

/** ECS would refuse it, too, together with all others. */
function isElsewhere(reference: string, cluster: string): boolean {
  const named = parseTaskArn(reference)?.cluster;
  return named !== undefined && named !== (clusterName(cluster) ?? cluster);
}

function ownTask(task: Task, cluster: string, known: string | undefined): OwnTask | undefined {
  if (!task.taskArn) return undefined;
  const startedAtMs = task.startedAt?.getTime();
  const stoppedAtMs = (task.executionStoppedAt ?? task.stoppedAt)?.getTime();
  const exitCode = exitCodeOf(task);
  const facts = decodeTask(task);
  const tag = (key: string) => task.tags?.find((one) => one.key === key)?.value;
  const proxyId = tag(TAGS.proxyId) || proxyIdOfOverrides(task);
  const generation = Number(tag(TAGS.generation));
  const fingerprint = tag(TAGS.fingerprint);
  return {
    // The form in which it was asked for: remembered ARNs are compared with it.
    taskArn: known ?? task.taskArn,
    cluster,
    lastStatus: task.lastStatus ?? '',
    desiredStatus: task.desiredStatus ?? '',
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...(stoppedAtMs === undefined ? {} : { stoppedAtMs }),
    ...(task.stopCode === undefined ? {} : { stopCode: task.stopCode }),
    ...(task.stoppedReason === undefined ? {} : { stoppedReason: task.stoppedReason }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(facts?.awsvpc ? { addresses: facts.addresses } : {}),
    ...(proxyId ? { proxyId } : {}),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(Number.isSafeInteger(generation) && generation > 0 ? { generation } : {}),
  };
}

/** The first container that failed says why a task ended; without one, any that exited. */
function exitCodeOf(task: Task): number | undefined {
  const codes = (task.containers ?? []).flatMap(({ exitCode }) => (exitCode === undefined ? [] : [exitCode]));
  return codes.find((code) => code !== 0) ?? codes[0];
}

function proxyIdOfOverrides(task: Task): string | undefined {
  return (task.overrides?.containerOverrides ?? [])
    .flatMap(({ environment }) => environment ?? [])
    .find(({ name }) => name === PROXY_ID_VARIABLE)?.value;
}
