import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BareClient, bareClient } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

describe.each(await consulServers())('keys of $name', ({ start }) => {
  let consul: RunningConsul;
  let client: BareClient;

  beforeAll(async () => {
    consul = await start();
    client = bareClient(consul.url);
  });
  afterEach(() => client.delete('kv/?recurse'));
  afterAll(() => consul.close());

  it('answers 404 without a body, but with an index, where there is no key', async () => {
    const answer = await client.get('kv/ecs-check-restart/policy');
    expect(answer).toMatchObject({ status: 404, text: '', index: 1 });
    expect(answer.headers.get('x-consul-knownleader')).toBe('true');
    expect(await client.get('kv/ecs-check-restart/policy?raw')).toMatchObject({ status: 404, text: '' });
    expect(await client.get('kv/none?recurse')).toMatchObject({ status: 404, text: '' });
    expect(await client.get('kv/none?keys')).toMatchObject({ status: 404, text: '' });
  });

  it('gives a value in base64 with its indexes, or raw', async () => {
    expect((await client.put('kv/a/b', 'größe')).text.trim()).toBe('true');
    const answer = await client.get('kv/a/b');
    const [entry] = JSON.parse(answer.text);
    expect(entry).toEqual({
      LockIndex: 0,
      Key: 'a/b',
      Flags: 0,
      Value: Buffer.from('größe').toString('base64'),
      CreateIndex: answer.index,
      ModifyIndex: answer.index,
    });
    const raw = await client.get('kv/a/b?raw');
    expect(raw).toMatchObject({ status: 200, text: 'größe', index: answer.index });
    expect(raw.headers.get('content-type')).toBe('text/plain');
  });

  it('says null for an empty value', async () => {
    await client.put('kv/empty', '');
    expect(JSON.parse((await client.get('kv/empty')).text)).toMatchObject([{ Value: null }]);
    expect(await client.get('kv/empty?raw')).toMatchObject({ status: 200, text: '' });
  });

  it('advances ModifyIndex for a new value only, CreateIndex for a new key only', async () => {
    await client.put('kv/k', 'one');
    const first = await client.get('kv/k');
    await client.put('kv/k', 'one');
    expect(await client.get('kv/k')).toMatchObject({ text: first.text, index: first.index });
    await client.put('kv/k', 'two');
    const [second] = JSON.parse((await client.get('kv/k')).text);
    expect(second).toMatchObject({ CreateIndex: first.index });
    expect(second.ModifyIndex).toBeGreaterThan(first.index);
    await client.delete('kv/k');
    await client.put('kv/k', 'one');
    const [third] = JSON.parse((await client.get('kv/k')).text);
    expect(third.CreateIndex).toBeGreaterThan(second.ModifyIndex);
  });

  it('lists keys below a prefix, in order, cut at a separator', async () => {
    for (const key of ['p/b', 'p/a/2', 'p/a/1', 'q']) await client.put(`kv/${key}`, key);
    const keys = async (query: string) => JSON.parse((await client.get(query)).text);
    expect(await keys('kv/p?keys')).toEqual(['p/a/1', 'p/a/2', 'p/b']);
    expect(await keys('kv/p/?keys&separator=/')).toEqual(['p/a/', 'p/b']);
    expect(await keys('kv/?keys&separator=/')).toEqual(['p/', 'q']);
    const entries: { Key: string }[] = await keys('kv/p/a?recurse');
    expect(entries.map(({ Key }) => Key)).toEqual(['p/a/1', 'p/a/2']);
  });

  it('deletes a key, or all below a prefix, and does not mind that there is none', async () => {
    for (const key of ['p/1', 'p/2', 'q']) await client.put(`kv/${key}`, key);
    expect(await client.delete('kv/none')).toMatchObject({ status: 200 });
    await client.delete('kv/q');
    expect(await client.get('kv/q')).toMatchObject({ status: 404 });
    await client.delete('kv/p?recurse');
    expect(await client.get('kv/p?keys')).toMatchObject({ status: 404 });
    expect(await client.get('kv/?recurse')).toMatchObject({ status: 404 });
    expect(JSON.parse((await client.get('kv/?keys')).text)).toEqual([]);
  });

  it('writes with cas only over the index that it names', async () => {
    const put = async (query: string, value: string) => (await client.put(`kv/c?cas=${query}`, value)).text.trim();
    expect(await put('0', 'new')).toBe('true');
    expect(await put('0', 'again')).toBe('false');
    const { index } = await client.get('kv/c');
    expect(await put(String(index), 'next')).toBe('true');
    expect((await client.get('kv/c?raw')).text).toBe('next');
  });

  it('C08: takes keys with odd names, encoded once', async () => {
    await client.put('kv/x/%C3%BC%20%25', 'odd');
    expect(JSON.parse((await client.get('kv/x/%C3%BC%20%25')).text)).toMatchObject([{ Key: 'x/ü %' }]);
    expect((await client.get(`kv/${encodeURIComponent('x/ü %')}?raw`)).text).toBe('odd');
  });

  it('refuses a request without a key', async () => {
    expect(await client.get('kv/')).toMatchObject({ status: 400, text: 'Missing key name' });
    expect(await client.put('kv/', 'x')).toMatchObject({ status: 400, text: 'Missing key name' });
  });
});
