/** Whether an answer about what is declared may be believed: the guard in front of every stop. */
import type { ProxyProblem } from './action.ts';
import type { DeclaredProxy } from './declaration.ts';
import { isLive, type OwnTask } from './own-task.ts';
import type { ProxyState } from './proxy-state.ts';
import type { ChargedStop } from './stop-cap.ts';

/** The declared set, from a complete good answer; or why there is none. */
export type Declared =
  | { readonly read: 'good'; readonly proxies: readonly DeclaredProxy[] }
  | { readonly read: 'doubtful'; readonly why: string };

/** What passes remember together, beside the states. */
export interface ReconcileMemory {
  /** When an empty answer after a non-empty set was seen, and not yet believed. */
  readonly emptyAtMs?: number;
  readonly stops: readonly ChargedStop[];
}

/** Of a first pass. */
export const NO_MEMORY: ReconcileMemory = { stops: [] };

/** What the answer is worth. */
export interface Trust {
  /** False: the last good declarations stay in force, nothing is stopped. */
  readonly trusted: boolean;
  readonly memory: ReconcileMemory;
  readonly problems: readonly ProxyProblem[];
}

/**
 * Whether the declared set may be believed. An empty one after a non-empty one needs two good answers at two instants,
 * with nothing unusable between them: until then the last good declarations stay in force.
 */
export function judgeDeclared(
  input: {
    readonly declared: Declared;
    readonly memory: ReconcileMemory;
    readonly nowMs: number;
    readonly states: ReadonlyMap<string, ProxyState>;
  },
  tasks: readonly OwnTask[],
): Trust {
  const { declared, memory, nowMs, states } = input;
  const calm: ReconcileMemory = { stops: memory.stops };
  if (declared.read === 'doubtful') {
    const problem: ProxyProblem = { reason: 'declaration-doubtful', message: declared.why, temporary: true };
    return { trusted: false, memory: calm, problems: [problem] };
  }
  const inForce = [...states.values()].some((state) => state.absentSinceMs === undefined);
  // Where states were lost, what runs tells that something was declared.
  const strangers = tasks.some((task) => task.proxyId !== undefined && isLive(task) && !states.has(task.proxyId));
  if (declared.proxies.length > 0 || !(inForce || strangers)) return { trusted: true, memory: calm, problems: [] };
  if (memory.emptyAtMs !== undefined && memory.emptyAtMs < nowMs) return { trusted: true, memory: calm, problems: [] };
  const message = 'nothing is declared any more; believed only if the next good answer says so too';
  const problem: ProxyProblem = { reason: 'empty-declarations', message, temporary: true };
  return { trusted: false, memory: { ...calm, emptyAtMs: nowMs }, problems: [problem] };
}
