/** Restarts of the last minute, one item a cluster, shared by all who restart there. */
import type { StatePort } from '../ports.ts';
import { decode, slotsData, ttlSeconds } from './codec.ts';
import { stateFailure } from './failure.ts';
import { slotKey } from './keys.ts';
import type { Table } from './table.ts';

const WINDOW_MS = 60_000;
const TRIES = 5;
/** So many others at once that we never came to write: look again then. */
const CONTENDED_MS = 1000;
/** The item is worthless after a minute; some longer, for clocks that differ. */
const KEPT_MS = 3_600_000;

/** Of `StatePort`: a read and a write where a place is free. */
export async function takeRestartSlot(
  table: Table,
  ...[cluster, nowMs, perMinute]: Parameters<StatePort['takeRestartSlot']>
): ReturnType<StatePort['takeRestartSlot']> {
  const key = slotKey(cluster);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const item = await table.get(key);
    const { version, data } = item === undefined ? NOTHING : understood(cluster, item);
    const freeAtMs = slotFreeAt(data.takenMs, nowMs, perMinute);
    if (freeAtMs !== undefined) return { freeAtMs };
    const takenMs = [...stillCounted(data.takenMs, nowMs), nowMs];
    const ttl = ttlSeconds(nowMs + KEPT_MS);
    const result = await table.putVersion(key, version, { data: { takenMs }, shape: slotsData, ttl });
    if (result === 'saved') return undefined;
  }
  return { freeAtMs: nowMs + CONTENDED_MS };
}

/**
 * When a place among `perMinute` is free again, given the instants of those taken; `undefined` = now. A restart counts
 * for the 60 s after it, not at their end. With `perMinute` 0 there is none: asked again in a minute.
 */
export function slotFreeAt(takenMs: readonly number[], nowMs: number, perMinute: number): number | undefined {
  const counted = stillCounted(takenMs, nowMs);
  if (counted.length < perMinute) return undefined;
  const blocking = counted[counted.length - perMinute];
  return blocking === undefined ? nowMs + WINDOW_MS : blocking + WINDOW_MS;
}

/** Those of the last 60 s (and of clocks that go ahead), oldest first. */
export function stillCounted(takenMs: readonly number[], nowMs: number): number[] {
  return takenMs.filter((atMs) => atMs > nowMs - WINDOW_MS).sort((one, other) => one - other);
}

const NOTHING = { version: 0, data: { takenMs: [] } };

function understood(cluster: string, item: unknown) {
  const decoded = decode(item, slotsData);
  if ('problem' in decoded) throw stateFailure('malformed', `restarts of cluster ${cluster}: ${decoded.problem}`);
  return decoded;
}
