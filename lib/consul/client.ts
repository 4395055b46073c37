/** Reads from Consul with the token in use: `failover.ts` carries them to a server, `tokens.ts` and `login.ts` know it. */
import { ReadFailure } from '../ports.ts';
import { type ConsulReply, createFailover } from './failover.ts';
import { createLogin } from './login.ts';
import { type ConsulOptions, REQUEST_TIMEOUT_MS, type TokenSource } from './options.ts';
import { type QueryParts, queryOf } from './query.ts';
import { safeMessage } from './safe-text.ts';
import { createTokens } from './tokens.ts';

export type { ConsulReply } from './failover.ts';

/** One read. Namespace and partition are for objects that Consul itself placed there. */
export interface ConsulRequest extends QueryParts {
  /** Encoded path, such as `/v1/health/state/critical`. */
  readonly path: string;
  /** A 404 is an answer (KV). */
  readonly absentOn404?: boolean;
  /** Of a blocking query: its wait with all margins. Default: the immediate read's budget, shared among the addresses. */
  readonly blockingBudgetMs?: number;
  /** Of one request of many: the end of them all. */
  readonly untilMs?: number;
  readonly signal?: AbortSignal;
}

/** Throws `ReadFailure` for everything that is not data. */
export interface ConsulClient {
  get(request: ConsulRequest): Promise<ConsulReply>;
  /** Logs out what was logged in, and ends everything in flight and all connections. */
  close(): Promise<void>;
}

/** Throws an `Error` without any value in it when an address is not usable. */
export function createConsulClient(options: ConsulOptions): ConsulClient {
  const { token, clock, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  const failover = createFailover(options);
  const source: TokenSource = 'authMethod' in token ? createLogin(token, options, failover) : token;
  const tokens = createTokens(source);
  function budgetOf({ blockingBudgetMs, untilMs = Number.POSITIVE_INFINITY, path }: ConsulRequest): number {
    const budgetMs = Math.min(blockingBudgetMs ?? requestTimeoutMs, untilMs - clock.nowMs());
    if (budgetMs > 0) return budgetMs;
    throw new ReadFailure(
      'consul',
      'timeout',
      safeMessage(`Consul took too long for all of GET ${path} and the like`, []),
    );
  }

  return {
    get: async (request) =>
      failover.ask({
        method: 'GET',
        path: request.path,
        target: `${request.path}${queryOf(options, request)}`,
        absentOn404: request.absentOn404 ?? false,
        budgetMs: budgetOf(request),
        isBlocking: request.blockingBudgetMs !== undefined,
        signal: request.signal,
        token: tokens.current,
        renewToken: tokens.refetch,
        secrets: tokens.known,
      }),
    async close() {
      await source.end?.();
      await failover.close();
    },
  };
}
