/**
 * ECS as the use cases see it. Every request names its cluster (ECS would take `default` by silence) and carries an
 * AbortSignal; reads fail as `ReadFailure`, writes end in an outcome.
 */
import type { ECSClient } from '@aws-sdk/client-ecs';
import type { Clock, EcsPort } from '../ports.ts';
import type { Calls } from './calls.ts';
import { describeServices, describeTasks, taskProtection } from './describe.ts';
import { listServices, listTasks } from './listing.ts';
import { forceNewDeployment, stopTask } from './write.ts';

/** What the adapter is made of. */
export interface EcsPortOptions {
  /** From `createEcsClient`. */
  readonly client: ECSClient;
  /** Tells whether a protection has ended. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Time of one call, all its tries included. Default 10 s. */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 10_000;

/** The adapter. */
export function createEcsPort(options: EcsPortOptions): EcsPort {
  const calls = callsOf(options);
  return {
    describeTasks: (cluster, tasks) => describeTasks(calls, cluster, tasks),
    describeServices: (cluster, services) => describeServices(calls, cluster, services),
    taskProtection: (cluster, tasks) => taskProtection(calls, cluster, tasks),
    listTasks: (cluster, filter) => listTasks(calls, cluster, filter),
    listServices: (cluster) => listServices(calls, cluster),
    stopTask: (request) => stopTask(calls, request),
    forceNewDeployment: (request) => forceNewDeployment(calls, request),
  };
}

/** What each call of an adapter needs. */
export function callsOf({ client, clock, callTimeoutMs }: EcsPortOptions): Calls {
  return { client, clock, timeoutMs: callTimeoutMs ?? CALL_TIMEOUT_MS };
}
