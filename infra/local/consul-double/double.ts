/**
 * A Consul that runs in this process: what the product and its local stack need of an agent and a server, over HTTP.
 * Honest by the contract suite (`test/contracts/consul-*.test.ts`), which runs the same tests against a real Consul.
 *
 * It speaks like 1.8.7 (`dialect: '1.8'`), or as later versions do (`'current'`): checks have Interval and Timeout, a
 * broken filter is 400 instead of 500, ACL filtering is said in a header, deregistering what is not there is 404.
 * It runs no checks but TTL ones: `agent.reportCheck` stands in for a check's result.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/ports.ts';
import type { TokenList } from './acl.ts';
import { LocalAgent } from './agent.ts';
import { CatalogStore } from './catalog.ts';
import { type Fault, FaultPlan, type SetFault } from './faults.ts';
import { ChangeFeed } from './feed.ts';
import { KvStore } from './kv.ts';
import { type LoginOptions, Logins } from './login.ts';
import { createConsulServer, type RecordedRequest } from './server.ts';
import type { Dialect } from './shapes.ts';
import type { World } from './world.ts';

/** All optional. */
export interface ConsulDoubleOptions {
  /** 0, the default, is any free port. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Of TTLs, waits and `requests[].atMs`. Default: the machine's. */
  readonly clock?: Clock;
  /** Name of the agent's own node. Default `local`. */
  readonly node?: string;
  /** Default `dc1`. */
  readonly datacenter?: string;
  /** Default `1.8`. */
  readonly dialect?: Dialect;
  /** Takes `ns` and `partition`. Default false. */
  readonly enterprise?: boolean;
  /** Turns ACLs on, with default deny. */
  readonly tokens?: TokenList;
  /** Auth methods of the type `aws-iam`, and whom the STS behind them knows. Only with ACLs. */
  readonly login?: LoginOptions;
  /** Whether answers say that ACLs filtered them. Default: as the dialect. */
  readonly filteredHeader?: boolean;
  /** From 0 to below 1, drawn once a blocking query: how much of wait/16 it waits longer. Default: random. */
  readonly jitter?: () => number;
  /** How long the agent keeps a changed output of an unchanged status to itself; 0 = not at all. Default 5 min. */
  readonly checkUpdateIntervalMs?: number;
}

/** A running double. */
export interface ConsulDouble {
  readonly url: string;
  readonly port: number;
  /** Every request so far; may be emptied by `requests.length = 0`. */
  readonly requests: RecordedRequest[];
  /** State, for quick set-up and for looking at it. Writes through them wake blocking queries. */
  readonly catalog: CatalogStore;
  readonly kv: KvStore;
  readonly agent: LocalAgent;
  /** Tokens that were given by login, by their secret; an operator may delete one. */
  readonly loginTokens: Logins['tokens'];
  /** Number of blocking queries that wait now. */
  readonly waiting: number;
  fault(fault: Fault): SetFault;
  clearFaults(): void;
  /** Resets all connections, those of waiting queries too. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Starts a double with a node of its own, as a fresh `consul agent -dev` has it. */
export async function startConsulDouble(options: ConsulDoubleOptions = {}): Promise<ConsulDouble> {
  const { host = '127.0.0.1', port = 0 } = options;
  const world = createWorld(options);
  const requests: RecordedRequest[] = [];
  const server = createConsulServer(world, requests);
  server.listen(port, host);
  await once(server, 'listening');
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${boundPort}`,
    port: boundPort,
    requests,
    catalog: world.catalog,
    kv: world.kv,
    agent: world.agent,
    loginTokens: world.logins.tokens,
    get waiting() {
      return world.feed.waiting;
    },
    fault: (fault) => world.faults.add(fault),
    clearFaults: () => world.faults.clear(),
    dropConnections: () => server.closeAllConnections(),
    async close() {
      world.agent.close();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function createWorld(options: ConsulDoubleOptions): World {
  const { clock = systemClock, dialect = '1.8' } = options;
  const feed = new ChangeFeed(clock);
  const catalog = new CatalogStore(feed);
  const address = '127.0.0.1';
  const node = {
    id: '6a1f0b7c-3d0e-4f57-9a43-1f2b8c9d0e11',
    name: options.node ?? 'local',
    address,
    taggedAddresses: { lan: address, lan_ipv4: address, wan: address, wan_ipv4: address },
    meta: { 'consul-network-segment': '' },
    partition: '',
  };
  const agent = new LocalAgent({
    catalog,
    clock,
    node,
    checkUpdateIntervalMs: options.checkUpdateIntervalMs ?? 300_000,
  });
  registerOwnNode(catalog, node);
  return {
    feed,
    catalog,
    kv: new KvStore(feed),
    agent,
    faults: new FaultPlan(),
    clock,
    datacenter: options.datacenter ?? 'dc1',
    dialect,
    enterprise: options.enterprise ?? false,
    tokens: options.tokens,
    logins: new Logins(options.login, clock),
    filteredHeader: options.filteredHeader ?? dialect !== '1.8',
    jitter: options.jitter ?? Math.random,
  };
}

function registerOwnNode(catalog: CatalogStore, node: Parameters<CatalogStore['register']>[0]['node']): void {
  catalog.register({
    node,
    service: {
      namespace: '',
      id: 'consul',
      name: 'consul',
      kind: '',
      tags: [],
      address: '',
      taggedAddresses: undefined,
      meta: { version: '1.8.7' },
      port: 8300,
      weights: { Passing: 1, Warning: 1 },
      enableTagOverride: false,
      proxy: {},
      connect: {},
    },
    checks: [
      {
        namespace: '',
        id: 'serfHealth',
        name: 'Serf Health Status',
        status: 'passing',
        notes: '',
        output: 'Agent alive and reachable',
        serviceId: '',
        type: '',
        definition: {},
        interval: '',
        timeout: '',
      },
    ],
  });
}
