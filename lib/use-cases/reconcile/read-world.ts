/**
 * What a reconcile goes by: Consul first, then ECS, so that nothing declared in between is taken for missing. Neither
 * ever throws for an outside system's failure: doubtful is an answer, and it stops nothing.
 */
import { inParallel } from '../../in-parallel.ts';
import type { ReadFailure } from '../../ports.ts';
import { questionsFor } from '../../proxies/ask.ts';
import { readDeclarations } from '../../proxies/declaration.ts';
import type { OwnTask, OwnTasks } from '../../proxies/own-task.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { Declared } from '../../proxies/trust.ts';
import { isReadFailure } from '../failure.ts';
import type { ReconcileDeps, ReconcileSettings } from './reconcile-types.ts';

const PARALLEL_CLUSTERS = 4;

/** The declared set; `failure` beside a doubtful one that could not be read. */
export interface ReadDeclared {
  readonly declared: Declared;
  readonly failure?: ReadFailure;
}

/** Reads both sources of declarations. */
export async function readDeclared(deps: ReconcileDeps, settings: ReconcileSettings): Promise<ReadDeclared> {
  try {
    const sources = await deps.declarations.readDeclarations();
    const proxies = readDeclarations(sources, settings.rules, deps.hash);
    return { declared: { read: 'good', proxies } };
  } catch (error) {
    const failure = isReadFailure(error);
    return { declared: { read: 'doubtful', why: `${failure.code}: ${failure.message}` }, failure };
  }
}

/** Our tasks, and what could not be read. */
export interface ReadTasks {
  readonly tasks: OwnTasks & { readonly read: 'good' };
  readonly clusters: number;
  readonly failures: readonly ReadFailure[];
}

/**
 * Every task of ours: in clusters where a proxy is declared, remembered or under way, and in those that the allow-list
 * names (orphans elsewhere would stay unseen). A cluster that cannot be read is doubtful and holds up its own only.
 */
export async function readTasks(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  states: ReadonlyMap<string, ProxyState>,
  declared: Declared,
): Promise<ReadTasks> {
  const asked = questionsFor(states.values(), declared);
  const named = settings.rules.allow.clusters.filter((glob) => !/[*?]/.test(glob));
  const clusters = [...new Set([...asked.clusters, ...named])];
  const tasks: OwnTask[] = [];
  const missing = new Set<string>();
  const doubtfulClusters = new Map<string, string>();
  const failures: ReadFailure[] = [];
  await inParallel(clusters, PARALLEL_CLUSTERS, async (cluster) => {
    try {
      const answer = await deps.proxyEcs.ownTasks(cluster, asked.tasks.get(cluster) ?? []);
      tasks.push(...answer.tasks);
      for (const taskArn of answer.missing) missing.add(taskArn);
    } catch (error) {
      const failure = isReadFailure(error);
      doubtfulClusters.set(cluster, failure.message);
      failures.push(failure);
    }
  });
  return { tasks: { read: 'good', tasks, missing, doubtfulClusters }, clusters: clusters.length, failures };
}
