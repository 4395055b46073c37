/** The two calls of Consul login. They need no token of ours but the one to be given up. */
import * as z from 'zod/mini';
import { ReadFailure } from '../ports.ts';
import type { Failover } from './failover.ts';
import { type BearerToken, type ConsulLogin, type ConsulOptions, REQUEST_TIMEOUT_MS } from './options.ts';
import { queryOf } from './query.ts';
import { safeMessage } from './safe-text.ts';

/** A logout is a courtesy and keeps nobody waiting. */
const LOGOUT_BUDGET_MS = 2000;

/** A token that was obtained. */
export interface Obtained {
  readonly token: string;
  /** From the beginning of the login on; infinite where it has no end. */
  readonly lifeMs: number;
}

/** The calls, bound to a Consul. */
export interface LoginCalls {
  /** Throws `ReadFailure`; a token that was obtained and cannot be used has been logged out then. */
  logIn(): Promise<Obtained>;
  /** Never throws: a token that could not be logged out is said, and ends by itself. */
  logOut(token: string): Promise<void>;
}

const instant = z.pipe(z.iso.datetime({ offset: true }), z.coerce.date());
/** Apart from the rest, so that a token can be logged out even where the rest is not understood. */
const withToken = z.object({ SecretID: z.string().check(z.regex(/^[\x21-\x7e]{1,512}$/)) });
const withLife = z.object({ CreateTime: z.nullish(instant), ExpirationTime: z.nullish(instant) });

/** Nothing is sent yet. */
export function loginCalls(login: ConsulLogin, options: ConsulOptions, failover: Failover): LoginCalls {
  const { clock, log, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  // Half of a read's budget, so that a read which has to log in first is still made.
  const budgetMs = requestTimeoutMs / 2;

  async function post(path: string, question: { budgetMs: number; token?: string; body?: unknown; secrets: string[] }) {
    const reply = await failover.ask({
      method: 'POST',
      path,
      target: `${path}${queryOf(options)}`,
      budgetMs: question.budgetMs,
      token: async () => question.token,
      secrets: () => question.secrets,
      ...(question.body === undefined ? {} : { body: JSON.stringify(question.body) }),
    });
    return reply?.body;
  }

  async function logOut(token: string): Promise<void> {
    try {
      const logoutMs = Math.min(LOGOUT_BUDGET_MS, budgetMs);
      await post('/v1/acl/logout', { budgetMs: logoutMs, token, secrets: [token] });
    } catch (error) {
      const reason = error instanceof ReadFailure ? error.code : 'unknown';
      // Refused: Consul has forgotten it already.
      if (reason !== 'forbidden') log?.('warn', 'consul-logout-failed', { reason });
    }
  }

  async function logIn(): Promise<Obtained> {
    const bearer = await bearerOf(login);
    const secrets = [bearer.text, ...bearer.secrets];
    for (const secret of secrets) login.learn?.(secret);
    const body = { AuthMethod: login.authMethod, BearerToken: bearer.text };
    const startMs = clock.nowMs();
    let answer: unknown;
    try {
      answer = await post('/v1/acl/login', { budgetMs, body, secrets });
    } catch (error) {
      throw error instanceof ReadFailure ? failed(login, error.code, error.message, secrets) : error;
    }
    const obtained = z.safeParse(withToken, answer);
    if (!obtained.success) throw failed(login, 'malformed', 'the answer has no SecretID that can be sent');
    const { SecretID: token } = obtained.data;
    login.learn?.(token);
    const life = lifeMs(answer, startMs);
    if (life !== undefined && life > 0) return { token, lifeMs: life };
    await logOut(token);
    throw life === undefined
      ? failed(login, 'malformed', 'the instants of the token are not understood')
      : failed(login, 'forbidden', 'the token has ended already');
  }

  return { logIn, logOut };
}

/** Nothing of the error but its name: whoever reads credentials may quote them. */
async function bearerOf(login: ConsulLogin): Promise<BearerToken> {
  try {
    return await login.bearerToken();
  } catch (error) {
    const name = error instanceof Error && /^[A-Za-z0-9_.-]{1,64}$/.test(error.name) ? error.name : 'unknown error';
    throw failed(login, 'forbidden', `no bearer token could be made (${name})`);
  }
}

/** By the server's own two instants, so that our clock may differ from its. `undefined`: they are not understood. */
function lifeMs(answer: unknown, startMs: number): number | undefined {
  const parsed = z.safeParse(withLife, answer);
  if (!parsed.success) return undefined;
  const { CreateTime: created, ExpirationTime: ends } = parsed.data;
  if (!ends) return Number.POSITIVE_INFINITY;
  return ends.getTime() - (created?.getTime() ?? startMs);
}

function failed(login: ConsulLogin, code: ReadFailure['code'], problem: string, secrets: readonly string[] = []) {
  return new ReadFailure('consul', code, safeMessage(`Consul login by ${login.authMethod}: ${problem}`, secrets));
}
