/** The implementations of `ProxyStatePort` that the contract suite is run against. */
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { MemoryProxyState } from '../../infra/local/memory-proxy-state.ts';
import { CONTROL_KEY, type ItemKey, proxyKey } from '../../lib/dynamodb/keys.ts';
import { createDynamoProxyState } from '../../lib/dynamodb/proxy-state.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import type { StatePort } from '../../lib/ports.ts';
import type { ProxyStatePort } from '../../lib/proxy-ports.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { NOW_MS } from './state-samples.ts';

/** One `ProxyStatePort` with nothing in it. */
export interface Subject {
  readonly proxies: ProxyStatePort;
  /** Puts something in the place of a proxy's item that cannot be understood. */
  plantUnreadable(proxyId: string): Promise<void>;
  plantUnreadableControl(): Promise<void>;
}

/** One on the table. */
export interface TableSubject extends Subject {
  /** The watcher's state in the same table. */
  readonly state: StatePort;
  plant(item: Record<string, unknown>): Promise<void>;
  /** Names of the commands that were sent to DynamoDB. */
  readonly sent: string[];
}

/** A way to make them. */
export interface Implementation<S extends Subject> {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  fresh(): Promise<S>;
}

/** The one in memory. */
export const memory: Implementation<Subject> = {
  name: 'memory',
  start: async () => {},
  stop: async () => {},
  fresh: async () => {
    const proxies = new MemoryProxyState();
    return {
      proxies,
      plantUnreadable: async (proxyId) => proxies.setAside(proxyId, 'planted'),
      plantUnreadableControl: async () => proxies.setControlAside('planted'),
    };
  },
};

/** The table, on dynalite. */
export function dynamodb(): Implementation<TableSubject> {
  let local: LocalDynamoDb;
  let tables = 0;
  return {
    name: 'dynamodb (dynalite)',
    start: async () => {
      local = await startDynamoDb();
    },
    stop: () => local.close(),
    fresh: async () => {
      const client = createLocalClient(local.endpoint);
      const sent: string[] = [];
      client.middlewareStack.add(
        (next, context) => (args) => {
          sent.push(context.commandName ?? '');
          return next(args);
        },
        { step: 'initialize' },
      );
      tables += 1;
      const table = `proxies-${tables}`;
      await createTable(client, table);
      const options = { client, table, clock: new VirtualClock(NOW_MS) };
      const plant = async (item: Record<string, unknown>) => {
        await client.send(new PutCommand({ TableName: table, Item: item }));
      };
      const newer = (key: ItemKey) => plant({ ...key, schema: 2, version: 1, data: {} });
      return {
        proxies: createDynamoProxyState(options),
        state: createDynamoState(options),
        plant,
        plantUnreadable: (proxyId) => newer(proxyKey(proxyId)),
        plantUnreadableControl: () => newer(CONTROL_KEY),
        sent,
      };
    },
  };
}
