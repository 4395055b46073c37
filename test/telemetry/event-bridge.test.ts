import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import type { OutgoingEvent } from '../../lib/ports.ts';
import { createEventBridgeClient, createEventPublisher } from '../../lib/telemetry/event-bridge.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';

type Entry = Readonly<Record<string, string>>;
type Answer = { readonly status: number; readonly body: unknown } | 'hang';

let server: Server;
let calls: Entry[][];
let answer: (entries: Entry[]) => Answer;
let telemetry: RecordingTelemetry;

beforeEach(async () => {
  calls = [];
  answer = (entries) => ({
    status: 200,
    body: { FailedEntryCount: 0, Entries: entries.map(() => ({ EventId: 'x' })) },
  });
  telemetry = new RecordingTelemetry();
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const entries: Entry[] = JSON.parse(text).Entries;
    calls.push(entries);
    const given = answer(entries);
    if (given === 'hang') return;
    response.writeHead(given.status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(given.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function publisher(timeoutMs?: number) {
  const { port } = server.address() as AddressInfo;
  const client = createEventBridgeClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const redactor = createRedactor(['tok-SECRET-1']);
  return createEventPublisher({ client, bus: 'bus', telemetry, redactor, ...(timeoutMs ? { timeoutMs } : {}) });
}

const events = (count: number, detail: OutgoingEvent['detail'] = {}): OutgoingEvent[] =>
  Array.from({ length: count }, (_, number) => ({ type: 'restart-issued', detail: { number, ...detail } }));

describe('publish', () => {
  test('an event: bus, source, its type as detail type, its detail as JSON', async () => {
    await publisher().publish([{ type: 'restart-issued', detail: { task: 't', atMs: 1 } }]);
    const entry = {
      EventBusName: 'bus',
      Source: 'ecs-check-restart',
      DetailType: 'restart-issued',
      Detail: '{"task":"t","atMs":1}',
    };
    expect(calls).toEqual([[entry]]);
    expect(telemetry.lines).toEqual([]);
  });

  test('no events, no call', async () => {
    await publisher().publish([]);
    expect(calls).toEqual([]);
  });

  test.each([
    [10, [10]],
    [11, [1, 10]],
    [35, [5, 10, 10, 10]],
  ])('%i events go in tens, each once', async (count, sizes) => {
    await publisher().publish(events(count));
    expect(calls.map((entries) => entries.length).sort((one, other) => one - other)).toEqual(sizes);
    expect(new Set(calls.flat().map(({ Detail }) => Detail)).size).toBe(count);
  });

  test('large events go in smaller calls', async () => {
    const kilobytes = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`k${index}`, 'x'.repeat(1000)]));
    await publisher().publish(events(4, kilobytes));
    expect(calls.map((entries) => entries.length)).toEqual([2, 2]);
  });

  test('an event that no call can hold is counted, and the others go', async () => {
    const huge = Object.fromEntries(Array.from({ length: 199 }, (_, index) => [`k${index}`, 'ü'.repeat(1000)]));
    await publisher().publish([...events(1, huge), ...events(2)]);
    expect(calls.flat()).toHaveLength(2);
    expect(telemetry.of('events-not-published')).toEqual([{ lost: 1, of: 3, problems: ['EntryTooLarge'] }]);
  });

  test('C43: no secret and no check output leaves', async () => {
    await publisher().publish([{ type: 'x', detail: { reason: 'tok-SECRET-1', output: 'OUTPUT' } }]);
    expect(JSON.stringify(calls)).not.toMatch(/SECRET|OUTPUT/);
  });
});

describe('a failure never stops the caller', () => {
  test('entries that EventBridge refuses are counted, with their codes', async () => {
    answer = (entries) => ({
      status: 200,
      body: {
        FailedEntryCount: 2,
        Entries: entries.map((_, index) => (index < 2 ? { ErrorCode: 'ThrottlingException' } : { EventId: 'x' })),
      },
    });
    await publisher().publish(events(5));
    expect(telemetry.counters.get('EventsNotPublished')).toBe(2);
    expect(telemetry.of('events-not-published')).toEqual([{ lost: 2, of: 5, problems: ['ThrottlingException'] }]);
  });

  test('a refused call: one line, all counted, the rest is not tried', async () => {
    answer = () => ({ status: 400, body: { __type: 'AccessDeniedException', message: 'not authorized' } });
    await publisher().publish(events(200));
    expect(calls.length).toBeLessThanOrEqual(4);
    expect(telemetry.counters.get('EventsNotPublished')).toBe(200);
    expect(telemetry.of('events-not-published')).toMatchObject([
      { lost: 200, of: 200, problems: ['AccessDeniedException'] },
    ]);
  });

  test('no answer: ends at the deadline', async () => {
    answer = () => 'hang';
    const startMs = performance.now();
    await publisher(200).publish(events(3));
    expect(performance.now() - startMs).toBeLessThan(1500);
    expect(telemetry.counters.get('EventsNotPublished')).toBe(3);
  });
});
