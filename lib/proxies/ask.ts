/** Which questions to ECS a pass needs answered, so that nothing is concluded from a question that was not asked. */
import type { ProxyState } from './proxy-state.ts';
import type { Declared } from './trust.ts';

/** What to ask ECS. */
export interface OwnTaskQuestions {
  /** List all tasks of ours in each of these. */
  readonly clusters: ReadonlySet<string>;
  /** And describe these, by cluster: a stopped task is in no listing of running ones. */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
}

/** Clusters where a proxy is declared, remembered, or under way, and the tasks that are remembered. */
export function questionsFor(states: Iterable<ProxyState>, declared: Declared): OwnTaskQuestions {
  const clusters = new Set<string>();
  const tasks = new Map<string, string[]>();
  for (const { task, launch, spec } of states) {
    for (const cluster of [task?.cluster, launch?.cluster, spec?.cluster]) {
      if (cluster !== undefined) clusters.add(cluster);
    }
    if (task === undefined) continue;
    const asked = tasks.get(task.cluster);
    if (asked === undefined) tasks.set(task.cluster, [task.taskArn]);
    else asked.push(task.taskArn);
  }
  const entries = declared.read === 'good' ? declared.proxies : [];
  for (const entry of entries) if (entry.usable) clusters.add(entry.spec.cluster);
  return { clusters, tasks };
}
