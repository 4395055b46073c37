/**
 * The SDK's client with the settings that were measured to be safe. `standard` retries: `adaptive` ones let throttled
 * reads hold StopTask back for 40 s. `throwOnRequestTimeout`: without it a hanging request is only warned about and
 * hangs for ever. The port puts an AbortSignal over each call, its retries included.
 */
import { ECSClient, type ECSClientConfig } from '@aws-sdk/client-ecs';

/** Tries of one call, the first one included. */
const MAX_ATTEMPTS = 3;
/** Time for one try: two whole ones fit into the 10 s of a call. */
const ATTEMPT_TIMEOUT_MS = 4000;
/** Time until a connection stands. */
const CONNECT_TIMEOUT_MS = 2000;

/** What differs between Lambda, the local stack and `simulate`. */
export interface EcsClientOptions {
  readonly region: string;
  /** Another address than AWS's own: the local double. */
  readonly endpoint?: string;
  /** Default 3. */
  readonly maxAttempts?: number;
  /** In place of sockets: the in-process double. */
  readonly requestHandler?: NonNullable<ECSClientConfig['requestHandler']>;
  /** Default: the SDK's chain, in Lambda the function's role. */
  readonly credentials?: NonNullable<ECSClientConfig['credentials']>;
}

/** A client for `createEcsPort`. Makes no call by itself. */
export function createEcsClient(options: EcsClientOptions): ECSClient {
  return new ECSClient({
    region: options.region,
    retryMode: 'standard',
    maxAttempts: options.maxAttempts ?? MAX_ATTEMPTS,
    requestHandler: options.requestHandler ?? {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: ATTEMPT_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
  });
}
