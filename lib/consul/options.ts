import type { Clock, LogLevel } from '../ports.ts';

/** Where the ACL token comes from. Both may answer `undefined`: no token is sent then. */
export interface TokenSource {
  /** The token as far as it is known; cheap, it is asked before every request. */
  current(): Promise<string | undefined>;
  /** Asked once after a 403: the token from its origin, past every cache. */
  refetch(): Promise<string | undefined>;
  /** Gives up what it holds, when the adapter is closed. Never throws. */
  end?(): Promise<void>;
}

/** What proves to an auth method of Consul who we are. */
export interface BearerToken {
  /** As it is sent. */
  readonly text: string;
  /** It and every part of it that must not be shown. */
  readonly secrets: readonly string[];
}

/** Tokens by Consul login, instead of one that is given. */
export interface ConsulLogin {
  /** Name of the auth method in Consul. */
  readonly authMethod: string;
  /** Asked before each login. */
  bearerToken(): Promise<BearerToken>;
  /** Is told every secret before it is sent, and every token before it is used. */
  readonly learn?: (secret: string) => void;
}

/** TLS towards Consul. PEM texts, not paths. */
export interface ConsulTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must bear, where it is not the address's host. */
  readonly serverName?: string;
  /** `false` accepts any certificate; a warning is logged at every start. */
  readonly verify: boolean;
}

/** Writes a log line with a stable code; fields hold no token. */
export type Log = (level: LogLevel, code: string, fields: Readonly<Record<string, unknown>>) => void;

/** Settings of the Consul adapter: plain values, read from the environment elsewhere. */
export interface ConsulOptions {
  /** `http(s)://host:port`, one or several; a failing one is left for the next. */
  readonly addresses: readonly string[];
  readonly token: TokenSource | ConsulLogin;
  readonly tls?: ConsulTls;
  readonly datacenter?: string;
  readonly namespace?: string;
  readonly partition?: string;
  readonly clock: Clock;
  /** In [0, 1), for jitter; `Math.random` unless a test says otherwise. */
  readonly random?: () => number;
  /** Whole budget of an immediate read, all tries and pauses included. Default 10 s. */
  readonly requestTimeoutMs?: number;
  /** `X-Consul-LastContact` above it makes an answer `stale`. Default 5 s. */
  readonly maxStaleMs?: number;
  readonly log?: Log;
}

/** Default of `requestTimeoutMs`. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** A read that is made of many requests has so many times the budget of one. */
const MANY_READS = 2;

/** When a read of many requests that begins now must have come to its end. */
export function endOfReadMs({
  clock,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
}: Pick<ConsulOptions, 'clock' | 'requestTimeoutMs'>): number {
  return clock.nowMs() + MANY_READS * requestTimeoutMs;
}

/** Default of `maxStaleMs`. */
export const MAX_STALE_MS = 5000;

/**
 * Origins of the addresses. Throws an `Error` that names what is wrong and which address it is, never its text: people
 * paste credentials and `?token=` into addresses (case C43).
 */
export function parseAddresses(addresses: readonly string[]): readonly string[] {
  if (addresses.length === 0) throw new Error('No Consul address is configured; expected http(s)://host:port');
  return addresses.map((address, index) => {
    const problem = problemOf(address);
    if (problem !== undefined) {
      throw new Error(
        `Consul address ${index + 1} of ${addresses.length} ${problem}; expected http(s)://host:port and nothing else`,
      );
    }
    return new URL(address.trim()).origin;
  });
}

function problemOf(address: string): string | undefined {
  // No `new URL` in a try: its error carries the whole text in a property.
  const url = URL.parse(address.trim());
  if (url === null) return 'is not a URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'is neither http nor https';
  if (url.username !== '' || url.password !== '') return 'contains credentials';
  if (url.search !== '' || address.includes('?')) return 'contains a query';
  if (url.hash !== '' || address.includes('#')) return 'contains a fragment';
  if (url.pathname !== '/') return 'contains a path';
  return undefined;
}
