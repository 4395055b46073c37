/**
 * SQS for the local stack: SendMessage (AWS JSON 1.0) over HTTP, one queue. Receiving and deleting are `LambdaQueue`'s
 * own, which calls the handler itself.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod/mini';
import type { LambdaQueue } from './lambda-queue.ts';

/** A queue that listens. */
export interface ListeningQueue {
  /** To be the SDK's endpoint. */
  readonly url: string;
  /** To be `QueueUrl`. */
  readonly queueUrl: string;
  close(): Promise<void>;
}

const TARGET = 'AmazonSQS.SendMessage';
const CONTENT_TYPE = 'application/x-amz-json-1.0';
const MOST_BYTES = 1024 * 1024;
const MOST_DELAY_SECONDS = 900;
/** What SQS takes in a body: XML's characters. */
const BODY = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]+$/u;

const sendMessage = z.object({
  QueueUrl: z.string(),
  MessageBody: z.string(),
  DelaySeconds: z.optional(z.int()),
});

/** Listens on 127.0.0.1; port 0 takes a free one. Closing it leaves the queue open. */
export async function listenToQueue(queue: Pick<LambdaQueue, 'arn' | 'send'>, port = 0): Promise<ListeningQueue> {
  const path = `/123456789012/${queue.arn.split(':').at(-1)}`;
  const server = createServer((request, response) => {
    serve(queue, path, request, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${address.port}`;
  return {
    url,
    queueUrl: url + path,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(
  queue: Pick<LambdaQueue, 'send'>,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const refuse = (status: number, type: string, message: string) =>
    send(response, status, { __type: `com.amazonaws.sqs#${type}`, message });
  if (request.method !== 'POST' || request.headers['x-amz-target'] !== TARGET) {
    return refuse(400, 'UnsupportedOperation', 'The local SQS has SendMessage only.');
  }
  if (!request.headers.authorization) return refuse(403, 'AccessDeniedException', 'Missing Authentication Token');
  const read = sendMessage.safeParse(parsed(Buffer.concat(chunks).toString()));
  if (!read.success) return refuse(400, 'MissingParameter', 'QueueUrl and MessageBody are required.');
  const { QueueUrl, MessageBody, DelaySeconds = 0 } = read.data;
  if (URL.parse(QueueUrl)?.pathname !== path) {
    return refuse(400, 'QueueDoesNotExist', 'The specified queue does not exist.');
  }
  if (!BODY.test(MessageBody))
    return refuse(400, 'InvalidMessageContents', 'The body is empty or has characters that SQS refuses.');
  if (Buffer.byteLength(MessageBody) > MOST_BYTES) {
    return refuse(400, 'InvalidParameterValue', `A message must be shorter than ${MOST_BYTES} bytes.`);
  }
  if (DelaySeconds < 0 || DelaySeconds > MOST_DELAY_SECONDS) {
    return refuse(400, 'InvalidParameterValue', `DelaySeconds must be between 0 and ${MOST_DELAY_SECONDS}.`);
  }
  const MessageId = queue.send(MessageBody, DelaySeconds * 1000);
  // The SDK compares it with its own.
  send(response, 200, { MessageId, MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': CONTENT_TYPE });
  response.end(JSON.stringify(body));
}
