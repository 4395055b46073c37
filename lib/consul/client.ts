/**
 * Reads from Consul: token, failover over the addresses, retries within a budget, judgement of the answer.
 *
 * A failing server (connect error, no answer, 429, 5xx, a doubtful answer) is left at once for the next address, by all
 * requests together. Only when every address has failed is there a pause, growing and jittered. At most three tries, or
 * one an address, all within the budget: an immediate read gives one server no more than its share of it, so that a server
 * which accepts and never answers leaves time for the others.
 */
import { ReadFailure } from '../ports.ts';
import { judge, type Refusal } from './answer.ts';
import { type ConsulOptions, MAX_STALE_MS, parseAddresses, REQUEST_TIMEOUT_MS } from './options.ts';
import { safeMessage } from './safe-text.ts';
import { createTokens } from './tokens.ts';
import { createTransport } from './transport.ts';

const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 250;

/** One read. */
export interface ConsulRequest {
  /** Encoded path, such as `/v1/health/state/critical`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Instead of the configured ones, for objects that Consul itself placed there. */
  readonly namespace?: string;
  readonly partition?: string;
  /** A 404 is an answer (KV). */
  readonly absentOn404?: boolean;
  /** Of a blocking query: its wait with all margins. Default: the immediate read's budget, shared among the addresses. */
  readonly blockingBudgetMs?: number;
  readonly signal?: AbortSignal;
}

/** The body of a trustworthy answer and its index; `undefined` is a 404 that was allowed. */
export type ConsulReply = { readonly body: unknown; readonly index: string | undefined } | undefined;

/** Throws `ReadFailure` for everything that is not data. */
export interface ConsulClient {
  get(request: ConsulRequest): Promise<ConsulReply>;
  close(): Promise<void>;
}

/** Throws an `Error` without any value in it when an address is not usable. */
export function createConsulClient(options: ConsulOptions): ConsulClient {
  const origins = parseAddresses(options.addresses);
  const { clock, random = Math.random, requestTimeoutMs = REQUEST_TIMEOUT_MS, maxStaleMs = MAX_STALE_MS } = options;
  const transport = createTransport(options.tls, requestTimeoutMs);
  const tokens = createTokens(options.token);
  const maxTries = Math.max(MAX_TRIES, origins.length);
  let current = 0;

  if (options.tls?.verify === false) {
    options.log?.('warn', 'consul-tls-not-verified', { setting: 'CONSUL_HTTP_SSL_VERIFY=false' });
  }

  /** Requests that fail together move on together, by one address. */
  function leave(server: number, { code }: Refusal): void {
    if (server !== current || origins.length === 1) return;
    current = (current + 1) % origins.length;
    const [from, to] = [hostOf(origins[server]), hostOf(origins[current])];
    options.log?.('warn', 'consul-failover', { from, to, reason: code });
  }

  async function attempt(request: ConsulRequest, target: string, origin: string, timeoutMs: number) {
    const token = await tokens.current();
    const answer = await transport.send({ origin, target, token, timeoutMs, signal: request.signal });
    const rules = { maxStaleMs, absentOn404: request.absentOn404 ?? false, secrets: tokens.known() };
    return { token, judgement: judge(answer, rules) };
  }

  async function get(request: ConsulRequest): Promise<ConsulReply> {
    const target = `${request.path}${queryOf(options, request)}`;
    const budgetMs = request.blockingBudgetMs ?? requestTimeoutMs;
    const shareMs = request.blockingBudgetMs ?? Math.ceil(budgetMs / Math.min(origins.length, MAX_TRIES));
    const deadlineMs = clock.nowMs() + budgetMs;
    let refetched = false;
    for (let tries = 1; ; tries++) {
      const server = current;
      const origin = origins[server] ?? '';
      const leftMs = Math.max(deadlineMs - clock.nowMs(), 1);
      const { token, judgement } = await attempt(request, target, origin, Math.min(shareMs, leftMs));
      if (judgement.kind === 'data') return { body: judgement.body, index: judgement.index };
      if (judgement.kind === 'absent') return undefined;
      if (judgement.code === 'forbidden' && !refetched) {
        refetched = true;
        await tokens.refetch(token);
        tries--;
        continue;
      }
      if (judgement.retry) leave(server, judgement);
      const pauseMs = tries % origins.length === 0 ? pauseAfter(tries / origins.length, random()) : 0;
      const untilMs = clock.nowMs() + pauseMs;
      if (!judgement.retry || tries >= maxTries || untilMs >= deadlineMs || request.signal?.aborted) {
        throw failureOf(origin, request.path, judgement, tries, tokens.known());
      }
      if (pauseMs > 0) await clock.sleepUntil(untilMs, request.signal);
    }
  }

  return { get, close: () => transport.close() };
}

function hostOf(origin: string | undefined): string {
  return origin === undefined ? '' : new URL(origin).host;
}

/** Half of it fixed, half of it random, doubled every round: a later pause is never shorter than an earlier one. */
function pauseAfter(round: number, random: number): number {
  return FIRST_PAUSE_MS * 2 ** (round - 1) * (0.5 + random / 2);
}

function queryOf(options: ConsulOptions, request: ConsulRequest): string {
  const query = new Map<string, string>();
  const add = (name: string, value: string | undefined) => value && query.set(name, value);
  add('dc', options.datacenter);
  add('ns', request.namespace || options.namespace);
  add('partition', request.partition || options.partition);
  for (const [name, value] of Object.entries(request.query ?? {})) query.set(name, value);
  const text = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return text === '' ? '' : `?${text}`;
}

function failureOf(origin: string, path: string, refusal: Refusal, tries: number, secrets: readonly string[]) {
  // The path holds names that others chose: it is cut, and comes last but the reason, which matters more.
  const where = path.length > 80 ? `${path.slice(0, 80)}…` : path;
  const count = tries > 1 ? `, after ${tries} tries` : '';
  const text = `Consul at ${hostOf(origin)}: ${refusal.reason} (GET ${where}${count})`;
  return new ReadFailure('consul', refusal.code, safeMessage(text, secrets));
}
