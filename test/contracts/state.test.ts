/** What every `StatePort` must do with items (leases: `state-leases.test.ts`), tried on the table (dynalite) and on the one in memory. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HEARTBEAT_KEY, POLICY_KEY, serviceKey, watchedCheckKey } from '../../lib/dynamodb/keys.ts';
import { ReadFailure, type ServiceState, type StatePort, type WatchedCheck } from '../../lib/ports.ts';
import { dynamodb, memory, type Subject } from './state-implementations.ts';
import { NOW_MS, service, watchedCheck } from './state-samples.ts';

describe.each([memory, dynamodb()])('state in $name', (implementation) => {
  let state: StatePort;
  let subject: Subject;
  beforeAll(() => implementation.start());
  afterAll(() => implementation.stop());
  beforeEach(async () => {
    subject = await implementation.fresh();
    state = subject.state;
  });

  describe('load', () => {
    test('an empty table is an empty state', async () => {
      expect(await state.load()).toEqual({ checks: [], services: [], unreadable: [] });
    });

    test('gives back everything that was saved, and neither leases nor slots nor history', async () => {
      await state.saveCheck(watchedCheck());
      await state.saveService(service());
      await state.saveHeartbeat({ atMs: NOW_MS, settleUntilMs: NOW_MS + 1, reported: { 'a/b': 'counting' } });
      await state.savePolicy({ text: '{}', modifyIndex: '18446744073709551615' });
      await state.acquireLease('window', 'a', NOW_MS, NOW_MS + 1);
      await state.takeRestartSlot('prod', NOW_MS, 10, 1);
      await state.appendHistory({ atMs: NOW_MS, kind: 'restart', detail: { task: 't', tries: 1, done: true } });
      expect(await state.load()).toEqual({
        checks: [{ ...watchedCheck(), version: 1 }],
        services: [{ ...service(), version: 1 }],
        heartbeat: { atMs: NOW_MS, settleUntilMs: NOW_MS + 1, reported: { 'a/b': 'counting' } },
        policy: { text: '{}', modifyIndex: '18446744073709551615' },
        unreadable: [],
      });
    });

    test('an unreadable item is named, and the rest loads', async () => {
      const bad = watchedCheckKey(watchedCheck({ checkId: 'bad' }));
      await subject.plantUnreadable(bad);
      await state.saveCheck(watchedCheck());
      const { checks, unreadable } = await state.load();
      expect(checks.map(({ checkId }) => checkId)).toEqual(['http']);
      expect(unreadable).toEqual([{ key: bad.sk, problem: expect.stringMatching(/./) }]);
    });

    test('what a caller does to an answer changes nothing that is stored', async () => {
      await state.saveHeartbeat({ atMs: NOW_MS, reported: { a: 'counting' } });
      Object.assign((await state.load()).heartbeat?.reported ?? {}, { a: 'spoilt' });
      expect((await state.load()).heartbeat?.reported).toEqual({ a: 'counting' });
    });
  });

  describe('an unreadable item is never written over', () => {
    test('a check', async () => {
      await subject.plantUnreadable(watchedCheckKey(watchedCheck()));
      expect(await state.saveCheck(watchedCheck())).toBe('conflict');
      expect(await state.saveCheck(watchedCheck({ version: 1 }))).toBe('conflict');
      expect(await state.deleteCheck(watchedCheck({ version: 1 }))).toBe('conflict');
    });

    test('a service, and reading it says so', async () => {
      await subject.plantUnreadable(serviceKey(service().key));
      expect(await state.saveService(service())).toBe('conflict');
      expect(await state.saveService(service({ version: 1 }))).toBe('conflict');
      await expect(state.readService(service().key)).rejects.toMatchObject({ system: 'state', code: 'malformed' });
    });

    test('the heartbeat and the policy, and saving them says so', async () => {
      await subject.plantUnreadable(HEARTBEAT_KEY);
      await subject.plantUnreadable(POLICY_KEY);
      await expect(state.saveHeartbeat({ atMs: NOW_MS, reported: {} })).rejects.toBeInstanceOf(ReadFailure);
      await expect(state.savePolicy({ text: '{}', modifyIndex: '1' })).rejects.toBeInstanceOf(ReadFailure);
      expect((await state.load()).unreadable.map(({ key }) => key).sort()).toEqual(['heartbeat', 'policy']);
    });
  });

  describe('versions', () => {
    test.each<[string, (state: StatePort, version: number) => Promise<string>]>([
      ['saveCheck', (port, version) => port.saveCheck(watchedCheck({ version }))],
      ['saveService', (port, version) => port.saveService(service({ version }))],
    ])('%s: saved only over the version that was read', async (_, save) => {
      expect(await save(state, 1)).toBe('conflict');
      expect(await save(state, 0)).toBe('saved');
      expect(await save(state, 0)).toBe('conflict');
      expect(await save(state, 2)).toBe('conflict');
      expect(await save(state, 1)).toBe('saved');
      expect(await save(state, 1)).toBe('conflict');
      const { checks, services } = await state.load();
      expect([...checks, ...services].map(({ version }) => version)).toEqual([2]);
    });

    test('a conflict leaves what is there', async () => {
      await state.saveService(service({ brakes: { inFlight: [], lastRestartMs: 1 } }));
      await state.saveService(service({ brakes: { inFlight: [], lastRestartMs: 2 } }));
      expect((await state.readService(service().key)).brakes.lastRestartMs).toBe(1);
    });

    test('of twelve writers that read the same version exactly one is saved, again and again', async () => {
      for (let version = 0; version < 5; version += 1) {
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, writer) =>
            state.saveService(service({ version, brakes: { inFlight: [], lastRestartMs: writer } })),
          ),
        );
        expect(results.filter((result) => result === 'saved')).toHaveLength(1);
        const winner = results.indexOf('saved');
        const stored = await state.readService(service().key);
        expect(stored).toMatchObject({ version: version + 1, brakes: { lastRestartMs: winner } });
      }
    });

    test('of twelve who retry on conflict every increment is kept', async () => {
      const add = async () => {
        for (;;) {
          const read = await state.readService(service().key);
          const next = { ...read, brakes: { inFlight: [], lastRestartMs: (read.brakes.lastRestartMs ?? 0) + 1 } };
          if ((await state.saveService(next)) === 'saved') return;
        }
      };
      await Promise.all(Array.from({ length: 12 }, add));
      expect(await state.readService(service().key)).toMatchObject({ version: 12, brakes: { lastRestartMs: 12 } });
    });

    test('delete: only the version that was read; what is gone is gone', async () => {
      await state.saveCheck(watchedCheck());
      expect(await state.deleteCheck(watchedCheck({ version: 2 }))).toBe('conflict');
      expect((await state.load()).checks).toHaveLength(1);
      expect(await state.deleteCheck(watchedCheck({ version: 1 }))).toBe('saved');
      expect(await state.deleteCheck(watchedCheck({ version: 1 }))).toBe('saved');
      expect((await state.load()).checks).toEqual([]);
      expect(await state.saveCheck(watchedCheck({ version: 1 }))).toBe('conflict');
    });

    test('of a save and a delete of the same version exactly one takes effect', async () => {
      await state.saveCheck(watchedCheck());
      const [saved, deleted] = await Promise.all([
        state.saveCheck(watchedCheck({ version: 1 })),
        state.deleteCheck(watchedCheck({ version: 1 })),
      ]);
      expect([saved, deleted].sort()).toEqual(['conflict', 'saved']);
      expect((await state.load()).checks).toHaveLength(saved === 'saved' ? 1 : 0);
    });
  });

  describe('identity', () => {
    test.each<[string, Partial<WatchedCheck>]>([
      ['node', { node: 'n2' }],
      ['partition', { partition: 'p' }],
      ['namespace', { namespace: 'p' }],
      ['check ID', { checkId: 'other' }],
    ])('checks that differ in %s are two', async (_, difference) => {
      await state.saveCheck(watchedCheck());
      await state.saveCheck(watchedCheck(difference));
      expect((await state.load()).checks).toHaveLength(2);
    });

    test.each<[string, string]>([
      ['a slash and a hash', 'a/b#c'],
      ['dots', '..'],
      ['nothing', ''],
      ['the key of an object', '__proto__'],
      ['3,000 letters', 'x'.repeat(3000)],
      ['1,000 emoji', '🔥'.repeat(1000)],
      ['control characters', 'a\u0000\nb'],
    ])('a check whose name is %s is found again, and only that', async (_, checkId) => {
      const check = watchedCheck({ checkId });
      expect(await state.saveCheck(check)).toBe('saved');
      expect(await state.saveCheck(watchedCheck({ checkId: `${checkId}y` }))).toBe('saved');
      const { checks, unreadable } = await state.load();
      expect(unreadable).toEqual([]);
      expect(checks).toContainEqual({ ...check, version: 1 });
      expect(await state.deleteCheck({ ...check, version: 1 })).toBe('saved');
      expect((await state.load()).checks.map((one) => one.checkId)).toEqual([`${checkId}y`]);
    });

    test('a service with a long key is found again', async () => {
      const long: ServiceState = service({ key: `prod/service/${'n'.repeat(1500)}` });
      await state.saveService(long);
      expect(await state.readService(long.key)).toEqual({ ...long, version: 1 });
      expect((await state.readService(`${long.key}n`)).version).toBe(0);
    });
  });

  test('a service that there is not yet has version 0 and nothing in it', async () => {
    expect(await state.readService('prod/service/new')).toEqual({
      key: 'prod/service/new',
      version: 0,
      claims: [],
      refused: [],
      brakes: { inFlight: [] },
    });
  });

  test('history is read newest first, up to a limit', async () => {
    for (const atMs of [NOW_MS, NOW_MS + 2, NOW_MS + 1]) {
      await state.appendHistory({ atMs, kind: 'restart', detail: { task: String(atMs - NOW_MS) } });
    }
    expect((await state.recentHistory(2)).map(({ atMs }) => atMs - NOW_MS)).toEqual([2, 1]);
    expect(await state.recentHistory(10)).toHaveLength(3);
  });

  describe('brakes of the deployment', () => {
    test('are empty and of version 0 until somebody writes them', async () => {
      expect(await state.readEstate()).toEqual({ version: 0, state: {} });
      expect((await state.load()).estate).toBeUndefined();
    });

    test('are written over the version that was read, and loaded', async () => {
      const hold = { why: 'moving house', untilMs: NOW_MS + 60_000 };
      expect(await state.saveEstate({ version: 0, state: { openSinceMs: NOW_MS, hold } })).toBe('saved');
      expect(await state.saveEstate({ version: 0, state: {} })).toBe('conflict');
      expect(await state.readEstate()).toEqual({ version: 1, state: { openSinceMs: NOW_MS, hold } });
      expect((await state.load()).estate).toEqual({ version: 1, state: { openSinceMs: NOW_MS, hold } });
    });
  });

  describe('heartbeat and policy', () => {
    test('an earlier heartbeat that comes late is dropped; one of the same instant is not', async () => {
      await state.saveHeartbeat({ atMs: NOW_MS, reported: { a: '1' } });
      await state.saveHeartbeat({ atMs: NOW_MS - 1, reported: { a: '2' } });
      expect((await state.load()).heartbeat).toEqual({ atMs: NOW_MS, reported: { a: '1' } });
      await state.saveHeartbeat({ atMs: NOW_MS, reported: { a: '3' } });
      expect((await state.load()).heartbeat).toEqual({ atMs: NOW_MS, reported: { a: '3' } });
    });

    test('a later heartbeat replaces the whole of it', async () => {
      await state.saveHeartbeat({ atMs: NOW_MS, settleUntilMs: NOW_MS + 1, reported: { a: '1' } });
      await state.saveHeartbeat({ atMs: NOW_MS + 1, reported: {} });
      expect((await state.load()).heartbeat).toEqual({ atMs: NOW_MS + 1, reported: {} });
    });

    test('the policy saved last is in force', async () => {
      await state.savePolicy({ text: '{"rules":[]}', modifyIndex: '7' });
      await state.savePolicy({ text: '{}', modifyIndex: '8' });
      expect((await state.load()).policy).toEqual({ text: '{}', modifyIndex: '8' });
    });
  });
});
