import { describe, expect, test } from 'vitest';
import { ReadFailure, type UnhealthyAnswer } from '../../lib/ports.ts';
import { START_MS, watchBegun } from './fake-consul.ts';

const never = new AbortController().signal;

const ids = (answer: UnhealthyAnswer | undefined) =>
  answer?.checks.map(({ checkId, status }) => `${checkId} ${status}`);

describe('failures', () => {
  const failure = new ReadFailure('consul', 'no-leader', 'no leader');

  test('of a query reject the wait; the next one starts afresh, and has lost nothing', async () => {
    const { clock, consul, watch } = watchBegun();
    await watch.read(never);
    const first = watch.change(START_MS + 50_000, never);
    await clock.advance(10);
    consul.failure = failure;
    consul.wake();
    await expect(first).rejects.toBe(failure);
    consul.failure = undefined;
    consul.set('critical', [{ CheckID: 'a' }]);
    expect(ids(await watch.change(START_MS + 50_000, never))).toEqual(['a critical']);
    expect(consul.asked.at(-1)?.query).toEqual({});
  });

  test('while nobody waits are no news to the next wait', async () => {
    const { clock, consul, watch } = watchBegun();
    await watch.read(never);
    const first = watch.change(START_MS + 1000, never);
    await clock.advance(1000);
    await first;
    consul.failure = failure;
    consul.wake();
    await clock.advance(10);
    consul.failure = undefined;
    const second = watch.change(START_MS + 5000, never);
    await clock.advance(10_000);
    expect(await second).toBeUndefined();
  });

  test('of one list fail the read: half an answer is none', async () => {
    const { consul, watch } = watchBegun(true);
    consul.failure = failure;
    await expect(watch.read(never)).rejects.toBe(failure);
  });

  test('an aborted wait ends without an answer; close ends what is in flight', async () => {
    const { clock, watch } = watchBegun(true);
    await watch.read(never);
    const abort = new AbortController();
    const wait = watch.change(START_MS + 50_000, abort.signal);
    await clock.advance(10);
    abort.abort();
    expect(await wait).toBeUndefined();
    const other = watch.change(START_MS + 50_000, never);
    await watch.close();
    expect(await other).toBeUndefined();
    await expect(watch.read(never)).rejects.toMatchObject({ code: 'timeout' });
    expect(clock.nextWakeMs).toBeUndefined();
  });
});

describe('a busy datacenter', () => {
  test.each([
    [false, 250],
    [true, 334],
  ])(
    '50 writes a second elsewhere (warnings: %s): at most 220 requests in 50 s, a change seen within %s ms',
    async (warnings, lateMs) => {
      const { clock, consul, watch } = watchBegun(warnings);
      const stop = new AbortController();
      void (async () => {
        for (let at = START_MS; !stop.signal.aborted; at += 20) {
          await clock.sleepUntil(at, stop.signal);
          consul.writeElsewhere();
        }
      })();
      await watch.read(never);
      let seenAtMs: number | undefined;
      void watch.change(START_MS + 60_000, never).then(() => {
        seenAtMs = clock.nowMs();
      });
      await clock.advance(50_000);
      expect(seenAtMs).toBeUndefined();
      expect(consul.asked.length).toBeLessThanOrEqual(warnings ? 213 : 212);
      expect(consul.asked.length).toBeGreaterThan(150);
      consul.set('critical', [{ CheckID: 'a' }]);
      await clock.advance(1000);
      expect(seenAtMs).toBeLessThanOrEqual(START_MS + 50_000 + lateMs);
      stop.abort();
    },
  );

  test('a server that never gives an index is not asked in a tight loop', async () => {
    const { clock, consul, watch } = watchBegun();
    consul.restore(0);
    await watch.read(never);
    const change = watch.change(START_MS + 10_000, never);
    await clock.advance(10_000);
    expect(await change).toBeUndefined();
    expect(consul.asked.length).toBeLessThanOrEqual(1 + 10 + 40 + 1);
  });
});
