/**
 * `EventPort` on EventBridge. Events are for people and dashboards: one that does not arrive is logged and counted, and
 * the pass goes on. So a publish never throws, and all of it together takes 5 s at most.
 */
import {
  EventBridgeClient,
  type EventBridgeClientConfig,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { EVENT_CODES, EVENT_SOURCE, type EventCode, type Metric } from '../event-codes.ts';
import type { EventPort, OutgoingEvent, TelemetryPort } from '../ports.ts';
import type { Redactor } from './redact.ts';

/** Of PutEvents: entries a call, and bytes a call (of 256 KB). */
const MOST_ENTRIES = 10;
const MOST_BYTES = 200 * 1024;
/** Calls under way at once. */
const LANES = 4;
const CODE: EventCode = 'events-not-published';
const METRIC: Metric = 'EventsNotPublished';

/** What the publisher needs. */
export interface EventPublisherOptions {
  readonly client: EventBridgeClient;
  /** Name or ARN; `default` is the account's own. */
  readonly bus: string;
  readonly telemetry: TelemetryPort;
  readonly redactor: Redactor;
  /** Deadline of one `publish`. */
  readonly timeoutMs?: number;
}

/** The SDK's client as the publisher needs it. */
export function createEventBridgeClient(
  config: Pick<EventBridgeClientConfig, 'region' | 'endpoint' | 'credentials'> = {},
): EventBridgeClient {
  return new EventBridgeClient({
    ...config,
    retryMode: 'standard',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 2000, throwOnRequestTimeout: true },
  });
}

/** Publishes with source `ecs-check-restart`, the event's type as detail type. */
export function createEventPublisher(options: EventPublisherOptions): EventPort {
  const { client, bus, telemetry, redactor, timeoutMs = 5000 } = options;
  return {
    async publish(events) {
      const { batches, tooLarge } = batched(events.map((event) => entryOf(event, bus, redactor)));
      const problems: string[] = Array(tooLarge).fill('EntryTooLarge');
      const abortSignal = AbortSignal.timeout(timeoutMs);
      const waiting = [...batches];
      let failure: unknown;
      const lane = async () => {
        for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
          try {
            const answer = await client.send(new PutEventsCommand({ Entries: batch }), { abortSignal });
            for (const { ErrorCode } of answer.Entries ?? []) if (ErrorCode !== undefined) problems.push(ErrorCode);
          } catch (error) {
            failure = error;
            // Where one call fails after its retries, the others would take their time and fail too.
            const lost = [batch, ...waiting.splice(0)].flat();
            problems.push(...lost.map(() => (error instanceof Error ? error.name : 'Error')));
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(LANES, batches.length) }, lane));
      if (problems.length === 0) return;
      telemetry.count(METRIC, problems.length);
      telemetry.log(EVENT_CODES[CODE].level, CODE, {
        lost: problems.length,
        of: events.length,
        problems: [...new Set(problems)],
        ...(failure === undefined ? {} : { failure }),
      });
    },
  };
}

function entryOf(event: OutgoingEvent, bus: string, redactor: Redactor): PutEventsRequestEntry {
  return {
    EventBusName: bus,
    Source: EVENT_SOURCE,
    DetailType: event.type,
    Detail: JSON.stringify(redactor.clean(event.detail, 'info')),
  };
}

function batched(entries: readonly PutEventsRequestEntry[]) {
  const batches: PutEventsRequestEntry[][] = [];
  let tooLarge = 0;
  let batch: PutEventsRequestEntry[] = [];
  let batchBytes = 0;
  for (const entry of entries) {
    const bytes = Buffer.byteLength(`${entry.Source}${entry.DetailType}${entry.Detail}`);
    if (bytes > MOST_BYTES) {
      tooLarge += 1;
      continue;
    }
    if (batch.length === 0 || batch.length >= MOST_ENTRIES || batchBytes + bytes > MOST_BYTES) {
      batch = [];
      batchBytes = 0;
      batches.push(batch);
    }
    batch.push(entry);
    batchBytes += bytes;
  }
  return { batches, tooLarge };
}
