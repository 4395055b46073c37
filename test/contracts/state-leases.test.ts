/** What every `StatePort` must do with leases and with restarts a minute. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StatePort } from '../../lib/ports.ts';
import { dynamodb, memory } from './state-implementations.ts';
import { NOW_MS } from './state-samples.ts';

describe.each([memory, dynamodb()])('state in $name', (implementation) => {
  let state: StatePort;
  beforeAll(() => implementation.start());
  afterAll(() => implementation.stop());
  beforeEach(async () => {
    ({ state } = await implementation.fresh());
  });

  describe('leases', () => {
    test('one at a time; free again at its end, not before', async () => {
      const first = await state.acquireLease('window', 'a', NOW_MS, NOW_MS + 100);
      expect(first).toEqual({ lease: { name: 'window', holder: 'a', fence: 1, untilMs: NOW_MS + 100 } });
      const held = { heldBy: 'a', untilMs: NOW_MS + 100 };
      expect(await state.acquireLease('window', 'b', NOW_MS + 99, NOW_MS + 200)).toEqual(held);
      expect(await state.acquireLease('window', 'a', NOW_MS + 99, NOW_MS + 200)).toEqual(held);
      expect(await state.acquireLease('window', 'b', NOW_MS + 100, NOW_MS + 200)).toEqual({
        lease: { name: 'window', holder: 'b', fence: 2, untilMs: NOW_MS + 200 },
      });
    });

    test('leases of different names do not exclude each other', async () => {
      await state.acquireLease('window', 'a', NOW_MS, NOW_MS + 100);
      expect(await state.acquireLease('proxies', 'b', NOW_MS, NOW_MS + 100)).toHaveProperty('lease');
    });

    test('of twelve who want it at once exactly one gets it, and the others learn who', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, holder) => state.acquireLease('window', `h${holder}`, NOW_MS, NOW_MS + 100)),
      );
      const won = answers.flatMap((answer) => ('lease' in answer ? [answer.lease.holder] : []));
      expect(won).toHaveLength(1);
      const others = answers.flatMap((answer) => ('heldBy' in answer ? [answer.heldBy] : []));
      expect(others).toEqual(Array(11).fill(won[0]));
    });

    test('renewing moves the end and keeps the fence', async () => {
      const lease = await acquired(state, 'a', NOW_MS);
      expect(await state.renewLease(lease, NOW_MS + 500)).toEqual({ lease: { ...lease, untilMs: NOW_MS + 500 } });
      expect(await state.acquireLease('window', 'b', NOW_MS + 499, NOW_MS + 900)).toMatchObject({ heldBy: 'a' });
    });

    test('a lease that ran out and that nobody took can still be renewed', async () => {
      const lease = await acquired(state, 'a', NOW_MS);
      expect(await state.renewLease({ ...lease }, NOW_MS + 9000)).toHaveProperty('lease.fence', 1);
    });

    test('a lost lease: renewing says conflict, releasing is silent and takes nothing from the new holder', async () => {
      const lost = await acquired(state, 'a', NOW_MS);
      const taken = await acquired(state, 'b', NOW_MS + 100);
      expect(await state.renewLease(lost, NOW_MS + 999)).toBe('conflict');
      await state.releaseLease(lost);
      expect(await state.acquireLease('window', 'c', NOW_MS + 101, NOW_MS + 300)).toEqual({
        heldBy: 'b',
        untilMs: taken.untilMs,
      });
    });

    test('released is free at once, the fence goes on, and it cannot be renewed', async () => {
      const lease = await acquired(state, 'a', NOW_MS);
      await state.releaseLease(lease);
      expect(await state.renewLease(lease, NOW_MS + 999)).toBe('conflict');
      expect((await acquired(state, 'b', NOW_MS)).fence).toBe(2);
    });

    test('a holder of the same name with an old fence is not the holder', async () => {
      const old = await acquired(state, 'a', NOW_MS);
      await acquired(state, 'a', NOW_MS + 100);
      expect(await state.renewLease(old, NOW_MS + 999)).toBe('conflict');
    });
  });

  describe('restarts a minute', () => {
    test('as many as allowed, then the answer says when the oldest is a minute old', async () => {
      expect(await state.takeRestartSlot('prod', NOW_MS, 2, 1)).toBeUndefined();
      expect(await state.takeRestartSlot('prod', NOW_MS + 10_000, 2, 1)).toBeUndefined();
      const full = { freeAtMs: NOW_MS + 60_000 };
      expect(await state.takeRestartSlot('prod', NOW_MS + 20_000, 2, 1)).toEqual(full);
      expect(await state.takeRestartSlot('prod', NOW_MS + 59_999, 2, 1)).toEqual(full);
      expect(await state.takeRestartSlot('prod', NOW_MS + 60_000, 2, 1)).toBeUndefined();
      expect(await state.takeRestartSlot('prod', NOW_MS + 60_000, 2, 1)).toEqual({ freeAtMs: NOW_MS + 70_000 });
    });

    test('a lowered limit waits until enough of them are a minute old', async () => {
      for (const offsetMs of [0, 1, 2]) await state.takeRestartSlot('prod', NOW_MS + offsetMs, 3, 1);
      expect(await state.takeRestartSlot('prod', NOW_MS + 3, 1, 1)).toEqual({ freeAtMs: NOW_MS + 60_002 });
    });

    test('a limit of 0 allows none', async () => {
      expect(await state.takeRestartSlot('prod', NOW_MS, 0, 1)).toEqual({ freeAtMs: NOW_MS + 60_000 });
    });

    test('several places are taken together or not at all', async () => {
      expect(await state.takeRestartSlot('prod', NOW_MS, 3, 2)).toBeUndefined();
      expect(await state.takeRestartSlot('prod', NOW_MS + 1, 3, 2)).toEqual({ freeAtMs: NOW_MS + 60_000 });
      expect(await state.recentRestarts('prod', NOW_MS + 1)).toEqual([NOW_MS, NOW_MS]);
    });

    test('restarts of the last minute are listed until their minute is over', async () => {
      await state.takeRestartSlot('prod', NOW_MS, 3, 1);
      expect(await state.recentRestarts('prod', NOW_MS + 59_999)).toEqual([NOW_MS]);
      expect(await state.recentRestarts('prod', NOW_MS + 60_000)).toEqual([]);
      expect(await state.recentRestarts('stage', NOW_MS)).toEqual([]);
    });

    test('clusters have their own', async () => {
      await state.takeRestartSlot('prod', NOW_MS, 1, 1);
      expect(await state.takeRestartSlot('stage', NOW_MS, 1, 1)).toBeUndefined();
    });

    test('of eight at once never more than three get one of three', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => state.takeRestartSlot('prod', NOW_MS, 3, 1)));
      const taken = answers.filter((answer) => answer === undefined).length;
      expect(taken).toBeGreaterThanOrEqual(1);
      expect(taken).toBeLessThanOrEqual(3);
      for (const answer of answers) if (answer) expect(answer.freeAtMs).toBeGreaterThan(NOW_MS);
    });
  });
});

async function acquired(state: StatePort, holder: string, nowMs: number) {
  const answer = await state.acquireLease('window', holder, nowMs, nowMs + 100);
  if (!('lease' in answer)) throw new Error(`held by ${answer.heldBy}`);
  return answer.lease;
}
