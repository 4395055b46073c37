/**
 * The watcher that judges the checks of our own tasks. It decides with the very code of watch-checks; what differs is put
 * under it:
 *
 *   Consul   only checks of proxies (their service ID is the proxy's ID), and maintenance of nodes
 *   mapping  the registration's Meta is completed with the task that the proxy's state names, so that a registration that
 *            names another task contradicts itself and is `ambiguous`
 *   ECS      the tasks that this reconcile has read; nothing more is asked
 *   state    checks, brakes and heartbeat in a partition of their own; places among the cluster's restarts of the last
 *            minute and the hold for all are the deployment's
 */
import type { EcsTask } from '../../check-restart/ecs-facts.ts';
import { isTaskId, longTaskArn, parseTaskArn } from '../../check-restart/task-arn.ts';
import {
  type EcsPort,
  type InstanceDetails,
  ReadFailure,
  type UnhealthyAnswer,
  type UnhealthyCheck,
} from '../../ports.ts';
import type { OwnTask, OwnTasks } from '../../proxies/own-task.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { WatchDeps, WatchSettings } from '../watch-types.ts';
import { healthState } from './health-state.ts';
import type { ReconcileDeps } from './reconcile-types.ts';

/** A proxy's task, by the long ARN that checks and claims name it with. */
export interface JudgedTask {
  readonly proxyId: string;
  /** As ECS and the proxy's state have it. */
  readonly taskArn: string;
  readonly longArn: string;
  readonly cluster: string;
  /** Absent: ECS said nothing of it in this reconcile. */
  readonly own?: OwnTask;
  /** A stop of it is under way. */
  readonly isStopping: boolean;
}

/** What judging goes by. */
export interface JudgeInput {
  readonly states: ReadonlyMap<string, ProxyState>;
  readonly tasks: OwnTasks & { readonly read: 'good' };
  readonly dryRun: boolean;
  readonly mayAct: () => Promise<boolean>;
}

/** IDs of the proxies that are ECS services. */
export function serviceProxies(states: Iterable<ProxyState>): ReadonlySet<string> {
  return new Set([...states].flatMap(({ proxyId, spec }) => (spec?.execMode === 'service' ? [proxyId] : [])));
}

const NODE_MAINTENANCE = '_node_maintenance';

/** The tasks of all proxies that have one, by proxy. */
export function judgedTasks(
  states: Iterable<ProxyState>,
  tasks: readonly OwnTask[],
  { mapping }: WatchSettings,
): ReadonlyMap<string, JudgedTask> {
  const own = new Map(tasks.map((task) => [task.taskArn, task]));
  const judged = new Map<string, JudgedTask>();
  for (const { proxyId, task, stop } of states) {
    if (task === undefined) continue;
    const { taskArn, cluster } = task;
    const id = parseTaskArn(taskArn)?.id ?? taskArn;
    const { partition, region, account } = mapping;
    const seen = own.get(taskArn);
    judged.set(proxyId, {
      proxyId,
      taskArn,
      longArn: longTaskArn({ partition, region, account, cluster, id }),
      cluster,
      isStopping: stop?.taskArn === taskArn,
      ...(seen === undefined ? {} : { own: { ...seen, ...startOf(seen, task) } }),
    });
  }
  return judged;
}

function startOf(seen: OwnTask, task: NonNullable<ProxyState['task']>): Pick<OwnTask, 'startedAtMs'> {
  const startedAtMs = seen.startedAtMs ?? task.startedAtMs;
  return startedAtMs === undefined ? {} : { startedAtMs };
}

/** Of an answer of Consul's what concerns these proxies. */
export function ofProxies(answer: UnhealthyAnswer, proxyIds: ReadonlySet<string>): UnhealthyAnswer {
  const concerns = ({ serviceId, checkId }: UnhealthyCheck): boolean =>
    serviceId === '' ? checkId === NODE_MAINTENANCE : proxyIds.has(serviceId);
  return { checks: answer.checks.filter(concerns) };
}

/** The watcher's dependencies, with the proxies' world under them. */
export function proxyDeps(
  deps: ReconcileDeps,
  settings: WatchSettings,
  tasks: ReadonlyMap<string, JudgedTask>,
  doubtfulClusters: ReadonlyMap<string, string>,
): WatchDeps {
  const { consul } = deps;
  const { events, telemetry, clock, parsePolicy, parseMeta } = deps;
  return {
    events,
    telemetry,
    clock,
    parsePolicy,
    parseMeta,
    state: healthState(deps),
    ecs: readAlready(tasks, doubtfulClusters),
    consul: {
      watchUnhealthy: (options) => consul.watchUnhealthy(options),
      lookUpChecks: (checks) => consul.lookUpChecks(checks),
      listChecks: (name) => consul.listChecks(name),
      readKey: (key) => consul.readKey(key),
      listServices: () => consul.listServices(),
      listInstances: (name) => consul.listInstances(name),
      describeInstances: async (instances) => {
        const { found, refused } = await consul.describeInstances(instances);
        const named = [...found].map(([key, details]) => [key, withTask(details, settings, tasks)] as const);
        return { found: new Map(named), refused };
      },
    },
  };
}

/**
 * A proxy's registration need not name its task: its state does. One that names another keeps saying so, and what it says
 * contradicts the state. The service that it serves runs in a task of its own, which says nothing about the proxy's.
 */
function withTask(
  details: InstanceDetails,
  { mapping: { metaKeys } }: WatchSettings,
  tasks: ReadonlyMap<string, JudgedTask>,
): InstanceDetails {
  const { destinationServiceId: _, ...alone } = details;
  const task = tasks.get(details.serviceId);
  if (task === undefined) return alone;
  const id = parseTaskArn(task.longArn)?.id;
  const named = parseTaskArn(details.meta[metaKeys.taskArn] ?? '');
  const isOther = named !== undefined && named.id !== id;
  const evidence = isOther && id !== undefined && isTaskId(id) ? { [metaKeys.taskId]: id } : {};
  const own = named === undefined ? { [metaKeys.taskArn]: task.longArn } : {};
  return { ...alone, meta: { ...details.meta, ...own, ...evidence } };
}

/** What has been read of ECS, as a port. A task that is not in it is no proxy's. */
function readAlready(tasks: ReadonlyMap<string, JudgedTask>, doubtfulClusters: ReadonlyMap<string, string>): EcsPort {
  const known = new Map([...tasks.values()].map((task) => [task.longArn, task]));
  const never = async (): Promise<never> => {
    throw new Error('not asked for proxies');
  };
  return {
    describeTasks: async (cluster, arns) => {
      const doubtful = doubtfulClusters.get(cluster);
      if (doubtful !== undefined) throw new ReadFailure('ecs', 'incomplete', doubtful);
      const found = new Map<string, EcsTask>();
      const missing = new Set<string>();
      for (const arn of arns) {
        const task = known.get(arn);
        if (task?.own !== undefined) found.set(arn, factsOf(task, task.own));
        else missing.add(arn);
      }
      return { tasks: found, missing };
    },
    describeServices: async () => new Map(),
    taskProtection: async () => new Map(),
    listTasks: never,
    listServices: never,
    stopTask: never,
    forceNewDeployment: never,
  };
}

function factsOf({ longArn, cluster, proxyId }: JudgedTask, own: OwnTask): EcsTask {
  const { lastStatus, desiredStatus, startedAtMs, stopCode, stoppedReason } = own;
  return {
    arn: longArn,
    clusterArn: cluster,
    lastStatus,
    desiredStatus,
    taskDefinitionArn: '',
    awsvpc: own.addresses !== undefined,
    addresses: own.addresses ?? [],
    hostPorts: [],
    proxyId,
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...(stopCode === undefined ? {} : { stopCode }),
    ...(stoppedReason === undefined ? {} : { stoppedReason }),
  };
}
