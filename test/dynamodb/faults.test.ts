/** Lost answers, and how failures of DynamoDB are told. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createLocalClient } from '../../infra/local/dynamodb.ts';
import { systemClock } from '../../lib/clock.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import type { StatePort } from '../../lib/ports.ts';
import { NOW_MS, service, watchedCheck } from '../contracts/state-samples.ts';
import { errorAnswer, type Fault, type FaultProxy, once } from './fault-proxy.ts';
import { tableBehindProxy } from './world.ts';

const world = tableBehindProxy();
let proxy: FaultProxy;
let state: StatePort;
beforeEach(() => {
  ({ proxy, state } = world());
});

describe('a write whose answer was lost, and which the SDK repeats, is not in its own way', () => {
  test('saveService', async () => {
    proxy.fault = once('PutItem', 'lose-answer');
    expect(await state.saveService(service())).toBe('saved');
    expect(world().operations()).toEqual(['PutItem', 'PutItem', 'GetItem']);
    expect((await state.readService(service().key)).version).toBe(1);
  });

  test('saveService, when another writer came between: conflict', async () => {
    let puts = 0;
    proxy.fault = ({ operation }) => {
      if (operation !== 'PutItem') return undefined;
      puts += 1;
      return puts === 1 ? 'reset' : undefined;
    };
    const other = world().another({ past: 'proxy' });
    await other.saveService(service({ brakes: { inFlight: [], lastRestartMs: 1 } }));
    expect(await state.saveService(service({ brakes: { inFlight: [], lastRestartMs: 2 } }))).toBe('conflict');
    expect((await state.readService(service().key)).brakes.lastRestartMs).toBe(1);
  });

  test('deleteCheck', async () => {
    await state.saveCheck(watchedCheck());
    proxy.fault = once('DeleteItem', 'lose-answer');
    expect(await state.deleteCheck(watchedCheck({ version: 1 }))).toBe('saved');
  });

  test('acquireLease, renewLease', async () => {
    proxy.fault = once('UpdateItem', 'lose-answer');
    const answer = await state.acquireLease('window', 'a', NOW_MS, NOW_MS + 100);
    expect(answer).toMatchObject({ lease: { holder: 'a', fence: 1 } });
    if (!('lease' in answer)) return;
    proxy.fault = once('UpdateItem', 'lose-answer');
    expect(await state.renewLease(answer.lease, NOW_MS + 200)).toMatchObject({ lease: { fence: 1 } });
  });

  test('takeRestartSlot takes one place, not two', async () => {
    proxy.fault = once('PutItem', 'lose-answer');
    expect(await state.takeRestartSlot('prod', NOW_MS, 2, 1)).toBeUndefined();
    expect(await state.takeRestartSlot('prod', NOW_MS, 2, 1)).toBeUndefined();
    expect(await state.takeRestartSlot('prod', NOW_MS, 2, 1)).toEqual({ freeAtMs: NOW_MS + 60_000 });
  });
});

describe('failures', () => {
  test.each<[string, Fault, string]>([
    ['throttling', errorAnswer('ThrottlingException', 'slow down'), 'rate-limited'],
    ['a spent table', errorAnswer('ProvisionedThroughputExceededException', 'slow down'), 'rate-limited'],
    ['no permission', errorAnswer('AccessDeniedException', 'User is not authorized'), 'forbidden'],
    ['an expired session', errorAnswer('ExpiredTokenException', 'expired'), 'forbidden'],
    ['no such table', errorAnswer('ResourceNotFoundException', 'Requested resource not found'), 'server-error'],
    ['an inner error', errorAnswer('InternalServerError', 'oops', 500), 'server-error'],
    ['a broken connection', 'reset', 'unreachable'],
    ['no answer', 'hang', 'timeout'],
    ['HTML instead of JSON', { status: 200, body: '<html>' }, 'malformed'],
  ])('%s', async (_, fault, code) => {
    proxy.fault = () => fault;
    const callTimeoutMs = code === 'timeout' ? 300 : 5000;
    const failing = world().another({ callTimeoutMs });
    await expect(failing.load()).rejects.toMatchObject({ name: 'ReadFailure', system: 'state', code });
    await expect(failing.saveService(service())).rejects.toMatchObject({ name: 'ReadFailure', system: 'state', code });
  });

  test('nobody listens', async () => {
    const client = createLocalClient('http://127.0.0.1:1');
    const nowhere = createDynamoState({ client, table: 'table', clock: systemClock });
    await expect(nowhere.load()).rejects.toMatchObject({ system: 'state', code: 'unreachable' });
  });

  test('a call ends at its deadline, repetitions included', async () => {
    proxy.fault = () => 'hang';
    const startMs = performance.now();
    await expect(world().another({ callTimeoutMs: 700 }).load()).rejects.toMatchObject({ code: 'timeout' });
    expect(performance.now() - startMs).toBeLessThan(1500);
  });

  test('the message is short, in one line, and names operation and table', async () => {
    proxy.fault = () => errorAnswer('ValidationException', `a\nb${'x'.repeat(5000)}`);
    const failure = await state.load().catch((error: unknown) => error);
    expect(failure).toHaveProperty(
      'message',
      expect.stringMatching(new RegExp(`^Query on table ${world().table}: Valid`)),
    );
    expect(failure).toHaveProperty('message.length', 300);
    expect(String(failure)).not.toMatch(/\p{Cc}/u);
  });
});
