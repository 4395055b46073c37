/** The implementations of `StatePort` that the contract suite is run against. */
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { MemoryState } from '../../infra/local/memory-state.ts';
import type { ItemKey } from '../../lib/dynamodb/keys.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import type { StatePort } from '../../lib/ports.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { NOW_MS } from './state-samples.ts';

/** One `StatePort` with nothing in it. */
export interface Subject {
  readonly state: StatePort;
  /** Puts something there that cannot be understood. */
  plantUnreadable(key: ItemKey): Promise<void>;
}

/** A way to make them. */
export interface Implementation {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  fresh(): Promise<Subject>;
}

/** The one in memory. */
export const memory: Implementation = {
  name: 'memory',
  start: async () => {},
  stop: async () => {},
  fresh: async () => {
    const state = new MemoryState();
    return { state, plantUnreadable: async ({ sk }) => state.setAside(sk, 'planted') };
  },
};

/** The table, on dynalite. */
export function dynamodb(): Implementation {
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
      tables += 1;
      const table = `state-${tables}`;
      await createTable(client, table);
      return {
        state: createDynamoState({ client, table, clock: new VirtualClock(NOW_MS) }),
        plantUnreadable: async (key) => {
          await client.send(new PutCommand({ TableName: table, Item: { ...key, schema: 2, version: 1, data: {} } }));
        },
      };
    },
  };
}
