/**
 * Tokens by Consul login: a proof of who we are is exchanged for a token of limited life.
 *
 *   log in → use → (2 min, or half of its life, before its end) log in again, log the old one out → use → …
 *
 * A renewal that fails leaves the old token in use until its end. A 403 logs in again, but not when the token is fresh:
 * one that is refused although it is new lacks rights, which no login mends. What was obtained and cannot be used, is
 * replaced, or is given up, is logged out: Consul would keep it until its end, or for ever where the auth method sets no
 * MaxTokenTTL (that is said once).
 */
import { ReadFailure } from '../ports.ts';
import type { Failover } from './failover.ts';
import { loginCalls } from './login-calls.ts';
import type { ConsulLogin, ConsulOptions, TokenSource } from './options.ts';

/** A token is replaced so long before its end: longer than any blocking query of a window. */
const RENEW_BEFORE_MS = 120_000;
/** Between two logins, except where there is no token that could be used. */
const LOGIN_GAP_MS = 30_000;

interface Session {
  readonly token: string;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

/** A source of tokens that logs in when first asked. Its reads throw `ReadFailure`. */
export function createLogin(login: ConsulLogin, options: ConsulOptions, failover: Failover): TokenSource {
  const { clock, log } = options;
  const calls = loginCalls(login, options, failover);
  let session: Session | undefined;
  let underway: Promise<Session> | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let isUnlimitedSaid = false;

  async function replace(): Promise<Session> {
    const old = session;
    triedAtMs = clock.nowMs();
    const { token, lifeMs } = await calls.logIn();
    const endsAtMs = triedAtMs + lifeMs;
    const fresh = { token, endsAtMs, renewAtMs: endsAtMs - Math.min(RENEW_BEFORE_MS, lifeMs / 2) };
    session = fresh;
    if (lifeMs === Number.POSITIVE_INFINITY && !isUnlimitedSaid) {
      isUnlimitedSaid = true;
      log?.('warn', 'consul-login-unlimited', { authMethod: login.authMethod });
    }
    if (old !== undefined) await calls.logOut(old.token);
    return fresh;
  }

  /** All who need a new token at the same time wait for the same one. */
  async function renewed(): Promise<string> {
    underway ??= replace().finally(() => {
      underway = undefined;
    });
    return (await underway).token;
  }

  async function current(): Promise<string> {
    const nowMs = clock.nowMs();
    if (session === undefined || nowMs >= session.endsAtMs) return renewed();
    const { token, renewAtMs } = session;
    if (nowMs < renewAtMs || nowMs < triedAtMs + LOGIN_GAP_MS) return token;
    try {
      return await renewed();
    } catch (error) {
      const problem = error instanceof ReadFailure ? error.message : 'unknown';
      log?.('warn', 'consul-login-failed', { problem });
      return token;
    }
  }

  return {
    current,
    async refetch() {
      const isFresh = session !== undefined && clock.nowMs() < triedAtMs + LOGIN_GAP_MS;
      return isFresh ? session?.token : renewed();
    },
    async end() {
      await underway?.catch(() => undefined);
      const last = session;
      session = undefined;
      if (last !== undefined) await calls.logOut(last.token);
    },
  };
}
