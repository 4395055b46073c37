/** The HTTP facade: records requests, applies faults, decodes paths, compresses, and says errors as Consul does. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { constants, gzipSync } from 'node:zlib';
import { Access } from './acl.ts';
import { answerExchange } from './endpoints.ts';
import { type Answer, textAnswer } from './exchange.ts';
import { answerFault, type FaultAnswer, headersOfFault } from './faults.ts';
import { ConsulError } from './records.ts';
import type { World } from './world.ts';

/** A request that the double got, in order of arrival. */
export interface RecordedRequest {
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly atMs: number;
  /** Of the answer; absent while there is none. */
  status?: number;
  /** The fault that it met. */
  fault?: FaultAnswer;
}

/** A server that is not listening yet. */
export function createConsulServer(world: World, requests: RecordedRequest[]): Server {
  const server = createServer({ maxHeaderSize: 1_048_576, keepAliveTimeout: 120_000 }, (request, response) => {
    const target = request.url ?? '/';
    const url = new URL(target, 'http://double');
    const recorded: RecordedRequest = {
      method: request.method ?? '',
      path: target.split('?', 1)[0] ?? '',
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      atMs: world.clock.nowMs(),
    };
    requests.push(recorded);
    const fault = world.faults.take(target);
    if (fault !== undefined) recorded.fault = fault;
    const overrides = fault === undefined ? {} : headersOfFault(fault);
    if (fault !== undefined && !overrides) {
      answerFault(fault, target, response);
      if (response.headersSent) recorded.status = response.statusCode;
      return;
    }
    void serve(world, request, response, url.searchParams).then((answer) => {
      recorded.status = answer.status;
      send(request, response, { ...answer, headers: withOverrides(answer.headers, overrides ?? {}) });
    });
  });
  server.timeout = 0;
  server.requestTimeout = 0;
  return server;
}

async function serve(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): Promise<Answer> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    const body = await readBody(request);
    const path = decodePath(request.url ?? '/');
    if (path === undefined) return { status: 404, headers: {}, body: '' };
    const token = path.startsWith('status/') || path === 'acl/login' ? '' : tokenOf(request, query);
    const access = Access.of(world.tokens, token, (secret) => world.logins.rightsOf(secret));
    const exchange = { method: request.method ?? '', path, query, body, token, access, signal: gone.signal };
    return await answerExchange(world, exchange);
  } catch (error) {
    if (error instanceof ConsulError) return textAnswer(error.status, error.message);
    return textAnswer(500, `the double failed: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** The path below `/v1/`, each segment decoded. Not there: outside of it, or not decodable. */
function decodePath(target: string): string | undefined {
  const raw = target.split('?', 1)[0] ?? '';
  if (!raw.startsWith('/v1/')) return undefined;
  const segments = raw.slice('/v1/'.length).split('/');
  if (segments.includes('.') || segments.includes('..')) return undefined;
  try {
    return segments.map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}

function tokenOf(request: IncomingMessage, query: URLSearchParams): string {
  const header = request.headers['x-consul-token'];
  if (typeof header === 'string' && header !== '') return header;
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  return bearer ?? query.get('token') ?? '';
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function withOverrides(
  headers: Answer['headers'],
  overrides: Readonly<Record<string, string | undefined>>,
): Answer['headers'] {
  const merged = Object.entries({ ...headers, ...overrides });
  return Object.fromEntries(merged.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed) return;
  const plain = Buffer.from(body);
  const zip = plain.length > 0 && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const bytes = zip ? gzipSync(plain, { level: constants.Z_BEST_SPEED }) : plain;
  const encoding = zip ? { 'Content-Encoding': 'gzip' } : {};
  response.writeHead(status, { Vary: 'Accept-Encoding', ...headers, ...encoding, 'Content-Length': bytes.length });
  response.end(bytes);
}
