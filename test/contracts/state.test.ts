/** What every `StatePort` must do, tried on the table (dynalite) and on the one in memory. */
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLocalClient, createTable, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { MemoryState } from '../../infra/local/memory-state.ts';
import { HEARTBEAT_KEY, type ItemKey, POLICY_KEY, serviceKey, watchedCheckKey } from '../../lib/dynamodb/keys.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import { ReadFailure, type ServiceState, type StatePort, type WatchedCheck } from '../../lib/ports.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { NOW_MS, service, watchedCheck } from './state-samples.ts';

interface Subject {
  readonly state: StatePort;
  /** Puts something there that cannot be understood. */
  plantUnreadable(key: ItemKey): Promise<void>;
}

interface Implementation {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  fresh(): Promise<Subject>;
}

const memory: Implementation = {
  name: 'memory',
  start: async () => {},
  stop: async () => {},
  fresh: async () => {
    const state = new MemoryState();
    return { state, plantUnreadable: async ({ sk }) => state.setAside(sk, 'planted') };
  },
};

function dynamodb(): Implementation {
  let local: Awaited<ReturnType<typeof startDynamoDb>>;
  let tables = 0;
  return {
    name: 'dynamodb (dynalite)',
    start: async () => {
      local = await startDynamoDb();
    },
    stop: () => local.close(),
    fresh: async () => {
      const client = createLocalClient(local.endpoint);
      tables += 1;
      const table = `state-${tables}`;
      await createTable(client, table);
      return {
        state: createDynamoState({ client, table, clock: new VirtualClock(NOW_MS) }),
        plantUnreadable: async (key) => {
          await client.send(new PutCommand({ TableName: table, Item: { ...key, schema: 2, version: 1, data: {} } }));
        },
      };
    },
  };
}

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
      await state.takeRestartSlot('prod', NOW_MS, 10);
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
      await state.saveService(service({ lastRestartMs: 1 }));
      await state.saveService(service({ lastRestartMs: 2 }));
      expect((await state.readService(service().key)).lastRestartMs).toBe(1);
    });

    test('of twelve writers that read the same version exactly one is saved, again and again', async () => {
      for (let version = 0; version < 5; version += 1) {
        const results = await Promise.all(
          Array.from({ length: 12 }, (_, writer) => state.saveService(service({ version, lastRestartMs: writer }))),
        );
        expect(results.filter((result) => result === 'saved')).toHaveLength(1);
        const winner = results.indexOf('saved');
        const stored = await state.readService(service().key);
        expect(stored).toMatchObject({ version: version + 1, lastRestartMs: winner });
      }
    });

    test('of twelve who retry on conflict every increment is kept', async () => {
      const add = async () => {
        for (;;) {
          const read = await state.readService(service().key);
          const next = { ...read, lastRestartMs: (read.lastRestartMs ?? 0) + 1 };
          if ((await state.saveService(next)) === 'saved') return;
        }
      };
      await Promise.all(Array.from({ length: 12 }, add));
      expect(await state.readService(service().key)).toMatchObject({ version: 12, lastRestartMs: 12 });
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
      expect(await state.takeRestartSlot('prod', NOW_MS, 2)).toBeUndefined();
      expect(await state.takeRestartSlot('prod', NOW_MS + 10_000, 2)).toBeUndefined();
      const full = { freeAtMs: NOW_MS + 60_000 };
      expect(await state.takeRestartSlot('prod', NOW_MS + 20_000, 2)).toEqual(full);
      expect(await state.takeRestartSlot('prod', NOW_MS + 59_999, 2)).toEqual(full);
      expect(await state.takeRestartSlot('prod', NOW_MS + 60_000, 2)).toBeUndefined();
      expect(await state.takeRestartSlot('prod', NOW_MS + 60_000, 2)).toEqual({ freeAtMs: NOW_MS + 70_000 });
    });

    test('a lowered limit waits until enough of them are a minute old', async () => {
      for (const offsetMs of [0, 1, 2]) await state.takeRestartSlot('prod', NOW_MS + offsetMs, 3);
      expect(await state.takeRestartSlot('prod', NOW_MS + 3, 1)).toEqual({ freeAtMs: NOW_MS + 60_002 });
    });

    test('a limit of 0 allows none', async () => {
      expect(await state.takeRestartSlot('prod', NOW_MS, 0)).toEqual({ freeAtMs: NOW_MS + 60_000 });
    });

    test('clusters have their own', async () => {
      await state.takeRestartSlot('prod', NOW_MS, 1);
      expect(await state.takeRestartSlot('stage', NOW_MS, 1)).toBeUndefined();
    });

    test('of eight at once never more than three get one of three', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => state.takeRestartSlot('prod', NOW_MS, 3)));
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
