/**
 * Plays a scenario file's `proxies` part through the pure reconciler on a virtual clock (scenario-format.md, conventions
 * 1 to 7): launches are RUNNING at once, a stop is STOPPED at once, an exit or a stop is a state-change event that
 * triggers a pass at its own instant.
 */

import { parseDurationMs } from '../../lib/check-restart/duration.ts';
import { readDeclarations } from '../../lib/proxies/declaration.ts';
import { type ActionOutcome, foldOutcomes } from '../../lib/proxies/outcome.ts';
import type { OwnTask } from '../../lib/proxies/own-task.ts';
import { planReconcile } from '../../lib/proxies/plan.ts';
import type { ProxyState } from '../../lib/proxies/proxy-state.ts';
import { RUNNING } from '../../lib/proxies/run-state.ts';
import { DEFAULT_PROXY_SETTINGS, type ProxySettings } from '../../lib/proxies/settings.ts';
import { type Declared, NO_MEMORY, type ReconcileMemory } from '../../lib/proxies/trust.ts';

/** The fields of a scenario that are played here. */
export interface ProxyScenario {
  readonly name: string;
  readonly duration: string;
  readonly poll?: string;
  readonly removalDelay?: string;
  readonly consul?: readonly { readonly from: string; readonly to: string; readonly answer: string }[];
  readonly proxies: readonly {
    readonly id: string;
    readonly declared: readonly (readonly [string, unknown])[];
    readonly exitsAfter?: readonly string[];
  }[];
  readonly expect: {
    readonly proxies: Readonly<
      Record<string, { readonly launches: readonly string[]; readonly stops: readonly string[] }>
    >;
  };
}

/** What came out, in milliseconds from the start. */
export type Played = Readonly<Record<string, { readonly launches: number[]; readonly stops: number[] }>>;

/** A duration of the file; the files are known to be right. */
export function ms(text: string): number {
  const value = parseDurationMs(text);
  if (value === undefined) throw new Error(`not a duration: ${text}`);
  return value;
}

interface WorldTask extends OwnTask {
  readonly proxyId: string;
  readonly exitAtMs: number;
}

const OPEN = { families: ['*'], clusters: ['*'], commands: ['*'], services: ['*'] };

/** Plays one scenario. */
export function play(scenario: ProxyScenario): Played {
  const settings: ProxySettings = {
    ...DEFAULT_PROXY_SETTINGS,
    removalDelayMs: ms(scenario.removalDelay ?? '0s'),
    stopCap: null,
  };
  const played: Played = Object.fromEntries(scenario.proxies.map(({ id }) => [id, { launches: [], stops: [] }]));
  let states: ReadonlyMap<string, ProxyState> = new Map();
  let memory: ReconcileMemory = NO_MEMORY;
  const tasks = new Map<string, WorldTask>();

  const declaredAt = (nowMs: number): Declared => {
    const fault = scenario.consul?.find((one) => ms(one.from) <= nowMs && nowMs <= ms(one.to));
    if (fault !== undefined && fault.answer !== 'empty') return { read: 'doubtful', why: fault.answer };
    const documents = scenario.proxies.flatMap(({ id, declared }) => {
      const value = declared.filter(([at]) => ms(at) <= nowMs).at(-1)?.[1] ?? null;
      return fault !== undefined || value === null ? [] : [{ id, source: { value } }];
    });
    const sources = { documents, instances: [], defaults: { value: { cluster: 'local' } } };
    return { read: 'good', proxies: readDeclarations(sources, { allow: OPEN }, (text) => text) };
  };

  const end = (taskArn: string, nowMs: number): void => {
    const task = tasks.get(taskArn);
    if (task !== undefined) {
      tasks.set(taskArn, {
        ...task,
        lastStatus: 'STOPPED',
        desiredStatus: 'STOPPED',
        stoppedAtMs: nowMs,
        exitAtMs: Infinity,
      });
    }
  };

  /** Exits come before the pass of the same instant; true when there were some. */
  const exit = (nowMs: number): boolean => {
    const due = [...tasks.values()].filter((task) => task.exitAtMs <= nowMs);
    for (const task of due) end(task.taskArn, nowMs);
    return due.length > 0;
  };

  const pass = (nowMs: number): boolean => {
    const declared = declaredAt(nowMs);
    const own = {
      read: 'good' as const,
      tasks: [...tasks.values()],
      missing: new Set<string>(),
      doubtfulClusters: new Map(),
    };
    const plan = planReconcile({ nowMs, declared, states, tasks: own, settings, runState: RUNNING, memory });
    let stopped = false;
    const outcomes: ActionOutcome[] = [];
    for (const action of plan.actions) {
      if (action.kind === 'stop') {
        played[action.proxyId ?? '']?.stops.push(nowMs);
        end(action.taskArn, nowMs);
        stopped = true;
        outcomes.push({ kind: 'stop-accepted', proxyId: action.proxyId ?? '', taskArn: action.taskArn });
      }
      if (action.kind === 'start') {
        const { proxyId, generation, fingerprint } = action;
        const launches = played[proxyId]?.launches ?? [];
        const uptimes = scenario.proxies.find(({ id }) => id === proxyId)?.exitsAfter ?? [];
        const uptime = uptimes[launches.length] ?? uptimes.at(-1);
        const taskArn = `task/${proxyId}/${launches.length}`;
        launches.push(nowMs);
        const status = { lastStatus: 'RUNNING', desiredStatus: 'RUNNING', startedAtMs: nowMs, cluster: 'local' };
        const exitAtMs = uptime === undefined ? Infinity : nowMs + ms(uptime);
        tasks.set(taskArn, { taskArn, proxyId, generation, fingerprint, exitAtMs, ...status });
        outcomes.push({ kind: 'launched', proxyId, generation, taskArn });
      }
    }
    // States are stored as JSON.
    const folded = foldOutcomes(plan, outcomes, settings, nowMs);
    states = new Map(JSON.parse(JSON.stringify([...folded.states])) as [string, ProxyState][]);
    memory = folded.memory;
    return stopped;
  };

  const pollMs = ms(scenario.poll ?? '1s');
  const durationMs = ms(scenario.duration);
  let nextPollMs = pollMs;
  while (true) {
    const exits = [...tasks.values()].map((task) => task.exitAtMs);
    const nowMs = Math.min(nextPollMs, ...exits);
    if (nowMs > durationMs) return played;
    const polled = nowMs === nextPollMs;
    if (polled) nextPollMs += pollMs;
    let due = exit(nowMs) || polled;
    // A stop, or an exit at once, is an event that triggers another pass at the same instant.
    while (due) {
      const stopped = pass(nowMs);
      due = exit(nowMs) || stopped;
    }
  }
}
