/**
 * One HTTP request to one Consul server. Knows sockets, TLS, gzip, deadlines; nothing of what an answer means.
 * Deadlines are ours: undici's own timeouts are coarse (half a second late) and would end blocking queries of five minutes.
 * undici follows no redirect and decodes no gzip unless told to.
 */
import { Agent, type Dispatcher, interceptors } from 'undici';
import type { ConsulTls } from './options.ts';

/** No answer of ours comes near it (1,000 bad checks are 0.5 MB); a hostile one ends here instead of in our memory. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Shorter than the idle timeout of common load balancers, so that a socket is not closed while we write to it. */
const KEEP_ALIVE_MS = 15_000;

/** An answer as it came, headers by lower-case name. */
export interface RawAnswer {
  readonly kind: 'answer';
  readonly status: number;
  header(name: string): string | undefined;
  readonly text: string;
}

/** No whole answer: `cut` means that its beginning came. `detail` is a code such as `ECONNREFUSED`, free of content. */
export interface NoAnswer {
  readonly kind: 'refused' | 'cut' | 'timeout' | 'aborted';
  readonly detail: string;
}

/** What to ask for. */
export interface RawRequest {
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  /** Encoded path with its query. */
  readonly target: string;
  /** JSON text. */
  readonly body: string | undefined;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Sends requests over kept-alive connections. */
export interface Transport {
  send(request: RawRequest): Promise<RawAnswer | NoAnswer>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** The one agent of this adapter. */
export function createTransport(tls: ConsulTls | undefined, connectTimeoutMs: number): Transport {
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxResponseSize: MAX_BODY_BYTES,
    connect: {
      timeout: connectTimeoutMs,
      rejectUnauthorized: tls?.verify ?? true,
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls?.key === undefined ? {} : { key: tls.key }),
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
    },
  });
  const decoding = agent.compose(interceptors.decompress({ skipErrorResponses: false, maxSize: MAX_BODY_BYTES }));
  return {
    send: (request) => send(decoding, request),
    close: () => agent.destroy(),
  };
}

async function send(dispatcher: Dispatcher, request: RawRequest): Promise<RawAnswer | NoAnswer> {
  const controller = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, request.timeoutMs);
  const onAbort = () => controller.abort();
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted) controller.abort();
  let begun = false;
  try {
    const answer = await dispatcher.request({
      origin: request.origin,
      path: request.target,
      method: request.method,
      body: request.body ?? null,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'gzip',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.token === undefined ? {} : { 'x-consul-token': request.token }),
      },
      signal: controller.signal,
    });
    begun = true;
    const text = await answer.body.text();
    return { kind: 'answer', status: answer.statusCode, header: (name) => one(answer.headers[name]), text };
  } catch (error) {
    const kind = timedOut ? 'timeout' : request.signal?.aborted ? 'aborted' : begun ? 'cut' : 'refused';
    return { kind, detail: codeOf(error) };
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}

/** The error's code or class. Never its message: undici quotes header values in some, and a token is one. */
function codeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code;
    if (current instanceof AggregateError && current.errors.length > 0) return codeOf(current.errors[0]);
  }
  return error instanceof Error ? error.name : 'unknown';
}
