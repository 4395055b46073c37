/** Drives a world by the real clock: a timer for the next thing that is due, set anew whenever something is added. */
import type { EcsWorld } from './world.ts';

/** Starts it; returns what ends it. The timer keeps no process alive. */
export function keepTime(world: EcsWorld): () => void {
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    clearTimeout(timer);
    if (world.dueAtMs === undefined) return;
    timer = setTimeout(tick, Math.min(Math.max(world.dueAtMs - world.nowMs(), 0), 60_000));
    timer.unref();
  };
  const tick = () => {
    world.advance();
    arm();
  };
  const stopListening = world.agenda.onChange(arm);
  arm();
  return () => {
    stopListening();
    clearTimeout(timer);
  };
}
