import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import { createSqsClient, createWakeUpPort } from '../../lib/sqs/wake-up-port.ts';

type Call = Readonly<Record<string, unknown>>;
type Answer = { readonly status: number; readonly body: unknown } | 'hang' | 'reset';

const MESSAGE = { why: 'wait-over', atMs: 1_796_040_000_000 } as const;
const REFUSED = {
  status: 400,
  body: { __type: 'com.amazonaws.sqs#QueueDoesNotExist', message: 'The specified queue does not exist.' },
};

let server: Server;
let calls: Call[];
let targets: unknown[];
let answer: (call: Call) => Answer;
let telemetry: RecordingTelemetry;

beforeEach(async () => {
  calls = [];
  targets = [];
  telemetry = new RecordingTelemetry();
  answer = ({ MessageBody }) => {
    const MD5OfMessageBody = createHash('md5').update(String(MessageBody)).digest('hex');
    return { status: 200, body: { MessageId: 'm', MD5OfMessageBody } };
  };
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const call: Call = JSON.parse(text);
    calls.push(call);
    targets.push(request.headers['x-amz-target']);
    const given = answer(call);
    if (given === 'hang') return;
    if (given === 'reset') {
      response.destroy();
      return;
    }
    response.writeHead(given.status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(given.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function queueUrl(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/123456789012/proxies`;
}

function port(timeoutMs?: number) {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = createSqsClient({ region: 'eu-west-1', credentials });
  return createWakeUpPort({ client, queueUrl: queueUrl(), telemetry, ...(timeoutMs ? { timeoutMs } : {}) });
}

describe('a wake-up', () => {
  test('is a message to the queue: why and when as JSON', async () => {
    await port().wakeUp(MESSAGE, 2000);
    expect(targets).toEqual(['AmazonSQS.SendMessage']);
    const MessageBody = '{"why":"wait-over","atMs":1796040000000}';
    expect(calls).toEqual([{ QueueUrl: queueUrl(), MessageBody, DelaySeconds: 2 }]);
    expect(telemetry.lines).toEqual([]);
  });

  test.each([
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [899_001, 900],
    [900_000, 900],
    [900_001, 900],
    [Number.POSITIVE_INFINITY, 900],
  ])('is delayed by whole seconds: %d ms as %d s', async (delayMs, seconds) => {
    await port().wakeUp(MESSAGE, delayMs);
    expect(calls).toMatchObject([{ DelaySeconds: seconds }]);
  });

  test('is repeated when SQS fails once', async () => {
    const good = answer;
    answer = (call) => (calls.length === 1 ? { status: 500, body: { __type: 'InternalFailure' } } : good(call));
    await port().wakeUp(MESSAGE, 0);
    expect(calls).toHaveLength(2);
    expect(telemetry.lines).toEqual([]);
  });

  test.each<[string, Answer, string]>([
    ['the queue does not exist', REFUSED, 'QueueDoesNotExist'],
    ['SQS fails', { status: 500, body: { __type: 'com.amazonaws.sqs#InternalFailure' } }, 'InternalFailure'],
    ['the answer is of another message', { status: 200, body: { MessageId: 'm', MD5OfMessageBody: 'x' } }, 'Error'],
    ['the connection drops', 'reset', 'Error'],
    ['no answer comes', 'hang', 'Error'],
  ])('that cannot be sent is logged, not thrown: %s', async (_, given, name) => {
    answer = () => given;
    await port(given === 'hang' ? 50 : undefined).wakeUp(MESSAGE, 1500);
    expect(telemetry.lines).toHaveLength(1);
    const [line] = telemetry.lines;
    expect(line).toMatchObject({ level: 'error', code: 'wake-up-not-sent' });
    expect(line?.fields).toMatchObject({ why: 'wait-over', delaySeconds: 2 });
    const { failure } = line?.fields ?? {};
    expect(failure).toBeInstanceOf(Error);
    if (name !== 'Error') expect(failure).toMatchObject({ name });
  });

  test('takes no longer than its deadline', async () => {
    answer = () => 'hang';
    const beganMs = performance.now();
    await port(60).wakeUp(MESSAGE, 0);
    expect(performance.now() - beganMs).toBeLessThan(1000);
  });
});
