/**
 * Reads secrets from where the settings say they are. Values are cached for five minutes, so that a pass costs no call;
 * `refetch` goes past the cache and is for a server that no longer takes the value (a 403 from Consul).
 * Errors name the source and never a value.
 */
import { readFile } from 'node:fs/promises';
import { SecretsProvider } from '@aws-lambda-powertools/parameters/secrets';
import { SSMProvider } from '@aws-lambda-powertools/parameters/ssm';
import { ReadFailure } from '../ports.ts';
import type { SecretSource } from './secret-source.ts';
import { describeSource } from './secret-source.ts';
import type { ConsulSettings } from './settings.ts';

const CACHE_SECONDS = 300;
/** A hanging call must not eat the pass: two tries of at most three seconds. */
const CLIENT = {
  maxAttempts: 2,
  requestHandler: { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true },
};

/**
 * A secret could not be read, or is not of its form. Without its credentials nothing can be read from Consul, so this is
 * a failed read of Consul, and its message is what the operator sees. Safe to log.
 */
export class SecretUnavailable extends ReadFailure {
  constructor(source: SecretSource, why: string) {
    super('consul', 'forbidden', `cannot read ${describeSource(source)}: ${why}`);
    this.name = 'SecretUnavailable';
  }
}

/** Both methods throw `SecretUnavailable`; white space around a value is not part of it. */
export interface SecretReader {
  read(source: SecretSource): Promise<string>;
  /** The same, past the cache. */
  refetch(source: SecretSource): Promise<string>;
}

interface FetchOptions {
  readonly maxAge: number;
  readonly forceFetch: boolean;
}

/** How the two AWS services are asked. Tests hand in their own. */
export interface SecretStores {
  ssm(name: string, options: FetchOptions): Promise<string | undefined>;
  secretsManager(id: string, options: FetchOptions): Promise<string | Uint8Array | undefined>;
}

/** The real services, through Powertools. Clients are made on first use. */
export function awsSecretStores(): SecretStores {
  let ssm: SSMProvider | undefined;
  let secretsManager: SecretsProvider | undefined;
  return {
    ssm(name, options) {
      ssm ??= new SSMProvider({ clientConfig: CLIENT });
      return ssm.get(name, { ...options, decrypt: true });
    },
    secretsManager(id, options) {
      secretsManager ??= new SecretsProvider({ clientConfig: CLIENT });
      return secretsManager.get(id, options);
    },
  };
}

/** A reader of all kinds of sources. */
export function createSecretReader(stores: SecretStores = awsSecretStores()): SecretReader {
  async function fetched(source: SecretSource, forceFetch: boolean): Promise<string> {
    let value: string | Uint8Array | undefined;
    try {
      value = await fetchFrom(stores, source, { maxAge: CACHE_SECONDS, forceFetch });
    } catch (error) {
      throw new SecretUnavailable(source, reasonOf(error));
    }
    if (typeof value !== 'string') throw new SecretUnavailable(source, value ? 'binary, not text' : 'not there');
    const text = value.trim();
    if (text === '') throw new SecretUnavailable(source, 'empty');
    return text;
  }
  return { read: (source) => fetched(source, false), refetch: (source) => fetched(source, true) };
}

async function fetchFrom(stores: SecretStores, source: SecretSource, options: FetchOptions) {
  switch (source.from) {
    case 'text':
      return source.secret.reveal();
    case 'file':
      return await readFile(source.path, 'utf8');
    case 'ssm':
      return await stores.ssm(source.name, options);
    case 'secrets-manager':
      return await stores.secretsManager(source.id, options);
  }
}

/** The error's stable name only: messages of others may repeat what they were given. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'unknown error';
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
  return /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : 'unknown error';
}

/** What a Consul client needs to present itself, and to know the server. All texts are PEM. */
export interface ConsulTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** False: any certificate is accepted. */
  readonly verify: boolean;
}

/** Credentials for Consul. Every method throws `SecretUnavailable`. */
export interface ConsulCredentials {
  readonly token: {
    /** `undefined` where no token is configured. */
    current(): Promise<string | undefined>;
    /** The same past the cache, after a 403. */
    refetch(): Promise<string | undefined>;
  };
  tls(): Promise<ConsulTls>;
}

/** The credentials that the settings name. */
export function consulCredentials(settings: ConsulSettings, reader: SecretReader): ConsulCredentials {
  const { token, tls } = settings;
  return {
    token: {
      current: async () => token && checkedToken(token, await reader.read(token)),
      refetch: async () => token && checkedToken(token, await reader.refetch(token)),
    },
    tls: async () => ({
      verify: tls.verify,
      ...(tls.serverName === undefined ? {} : { serverName: tls.serverName }),
      ...(tls.ca ? { ca: await reader.read(tls.ca) } : {}),
      ...(tls.client ? { cert: await reader.read(tls.client.cert), key: await reader.read(tls.client.key) } : {}),
    }),
  };
}

/** A token goes into a header; one that cannot would make every error of the HTTP client repeat it. */
function checkedToken(source: SecretSource, text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new SecretUnavailable(source, 'not a token (spaces or control characters)');
  return text;
}
