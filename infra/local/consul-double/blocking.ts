/**
 * Blocking queries. As in Consul a query is run, and answered at once if its index is above the one asked for, so one
 * whose set is the same returns at once when the table has moved on meanwhile. Else it waits for a change that
 * concerns it and is run again; at the wait's end the answer is the one read before it.
 */
import { parseDurationMs } from '../../../lib/check-restart/duration.ts';
import type { Reading } from './records.ts';
import { ConsulError } from './records.ts';
import type { World } from './world.ts';

const DEFAULT_WAIT_MS = 300_000;
const LONGEST_WAIT_MS = 600_000;

/** Reads until the index passes `?index=`, `?wait=` is over, or the client is gone. Throws 400 for a bad one. */
export async function blockingRead<T>(
  world: World,
  query: URLSearchParams,
  signal: AbortSignal,
  read: () => Reading<T>,
): Promise<Reading<T>> {
  const { aboveIndex, waitMs } = blockingOptions(query);
  const deadlineMs = world.clock.nowMs() + waitMs + (world.jitter() * waitMs) / 16;
  for (;;) {
    const reading = read();
    if (aboveIndex === 0 || Math.max(1, reading.index) > aboveIndex) return reading;
    const changed = await world.feed.next(reading.wakes, deadlineMs, signal);
    if (!changed) return reading;
  }
}

function blockingOptions(query: URLSearchParams): { readonly aboveIndex: number; readonly waitMs: number } {
  const index = query.get('index') ?? '';
  const wait = query.get('wait') ?? '';
  if (!/^\d*$/.test(index)) throw new ConsulError(400, 'Invalid index');
  const waitMs = wait === '' ? 0 : parseDurationMs(wait);
  if (waitMs === undefined) throw new ConsulError(400, 'Invalid wait time');
  return { aboveIndex: Number(index), waitMs: Math.min(waitMs || DEFAULT_WAIT_MS, LONGEST_WAIT_MS) };
}
