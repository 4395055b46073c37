/** Samples for the tests of the reconciler's state. */
import type { Launch, ProxyEnd, ProxyState, ProxyTask, Stop } from '../../lib/proxies/proxy-state.ts';
import type { ProxySpec } from '../../lib/proxies/spec.ts';
import type { ReconcileControl } from '../../lib/proxy-ports.ts';
import { NOW_MS } from './state-samples.ts';

const taskArn = 'arn:aws:ecs:eu-west-1:123456789012:task/prod/0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';

const spec: Required<ProxySpec> = {
  service: 'größe 🔥',
  execMode: 'task',
  cluster: 'prod',
  taskDefinition: 'envoy:3',
  ecsService: 'gateway',
  container: 'envoy',
  command: ['envoy', '', '-c'],
  environment: { A: '1', EMPTY: '' },
  network: { subnets: ['subnet-0a1b2c3d'], securityGroups: [], assignPublicIp: false },
  launchType: 'FARGATE',
  capacityProviders: [{ capacityProvider: 'FARGATE_SPOT', weight: 1, base: 0 }],
  platformVersion: '1.4.0',
};
const task: Required<ProxyTask> = {
  taskArn,
  cluster: 'prod',
  fingerprint: 'F',
  generation: 7,
  launchedAtMs: NOW_MS - 9000,
  startedAtMs: NOW_MS - 8000,
};
const launch: Required<Launch> = {
  generation: NOW_MS,
  fingerprint: 'F',
  cluster: 'prod',
  tries: 2,
  triedAtMs: NOW_MS - 1000,
  outcome: 'unknown',
  maybeMadeAtMs: NOW_MS - 2000,
};
const stop: Required<Stop> = {
  taskArn,
  why: 'unhealthy',
  tries: 3,
  triedAtMs: NOW_MS - 500,
  outcome: 'failed',
  nextTryMs: NOW_MS + 1500,
  problem: 'AccessDeniedException: no',
};
const lastEnd: Required<ProxyEnd> = { atMs: NOW_MS - 60_000, reason: 'EssentialContainerExited', exitCode: -1 };

/** Every field that there is, whether they fit together or not. */
export const EVERYTHING: Required<ProxyState> = {
  schema: 1,
  proxyId: 'web-1/größe-proxy',
  spec,
  fingerprint: 'F',
  generation: NOW_MS,
  task,
  launch,
  stop,
  counted: 4,
  launches: 12,
  exits: 11,
  nextAttemptMs: NOW_MS + 4000,
  absentSinceMs: NOW_MS - 3000,
  lastEnd,
  phase: 'stopping',
  reason: 'stop-failed',
};

/** Nothing but what must be. */
export function proxy(proxyId: string, changes: Partial<ProxyState> = {}): ProxyState {
  const none = { counted: 0, launches: 0, exits: 0 };
  return { schema: 1, proxyId, generation: NOW_MS, ...none, phase: 'idle', reason: 'new', ...changes };
}

/** A control item with every field. */
export const CONTROL: Required<ReconcileControl> = {
  version: 0,
  runState: { phase: 'stopping', kill: true },
  memory: { emptyAtMs: NOW_MS - 1000, stops: [{ proxyId: 'a', atMs: NOW_MS - 2000 }] },
  lastStartMs: NOW_MS - 100,
};
