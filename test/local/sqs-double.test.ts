/** The local queue with its function: against what SQS and Lambda document, and behind the real SDK. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { RecordingTelemetry } from '../../infra/local/recording-telemetry.ts';
import { listenToQueue } from '../../infra/local/sqs-double/http.ts';
import { LambdaQueue, type LambdaQueueOptions } from '../../infra/local/sqs-double/lambda-queue.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseWakeUp } from '../../lib/sqs/wake-up.ts';
import { createSqsClient, createWakeUpPort } from '../../lib/sqs/wake-up-port.ts';
import { VirtualClock } from '../virtual-clock.ts';

let clock: VirtualClock;
let batches: string[][];

beforeEach(() => {
  clock = new VirtualClock(0);
  batches = [];
});

type Handler = (event: SQSEvent) => Promise<SQSBatchResponse | undefined>;

function queueOf(handler: Handler = async () => undefined, options: Partial<LambdaQueueOptions> = {}): LambdaQueue {
  const recording: Handler = (event) => {
    batches.push(event.Records.map(({ body }) => body));
    return handler(event);
  };
  return new LambdaQueue({ clock, handler: recording, ...options });
}

/** A handler that ends when it is told to. */
function held(): { handler: Handler; end(): void } {
  const ends: (() => void)[] = [];
  return {
    handler: () => new Promise((resolve) => ends.push(() => resolve(undefined))),
    end: () => ends.shift()?.(),
  };
}

describe('the queue', () => {
  test('hands over what came within a second of the first, together', async () => {
    const queue = queueOf();
    queue.send('a');
    await clock.advance(600);
    queue.send('b');
    await clock.advance(399);
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches).toEqual([['a', 'b']]);
    await clock.advance(60_000);
    expect(batches).toHaveLength(1);
    expect(queue.waiting).toBe(0);
  });

  test('shows a delayed message when its delay is over, and then opens a window', async () => {
    const queue = queueOf();
    queue.send('later', 2000);
    await clock.advance(2999);
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches).toEqual([['later']]);
  });

  test('does not wait for the window once the batch is full', async () => {
    const queue = queueOf(undefined, { batchSize: 3 });
    for (const body of ['a', 'b', 'c', 'd']) queue.send(body);
    await clock.advance(0);
    expect(batches).toEqual([['a', 'b', 'c']]);
    await clock.advance(1000);
    expect(batches).toEqual([['a', 'b', 'c'], ['d']]);
  });

  test('a delayed message may fill the batch within the window', async () => {
    const queue = queueOf(undefined, { batchSize: 2 });
    queue.send('b', 300);
    queue.send('a');
    await clock.advance(300);
    expect(batches).toEqual([['a', 'b']]);
  });

  test('runs at most two at a time; what comes meanwhile is one batch', async () => {
    const { handler, end } = held();
    const queue = queueOf(handler);
    for (let number = 0; number < 5; number += 1) {
      queue.send(String(number));
      await clock.advance(1000);
    }
    expect(batches).toEqual([['0'], ['1']]);
    expect(queue.running).toBe(2);
    end();
    await clock.advance(0);
    expect(batches).toHaveLength(2);
    await clock.advance(1000);
    expect(batches).toEqual([['0'], ['1'], ['2', '3', '4']]);
  });

  test('a handler that sends at once does not get a third place', async () => {
    const queue: LambdaQueue = queueOf(
      () => {
        if (batches.length < 10) queue.send('again');
        return new Promise(() => {});
      },
      { batchSize: 1 },
    );
    queue.send('first');
    await clock.advance(10_000);
    expect(batches).toHaveLength(2);
  });

  test('1,000 messages are one batch', async () => {
    const queue = queueOf();
    for (let number = 0; number < 1001; number += 1) queue.send(String(number));
    await clock.advance(1000);
    expect(batches.map((batch) => batch.length)).toEqual([1000, 1]);
    expect(queue.invocations.map(({ messages }) => messages)).toEqual([1000, 1]);
  });

  test('what the function reports as failed comes again, alone, after the visibility timeout', async () => {
    const queue = queueOf(async ({ Records }) => ({
      batchItemFailures: Records.filter(({ body, attributes }) => {
        return body === 'bad' && attributes.ApproximateReceiveCount === '1';
      }).map(({ messageId }) => ({ itemIdentifier: messageId })),
    }));
    queue.send('good');
    queue.send('bad');
    await clock.advance(1000 + 360_000 + 1000);
    expect(batches).toEqual([['good', 'bad'], ['bad']]);
    expect(queue.waiting).toBe(0);
  });

  test.each<[string, Handler]>([
    ['throws', () => Promise.reject(new Error('no'))],
    ['names a message that it did not get', async () => ({ batchItemFailures: [{ itemIdentifier: 'other' }] })],
    ['names an empty ID', async () => ({ batchItemFailures: [{ itemIdentifier: '' }] })],
  ])('all come again when the function %s, and go to the dead letters in the end', async (_, handler) => {
    const queue = queueOf(handler, { maxReceiveCount: 3, visibilityTimeoutMs: 10_000 });
    queue.send('a');
    queue.send('b');
    await clock.advance(100_000);
    expect(batches).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]);
    expect(queue.deadLetters).toEqual(['a', 'b']);
  });

  test('a record has what Lambda gives to a handler', async () => {
    let event: SQSEvent | undefined;
    const queue = queueOf(async (given) => {
      event = given;
      return undefined;
    });
    const messageId = queue.send('a', 500);
    await clock.advance(1500);
    expect(event?.Records).toEqual([
      {
        messageId,
        receiptHandle: `${messageId}-1`,
        body: 'a',
        attributes: {
          ApproximateReceiveCount: '1',
          SentTimestamp: '0',
          SenderId: 'local',
          ApproximateFirstReceiveTimestamp: '1500',
        },
        messageAttributes: {},
        md5OfBody: '0cc175b9c0f1b6a831c399e269772661',
        eventSource: 'aws:sqs',
        eventSourceARN: queue.arn,
        awsRegion: 'eu-west-1',
      },
    ]);
  });

  test('a closed queue waits for what runs, and hands over nothing more', async () => {
    const { handler, end } = held();
    const queue = queueOf(handler);
    queue.send('a');
    await clock.advance(1000);
    queue.send('b');
    let closed = false;
    const closing = queue.close().then(() => {
      closed = true;
    });
    await clock.advance(5000);
    expect(closed).toBe(false);
    end();
    await closing;
    await clock.advance(5000);
    expect(batches).toEqual([['a']]);
  });
});

describe('the queue over HTTP', () => {
  async function listening(queue: LambdaQueue) {
    const endpoint = await listenToQueue(queue);
    onTestFinished(() => endpoint.close());
    const telemetry = new RecordingTelemetry();
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = createSqsClient({ region: 'eu-west-1', credentials });
    const port = (queueUrl = endpoint.queueUrl) => createWakeUpPort({ client, queueUrl, telemetry });
    return { endpoint, telemetry, port };
  }

  test('takes a wake-up of the real adapter', async () => {
    const queue = queueOf();
    const { port, telemetry } = await listening(queue);
    await port().wakeUp({ why: 'check-bad', atMs: 7 }, 1500);
    expect(telemetry.lines).toEqual([]);
    await clock.advance(2999);
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches.flat().map(parseWakeUp)).toEqual([{ why: 'check-bad', atMs: 7 }]);
  });

  test('hands over on the real clock, too', async () => {
    const bodies = await new Promise<string[]>((resolve) => {
      const handler: Handler = async ({ Records }) => {
        resolve(Records.map(({ body }) => body));
        return undefined;
      };
      const queue = new LambdaQueue({ clock: systemClock, handler, windowMs: 200 });
      queue.send('later', 10);
      queue.send('now');
    });
    expect(bodies.sort()).toEqual(['later', 'now']);
  });

  test('does not know another queue', async () => {
    const queue = queueOf();
    const { port, telemetry, endpoint } = await listening(queue);
    await port(`${endpoint.url}/123456789012/other`).wakeUp({ why: 'check-bad', atMs: 7 }, 0);
    expect(telemetry.of('wake-up-not-sent')).toMatchObject([{ failure: { name: 'QueueDoesNotExist' } }]);
    expect(queue.waiting).toBe(0);
  });

  test.each([
    ['no body', { MessageBody: '' }],
    ['a character that XML has not', { MessageBody: 'a\u0000b' }],
    ['a delay of more than 15 min', { MessageBody: 'a', DelaySeconds: 901 }],
    ['a negative delay', { MessageBody: 'a', DelaySeconds: -1 }],
    ['a delay in fractions', { MessageBody: 'a', DelaySeconds: 0.5 }],
    ['more than 1 MiB', { MessageBody: 'a'.repeat(1024 * 1024 + 1) }],
  ])('refuses %s', async (_, fields) => {
    const queue = queueOf();
    const { endpoint } = await listening(queue);
    const response = await fetch(endpoint.url, {
      method: 'POST',
      headers: { 'x-amz-target': 'AmazonSQS.SendMessage', authorization: 'x' },
      body: JSON.stringify({ QueueUrl: endpoint.queueUrl, ...fields }),
    });
    expect(response.status).toBe(400);
    expect(queue.waiting).toBe(0);
  });
});
