/** Reads from Consul with the token in use: `failover.ts` carries them to a server, `tokens.ts` and `login.ts` know it. */
import { type ConsulReply, createFailover, type Failover } from './failover.ts';
import { createLogin, type PostRequest } from './login.ts';
import { type ConsulOptions, REQUEST_TIMEOUT_MS } from './options.ts';
import { createTokens } from './tokens.ts';

export type { ConsulReply } from './failover.ts';

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

/** Throws `ReadFailure` for everything that is not data. */
export interface ConsulClient {
  get(request: ConsulRequest): Promise<ConsulReply>;
  /** Logs out what was logged in, and ends all connections. */
  close(): Promise<void>;
}

/** Throws an `Error` without any value in it when an address is not usable. */
export function createConsulClient(options: ConsulOptions): ConsulClient {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  const failover = createFailover(options);
  const login = 'authMethod' in options.token ? createLogin(options.token, posting(failover, options)) : undefined;
  const tokens = createTokens('authMethod' in options.token ? (login ?? NO_TOKEN) : options.token);
  return {
    get: ({ path, blockingBudgetMs, absentOn404 = false, signal, ...request }) =>
      failover.ask({
        method: 'GET',
        path,
        target: `${path}${queryOf(options, request)}`,
        absentOn404,
        budgetMs: blockingBudgetMs ?? requestTimeoutMs,
        isBlocking: blockingBudgetMs !== undefined,
        signal,
        token: tokens.current,
        renewToken: tokens.refetch,
        secrets: tokens.known,
      }),
    async close() {
      await login?.logout();
      await failover.close();
    },
  };
}

function queryOf(
  options: ConsulOptions,
  request: Pick<ConsulRequest, 'namespace' | 'partition' | 'query'>,
): string {
  const query = new Map<string, string>();
  const add = (name: string, value: string | undefined) => value && query.set(name, value);
  add('dc', options.datacenter);
  add('ns', request.namespace || options.namespace);
  add('partition', request.partition || options.partition);
  for (const [name, value] of Object.entries(request.query ?? {})) query.set(name, value);
  const text = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return text === '' ? '' : `?${text}`;
}
