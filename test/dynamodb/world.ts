/** A table on dynalite behind the fault proxy, fresh for each test. */
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createLocalClient, createTable, type LocalDynamoDb, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import type { StatePort } from '../../lib/ports.ts';
import { NOW_MS } from '../contracts/state-samples.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

/** What a test sees; filled anew before each. */
export interface World {
  readonly proxy: FaultProxy;
  /** Through the proxy. */
  readonly state: StatePort;
  /** Names of the operations that went through the proxy. */
  operations(): string[];
  /** Another one on the same table, through the proxy or past it. */
  another(options: {
    readonly past?: 'proxy';
    readonly callTimeoutMs?: number;
    readonly partition?: string;
  }): StatePort;
  readonly table: string;
  /** Puts an item as it is, past the proxy. */
  plant(item: Record<string, unknown>): Promise<void>;
  /** An item as it is, past the proxy. */
  stored(key: { readonly pk: string; readonly sk: string }): Promise<Record<string, unknown> | undefined>;
}

/** Registers the hooks; call it once at the top of a test file, and the answer in each test. */
export function tableBehindProxy(): () => World {
  let local: LocalDynamoDb;
  let proxy: FaultProxy;
  let world: World;
  let tables = 0;
  beforeAll(async () => {
    local = await startDynamoDb();
    proxy = await startFaultProxy(local.endpoint);
  });
  afterAll(async () => {
    await proxy.close();
    await local.close();
  });
  beforeEach(async () => {
    tables += 1;
    const table = `table-${tables}`;
    const direct = createLocalClient(local.endpoint);
    await createTable(direct, table);
    proxy.seen.length = 0;
    proxy.fault = () => undefined;
    const another: World['another'] = ({ past, callTimeoutMs = 5000, ...partition }) => {
      const client = past ? direct : createLocalClient(proxy.endpoint);
      return createDynamoState({ client, table, clock: new VirtualClock(NOW_MS), callTimeoutMs, ...partition });
    };
    world = {
      proxy,
      table,
      another,
      state: another({}),
      operations: () => proxy.seen.map(({ operation }) => operation),
      plant: async (item) => {
        await direct.send(new PutCommand({ TableName: table, Item: item }));
      },
      stored: async ({ pk, sk }) => (await direct.send(new GetCommand({ TableName: table, Key: { pk, sk } }))).Item,
    };
  });
  return () => world;
}
