import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/**
 * The SDK's client as the state needs it: three attempts with standard backoff (adaptive retry holds calls back for
 * seconds after throttling), an attempt that gets no answer is given up after 2 s so that another fits into the call's
 * own deadline, and numbers beyond 2^53 are read as they come instead of failing the whole page (the codec then sets
 * their item aside).
 */
export function createDocumentClient(
  config: Pick<DynamoDBClientConfig, 'region' | 'endpoint' | 'credentials'> = {},
): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    ...config,
    retryMode: 'standard',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 2000, throwOnRequestTimeout: true },
  });
  return DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
    unmarshallOptions: { wrapNumbers: Number },
  });
}
