/** ECS as reconcile-proxies sees it: our own tasks, and no others. */
import type { ProxyEcsPort } from '../proxy-ports.ts';
import type { Calls } from './calls.ts';
import { callsOf, type EcsPortOptions } from './ecs-port.ts';
import { ownTasks } from './own-tasks.ts';
import { runTask } from './run-task.ts';
import { forceNewDeployment, stopTask } from './write.ts';

/** What the adapter is made of; `startedBy` marks the tasks that are ours. */
export interface ProxyEcsPortOptions extends EcsPortOptions {
  readonly startedBy: string;
}

/** The adapter. */
export function createProxyEcsPort(options: ProxyEcsPortOptions): ProxyEcsPort {
  const { startedBy } = options;
  const calls: Calls = callsOf(options);
  return {
    ownTasks: (cluster, remembered) => ownTasks(calls, startedBy, cluster, remembered),
    runTask: (request) => runTask(calls, startedBy, request),
    stopTask: (request) => stopTask(calls, request),
    forceNewDeployment: (request) => forceNewDeployment(calls, request),
  };
}
