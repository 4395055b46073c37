/**
 * Answers of the SDK, in which every field may be missing, as facts. A missing field is decoded to what leads to no
 * action: a status to the empty text, which is not RUNNING; a controller to `ECS`, as ECS itself leaves it out.
 */
import type { Deployment, Service, Task } from '@aws-sdk/client-ecs';
import type { EcsDeployment, EcsService, EcsTask } from '../check-restart/ecs-facts.ts';

/** A task, or undefined for an entry that does not say which it is. */
export function decodeTask(task: Task): EcsTask | undefined {
  if (!task.taskArn) return undefined;
  const startedAtMs = instantMs(task.startedAt);
  const interfaces = (task.containers ?? []).flatMap((container) => container.networkInterfaces ?? []);
  const attachments = (task.attachments ?? []).filter(({ type }) => type === 'ElasticNetworkInterface');
  return {
    arn: task.taskArn,
    clusterArn: task.clusterArn ?? '',
    lastStatus: task.lastStatus ?? '',
    desiredStatus: task.desiredStatus ?? '',
    taskDefinitionArn: task.taskDefinitionArn ?? '',
    awsvpc: attachments.length > 0 || interfaces.length > 0,
    addresses: addressesOf(interfaces, attachments),
    hostPorts: hostPortsOf(task),
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...stated('startedBy', task.startedBy),
    ...stated('group', task.group),
    ...stated('connectivity', task.connectivity),
    ...stated('stopCode', task.stopCode),
    ...stated('stoppedReason', task.stoppedReason),
  };
}

/** A service, or undefined for an entry without name or counts, on which brakes could not be reckoned. */
export function decodeService(service: Service): EcsService | undefined {
  const { serviceName, desiredCount, runningCount } = service;
  if (!serviceName || desiredCount === undefined || runningCount === undefined) return undefined;
  const events = (service.events ?? []).map((event) => ({
    atMs: instantMs(event.createdAt) ?? 0,
    message: event.message ?? '',
  }));
  return {
    arn: service.serviceArn ?? '',
    name: serviceName,
    clusterArn: service.clusterArn ?? '',
    status: service.status ?? '',
    desiredCount,
    runningCount,
    deploymentController: service.deploymentController?.type ?? 'ECS',
    deployments: (service.deployments ?? []).map(decodeDeployment),
    taskSets: service.taskSets?.length ?? 0,
    events: events.sort((one, other) => other.atMs - one.atMs),
  };
}

/** The ID of the deployment that a service is being brought to. */
export function primaryDeploymentId(service: Service | undefined): string | undefined {
  return service?.deployments?.find(({ status }) => status === 'PRIMARY')?.id;
}

function decodeDeployment(deployment: Deployment): EcsDeployment {
  const createdAtMs = instantMs(deployment.createdAt);
  return {
    id: deployment.id ?? '',
    status: deployment.status ?? '',
    desiredCount: deployment.desiredCount ?? 0,
    runningCount: deployment.runningCount ?? 0,
    ...stated('rolloutState', deployment.rolloutState),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
  };
}

/** Both places name the same interface; either may be empty while it is being attached. A deleted one is nobody's. */
function addressesOf(
  interfaces: readonly { privateIpv4Address?: string | undefined; ipv6Address?: string | undefined }[],
  attachments: NonNullable<Task['attachments']>,
): string[] {
  const ofContainers = interfaces.flatMap(({ privateIpv4Address, ipv6Address }) => [privateIpv4Address, ipv6Address]);
  const ofAttachments = attachments
    .filter(({ status }) => status !== 'DELETED')
    .flatMap(({ details }) => details ?? [])
    .filter(({ name }) => name === 'privateIPv4Address' || name === 'ipv6Address')
    .map(({ value }) => value);
  return [...new Set([...ofContainers, ...ofAttachments])].flatMap((address) => (address ? [address] : []));
}

function hostPortsOf(task: Task): number[] {
  const bindings = (task.containers ?? []).flatMap((container) => container.networkBindings ?? []);
  return [...new Set(bindings.flatMap(({ hostPort }) => (hostPort ? [hostPort] : [])))];
}

function instantMs(date: { getTime(): number } | undefined): number | undefined {
  const atMs = date?.getTime();
  return atMs !== undefined && Number.isFinite(atMs) ? atMs : undefined;
}

function stated<K extends string>(name: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: string });
}
