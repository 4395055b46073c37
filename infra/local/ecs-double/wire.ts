/** Tasks and services as ECS writes them: on the wire (AWS JSON 1.1, instants as seconds) and in events (ISO 8601). */
import type { Names } from './arns.ts';
import type { DeploymentRecord, ServiceRecord, TaskRecord } from './model.ts';

/** How an instant is written. */
type Written = (atMs: number) => number | string;
const seconds: Written = (atMs) => atMs / 1000;
const iso: Written = (atMs) => new Date(atMs).toISOString();

/** An "ECS Task State Change", as EventBridge hands it to a target. */
export interface EcsEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': 'ECS Task State Change';
  readonly source: 'aws.ecs';
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The event of a task's present state. */
export function stateChangeEvent(task: TaskRecord, names: Names, nowMs: number): EcsEvent {
  const hex = names.hex();
  return {
    version: '0',
    id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    'detail-type': 'ECS Task State Change',
    source: 'aws.ecs',
    account: names.account,
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: names.region,
    resources: [task.arn],
    detail: { ...taskFields(task, names, iso), updatedAt: iso(nowMs) },
  };
}

/** A task as DescribeTasks answers; tags only where the request asks for them. */
export function taskOnWire(task: TaskRecord, names: Names, withTags: boolean): Record<string, unknown> {
  return { ...taskFields(task, names, seconds), tags: withTags ? task.tags : [] };
}

/** A service as DescribeServices answers. */
export function serviceOnWire(
  service: ServiceRecord,
  tasks: readonly TaskRecord[],
  names: Names,
): Record<string, unknown> {
  const taskDefinition = names.taskDefinitionArn(service.family, service.revision);
  const counts = (deployment?: DeploymentRecord) => {
    const own = tasks.filter((task) => deployment === undefined || task.startedBy === deployment.id);
    return {
      runningCount: own.filter((task) => task.lastStatus === 'RUNNING').length,
      pendingCount: own.filter((task) => ['PROVISIONING', 'PENDING'].includes(task.lastStatus)).length,
    };
  };
  const ecs = service.controller === 'ECS';
  return {
    serviceArn: service.arn,
    serviceName: service.name,
    clusterArn: names.clusterArn(service.cluster),
    status: service.status,
    desiredCount: service.desiredCount,
    ...counts(),
    launchType: 'FARGATE',
    taskDefinition,
    ...(service.omitController ? {} : { deploymentController: { type: service.controller } }),
    createdAt: seconds(service.createdAtMs),
    schedulingStrategy: 'REPLICA',
    events: service.events.map(({ id, atMs, message }) => ({ id, createdAt: seconds(atMs), message })),
    deployments: ecs
      ? service.deployments.map((deployment) => ({
          id: deployment.id,
          status: deployment.status,
          taskDefinition,
          desiredCount: service.desiredCount,
          ...counts(deployment),
          failedTasks: 0,
          createdAt: seconds(deployment.createdAtMs),
          updatedAt: seconds(deployment.createdAtMs),
          rolloutState: deployment.rolloutState,
        }))
      : [],
    ...(ecs ? {} : { taskSets: service.deployments.map((set) => taskSet(set, service, taskDefinition, names)) }),
  };
}

function taskSet(set: DeploymentRecord, service: ServiceRecord, taskDefinition: string, names: Names) {
  return {
    id: set.id,
    taskSetArn: `${service.arn.replace(':service/', ':task-set/')}/${set.id}`,
    serviceArn: service.arn,
    clusterArn: names.clusterArn(service.cluster),
    startedBy: service.controller === 'CODE_DEPLOY' ? 'CODE_DEPLOY' : '',
    status: set.status,
    taskDefinition,
    computedDesiredCount: service.desiredCount,
    stabilityStatus: set.rolloutState === 'COMPLETED' ? 'STEADY_STATE' : 'STABILIZING',
    createdAt: seconds(set.createdAtMs),
    updatedAt: seconds(set.createdAtMs),
  };
}

function taskFields(task: TaskRecord, names: Names, written: Written): Record<string, unknown> {
  const instants = {
    createdAt: task.createdAtMs,
    startedAt: task.startedAtMs,
    stoppingAt: task.stoppingAtMs,
    executionStoppedAt: task.executionStoppedAtMs,
    stoppedAt: task.stoppedAtMs,
  };
  const known = Object.entries(instants).flatMap(([name, atMs]) => (atMs === undefined ? [] : [[name, written(atMs)]]));
  return {
    taskArn: task.arn,
    clusterArn: names.clusterArn(task.cluster),
    taskDefinitionArn: names.taskDefinitionArn(task.family, task.revision),
    group: task.group,
    lastStatus: task.lastStatus,
    desiredStatus: task.desiredStatus,
    version: task.version,
    connectivity: task.connectivity,
    launchType: task.networkMode === 'awsvpc' ? 'FARGATE' : 'EC2',
    overrides: task.overrides,
    ...(task.startedBy === undefined ? {} : { startedBy: task.startedBy }),
    ...(task.stopCode === undefined ? {} : { stopCode: task.stopCode, stoppedReason: task.stoppedReason }),
    ...Object.fromEntries(known),
    ...network(task, names),
  };
}

function network(task: TaskRecord, names: Names): Record<string, unknown> {
  const attachmentId = `${task.id.replaceAll('-', '').slice(0, 8)}-0000-4000-8000-000000000000`;
  const placed = task.lastStatus !== 'PROVISIONING';
  const awsvpc = task.networkMode === 'awsvpc';
  const ended = task.lastStatus === 'STOPPED' && task.exitCode !== undefined ? { exitCode: task.exitCode } : {};
  const container = {
    containerArn: `${names.containerArn(task.cluster, task.id)}/app`,
    taskArn: task.arn,
    name: 'app',
    lastStatus: ['RUNNING', 'STOPPED'].includes(task.lastStatus) ? task.lastStatus : 'PENDING',
    ...ended,
    networkBindings: awsvpc
      ? []
      : task.hostPorts.map((hostPort) => ({ bindIP: '0.0.0.0', containerPort: 8080, hostPort, protocol: 'tcp' })),
    networkInterfaces: awsvpc && placed ? [{ attachmentId, privateIpv4Address: task.address }] : [],
  };
  const details = [
    { name: 'subnetId', value: 'subnet-0a1b2c3d' },
    { name: 'networkInterfaceId', value: `eni-${attachmentId.slice(0, 8)}` },
    { name: 'privateIPv4Address', value: task.address },
  ];
  const status = task.lastStatus === 'STOPPED' ? 'DELETED' : 'ATTACHED';
  const attached = { id: attachmentId, type: 'ElasticNetworkInterface', status, details };
  const attaching = { id: attachmentId, type: 'ElasticNetworkInterface', status: 'PRECREATED', details: [] };
  return { containers: [container], attachments: awsvpc ? [placed ? attached : attaching] : [] };
}
