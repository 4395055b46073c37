/**
 * From a Consul service instance to the ECS task behind it (DESIGN section 1, "Which checks, which task").
 *
 * Whoever may register a service in Consul writes these texts, so every piece of evidence is collected and all of it
 * must agree. Evidence that is not shaped like what it claims to be (`task-id: canary`) says nothing.
 */
import { anyGlobMatches } from './glob.ts';
import {
  clusterName,
  clusterNameOfArn,
  isTaskId,
  longTaskArn,
  parseClusterArn,
  parseTaskArn,
  type TaskArn,
} from './task-arn.ts';

/** The texts of a registration that may name a task. */
export interface Registration {
  readonly node: string;
  readonly serviceId: string;
  readonly meta: Readonly<Record<string, string>>;
}

/** Where the deployment runs and what it may touch. */
export interface MappingContext {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  /** Cluster of instances that name none; absent = such instances are unmapped. */
  readonly defaultCluster?: string;
  readonly metaKeys: { readonly taskArn: string; readonly taskId: string; readonly cluster: string };
  /** Globs on cluster names; empty = none. */
  readonly allowedClusters: readonly string[];
}

/** How a task was found, or why none was. `why` is for people. */
export type Mapping =
  | {
      readonly kind: 'mapped';
      /** Long form. */
      readonly taskArn: string;
      readonly cluster: string;
      readonly how: string;
    }
  | { readonly kind: 'unmapped' | 'ambiguous' | 'foreign-task'; readonly why: string };

interface Evidence {
  readonly id: string;
  readonly how: string;
}

const ID_AT_THE_END = /-([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The task behind an instance. A sidecar comes with its destination: both must speak of one task. */
export function mapInstance(registrations: readonly Registration[], context: MappingContext): Mapping {
  const { metaKeys } = context;
  const evidence: Evidence[] = [];
  const clusters = new Map<string, string>();
  for (const { meta, serviceId, node } of registrations) {
    const taskArn = parseTaskArn(meta[metaKeys.taskArn] ?? '');
    const clusterText = meta[metaKeys.cluster] ?? '';
    const foreign =
      foreignTo(context, taskArn, `Meta ${metaKeys.taskArn}`) ??
      foreignTo(context, parseClusterArn(clusterText), `Meta ${metaKeys.cluster}`) ??
      foreignTo(context, parseClusterArn(node), 'node name');
    if (foreign) return foreign;
    if (taskArn) evidence.push({ id: taskArn.id, how: `Meta ${metaKeys.taskArn}` });
    if (taskArn?.cluster !== undefined) clusters.set(taskArn.cluster, `Meta ${metaKeys.taskArn}`);
    const taskId = meta[metaKeys.taskId] ?? '';
    if (isTaskId(taskId)) evidence.push({ id: taskId, how: `Meta ${metaKeys.taskId}` });
    const [, idAtTheEnd] = ID_AT_THE_END.exec(serviceId) ?? [];
    if (idAtTheEnd) evidence.push({ id: idAtTheEnd, how: 'service ID' });
    const metaCluster = clusterName(clusterText);
    if (metaCluster) clusters.set(metaCluster, `Meta ${metaKeys.cluster}`);
    const nodeCluster = clusterNameOfArn(node);
    if (nodeCluster) clusters.set(nodeCluster, 'node name');
  }
  return conclude(evidence, clusters, context);
}

/** What an ARN of another account, region or partition makes of the instance, whichever text holds it (C13). */
function foreignTo(
  context: MappingContext,
  arn: Pick<TaskArn, 'partition' | 'region' | 'account'> | undefined,
  where: string,
): Mapping | undefined {
  const { partition, region, account } = context;
  if (!arn || (arn.partition === partition && arn.region === region && arn.account === account)) return undefined;
  return { kind: 'foreign-task', why: `${where} names something of ${arn.partition} ${arn.region} ${arn.account}` };
}

function conclude(
  evidence: readonly Evidence[],
  clusters: ReadonlyMap<string, string>,
  context: MappingContext,
): Mapping {
  const [first] = evidence;
  if (!first) return { kind: 'unmapped', why: 'nothing in its Meta or service ID names a task' };
  const other = evidence.find(({ id }) => id !== first.id);
  if (other) return { kind: 'ambiguous', why: `${first.how} and ${other.how} name different tasks` };
  const [clusterEntry, secondCluster] = [...clusters];
  if (clusterEntry && secondCluster) {
    return { kind: 'ambiguous', why: `${clusterEntry[1]} and ${secondCluster[1]} name different clusters` };
  }
  const cluster = clusterEntry?.[0] ?? context.defaultCluster;
  if (cluster === undefined) return { kind: 'unmapped', why: `${first.how} names a task, but nothing its cluster` };
  if (!anyGlobMatches(context.allowedClusters, cluster)) {
    return { kind: 'foreign-task', why: `cluster "${cluster}" is not on the list of allowed clusters` };
  }
  const { partition, region, account } = context;
  const taskArn = longTaskArn({ partition, region, account, cluster, id: first.id });
  return { kind: 'mapped', taskArn, cluster, how: first.how };
}
