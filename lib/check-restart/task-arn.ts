/** ARNs of ECS in both forms (with and without the cluster's name) and in every partition. */

/** A task ARN, taken apart. `cluster` is absent in the short form. */
export interface TaskArn {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  readonly cluster?: string;
  readonly id: string;
}

const TASK_ID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;
const NAME = /^[A-Za-z0-9_-]{1,255}$/;
const ARN = /^arn:(aws[a-z-]*):ecs:([a-z]{2,5}(?:-[a-z]+)+-\d+):(\d{12}):([a-z-]+)\/(.+)$/;

/** True for the two shapes of a task ID: 32 hexadecimal digits, or the UUID of older tasks. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

interface EcsArn {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

function parseEcsArn(text: string): EcsArn | undefined {
  const match = ARN.exec(text);
  if (!match) return undefined;
  const [, partition = '', region = '', account = '', kind = '', path = ''] = match;
  return { partition, region, account, kind, path: path.split('/') };
}

/** A task ARN of either form, or `undefined` for anything that only looks like one (C13). */
export function parseTaskArn(text: string): TaskArn | undefined {
  const arn = parseEcsArn(text);
  if (arn?.kind !== 'task' || arn.path.length > 2) return undefined;
  const id = arn.path.at(-1) ?? '';
  const cluster = arn.path.length === 2 ? (arn.path[0] ?? '') : undefined;
  if (!isTaskId(id) || (cluster !== undefined && !NAME.test(cluster))) return undefined;
  const { partition, region, account } = arn;
  return { partition, region, account, id, ...(cluster === undefined ? {} : { cluster }) };
}

/** Name and cluster (absent in the short form) of a service ARN, or `undefined`. */
export function parseServiceArn(text: string): { name: string; cluster?: string } | undefined {
  const arn = parseEcsArn(text);
  if (arn?.kind !== 'service' || arn.path.length > 2 || !arn.path.every((part) => NAME.test(part))) return undefined;
  const name = arn.path.at(-1) ?? '';
  return arn.path.length === 2 ? { name, cluster: arn.path[0] ?? '' } : { name };
}

/** A cluster ARN, taken apart. */
export type ClusterArn = Pick<TaskArn, 'partition' | 'region' | 'account'> & { readonly name: string };

/** A cluster ARN, or `undefined` (also for the nameless one that C13 lists). */
export function parseClusterArn(text: string): ClusterArn | undefined {
  const arn = parseEcsArn(text);
  const [name] = arn?.path ?? [];
  if (arn?.kind !== 'cluster' || arn.path.length > 1 || name === undefined || !NAME.test(name)) return undefined;
  const { partition, region, account } = arn;
  return { partition, region, account, name };
}

/** The cluster's name in a cluster ARN, or `undefined`. */
export function clusterNameOfArn(text: string): string | undefined {
  return parseClusterArn(text)?.name;
}

/** A cluster given as a name or as an ARN, as its name; `undefined` where it is neither. */
export function clusterName(text: string): string | undefined {
  return NAME.test(text) ? text : clusterNameOfArn(text);
}

/** The long form. */
export function longTaskArn(arn: TaskArn & { readonly cluster: string }): string {
  return `arn:${arn.partition}:ecs:${arn.region}:${arn.account}:task/${arn.cluster}/${arn.id}`;
}
