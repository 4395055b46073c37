/**
 * An HTTP proxy in front of a Consul that records every request, counts the bytes of its connections, and can keep both
 * sides from compressing, so that answers can be compared as they are and as they are sent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Agent } from 'undici';

/** One request that came in. */
export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** True for a blocking query. */
  readonly blocking: boolean;
}

/** A running one. */
export interface CountingProxy {
  readonly url: string;
  /** In the order in which they came. */
  readonly seen: SeenRequest[];
  /** Bytes of all connections so far, headers included: what the client sent, and what it was sent. */
  bytes(): { readonly sent: number; readonly received: number };
  close(): Promise<void>;
}

/** Starts one in front of `target` (`http://host:port`). `plain`: Consul is not told that the client takes gzip. */
export async function startCountingProxy(target: string, options: { plain?: boolean } = {}): Promise<CountingProxy> {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const sockets = new Set<Socket>();
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', target);
    seen.push({ method: request.method ?? '', path: url.pathname, blocking: url.searchParams.has('index') });
    passOn(agent, target, request, response, options.plain ?? false).catch(() => response.destroy());
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    bytes: () => ({
      sent: sum([...sockets].map((socket) => socket.bytesRead)),
      received: sum([...sockets].map((socket) => socket.bytesWritten)),
    }),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      await agent.destroy();
    },
  };
}

async function passOn(
  agent: Agent,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  plain: boolean,
): Promise<void> {
  const abort = new AbortController();
  // A client that gives up on a blocking query must free it at Consul, too.
  response.on('close', () => abort.abort());
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const answer = await agent.request({
    origin: target,
    path: request.url ?? '/',
    method: request.method === 'PUT' ? 'PUT' : 'GET',
    headers: without(request.headers, ['host', 'connection', ...(plain ? ['accept-encoding'] : [])]),
    body: chunks.length === 0 ? null : Buffer.concat(chunks),
    signal: abort.signal,
  });
  response.writeHead(answer.statusCode, without(answer.headers, ['connection', 'transfer-encoding']));
  await pipeline(answer.body, response);
}

type Headers = Record<string, string | string[] | undefined>;

function without(headers: Readonly<Headers>, names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
