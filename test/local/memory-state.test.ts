/** What the state in memory does beyond the port; the port itself is in `contracts/state.test.ts`. */
import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryState } from '../../infra/local/memory-state.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { NOW_MS, service, watchedCheck } from '../contracts/state-samples.ts';

const down = new ReadFailure('state', 'unreachable', 'down');
let state: MemoryState;
beforeEach(() => {
  state = new MemoryState();
});

describe('MemoryState', () => {
  test('records writes that took effect, with what they stored, and all calls', async () => {
    await state.saveService(service());
    await state.saveService(service());
    await state.saveCheck(watchedCheck());
    await state.deleteCheck(watchedCheck({ version: 1 }));
    expect(state.writes).toEqual([
      { operation: 'saveService', key: 'service#prod/service/web', value: { ...service(), version: 1 } },
      { operation: 'saveCheck', key: 'check#//n1/http', value: { ...watchedCheck(), version: 1 } },
      { operation: 'deleteCheck', key: 'check#//n1/http', value: undefined },
    ]);
    expect(state.calls).toEqual(['saveService', 'saveService', 'saveCheck', 'deleteCheck']);
  });

  test('fails as often as told, only where told, and nothing is written then', async () => {
    state.fail(down, { of: ['saveHeartbeat'], times: 1 });
    expect((await state.load()).checks).toEqual([]);
    await expect(state.saveHeartbeat({ atMs: 1, reported: {} })).rejects.toBe(down);
    expect(state.writes).toEqual([]);
    await state.saveHeartbeat({ atMs: 1, reported: {} });
    expect(state.writes).toHaveLength(1);
  });

  test('fails until it is healed', async () => {
    state.fail(down);
    await expect(state.load()).rejects.toBe(down);
    await expect(state.load()).rejects.toBe(down);
    state.heal();
    expect((await state.load()).checks).toEqual([]);
  });

  test('a lost answer: the write took effect', async () => {
    state.fail(down, { of: ['saveService'], takesEffect: true, times: 1 });
    await expect(state.saveService(service())).rejects.toBe(down);
    expect((await state.readService(service().key)).version).toBe(1);
  });

  test('conflicts on demand, without a write', async () => {
    state.conflict({ of: ['saveService'], times: 1 });
    expect(await state.saveCheck(watchedCheck())).toBe('saved');
    expect(await state.saveService(service())).toBe('conflict');
    expect(await state.saveService(service())).toBe('saved');
  });

  test('keeps the history', async () => {
    await state.appendHistory({ atMs: NOW_MS, kind: 'restart', detail: { task: 'a' } });
    expect(state.history).toEqual([{ atMs: NOW_MS, kind: 'restart', detail: { task: 'a' } }]);
  });
});
