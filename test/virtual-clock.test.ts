import { describe, expect, test } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  test('sleepers wake at their own instants, in order, those included that begin to sleep on the way', async () => {
    const clock = new VirtualClock(1000);
    const woken: [string, number][] = [];
    const sleep = async (name: string, instants: number[]) => {
      for (const atMs of instants) {
        await clock.sleepUntil(atMs);
        woken.push([name, clock.nowMs()]);
      }
    };
    const all = [sleep('late', [1300]), sleep('twice', [1100, 1200])];
    await clock.advance(250);
    expect(woken).toEqual([
      ['twice', 1100],
      ['twice', 1200],
    ]);
    expect([clock.nowMs(), clock.nextWakeMs]).toEqual([1250, 1300]);
    await clock.advanceTo(1300);
    await Promise.all(all);
    expect(woken.at(-1)).toEqual(['late', 1300]);
    expect(clock.nextWakeMs).toBeUndefined();
  });

  test('set wakes who is due, and goes back as well', async () => {
    const clock = new VirtualClock(0);
    const sleeping = clock.sleepUntil(10);
    clock.set(10);
    await sleeping;
    clock.set(5);
    expect(clock.nowMs()).toBe(5);
  });

  test('an instant in the past, and an aborted signal, do not sleep', async () => {
    const clock = new VirtualClock(10);
    await clock.sleepUntil(10);
    await clock.sleepUntil(99, AbortSignal.abort());
    const abort = new AbortController();
    const sleeping = clock.sleepUntil(99, abort.signal);
    abort.abort();
    await sleeping;
    expect(clock.nextWakeMs).toBeUndefined();
  });
});
