/** Restarts of the last minute, one item a cluster, shared by all who restart there. */
import { placesFreeAtMs, recentRestarts } from '../brakes/rate.ts';
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
  ...[cluster, nowMs, perMinute, places]: Parameters<StatePort['takeRestartSlot']>
): ReturnType<StatePort['takeRestartSlot']> {
  const key = slotKey(cluster);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const item = await table.get(key);
    const { version, data } = item === undefined ? NOTHING : understood(cluster, item);
    const freeAtMs = slotFreeAt(data.takenMs, nowMs, perMinute, places);
    if (freeAtMs !== undefined) return { freeAtMs };
    const takenMs = [...recentRestarts(data.takenMs, nowMs), ...Array.from({ length: places }, () => nowMs)];
    const ttl = ttlSeconds(nowMs + KEPT_MS);
    const result = await table.putVersion(key, version, { data: { takenMs }, shape: slotsData, ttl });
    if (result === 'saved') return undefined;
  }
  return { freeAtMs: nowMs + CONTENDED_MS };
}

/** Of `StatePort`: one read. */
export async function restartsOfMinute(table: Table, cluster: string, nowMs: number): Promise<readonly number[]> {
  const item = await table.get(slotKey(cluster));
  return item === undefined ? [] : recentRestarts(understood(cluster, item).data.takenMs, nowMs);
}

/** When enough places are free, given the instants of those taken; `undefined` = now, a minute where they never are. */
export function slotFreeAt(
  takenMs: readonly number[],
  nowMs: number,
  perMinute: number,
  places: number,
): number | undefined {
  const freeAtMs = placesFreeAtMs(recentRestarts(takenMs, nowMs), perMinute, places);
  if (freeAtMs === undefined) return nowMs + WINDOW_MS;
  return freeAtMs > nowMs ? freeAtMs : undefined;
}

const NOTHING = { version: 0, data: { takenMs: [] } };

function understood(cluster: string, item: unknown) {
  const decoded = decode(item, slotsData);
  if ('problem' in decoded) throw stateFailure('malformed', `restarts of cluster ${cluster}: ${decoded.problem}`);
  return decoded;
}
