/**
 * One exchange with Consul, over all its addresses: tries, pauses, and the judgement of the answer.
 *
 * A failing server (connect error, no answer, 429, 5xx, a doubtful answer) is left at once for the next address, by all
 * requests together. Only when every address has failed is there a pause, growing and jittered. At most three tries, or
 * one an address, all within the budget: an immediate request gives one server no more than its share of it, so that a
 * server which accepts and never answers leaves time for the others. Waiting for a token is within the budget, too.
 */
import { ReadFailure } from '../ports.ts';
import { judge, type Refusal } from './answer.ts';
import { type ConsulOptions, MAX_STALE_MS, parseAddresses, REQUEST_TIMEOUT_MS } from './options.ts';
import { safeMessage } from './safe-text.ts';
import { createTransport } from './transport.ts';

const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 250;

/** What is asked, of whichever server. */
export interface Question {
  readonly method: 'GET' | 'POST';
  /** Encoded path, for messages. */
  readonly path: string;
  /** Encoded path with its query. */
  readonly target: string;
  /** JSON text. */
  readonly body?: string;
  /** A 404 is an answer (KV). */
  readonly absentOn404?: boolean;
  readonly budgetMs: number;
  /** One server may take all of the budget: it is a blocking query. */
  readonly isBlocking?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asked before every try. */
  token(): Promise<string | undefined>;
  /** Asked once after a 403, which is then no try; absent: a 403 is final. */
  renewToken?(refused: string | undefined): Promise<void>;
  /** Removed from every text. */
  secrets(): readonly string[];
}

/** The body of a trustworthy answer and its index; `undefined` is a 404 that was allowed. */
export type ConsulReply = { readonly body: unknown; readonly index: string | undefined } | undefined;

/** Asks; throws `ReadFailure` for everything that is not data. */
export interface Failover {
  ask(question: Question): Promise<ConsulReply>;
  close(): Promise<void>;
}

/** Throws an `Error` without any value in it when an address is not usable. */
export function createFailover(options: ConsulOptions): Failover {
  const origins = parseAddresses(options.addresses);
  const { clock, random = Math.random, requestTimeoutMs = REQUEST_TIMEOUT_MS, maxStaleMs = MAX_STALE_MS } = options;
  const transport = createTransport(options.tls, requestTimeoutMs);
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

  async function attempt(question: Question, origin: string, token: string | undefined, timeoutMs: number) {
    const { method, target, body, signal, absentOn404 = false } = question;
    const answer = await transport.send({ method, origin, target, body, token, timeoutMs, signal });
    return judge(answer, { maxStaleMs, absentOn404, secrets: question.secrets() });
  }

  async function ask(question: Question): Promise<ConsulReply> {
    const { budgetMs, signal, isBlocking = false } = question;
    const shareMs = isBlocking ? budgetMs : Math.ceil(budgetMs / Math.min(origins.length, MAX_TRIES));
    const deadlineMs = clock.nowMs() + budgetMs;
    let isRenewed = question.renewToken === undefined;
    for (let tries = 1; ; tries++) {
      const token = await question.token();
      const server = current;
      const origin = origins[server] ?? '';
      const leftMs = Math.max(deadlineMs - clock.nowMs(), 1);
      const judgement = await attempt(question, origin, token, Math.min(shareMs, leftMs));
      if (judgement.kind === 'data') return { body: judgement.body, index: judgement.index };
      if (judgement.kind === 'absent') return undefined;
      if (judgement.code === 'forbidden' && !isRenewed) {
        isRenewed = true;
        await question.renewToken?.(token);
        tries--;
        continue;
      }
      if (judgement.retry) leave(server, judgement);
      const pauseMs = tries % origins.length === 0 ? pauseAfter(tries / origins.length, random()) : 0;
      const untilMs = clock.nowMs() + pauseMs;
      if (!judgement.retry || tries >= maxTries || untilMs >= deadlineMs || signal?.aborted) {
        throw failureOf(origin, question, judgement, tries);
      }
      if (pauseMs > 0) await clock.sleepUntil(untilMs, signal);
    }
  }

  return { ask, close: () => transport.close() };
}

function hostOf(origin: string | undefined): string {
  return origin === undefined ? '' : new URL(origin).host;
}

/** Half of it fixed, half of it random, doubled every round: a later pause is never shorter than an earlier one. */
function pauseAfter(round: number, random: number): number {
  return FIRST_PAUSE_MS * 2 ** (round - 1) * (0.5 + random / 2);
}

function failureOf(origin: string, { method, path, secrets }: Question, refusal: Refusal, tries: number) {
  // The path holds names that others chose: it is cut, and comes last but the reason, which matters more.
  const where = path.length > 80 ? `${path.slice(0, 80)}…` : path;
  const count = tries > 1 ? `, after ${tries} tries` : '';
  const text = `Consul at ${hostOf(origin)}: ${refusal.reason} (${method} ${where}${count})`;
  return new ReadFailure('consul', refusal.code, safeMessage(text, secrets()));
}
