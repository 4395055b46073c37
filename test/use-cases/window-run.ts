/** Runs a window on a virtual clock: time goes on only when nothing but time is waited for. */
import { type WindowRequest, type WindowResult, watchWindow } from '../../lib/use-cases/watch.ts';
import type { WatchDeps } from '../../lib/use-cases/watch-types.ts';
import { portsBetween } from './ports-between.ts';
import { START_MS, type WatchWorld } from './watch-world.ts';

/** What happens at which time after the world's beginning, in milliseconds. */
export type Steps = readonly (readonly [atMs: number, step: () => void])[];

/** Of windows of 50 s in a function of 60 s. */
const WINDOW_MS = 50_000;
const FUNCTION_MS = 75_000;
/** Turns of the event loop without a call after which only time can go on. */
const QUIET_TURNS = 8;

/** Keeps one window to its end; steps that come later than that are left out. */
export async function runWindow(
  world: WatchWorld,
  steps: Steps = [],
  request: Partial<WindowRequest> = {},
  deps: WatchDeps = world.deps,
): Promise<WindowResult> {
  let calls = 0;
  let ended = false;
  const counting = portsBetween(deps, async (name, call) => {
    if (name === 'consul.change') return call();
    calls += 1;
    try {
      return await call();
    } finally {
      calls -= 1;
    }
  });
  const startMs = world.clock.nowMs();
  const whole = { holder: 'one', windowMs: WINDOW_MS, endsAtMs: startMs + FUNCTION_MS, ...request };
  const result = watchWindow(counting, world.settings, whole).finally(() => {
    ended = true;
  });
  result.catch(() => {}); // awaited below; until then it is nobody's unhandled rejection
  const left = steps.filter(([atMs]) => START_MS + atMs >= startMs);
  while (!ended) {
    for (let quiet = 0; quiet < QUIET_TURNS && !ended; quiet = calls === 0 ? quiet + 1 : 0) {
      await new Promise((turn) => setImmediate(turn));
    }
    if (ended) break;
    const wakeMs = world.clock.nextWakeMs;
    const [stepMs, step] = left[0] ?? [];
    if (step && stepMs !== undefined && (wakeMs === undefined || START_MS + stepMs <= wakeMs)) {
      left.shift();
      world.at(stepMs);
      step();
    } else if (wakeMs === undefined) throw new Error('the window waits for nothing');
    else world.at(wakeMs - START_MS);
  }
  return result;
}

/** A window that was kept. */
export function done(result: WindowResult): Extract<WindowResult, { outcome: 'done' }> {
  if (result.outcome !== 'done') throw new Error(`the lease is held by ${result.heldBy}`);
  return result;
}
