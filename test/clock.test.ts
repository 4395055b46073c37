import { describe, expect, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';

describe('systemClock', () => {
  test('tells epoch milliseconds', () => {
    const before = Date.now();
    const nowMs = systemClock.nowMs();
    expect(nowMs).toBeGreaterThanOrEqual(before);
    expect(nowMs).toBeLessThanOrEqual(Date.now());
  });

  test('never wakes before the instant', async () => {
    for (let delayMs = 1; delayMs <= 20; delayMs += 1) {
      const atMs = systemClock.nowMs() + delayMs;
      await systemClock.sleepUntil(atMs);
      expect(systemClock.nowMs()).toBeGreaterThanOrEqual(atMs);
    }
  });

  test.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY])('does not sleep until %s', async (atMs) => {
    await expect(systemClock.sleepUntil(atMs)).resolves.toBeUndefined();
  });

  test('ends without an error when the signal aborts, also for an instant beyond what a timer can hold', async () => {
    for (const atMs of [systemClock.nowMs() + 60_000, Number.POSITIVE_INFINITY]) {
      const abort = new AbortController();
      const sleeping = systemClock.sleepUntil(atMs, abort.signal);
      setTimeout(() => abort.abort(), 5);
      await expect(sleeping).resolves.toBeUndefined();
      await expect(systemClock.sleepUntil(atMs, abort.signal)).resolves.toBeUndefined();
    }
  });
});
