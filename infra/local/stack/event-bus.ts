/**
 * EventBridge for the local stack: takes PutEvents (AWS JSON 1.1) over HTTP, and hands what it takes to whoever listens.
 * Strict in what decides: ten entries a call, source, type and a detail that is JSON. It has one bus and no rules.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod/mini';
import { systemClock } from '../../../lib/clock.ts';

/** An event as a target of EventBridge gets it. */
export interface BusEvent {
  readonly id: string;
  readonly source: string;
  readonly 'detail-type': string;
  /** ISO 8601. */
  readonly time: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A bus that listens. */
export interface EventBus {
  /** To be the SDK's endpoint. */
  readonly url: string;
  /** Hears of every event that was put or delivered. Returns what ends it. */
  onEvent(listener: (event: BusEvent) => void): () => void;
  /** An event of an AWS service, such as ECS's own ones. */
  deliver(event: BusEvent): void;
  close(): Promise<void>;
}

const TARGET = 'AWSEvents.PutEvents';
const CONTENT_TYPE = 'application/x-amz-json-1.1';
const MOST_ENTRIES = 10;

const text = z.optional(z.string());
const putEvents = z.object({
  Entries: z.array(z.object({ EventBusName: text, Source: text, DetailType: text, Detail: text })),
});
const detailObject = z.record(z.string(), z.unknown());

type Entry = z.infer<typeof putEvents>['Entries'][number];

/** Listens on 127.0.0.1; port 0 takes a free one. */
export async function startEventBus(port = 0): Promise<EventBus> {
  const listeners = new Set<(event: BusEvent) => void>();
  const deliver = (event: BusEvent) => {
    for (const listener of listeners) listener(event);
  };
  const server = createServer((request, response) => {
    serve(request, response, deliver).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    deliver,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  deliver: (event: BusEvent) => void,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const refuse = (status: number, type: string, message: string) => send(response, status, { __type: type, message });
  if (request.method !== 'POST' || request.headers['x-amz-target'] !== TARGET) {
    return refuse(400, 'UnknownOperationException', 'The local EventBridge has PutEvents only.');
  }
  if (!request.headers.authorization) {
    return refuse(403, 'MissingAuthenticationTokenException', 'Missing Authentication Token');
  }
  const read = putEvents.safeParse(parsed(Buffer.concat(chunks).toString()));
  const entries = read.data?.Entries ?? [];
  if (entries.length === 0 || entries.length > MOST_ENTRIES) {
    return refuse(400, 'ValidationException', `Entries must be a list of 1 to ${MOST_ENTRIES} entries.`);
  }
  const results = entries.map((entry) => resultOf(entry));
  const FailedEntryCount = results.filter((result) => !('event' in result)).length;
  const Entries = results.map((result) => ('event' in result ? { EventId: result.event.id } : result));
  send(response, 200, { FailedEntryCount, Entries });
  for (const result of results) if ('event' in result) deliver(result.event);
}

function resultOf(entry: Entry): { readonly event: BusEvent } | { readonly ErrorCode: string; ErrorMessage: string } {
  const { Source: source = '', DetailType: detailType = '' } = entry;
  if (source === '' || detailType === '') {
    return { ErrorCode: 'InvalidArgument', ErrorMessage: 'Parameter Source or DetailType is missing.' };
  }
  const detail = detailObject.safeParse(parsed(entry.Detail ?? ''));
  if (!detail.success) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
  const time = new Date(systemClock.nowMs()).toISOString();
  return { event: { id: randomUUID(), source, 'detail-type': detailType, time, detail: detail.data } };
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
