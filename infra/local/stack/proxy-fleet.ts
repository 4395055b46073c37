/**
 * The programs inside the tasks that reconcile-proxies runs. One is told by its environment which proxy it is, as any
 * proxy is, and registers in Consul under that ID, with a check that it reports itself.
 */
import { PROXY_ID_VARIABLE } from '../../../lib/proxies/spec.ts';
import type { EcsDouble } from '../ecs-double/double.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { LocalConsul } from './local-consul.ts';
import { startSampleTask } from './sample-task.ts';
import { followTasks, type TaskPrograms } from './task-programs.ts';

/** Follows tasks that were told to be a proxy. `onProblem` hears of what could not be done. */
export function startProxyFleet(
  ecs: EcsDouble,
  consul: LocalConsul,
  onProblem: (problem: string) => void,
): TaskPrograms {
  return followTasks(
    ecs,
    (task) => {
      const serviceId = proxyIdOf(task);
      if (serviceId === undefined) return undefined;
      return startSampleTask({ name: task.family, count: 1, check: 'ttl', serviceId }, task, consul, 0);
    },
    onProblem,
  );
}

interface Overrides {
  readonly containerOverrides?: readonly {
    readonly environment?: readonly { readonly name: string; readonly value: string }[];
  }[];
}

/** `undefined`: the task is no proxy. */
export function proxyIdOf({ overrides }: Readonly<TaskRecord>): string | undefined {
  const { containerOverrides = [] } = overrides as Overrides;
  const variables = containerOverrides.flatMap(({ environment = [] }) => environment);
  return variables.find(({ name }) => name === PROXY_ID_VARIABLE)?.value;
}
