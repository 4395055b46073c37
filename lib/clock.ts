/** The one place that reads the time. Everything else takes the `Clock` port, or an instant. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from './ports.ts';

/** A timer's delay is a 32-bit number of milliseconds; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The machine's clock, in epoch milliseconds. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  async sleepUntil(atMs, signal) {
    // A loop, since timers may fire a millisecond early and the clock may be set back meanwhile.
    while (!signal?.aborted) {
      const leftMs = atMs - Date.now();
      if (!(leftMs > 0)) return;
      await waitQuietly(Math.min(leftMs, LONGEST_TIMER_MS), signal);
    }
  },
};

async function waitQuietly(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await wait(delayMs, undefined, signal ? { signal } : {});
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}
