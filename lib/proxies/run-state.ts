/**
 * Whether proxies are reconciled at all: `running → stopping → stopped`, stored, changed by operators only.
 *
 *   close   leave everything running, reconcile nothing     running → stopping → stopped
 *   kill    close, then stop all of our tasks               any     → stopping (kill) → stopped once all are gone
 *   run     begin anew                                      any     → running
 *
 * Each can be repeated. A `close` during a `kill` changes nothing: tasks already being stopped cannot be kept.
 */

/** The stored run state. */
export interface RunState {
  readonly phase: 'running' | 'stopping' | 'stopped';
  /** True from `kill` until `run`. */
  readonly kill: boolean;
}

/** How a deployment begins. */
export const RUNNING: RunState = { phase: 'running', kill: false };

/** Leave everything running and reconcile nothing. */
export function close(state: RunState): RunState {
  return state.phase === 'running' ? { phase: 'stopping', kill: false } : state;
}

/** Stop all. Repeated after its end it looks again: a launch may have come to light since. */
export function kill(_state: RunState): RunState {
  return { phase: 'stopping', kill: true };
}

/** Begin anew. */
export function run(_state: RunState): RunState {
  return RUNNING;
}

/** After a pass: a close is done at once (the pass held the lease), a kill when nothing of ours is left. */
export function settle(state: RunState, nothingLeft: boolean): RunState {
  if (state.phase !== 'stopping') return state;
  return !state.kill || nothingLeft ? { ...state, phase: 'stopped' } : state;
}
