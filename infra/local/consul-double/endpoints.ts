/** Which endpoint answers a request. Unknown paths are 404, known ones with another method 405. */
import { blockingRead } from './blocking.ts';
import { type Answer, bareAnswer, type Exchange, jsonAnswer, readHeaders } from './exchange.ts';
import { kvEndpoint } from './kv-endpoint.ts';
import { LISTINGS, type Listing, selectorOf } from './reads.ts';
import { ConsulError } from './records.ts';
import type { World } from './world.ts';
import { WRITES } from './writes.ts';

/** Throws `ConsulError` for what Consul refuses. */
export async function answerExchange(world: World, exchange: Exchange): Promise<Answer> {
  const { path } = exchange;
  if (path.startsWith('kv/')) return kvEndpoint(world, exchange);
  const listing = LISTINGS.find((one) => matches(one.path, path));
  if (listing) {
    requireMethod(exchange, 'GET');
    return answerListing(world, exchange, listing);
  }
  if (path === 'acl/login' || path === 'acl/logout') {
    requireMethod(exchange, 'POST');
    if (!world.tokens) throw new ConsulError(401, 'ACL support disabled');
    return path === 'acl/login' ? world.logins.logIn(exchange) : world.logins.logOut(exchange.token);
  }
  const write = Object.entries(WRITES).find(([known]) => matches(known, path));
  if (write) {
    requireMethod(exchange, 'PUT');
    exchange.access.requireWrite();
    return write[1](world, exchange, path.slice(write[0].length));
  }
  const plain = PLAIN[path];
  if (!plain) return bareAnswer(404);
  requireMethod(exchange, 'GET');
  if (path.startsWith('agent/')) exchange.access.requireAgent();
  return jsonAnswer(plain(world));
}

const LEADER = '127.0.0.1:8300';

const PLAIN: Readonly<Record<string, (world: World) => unknown>> = {
  'status/leader': () => LEADER,
  'status/peers': () => [LEADER],
  'agent/self': (world) => ({
    Config: {
      Datacenter: world.datacenter,
      NodeName: world.agent.nodeName,
      Server: true,
      Version: world.dialect === '1.8' ? '1.8.7' : '1.17.3',
    },
    Member: { Name: world.agent.nodeName, Addr: '127.0.0.1', Status: 1 },
    Meta: {},
  }),
  'agent/services': ({ agent }) =>
    Object.fromEntries(
      [...agent.services].map(([id, { name, meta, tags }]) => [id, agentServiceJson(id, name, meta, tags)]),
    ),
};

function agentServiceJson(id: string, name: string, meta: unknown, tags: readonly string[]): unknown {
  return { ID: id, Service: name, Tags: tags, Meta: meta ?? {} };
}

function matches(known: string, path: string): boolean {
  return known.endsWith('/') ? path.startsWith(known) : path === known;
}

function requireMethod({ method }: Exchange, allowed: string): void {
  if (method !== allowed) throw new ConsulError(405, `method ${method} not allowed`);
}

async function answerListing(world: World, exchange: Exchange, listing: Listing): Promise<Answer> {
  const { query, access, path, signal } = exchange;
  const name = path.slice(listing.path.length);
  if (listing.missing && name === '') throw new ConsulError(400, listing.missing);
  if (query.has('stale') && query.has('consistent')) {
    throw new ConsulError(400, 'Cannot specify ?stale with ?consistent, conflicting semantics.');
  }
  const datacenter = query.get('dc') || world.datacenter;
  if (datacenter !== world.datacenter) throw new ConsulError(500, 'No path to datacenter');
  const select = selectorOf(query.get('filter') ?? '', listing, world);
  const scope = scopeOf(world, query);
  const read = () => {
    access.filtered = false;
    return listing.read(world, { name, access, select, ...scope });
  };
  const reading = await blockingRead(world, query, signal, read);
  const filtered = access.filtered && world.filteredHeader ? { 'X-Consul-Results-Filtered-By-Acls': 'true' } : {};
  return jsonAnswer(reading.value, { ...readHeaders(reading), ...filtered });
}

/** Namespaces and partitions are Enterprise's: open-source Consul refuses `ns`, and 1.8 ignores `partition`. */
function scopeOf(world: World, query: URLSearchParams): { readonly namespace: string; readonly partition: string } {
  const asked = (name: string) => query.get(name) ?? '';
  if (world.enterprise) return { namespace: asked('ns'), partition: asked('partition') };
  const refuse = (name: string, what: string) =>
    new ConsulError(400, `Bad request: Invalid query parameter: "${name}" - ${what} are a Consul Enterprise feature`);
  if (asked('ns') !== '') throw refuse('ns', 'Namespaces');
  if (asked('partition') !== '' && world.dialect !== '1.8') throw refuse('partition', 'Partitions');
  return { namespace: '', partition: '' };
}
