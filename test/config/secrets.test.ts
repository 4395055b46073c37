import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SecretSource } from '../../lib/config/secret-source.ts';
import { SecretText } from '../../lib/config/secret-source.ts';
import type { SecretStores } from '../../lib/config/secrets.ts';
import { consulCredentials, createSecretReader, SecretUnavailable } from '../../lib/config/secrets.ts';

/** Stores that answer with `value`, and keep what they were asked. */
function recordingStores(value: () => string | Uint8Array | undefined) {
  const asked: string[] = [];
  const stores: SecretStores = {
    ssm: async (name, { forceFetch }) => {
      asked.push(`ssm ${name} ${forceFetch}`);
      const text = value();
      return typeof text === 'string' ? text : undefined;
    },
    secretsManager: async (id, { forceFetch }) => {
      asked.push(`secret ${id} ${forceFetch}`);
      return value();
    },
  };
  return { stores, asked };
}

const PARAMETER: SecretSource = { from: 'ssm', name: '/consul/token' };
const SECRET: SecretSource = { from: 'secrets-manager', id: 'consul/token' };

describe('secrets', () => {
  it('come from parameters and secrets, without white space around them', async () => {
    const { stores, asked } = recordingStores(() => ' tok-1\n');
    const reader = createSecretReader(stores);
    expect(await reader.read(PARAMETER)).toBe('tok-1');
    expect(await reader.read(SECRET)).toBe('tok-1');
    expect(asked).toEqual(['ssm /consul/token false', 'secret consul/token false']);
  });

  it('are fetched past the cache by refetch', async () => {
    const { stores, asked } = recordingStores(() => 'tok-2');
    await createSecretReader(stores).refetch(PARAMETER);
    expect(asked).toEqual(['ssm /consul/token true']);
  });

  it('come from files and literals', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'secrets-')), 'ca.pem');
    writeFileSync(path, 'PEM\n');
    const reader = createSecretReader(recordingStores(() => undefined).stores);
    expect(await reader.read({ from: 'file', path })).toBe('PEM');
    expect(await reader.read({ from: 'text', secret: new SecretText('literal') })).toBe('literal');
    await expect(reader.read({ from: 'file', path: `${path}.not` })).rejects.toThrow(/cannot read file .*: ENOENT/);
  });

  it.each([
    [undefined, 'not there'],
    ['  \n', 'empty'],
    [new Uint8Array([1]), 'binary, not text'],
  ])('%j is no secret', async (value, why) => {
    const reader = createSecretReader(recordingStores(() => value).stores);
    await expect(reader.read(SECRET)).rejects.toThrow(`cannot read Secrets Manager secret consul/token: ${why}`);
  });

  it('C43: an error names the source and the stable code, not what the service said', async () => {
    const refused = Object.assign(new Error('tok-SECRET-1 is not yours'), { name: 'AccessDeniedException' });
    const reader = createSecretReader(
      recordingStores(() => {
        throw new Error('wrapped tok-SECRET-1', { cause: refused });
      }).stores,
    );
    const error: unknown = await reader.read(PARAMETER).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(SecretUnavailable);
    expect(String(error)).toBe('SecretUnavailable: cannot read SSM parameter /consul/token: AccessDeniedException');
    expect(error instanceof Error && error.cause).toBeUndefined();
  });
});

describe('credentials for Consul', () => {
  it('are none where none are configured', async () => {
    const { stores, asked } = recordingStores(() => 'x');
    const credentials = consulCredentials({ addresses: [], tls: { verify: true } }, createSecretReader(stores));
    expect(await credentials.token.current()).toBeUndefined();
    expect(await credentials.token.refetch()).toBeUndefined();
    expect(await credentials.tls()).toEqual({ verify: true });
    expect(asked).toEqual([]);
  });

  it('are token, CA, and client certificate with its key', async () => {
    const { stores } = recordingStores(() => 'value');
    const credentials = consulCredentials(
      {
        addresses: [],
        token: PARAMETER,
        tls: { verify: false, serverName: 's', ca: SECRET, client: { cert: SECRET, key: SECRET } },
      },
      createSecretReader(stores),
    );
    expect(await credentials.token.current()).toBe('value');
    expect(await credentials.tls()).toEqual({
      verify: false,
      serverName: 's',
      ca: 'value',
      cert: 'value',
      key: 'value',
    });
  });

  it('C43: a token that cannot be a header is refused without being shown', async () => {
    const { stores } = recordingStores(() => 'tok-SECRET-1\nX-Other: y');
    const credentials = consulCredentials(
      { addresses: [], token: PARAMETER, tls: { verify: true } },
      createSecretReader(stores),
    );
    const error: unknown = await credentials.token.current().catch((caught: unknown) => caught);
    expect(String(error)).toContain('not a token');
    expect(String(error)).not.toContain('SECRET');
  });
});
