/**
 * Restarts a minute and cluster. A restart counts for [its instant, its instant + 60 s): the place of one exactly 60 s
 * ago is free. Instants in the future (another function's clock) count. Used by the brakes, and by the store for the
 * conditional write that takes the place.
 */
import { type Withholding, withholding } from './facts.ts';

/** How long a restart counts. */
export const MINUTE_MS = 60_000;

/** The instants that still count, oldest first. Older ones need not be stored any longer. */
export function recentRestarts(instants: readonly number[], nowMs: number): number[] {
  return instants.filter((atMs) => atMs > nowMs - MINUTE_MS).sort((one, other) => one - other);
}

/**
 * Places that a restart takes: its cost, but no more than there are. A forced deployment of more instances than the cap
 * takes the whole minute; ECS itself replaces the tasks bit by bit, and counting them all would forbid it for ever.
 */
export function placesNeeded(cost: number, perMinute: number): number {
  return Math.max(1, Math.min(cost, perMinute));
}

/** When `places` are free; `undefined` = never. An instant that is not in the future (`-Infinity`) = now. */
export function placesFreeAtMs(recent: readonly number[], perMinute: number, places: number): number | undefined {
  if (places > perMinute) return undefined;
  const toEnd = places - (perMinute - recent.length);
  const last = toEnd > 0 ? recent[toEnd - 1] : undefined;
  return last === undefined ? Number.NEGATIVE_INFINITY : last + MINUTE_MS;
}

/** Applies when the cluster's last 60 s leave too few places. */
export function rateBrake(recent: readonly number[], perMinute: number | null, cost: number): Withholding | undefined {
  if (perMinute === null) return undefined;
  const freeAtMs = placesFreeAtMs(recent, perMinute, placesNeeded(cost, perMinute));
  return freeAtMs === Number.NEGATIVE_INFINITY ? undefined : withholding('per-minute', 'rate-cap', freeAtMs);
}
