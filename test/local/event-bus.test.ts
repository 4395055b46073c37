import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BusEvent, type EventBus, startEventBus } from '../../infra/local/stack/event-bus.ts';

let bus: EventBus;
let client: EventBridgeClient;
beforeEach(async () => {
  bus = await startEventBus();
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  client = new EventBridgeClient({ endpoint: bus.url, region: 'eu-west-1', credentials, maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await bus.close();
});

const GOOD = { EventBusName: 'default', Source: 'test', DetailType: 'Something', Detail: '{"answer":42}' };

it('hands out what was put, shaped as a target gets it', async () => {
  const heard: BusEvent[] = [];
  bus.onEvent((event) => heard.push(event));

  const answer = await client.send(new PutEventsCommand({ Entries: [GOOD] }));

  expect(answer.FailedEntryCount).toBe(0);
  expect(heard).toEqual([
    {
      id: answer.Entries?.[0]?.EventId,
      source: 'test',
      'detail-type': 'Something',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      detail: { answer: 42 },
    },
  ]);
});

it.each([
  ['a detail that is no JSON', { ...GOOD, Detail: 'x' }, 'MalformedDetail'],
  ['a detail that is no object', { ...GOOD, Detail: '[1]' }, 'MalformedDetail'],
  ['no detail', { ...GOOD, Detail: undefined }, 'MalformedDetail'],
  ['no source', { ...GOOD, Source: undefined }, 'InvalidArgument'],
  ['no type', { ...GOOD, DetailType: '' }, 'InvalidArgument'],
])('refuses %s alone, and takes its neighbours', async (_, bad, code) => {
  const heard: BusEvent[] = [];
  bus.onEvent((event) => heard.push(event));

  const answer = await client.send(new PutEventsCommand({ Entries: [GOOD, bad, GOOD] }));

  expect(answer.FailedEntryCount).toBe(1);
  expect(answer.Entries?.map((entry) => entry.ErrorCode)).toEqual([undefined, code, undefined]);
  expect(heard).toHaveLength(2);
});

it.each([0, 11])('refuses a call with %d entries whole', async (count) => {
  const heard: BusEvent[] = [];
  bus.onEvent((event) => heard.push(event));

  const entries = Array.from({ length: count }, () => GOOD);

  await expect(client.send(new PutEventsCommand({ Entries: entries }))).rejects.toMatchObject({
    name: 'ValidationException',
  });
  expect(heard).toEqual([]);
});

it('refuses what is no PutEvents, and a call without a signature', async () => {
  const other = await fetch(bus.url, { method: 'POST', headers: { 'x-amz-target': 'AWSEvents.ListRules' } });
  const unsigned = await fetch(bus.url, { method: 'POST', headers: { 'x-amz-target': 'AWSEvents.PutEvents' } });

  expect([other.status, unsigned.status]).toEqual([400, 403]);
});

it('tells nobody who has stopped listening', async () => {
  const heard: BusEvent[] = [];
  const stop = bus.onEvent((event) => heard.push(event));
  stop();

  await client.send(new PutEventsCommand({ Entries: [GOOD] }));

  expect(heard).toEqual([]);
});
