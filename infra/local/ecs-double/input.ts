/** Reading requests as strictly as ECS does: types, limits, references. */
import { EcsError, invalid } from './errors.ts';
import type { ServiceRecord, TaskRecord } from './model.ts';
import type { EcsWorld } from './world.ts';

/** A request's members. */
export type Input = Readonly<Record<string, unknown>>;

/** A text member, or undefined. */
export function text(input: Input, member: string): string | undefined {
  const value = input[member];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new EcsError('SerializationException', `${member} is not a string`);
  return value;
}

/** A number member, or undefined. */
export function wholeNumber(input: Input, member: string): number | undefined {
  const value = input[member];
  if (value === undefined || value === null) return undefined;
  if (!Number.isInteger(value)) throw new EcsError('SerializationException', `${member} is not an integer`);
  return Number(value);
}

/** A list of 1 to `max` texts. */
export function texts(input: Input, member: string, max: number): string[] {
  const value = input[member] ?? [];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new EcsError('SerializationException', `${member} is not a list of strings`);
  }
  const name = `${member.slice(0, 1).toUpperCase()}${member.slice(1)}`;
  if (value.length === 0) throw invalid(`${name} cannot be empty.`);
  if (value.length > max) throw invalid(`${name} cannot have more than ${max} elements.`);
  return value;
}

/** The cluster's name, from a name or an ARN; ECS takes `default` where a request names none. */
export function clusterOf(world: EcsWorld, input: Input): string {
  const cluster = text(input, 'cluster') ?? 'default';
  const name = cluster.startsWith('arn:') ? (cluster.split(':cluster/')[1] ?? '') : cluster;
  const ours = !cluster.startsWith('arn:') || cluster === world.names.clusterArn(name);
  if (!ours || !world.clusters.has(name)) throw new EcsError('ClusterNotFoundException', 'Cluster not found.');
  return name;
}

/** The task of a reference, or undefined where ECS would say MISSING. Ill-formed references are refused. */
export function findTask(world: EcsWorld, cluster: string, reference: string): Readonly<TaskRecord> | undefined {
  const id = reference.split('/').at(-1) ?? '';
  if (id.length !== 32 && id.length !== 36) throw invalid('taskId length should be one of [32,36]');
  if (reference.startsWith('arn:')) {
    const path = (reference.split(':task/')[1] ?? '').split('/');
    if (path.length === 2 && path[0] !== cluster) {
      throw invalid(`Unexpected cluster in the identifier: it is for ${path[0]}, the cluster is ${cluster}.`);
    }
    if (!reference.startsWith(world.names.taskArn('', '').split(':task/')[0] ?? '')) return undefined;
  }
  const task = world.task(id);
  return task?.cluster === cluster && world.isKnown(task) ? task : undefined;
}

/** The service of a name or an ARN. */
export function findService(world: EcsWorld, cluster: string, reference: string): ServiceRecord | undefined {
  const path = (reference.startsWith('arn:') ? (reference.split(':service/')[1] ?? '') : reference).split('/');
  return path.length === 2 && path[0] !== cluster ? undefined : world.service(cluster, path.at(-1) ?? '');
}

/** What an answer says instead of a task or service that is not there. */
export function missing(world: EcsWorld, kind: 'task' | 'service', cluster: string, reference: string) {
  if (reference.startsWith('arn:')) return { arn: reference, reason: 'MISSING' };
  const arn = kind === 'task' ? world.names.taskArn(cluster, reference) : world.names.serviceArn(cluster, reference);
  return { arn, reason: 'MISSING' };
}
