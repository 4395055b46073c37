/** The operations that we call, each as strict as ECS: what it refuses, this refuses in the same words where they are known. */
import { EcsError, invalid } from './errors.ts';
import { clusterOf, findService, findTask, type Input, missing, text, texts, wholeNumber } from './input.ts';
import type { TaskRecord } from './model.ts';
import { type Paging, page } from './paging.ts';
import { describeTaskDefinition, runTask } from './run-task.ts';
import { serviceOnWire, taskOnWire } from './wire.ts';
import type { EcsWorld } from './world.ts';

/** Limits that differ between what AWS once said, says and does. */
export interface Limits {
  /** Characters of a stop reason: 255 in the API's older texts, unstated today. The strictest is the default. */
  stopReason: number;
}

/** What RunTask and DescribeTaskDefinition know. */
export interface Launches {
  /** Client tokens seen. */
  readonly tokens: Map<string, { request: string; arns: string[] }>;
  /** To answer with next. */
  readonly failures: string[];
  /** By family. A family without an entry has one container of its own name. */
  readonly containers: Map<string, readonly { readonly name: string; readonly essential?: boolean }[]>;
}

/** What an operation works on. */
export interface OperationContext {
  readonly world: EcsWorld;
  readonly paging: Paging;
  readonly limits: Limits;
  readonly launches: Launches;
}

type Operation = (context: OperationContext, input: Input) => Record<string, unknown>;

/** By name, as `X-Amz-Target` has it. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  DescribeTasks: describeTasks,
  DescribeServices: describeServices,
  GetTaskProtection: getTaskProtection,
  UpdateTaskProtection: updateTaskProtection,
  ListTasks: listTasks,
  ListServices: listServices,
  StopTask: stopTask,
  UpdateService: updateService,
  RunTask: runTask,
  DescribeTaskDefinition: describeTaskDefinition,
};

function describeTasks({ world }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const references = texts(input, 'tasks', 100);
  const withTags = Array.isArray(input.include) && input.include.includes('TAGS');
  const found = new Map<string, unknown>();
  const failures = [];
  for (const reference of references) {
    const task = findTask(world, cluster, reference);
    if (task) found.set(task.arn, taskOnWire(task, world.names, withTags));
    else failures.push(missing(world, 'task', cluster, reference));
  }
  return { tasks: [...found.values()], failures };
}

function describeServices({ world }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const references = texts(input, 'services', 10);
  const found = new Map<string, unknown>();
  const failures = [];
  for (const reference of references) {
    const service = findService(world, cluster, reference);
    if (service) found.set(service.arn, serviceOnWire(service, world.tasksOf(service), world.names));
    else failures.push(missing(world, 'service', cluster, reference));
  }
  return { services: [...found.values()], failures };
}

function getTaskProtection({ world }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const protectedTasks = [];
  const failures = [];
  for (const reference of texts(input, 'tasks', 100)) {
    const task = findTask(world, cluster, reference);
    if (!task) failures.push(missing(world, 'task', cluster, reference));
    else if (task.service === undefined) failures.push({ arn: task.arn, reason: 'TASK_NOT_VALID' });
    else protectedTasks.push(protectionOnWire(task, world.nowMs()));
  }
  return { protectedTasks, failures };
}

function protectionOnWire(task: Readonly<TaskRecord>, nowMs: number) {
  const { protection } = task;
  const isOn = protection !== undefined && (protection.stale || protection.untilMs > nowMs);
  if (!isOn) return { taskArn: task.arn, protectionEnabled: false };
  const isEndless = protection.untilMs === Number.MAX_SAFE_INTEGER;
  const end = isEndless ? {} : { expirationDate: protection.untilMs / 1000 };
  return { taskArn: task.arn, protectionEnabled: true, ...end };
}

function updateTaskProtection(context: OperationContext, input: Input) {
  const { world } = context;
  const minutes = wholeNumber(input, 'expiresInMinutes') ?? 120;
  if (minutes < 1 || minutes > 2880) throw invalid('expiresInMinutes must be between 1 and 2880.');
  if (typeof input.protectionEnabled !== 'boolean') throw invalid('protectionEnabled cannot be empty.');
  const cluster = clusterOf(world, input);
  for (const reference of texts(input, 'tasks', 10)) {
    const task = findTask(world, cluster, reference);
    if (task?.service === undefined) continue;
    if (input.protectionEnabled) world.protect(task.arn, world.nowMs() + minutes * 60_000);
    else world.unprotect(task.arn);
  }
  return getTaskProtection(context, input);
}

function listTasks({ world, paging }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const startedBy = text(input, 'startedBy');
  const serviceName = text(input, 'serviceName');
  const family = text(input, 'family');
  const wanted = text(input, 'desiredStatus') ?? 'RUNNING';
  if (!['RUNNING', 'PENDING', 'STOPPED'].includes(wanted))
    throw invalid('desiredStatus must be RUNNING, PENDING or STOPPED.');
  const others = ['serviceName', 'family', 'containerInstance', 'launchType', 'desiredStatus'];
  if (startedBy !== undefined && others.some((member) => input[member] !== undefined)) {
    throw invalid('startedBy must be the only filter.');
  }
  const service = serviceName === undefined ? undefined : findService(world, cluster, serviceName);
  if (serviceName !== undefined && !service) throw new EcsError('ServiceNotFoundException', 'Service not found.');
  const arns = world
    .tasks()
    .filter((task) => task.cluster === cluster && task.desiredStatus === wanted)
    .filter((task) => startedBy === undefined || task.startedBy === startedBy)
    .filter((task) => service === undefined || task.service === service.name)
    .filter((task) => family === undefined || task.family === family)
    .map((task) => task.arn);
  const { items, ...next } = page(input, arns, 100, paging);
  return { taskArns: items, ...next };
}

function listServices({ world, paging }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const arns = world.services().flatMap((service) => (service.cluster === cluster ? [service.arn] : []));
  const { items, ...next } = page(input, arns, 10, paging);
  return { serviceArns: items, ...next };
}

function stopTask({ world, limits }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const reference = text(input, 'task');
  if (!reference) throw invalid('Task cannot be empty.');
  const reason = text(input, 'reason') ?? 'Task stopped by user';
  if (reason.length > limits.stopReason) throw invalid(`Reason cannot be longer than ${limits.stopReason} characters.`);
  const task = findTask(world, cluster, reference);
  if (!task) throw invalid('The referenced task was not found.');
  world.stopTask(task.arn, reason);
  return { task: taskOnWire(task, world.names, false) };
}

function updateService({ world }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const reference = text(input, 'service');
  if (!reference) throw invalid('Service cannot be empty.');
  const service = findService(world, cluster, reference);
  if (!service) throw new EcsError('ServiceNotFoundException', 'Service not found.');
  if (service.status !== 'ACTIVE') throw new EcsError('ServiceNotActiveException', 'Service was not ACTIVE.');
  if (input.forceNewDeployment === true) {
    if (service.controller === 'CODE_DEPLOY') {
      const advice = 'Use AWS CodeDeploy to trigger a new deployment.';
      throw invalid(`Cannot force a new deployment on services with a CODE_DEPLOY deployment controller. ${advice}`);
    }
    if (service.controller === 'EXTERNAL') {
      throw invalid('Cannot force a new deployment on services with an EXTERNAL deployment controller.');
    }
    world.deploy(cluster, service.name);
  }
  const desiredCount = wholeNumber(input, 'desiredCount');
  if (desiredCount !== undefined) world.setDesiredCount(cluster, service.name, desiredCount);
  return { service: serviceOnWire(service, world.tasksOf(service), world.names) };
}
