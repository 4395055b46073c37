/** What is particular to the table: expiry, schemas, sizes, costs. */
import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  HEALTH_PARTITION,
  HEARTBEAT_KEY,
  leaseKey,
  serviceKey,
  slotKey,
  watchedCheckKey,
} from '../../lib/dynamodb/keys.ts';
import type { StatePort } from '../../lib/ports.ts';
import { NOW_MS, service, watchedCheck } from '../contracts/state-samples.ts';
import { errorAnswer, type Fault, type FaultProxy, once } from './fault-proxy.ts';
import { tableBehindProxy, type World } from './world.ts';

const NOW_SECONDS = NOW_MS / 1000;

const world = tableBehindProxy();
let proxy: FaultProxy;
let state: StatePort;
let plant: World['plant'];
let stored: World['stored'];
let operations: World['operations'];
beforeEach(() => {
  ({ proxy, state, plant, stored, operations } = world());
});

test('in two partitions of one table the same checks, services, heartbeats and policies do not meet', async () => {
  const health = world().another({ partition: HEALTH_PARTITION });
  await state.saveCheck(watchedCheck());
  await state.saveService(service());
  await state.saveEstate({ version: 0, state: {} });
  await state.saveHeartbeat({ atMs: NOW_MS, reported: {} });
  await state.savePolicy({ text: '{}', modifyIndex: '1' });

  expect(await health.load()).toEqual({ checks: [], services: [], unreadable: [] });
  expect((await health.readService(service().key)).version).toBe(0);
  expect((await health.readEstate()).version).toBe(0);
  expect(await health.saveCheck(watchedCheck())).toBe('saved');
  expect(await health.deleteCheck({ ...watchedCheck(), version: 1 })).toBe('saved');
  expect((await state.load()).checks).toHaveLength(1);
});

// C45 (a) is about BatchGetItem: we use none, one strong Query reads everything. See the next test.
describe('reading', () => {
  test('C45: load is Query only, strong, and never BatchGetItem', async () => {
    await state.saveCheck(watchedCheck());
    proxy.seen.length = 0;
    await state.load();
    expect(operations()).toEqual(['Query']);
    expect(proxy.seen[0]?.body).toMatchObject({ ConsistentRead: true });
  });

  test('readService is one strong GetItem', async () => {
    await state.readService('prod/service/web');
    expect(proxy.seen).toMatchObject([{ operation: 'GetItem', body: { ConsistentRead: true } }]);
  });

  test('C45: a page without items but with a LastEvaluatedKey is not the end (b)', async () => {
    await state.saveCheck(watchedCheck());
    const body = JSON.stringify({
      Items: [],
      Count: 0,
      ScannedCount: 0,
      LastEvaluatedKey: { pk: { S: 'state' }, sk: { S: 'a' } },
    });
    proxy.fault = once('Query', { status: 200, body });
    expect((await state.load()).checks).toHaveLength(1);
    expect(proxy.seen.at(-1)?.body).toMatchObject({ ExclusiveStartKey: { sk: { S: 'a' } } });
  });

  test('more than a megabyte comes in several pages, all of them read', async () => {
    const checkName = 'n'.repeat(100_000);
    for (let index = 0; index < 15; index += 1) {
      await state.saveCheck(watchedCheck({ checkId: `c${index}`, checkName }));
    }
    proxy.seen.length = 0;
    expect((await state.load()).checks).toHaveLength(15);
    expect(operations()).toEqual(['Query', 'Query']);
  });

  test('a later page that fails makes the whole load fail', async () => {
    await state.saveCheck(watchedCheck());
    const firstPage = JSON.stringify({ Items: [], LastEvaluatedKey: { pk: { S: 'state' }, sk: { S: 'a' } } });
    const pages: Fault[] = [{ status: 200, body: firstPage }, errorAnswer('AccessDeniedException', 'no')];
    proxy.fault = () => pages.shift();
    await expect(state.load()).rejects.toMatchObject({ code: 'forbidden' });
  });

  test.each([
    ['2 h in the past', NOW_SECONDS - 7200, 0],
    ['now', NOW_SECONDS, 0],
    ['a second ahead', NOW_SECONDS + 1, 1],
  ])('C45: an item whose ttl is %s (c)', async (_, ttl, expected) => {
    const { version: _version, ...data } = watchedCheck();
    const { version: _other, ...serviceData } = service();
    await plant({ ...watchedCheckKey(data), schema: 1, version: 3, ttl, data });
    await plant({ ...serviceKey(serviceData.key), schema: 1, version: 3, ttl, data: serviceData });
    const { checks, services, unreadable } = await state.load();
    expect([checks.length, services.length, unreadable.length]).toEqual([expected, expected, 0]);
    expect((await state.readService(serviceData.key)).version).toBe(expected * 3);
  });

  test('C45: an expired item does not block a new one, and is not the version that was read (c)', async () => {
    const { version: _, ...data } = service();
    await plant({ ...serviceKey(data.key), schema: 1, version: 3, ttl: NOW_SECONDS - 1, data });
    expect(await state.saveService(service({ version: 3 }))).toBe('conflict');
    expect(await state.saveService(service())).toBe('saved');
    expect(await state.readService(data.key)).toEqual({ ...service(), version: 1 });
    expect(await stored(serviceKey(data.key))).not.toHaveProperty('ttl');
  });

  test.each<[string, Record<string, unknown>]>([
    ['an unknown schema', { schema: 2 }],
    ['no schema', { schema: undefined }],
    ['a version that is no number', { version: '1' }],
    ['version 0', { version: 0 }],
    ['no data', { data: undefined }],
    ['an instant that is a text', { data: { ...watchedCheck(), state: { taskArn: 'a', seenMs: '1' } } }],
    [
      'an instant beyond 2^53',
      { data: { ...watchedCheck(), state: { taskArn: 'a', seenMs: NumberValue.from('1e30') } } },
    ],
    ['half a streak', { data: { ...watchedCheck(), state: { taskArn: 'a', seenMs: 1, streak: { sinceMs: 1 } } } }],
    ['the content of another check', { data: watchedCheck({ checkId: 'other' }) }],
    ['a ttl that is a text', { ttl: '1' }],
  ])('an item with %s is set aside, and says what is wrong', async (_, spoilt) => {
    const key = watchedCheckKey(watchedCheck());
    const item = { ...key, schema: 1, version: 1, data: watchedCheck(), ...spoilt };
    await plant(Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)));
    await state.saveCheck(watchedCheck({ checkId: 'good' }));
    const { checks, unreadable } = await state.load();
    expect(checks.map(({ checkId }) => checkId)).toEqual(['good']);
    expect(unreadable).toEqual([{ key: key.sk, problem: expect.stringMatching(/schema|version|data|ttl|key/) }]);
  });

  test('an item of a kind that a later version may have made is set aside', async () => {
    await plant({ pk: 'state', sk: 'breaker#x', schema: 1, version: 1, data: {} });
    expect((await state.load()).unreadable.map(({ key }) => key)).toEqual(['breaker#x']);
  });

  test('fields that this version does not know are kept and written back', async () => {
    const { version: _, ...data } = service();
    await plant({ ...serviceKey(data.key), schema: 1, version: 1, data: { ...data, hold: { why: 'release' } } });
    const read = await state.readService(data.key);
    expect(await state.saveService({ ...read, claims: [] })).toBe('saved');
    expect(await stored(serviceKey(data.key))).toMatchObject({ data: { claims: [], hold: { why: 'release' } } });
  });
});

describe('writing', () => {
  test('an item: key, schema, version, and its parts as attributes', async () => {
    const check = watchedCheck({ checkId: 'x'.repeat(2000) });
    await state.saveCheck(check);
    const key = watchedCheckKey(check);
    expect(key.sk).toMatch(/^check#sha256:[0-9a-f]{64}$/);
    const { version: _, ...data } = check;
    expect(await stored(key)).toMatchObject({ schema: 1, version: 1, data });
  });

  test('history expires after 90 days, in seconds, of 10 digits', async () => {
    await state.appendHistory({ atMs: NOW_MS + 999, kind: 'restart', detail: {} });
    expect(proxy.seen.at(-1)?.body).toMatchObject({ Item: { ttl: { N: String(NOW_SECONDS + 90 * 86_400) } } });
    expect(String(NOW_SECONDS + 90 * 86_400)).toHaveLength(10);
  });

  test('two lines of history of one millisecond are two', async () => {
    for (const kind of ['a', 'b']) await state.appendHistory({ atMs: NOW_MS, kind, detail: {} });
    const keys = proxy.seen.map(({ body }) => JSON.stringify(body.Item));
    expect(new Set(keys).size).toBe(2);
  });

  test('half a surrogate pair is stored as its replacement', async () => {
    const check = watchedCheck({ checkId: 'a\ud83d', checkName: 'b\udd25' });
    expect(await state.saveCheck(check)).toBe('saved');
    expect((await state.load()).checks).toMatchObject([{ checkId: 'a\ufffd', checkName: 'b\ufffd' }]);
    expect(await state.saveCheck({ ...check, version: 1 })).toBe('saved');
  });

  test.each<[string, () => Promise<unknown>]>([
    ['heartbeat', () => state.saveHeartbeat({ atMs: NOW_MS, reported: { a: 'x'.repeat(360_000) } })],
    ['policy', () => state.savePolicy({ text: 'x'.repeat(360_000), modifyIndex: '1' })],
    ['check', () => state.saveCheck(watchedCheck({ checkName: 'x'.repeat(360_000) }))],
  ])('a %s above 350 KB is refused before it is sent, with both sizes', async (_, save) => {
    await expect(save()).rejects.toMatchObject({
      code: 'malformed',
      message: expect.stringMatching(/35\d KB, at most 350 KB/),
    });
    expect(proxy.seen).toEqual([]);
  });

  test('what cannot be read back is not written', async () => {
    const broken = service({ brakes: { inFlight: [], lastRestartMs: Number.NaN } });
    await expect(state.saveService(broken)).rejects.toMatchObject({
      code: 'malformed',
      message: expect.stringContaining('lastRestartMs'),
    });
    expect(proxy.seen).toEqual([]);
  });

  test('a heartbeat that is not understood is left as it is', async () => {
    const item = { ...HEARTBEAT_KEY, schema: 1, version: 1, data: { atMs: 'noon', reported: {} } };
    await plant(item);
    await expect(state.saveHeartbeat({ atMs: NOW_MS, reported: {} })).rejects.toMatchObject({ code: 'malformed' });
    expect(await stored(HEARTBEAT_KEY)).toEqual(item);
  });

  test('a lease and slots that are not understood are left as they are, and reported', async () => {
    await plant({ ...leaseKey('window'), schema: 2, version: 1, data: { holder: 'x', untilMs: 0 } });
    await plant({ ...slotKey('prod'), schema: 2, version: 1, data: {} });
    await expect(state.acquireLease('window', 'a', NOW_MS, NOW_MS + 1)).rejects.toMatchObject({ code: 'malformed' });
    await expect(state.takeRestartSlot('prod', NOW_MS, 10, 1)).rejects.toMatchObject({ code: 'malformed' });
  });

  test('what a quiet invocation costs: lease, load, heartbeat, release', async () => {
    const answer = await state.acquireLease('window', 'a', NOW_MS, NOW_MS + 55_000);
    await state.load();
    await state.saveHeartbeat({ atMs: NOW_MS, reported: {} });
    if ('lease' in answer) await state.releaseLease(answer.lease);
    expect(operations()).toEqual(['UpdateItem', 'Query', 'PutItem', 'UpdateItem']);
  });
});
