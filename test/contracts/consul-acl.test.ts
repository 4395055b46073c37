/** What a reader notices of ACLs. Consul 1.8 hides without a word; the header of later versions only the double has. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BareClient, bareClient } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

const UNKNOWN = '22222222-2222-2222-2222-222222222222';
const LISTS = [
  'health/state/critical',
  'health/checks/web',
  'health/service/web',
  'catalog/service/web',
  'catalog/nodes',
];

describe.each(await consulServers())('ACLs of $name', ({ start }) => {
  let consul: RunningConsul;
  let client: BareClient;
  let tokens: NonNullable<RunningConsul['tokens']>;

  beforeAll(async () => {
    consul = await start({ acl: true });
    if (!consul.tokens) throw new Error('no tokens');
    tokens = consul.tokens;
    client = bareClient(consul.url, tokens.management);
    const check = { CheckID: 'c', Status: 'critical', ServiceID: 'web-1' };
    await client.register({ Node: 'n', Service: { ID: 'web-1', Service: 'web' }, Check: check });
    await client.put('kv/shown/policy', '{}');
    await client.put('kv/hidden', '{}');
  });
  afterAll(() => consul.close());

  it.each(LISTS)('shows %s to who may read it', async (path) => {
    for (const token of [tokens.management, tokens.reader]) {
      expect(JSON.parse((await client.get(path, token)).text)).not.toEqual([]);
    }
  });

  it.each(LISTS)('gives 200 and an empty list of %s to a weak token and to none', async (path) => {
    for (const token of [tokens.weak, '']) {
      const { status, text, headers } = await client.get(path, token);
      expect({ status, json: JSON.parse(text) }).toEqual({ status: 200, json: [] });
      expect(headers.get('x-consul-results-filtered-by-acls')).toBeNull();
      expect(headers.get('x-consul-knownleader')).toBe('true');
    }
  });

  it('shows a weak token a datacenter without services and nodes', async () => {
    expect(JSON.parse((await client.get('catalog/services', tokens.weak)).text)).toEqual({});
    const { text } = await client.get('catalog/node-services/n', tokens.weak);
    expect(JSON.parse(text)).toEqual({ Node: null, Services: null });
  });

  it.each([...LISTS, 'catalog/services', 'kv/shown/policy', 'agent/self'])(
    'answers 403 "ACL not found" to an unknown token that asks for %s',
    async (path) => {
      expect(await client.get(path, UNKNOWN)).toMatchObject({ status: 403, text: 'ACL not found' });
    },
  );

  it('refuses a key to who may not read it, there or not, and leaves it out of listings', async () => {
    expect(await client.get('kv/shown/policy', tokens.reader)).toMatchObject({ status: 200 });
    expect(await client.get('kv/hidden', tokens.reader)).toMatchObject({ status: 403, text: 'Permission denied' });
    expect(await client.get('kv/none', tokens.reader)).toMatchObject({ status: 403 });
    expect(await client.get('kv/shown/none', tokens.reader)).toMatchObject({ status: 404 });
    expect(JSON.parse((await client.get('kv/?keys', tokens.reader)).text)).toEqual(['shown/policy']);
    expect(await client.get('kv/shown?recurse', tokens.weak)).toMatchObject({ status: 404 });
  });

  it('refuses writes of those who may only read', async () => {
    for (const token of [tokens.reader, tokens.weak, '']) {
      const register = await client.put('catalog/register', { Node: 'x', Address: '10.0.0.1' }, token);
      expect(register).toMatchObject({ status: 403, text: 'Permission denied' });
      expect(await client.put('kv/shown/policy', '{"changed":1}', token)).toMatchObject({ status: 403 });
    }
    expect((await client.get('kv/shown/policy?raw')).text).toBe('{}');
  });

  it('says who leads without a token', async () => {
    expect(await client.get('status/leader', '')).toMatchObject({ status: 200 });
  });
});
