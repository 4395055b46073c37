/** New services and tasks, with the defaults of what a test or a scenario leaves out. */
import type { Names } from './arns.ts';
import type { DeploymentRecord, ServiceRecord, ServiceSpec, TaskRecord, TaskSpec } from './model.ts';

/** A service with one settled deployment, or with two where it is `deploying`. */
export function newService(spec: ServiceSpec, names: Names, nowMs: number): ServiceRecord {
  const cluster = spec.cluster ?? 'default';
  const controller = spec.controller ?? 'ECS';
  const deployment = (status: DeploymentRecord['status'], rolloutState: DeploymentRecord['rolloutState']) => ({
    id: names.deploymentId(),
    createdAtMs: nowMs,
    status,
    rolloutState,
    rolls: controller === 'ECS' && spec.deploying !== true && spec.rollsDeployments !== false,
  });
  return {
    name: spec.name,
    arn: names.serviceArn(cluster, spec.name),
    cluster,
    family: spec.family ?? spec.name,
    revision: 1,
    controller,
    omitController: spec.omitController ?? false,
    networkMode: spec.networkMode ?? 'awsvpc',
    createdAtMs: nowMs,
    status: 'ACTIVE',
    desiredCount: spec.desiredCount,
    deployments: spec.deploying
      ? [deployment('PRIMARY', 'IN_PROGRESS'), deployment('ACTIVE', 'COMPLETED')]
      : [deployment('PRIMARY', 'COMPLETED')],
    rollsDeployments: spec.rollsDeployments ?? true,
    events: [],
  };
}

/** A RUNNING task. One of a service carries its group and the PRIMARY deployment's ID, as ECS itself has it. */
export function newTask(spec: TaskSpec, service: ServiceRecord | undefined, names: Names, nowMs: number): TaskRecord {
  const cluster = service?.cluster ?? spec.cluster ?? 'default';
  const id = spec.id ?? names.taskId();
  const family = spec.family ?? service?.family ?? 'task';
  const ownGroup = service ? `service:${service.name}` : `family:${family}`;
  const networkMode = spec.networkMode ?? service?.networkMode ?? 'awsvpc';
  return {
    id,
    arn: names.taskArn(cluster, id),
    cluster,
    family,
    revision: spec.revision ?? service?.revision ?? 1,
    group: spec.group ?? ownGroup,
    startedBy: spec.startedBy ?? service?.deployments[0]?.id,
    service: service?.name,
    label: spec.label,
    replaces: spec.replaces,
    networkMode,
    address: spec.address ?? names.address(),
    hostPorts: spec.hostPorts ?? [],
    createdAtMs: Math.min(spec.startedAtMs ?? nowMs, nowMs),
    overrides: spec.overrides ?? { containerOverrides: [] },
    replaceAfterMs: spec.replaceAfterMs,
    connectivity: 'CONNECTED',
    lastStatus: spec.launch ? 'PROVISIONING' : 'RUNNING',
    desiredStatus: 'RUNNING',
    version: spec.launch ? 0 : 1,
    startedAtMs: spec.launch ? undefined : (spec.startedAtMs ?? nowMs),
    stoppingAtMs: undefined,
    executionStoppedAtMs: undefined,
    stoppedAtMs: undefined,
    stopCode: undefined,
    stoppedReason: undefined,
    exitCode: undefined,
    tags: spec.tags ?? [],
    protection: undefined,
    missingAtMs: undefined,
  };
}
