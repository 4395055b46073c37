/**
 * A raw HTTP server whose every answer is scripted by the test, byte for byte where that matters. It keeps a log of what
 * was asked. Plus the port under test, and a clock whose pauses cost no time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { type ConsulAdapter, type ConsulOptions, createConsulPort } from '../../lib/consul/consul-port.ts';
import type { Clock, UnhealthyCheck } from '../../lib/ports.ts';

/** Answers one request; `count` is 1 for the first. */
export type Script = (request: IncomingMessage, response: ServerResponse, count: number) => void | Promise<void>;

export interface ScriptedServer {
  readonly address: string;
  /** Paths with their queries, in order of arrival. */
  readonly asked: readonly string[];
  /** Headers of the requests, in the same order. */
  readonly headers: readonly IncomingMessage['headers'][];
}

/** Starts a server for the rest of the test. */
export async function serve(script: Script): Promise<ScriptedServer> {
  const asked: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    headers.push(request.headers);
    void script(request, response, asked.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, asked, headers };
}

/** An address where nobody listens. */
export async function deadAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** Headers of a sound answer. */
export const SOUND = {
  'content-type': 'application/json',
  'x-consul-index': '10',
  'x-consul-knownleader': 'true',
  'x-consul-lastcontact': '0',
};

/** A sound JSON answer, with headers of the test's own. */
export function json(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { ...SOUND, ...headers }).end(JSON.stringify(body));
}

/** A check as Consul writes it. */
export function rawCheck(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    Node: 'n1',
    CheckID: 'c1',
    Name: 'HTTP',
    Status: 'critical',
    Output: 'refused',
    ServiceID: 'orders-1',
    ServiceName: 'orders',
    ServiceTags: null,
    Type: 'http',
    Definition: {},
    CreateIndex: 7,
    ModifyIndex: 9,
    ...fields,
  };
}

/** A clock that jumps to where a pause ends, and records the pauses. */
export function jumpingClock(): Clock & { readonly pausesMs: readonly number[] } {
  let nowMs = 1_000_000;
  const pausesMs: number[] = [];
  return {
    pausesMs,
    nowMs: () => nowMs,
    sleepUntil: async (atMs) => {
      pausesMs.push(atMs - nowMs);
      nowMs = Math.max(nowMs, atMs);
    },
  };
}

/** The port under test, closed with the test. */
export function portFor(
  addresses: readonly string[],
  options: Partial<Omit<ConsulOptions, 'addresses'>> = {},
): ConsulAdapter {
  const port = createConsulPort({
    addresses,
    token: { current: async () => undefined, refetch: async () => undefined },
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => port.close());
  return port;
}

/** One immediate read of `critical` (and `warning`). */
export async function readOnce(port: ConsulAdapter, warnings = false): Promise<readonly UnhealthyCheck[]> {
  const { checks } = await port.watchUnhealthy({ warnings }).read(new AbortController().signal);
  return checks;
}
