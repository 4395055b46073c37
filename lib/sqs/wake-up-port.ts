/**
 * `WakeUpPort` on SQS. A wake-up only makes a reconcile come sooner than the scheduled one, which comes within a minute
 * anyway: one that cannot be sent is logged, and the pass goes on. So it never throws, and takes 3 s at most.
 */
import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { EVENT_CODES, type EventCode } from '../event-codes.ts';
import type { TelemetryPort } from '../ports.ts';
import type { WakeUpPort } from '../proxy-ports.ts';
import { wakeUpBody } from './wake-up.ts';

/** The longest delay that SQS takes. A wait that is longer is found unfinished, and waited for again. */
const MOST_DELAY_SECONDS = 900;
const TIMEOUT_MS = 3000;
const CODE: EventCode = 'wake-up-not-sent';

/** What the adapter needs. */
export interface WakeUpPortOptions {
  /** From `createSqsClient`. */
  readonly client: SQSClient;
  /** Of the queue of reconcile-proxies, a standard one. */
  readonly queueUrl: string;
  readonly telemetry: TelemetryPort;
  /** Of one message, its repetitions included. Default 3 s. */
  readonly timeoutMs?: number;
}

/** The SDK's client as the adapter needs it. A message that is repeated because its answer was lost does no harm. */
export function createSqsClient(config: Pick<SQSClientConfig, 'region' | 'endpoint' | 'credentials'> = {}): SQSClient {
  return new SQSClient({
    ...config,
    retryMode: 'standard',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 1400, throwOnRequestTimeout: true },
  });
}

/** The adapter. */
export function createWakeUpPort(options: WakeUpPortOptions): WakeUpPort {
  const { client, queueUrl, telemetry, timeoutMs = TIMEOUT_MS } = options;
  return {
    async wakeUp(message, delayMs) {
      const DelaySeconds = delaySeconds(delayMs);
      try {
        const command = new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: wakeUpBody(message), DelaySeconds });
        await client.send(command, { abortSignal: AbortSignal.timeout(timeoutMs) });
      } catch (failure) {
        telemetry.log(EVENT_CODES[CODE].level, CODE, { why: message.why, delaySeconds: DelaySeconds, failure });
      }
    },
  };
}

/** Rounded up: a message that came too early would only send the next one. What is no number is no delay. */
function delaySeconds(delayMs: number): number {
  return delayMs > 0 ? Math.min(Math.ceil(delayMs / 1000), MOST_DELAY_SECONDS) : 0;
}
