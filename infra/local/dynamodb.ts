/** DynamoDB for the local stack and for tests: dynalite, in this process, in memory. */
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { createDocumentClient } from '../../lib/dynamodb/client.ts';

/** A running one. Anybody's credentials and region will do. */
export interface LocalDynamoDb {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Listens on the loopback address; port 0 = any free one. */
export async function startDynamoDb(port = 0): Promise<LocalDynamoDb> {
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The adapter's own client, for a local endpoint. */
export function createLocalClient(endpoint: string): DynamoDBDocumentClient {
  return createDocumentClient({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
}

/** Makes the table as `infra/` declares it. Resolves when it can be used: under load dynalite takes a moment. */
export async function createTable(client: DynamoDBDocumentClient, table: string): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName: table });
}
