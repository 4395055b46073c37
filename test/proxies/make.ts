/** Building blocks for table tests: one proxy, one cluster, round numbers. */
import type { DeclaredProxy } from '../../lib/proxies/declaration.ts';
import type { OwnTask } from '../../lib/proxies/own-task.ts';
import { planReconcile, type ReconcileInput, type ReconcilePlan } from '../../lib/proxies/plan.ts';
import { type Launch, newProxyState, type ProxyState } from '../../lib/proxies/proxy-state.ts';
import { RUNNING } from '../../lib/proxies/run-state.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../lib/proxies/settings.ts';
import { type Declared, NO_MEMORY } from '../../lib/proxies/trust.ts';
import { declare } from './chaos.ts';

/** Now, in every table. */
export const NOW = 10_000_000;
export const WEB = 'web-proxy';

/** A running task of a proxy, launched ten minutes ago. */
export function task(change: Partial<OwnTask> = {}): OwnTask {
  return {
    taskArn: 'task/1',
    cluster: 'prod',
    lastStatus: 'RUNNING',
    desiredStatus: 'RUNNING',
    startedAtMs: NOW - 600_000,
    proxyId: WEB,
    fingerprint: 'A',
    generation: 7,
    ...change,
  };
}

/** A proxy in its usual state: declared as `A`, its task running. */
export function running(change: Partial<ProxyState> = {}): ProxyState {
  const declared = declare(WEB, 'A');
  return {
    ...newProxyState(WEB, 7),
    ...(declared.usable ? { spec: declared.spec, fingerprint: declared.fingerprint } : {}),
    task: {
      taskArn: 'task/1',
      cluster: 'prod',
      fingerprint: 'A',
      generation: 7,
      launchedAtMs: NOW - 610_000,
      startedAtMs: NOW - 600_000,
    },
    counted: 1,
    launches: 1,
    phase: 'running',
    reason: 'running',
    ...change,
  };
}

/** The same proxy, without a task. */
export function idle(change: Partial<ProxyState> = {}): ProxyState {
  const { task: _task, ...rest } = running();
  return { ...rest, phase: 'waiting', reason: 'backoff', ...change };
}

export function good(...proxies: readonly DeclaredProxy[]): Declared {
  return { read: 'good', proxies };
}

export const DOUBTFUL: Declared = { read: 'doubtful', why: 'no leader' };

/** What a table states; the rest is calm. */
export interface Given extends Partial<Omit<ReconcileInput, 'states' | 'tasks'>> {
  readonly states?: readonly ProxyState[];
  readonly tasks?: readonly OwnTask[];
  readonly missing?: readonly string[];
  readonly doubtfulClusters?: Readonly<Record<string, string>>;
}

/** Plans one pass. */
export function plan(given: Given): ReconcilePlan {
  const { states = [], tasks = [], missing = [], doubtfulClusters = {}, ...rest } = given;
  return planReconcile({
    nowMs: NOW,
    declared: good(declare(WEB, 'A')),
    settings: DEFAULT_PROXY_SETTINGS,
    runState: RUNNING,
    memory: NO_MEMORY,
    ...rest,
    states: new Map(states.map((state) => [state.proxyId, state])),
    tasks: {
      read: 'good',
      tasks,
      missing: new Set(missing),
      doubtfulClusters: new Map(Object.entries(doubtfulClusters)),
    },
  });
}

/** Kind, proxy or task, and reason of each action, for short expectations. */
export function short(result: ReconcilePlan): readonly string[] {
  return result.actions.map((action) => {
    const what = action.kind === 'stop' ? action.taskArn : (action.proxyId ?? '-');
    return `${action.kind} ${what} ${action.reason}`;
  });
}

/** A launch of a second ago without an outcome. */
export function launchOf(change: Partial<Launch> = {}): Launch {
  const tried = { tries: 1, triedAtMs: NOW - 1000, outcome: 'open' } as const;
  return { generation: 7, fingerprint: 'A', cluster: 'prod', ...tried, ...change };
}
