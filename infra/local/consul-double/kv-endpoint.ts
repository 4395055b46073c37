/** `/v1/kv/:key`. Single keys are refused without rights, listings are filtered. */
import { blockingRead } from './blocking.ts';
import { type Answer, bareAnswer, type Exchange, jsonAnswer, readHeaders } from './exchange.ts';
import type { Reading } from './records.ts';
import { ConsulError } from './records.ts';
import { kvJson } from './shapes.ts';
import type { World } from './world.ts';

/** Answers one request for keys. */
export async function kvEndpoint(world: World, exchange: Exchange): Promise<Answer> {
  const key = exchange.path.slice('kv/'.length);
  if (exchange.method === 'GET') return readKv(world, exchange, key);
  if (exchange.method === 'PUT') {
    if (key === '') throw new ConsulError(400, 'Missing key name');
    exchange.access.requireWrite();
    const { query } = exchange;
    const cas = wholeNumber(query, 'cas');
    const flags = wholeNumber(query, 'flags') ?? 0;
    return jsonAnswer(world.kv.put(key, exchange.body, cas === undefined ? { flags } : { flags, cas }));
  }
  if (exchange.method === 'DELETE') {
    const recurse = exchange.query.has('recurse');
    if (key === '' && !recurse) throw new ConsulError(400, 'Missing key name');
    exchange.access.requireWrite();
    world.kv.delete(key, recurse);
    return jsonAnswer(true);
  }
  throw new ConsulError(405, `method ${exchange.method} not allowed`);
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d+$/.test(text)) throw new ConsulError(400, `Invalid ${name}`);
  return Number(text);
}

async function readKv(world: World, { query, access, signal }: Exchange, key: string): Promise<Answer> {
  const run = <T>(read: () => Reading<T>) => blockingRead(world, query, signal, read);
  if (query.has('keys') || query.has('recurse')) {
    const reading = await run(() => world.kv.list(key));
    const entries = access.visible(reading.value, (entry) => ({ key: entry.key }));
    // Only the keys of the root are an empty list when there are none.
    if (entries.length === 0 && !(key === '' && query.has('keys'))) return bareAnswer(404, readHeaders(reading));
    if (query.has('recurse')) return jsonAnswer(entries.map(kvJson), readHeaders(reading));
    const separator = query.get('separator') ?? '';
    const names = entries.map((entry) => cutAt(entry.key, separator, key.length));
    return jsonAnswer([...new Set(names)], readHeaders(reading));
  }
  if (key === '') throw new ConsulError(400, 'Missing key name');
  access.requireKey(key);
  const reading = await run(() => world.kv.get(key));
  if (!reading.value) return bareAnswer(404, readHeaders(reading));
  if (!query.has('raw')) return jsonAnswer([kvJson(reading.value)], readHeaders(reading));
  return { status: 200, headers: { 'Content-Type': 'text/plain', ...readHeaders(reading) }, body: reading.value.value };
}

/** A key up to and with the first separator after the prefix. */
function cutAt(key: string, separator: string, from: number): string {
  const end = separator === '' ? -1 : key.indexOf(separator, from);
  return end < 0 ? key : key.slice(0, end + separator.length);
}
