/** A Consul with an auth method, credentials that its STS knows, and a port that logs in by them, on a clock to be set. */
import { onTestFinished } from 'vitest';
import { startConsulDouble } from '../../infra/local/consul-double/double.ts';
import type { AwsIamMethod } from '../../infra/local/consul-double/login.ts';
import { type AwsCredentials, awsBearerToken } from '../../lib/consul/aws-bearer-token.ts';
import type { ConsulLogin, ConsulOptions } from '../../lib/consul/consul-port.ts';
import type { Clock } from '../../lib/ports.ts';
import { portFor, readOnce } from './scripted-server.ts';

export const START_MS = Date.UTC(2026, 7, 1, 10);
export const METHOD = 'ecs-check-restart';
export const SERVER_ID = 'consul.example.com';
export const ROLE = 'arn:aws:sts::123456789012:assumed-role/watch-checks/watch-checks';
export const CREDENTIALS: AwsCredentials = {
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'SECRET-access-key',
  sessionToken: 'SECRET-session-token/+==',
};
export const IDENTITIES = {
  [CREDENTIALS.accessKeyId]: {
    secretKey: CREDENTIALS.secretAccessKey,
    arn: ROLE,
    sessionToken: CREDENTIALS.sessionToken ?? '',
  },
};

/** A clock that stands still between the test's own steps; sleeping goes there at once. */
export function settableClock(startMs = START_MS): Clock & { now: number } {
  const clock = {
    now: startMs,
    nowMs: () => clock.now,
    sleepUntil: async (atMs: number) => {
      clock.now = Math.max(clock.now, atMs);
    },
  };
  return clock;
}

export interface LoginWorldOptions {
  readonly method?: Partial<AwsIamMethod>;
  readonly signed?: { readonly region?: string; readonly serverId?: string; readonly credentials?: AwsCredentials };
  readonly login?: Partial<ConsulLogin>;
  readonly port?: Partial<ConsulOptions>;
  /** Put before the double's address. */
  readonly addresses?: readonly string[];
}

/** Everything, closed with the test. */
export async function loginWorld(options: LoginWorldOptions = {}) {
  const clock = settableClock();
  const method: AwsIamMethod = { rights: 'read', serverId: SERVER_ID, maxTokenTtlMs: 3_600_000, ...options.method };
  const consul = await startConsulDouble({
    // Its TTLs do not move the clock.
    clock: { nowMs: clock.nowMs, sleepUntil: () => new Promise(() => {}) },
    tokens: { management: 'write' },
    login: { methods: { [METHOD]: method }, identities: IDENTITIES },
  });
  onTestFinished(() => consul.close());
  consul.agent.registerService({ Name: 'web', Check: { TTL: '10s' } }, false);
  const learned = new Set<string>();
  const lines: unknown[][] = [];
  const { region = 'eu-west-1', serverId = SERVER_ID, credentials = CREDENTIALS } = options.signed ?? {};
  const port = portFor([...(options.addresses ?? []), consul.url], {
    clock,
    log: (...line) => lines.push(line),
    ...options.port,
    token: {
      authMethod: METHOD,
      bearerToken: () => awsBearerToken({ region, serverId, clock, credentials: async () => credentials }),
      learn: (secret) => learned.add(secret),
      ...options.login,
    },
  });
  const requests = (path: string) => consul.requests.filter((request) => request.path === `/v1/${path}`);
  return {
    clock,
    consul,
    port,
    learned,
    lines,
    read: () => readOnce(port),
    logins: () => requests('acl/login').length,
    logouts: () => requests('acl/logout').map(({ headers }) => headers['x-consul-token']),
    /** Tokens of the reads so far. */
    used: () => requests('health/state/critical').map(({ headers }) => headers['x-consul-token']),
    codes: () => lines.map(([, code]) => code),
  };
}
