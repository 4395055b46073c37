/**
 * A standard queue with a function behind it, as SQS and Lambda's event source mapping work together: messages become
 * visible after their delay, a window opens with the first one, a batch is handed over when the window ends or the batch
 * is full, no more than so many at a time. What the function reports as failed (or all, when it fails itself) comes again
 * after the visibility timeout, and after so many times goes to the dead letters. Real and virtual clocks.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Clock } from '../../../lib/ports.ts';

/** As `serverless.yml` sets the queue and its mapping up; the defaults are those of reconcile-proxies. */
export interface LambdaQueueOptions {
  readonly clock: Clock;
  /** The function. What it returns is taken as `ReportBatchItemFailures` says. */
  readonly handler: (event: SQSEvent) => Promise<SQSBatchResponse | undefined>;
  /** Default `proxies`. */
  readonly name?: string;
  /** Default 1,000. */
  readonly batchSize?: number;
  /** Default 1 s. */
  readonly windowMs?: number;
  /** Default 2. */
  readonly maxConcurrency?: number;
  /** From being received to being visible again. Default 6 min. */
  readonly visibilityTimeoutMs?: number;
  /** Receives before a message goes to the dead letters. Default 5. */
  readonly maxReceiveCount?: number;
  /** Hears of what the function threw. */
  readonly onFailure?: (error: unknown) => void;
}

interface Message {
  readonly id: string;
  readonly body: string;
  readonly sentMs: number;
  visibleAtMs: number;
  receives: number;
  firstReceivedMs: number | undefined;
}

/** The queue. */
export class LambdaQueue {
  readonly arn: string;
  /** Bodies of messages that were given up, oldest first. */
  readonly deadLetters: string[] = [];
  /** Of all invocations: when each began, and how many messages it got. */
  readonly invocations: { readonly atMs: number; readonly messages: number }[] = [];
  readonly #options: Required<Omit<LambdaQueueOptions, 'onFailure' | 'name'>> & Pick<LambdaQueueOptions, 'onFailure'>;
  readonly #waiting = new Map<string, Message>();
  readonly #running = new Set<Promise<void>>();
  #windowSinceMs: number | undefined;
  #alarm: AbortController | undefined;
  #closed = false;

  constructor(options: LambdaQueueOptions) {
    const { name = 'proxies', ...rest } = options;
    this.arn = `arn:aws:sqs:eu-west-1:123456789012:${name}`;
    const reconciler = { batchSize: 1000, windowMs: 1000, maxConcurrency: 2 };
    this.#options = { ...reconciler, visibilityTimeoutMs: 360_000, maxReceiveCount: 5, ...rest };
  }

  /** Puts a message there; returns its ID. */
  send(body: string, delayMs = 0): string {
    const sentMs = this.#options.clock.nowMs();
    const id = randomUUID();
    this.#put({ id, body, sentMs, visibleAtMs: sentMs + delayMs, receives: 0, firstReceivedMs: undefined });
    this.#look();
    return id;
  }

  /** Messages that are waiting: delayed, in an open window, or to come again. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Invocations under way. */
  get running(): number {
    return this.#running.size;
  }

  /** Hands nothing over any more, and waits for the invocations under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#alarm?.abort();
    await Promise.all(this.#running);
  }

  #put(message: Message): void {
    this.#waiting.set(message.id, message);
  }

  /** Hands over what is due, and sets the alarm for what will be. */
  #look(): void {
    this.#alarm?.abort();
    this.#alarm = undefined;
    const { clock, batchSize, windowMs, maxConcurrency } = this.#options;
    while (!this.#closed && this.#running.size < maxConcurrency) {
      const nowMs = clock.nowMs();
      const visible = [...this.#waiting.values()]
        .filter((message) => message.visibleAtMs <= nowMs)
        .sort((one, other) => one.visibleAtMs - other.visibleAtMs);
      if (visible.length === 0) {
        this.#windowSinceMs = undefined;
        const next = Math.min(...[...this.#waiting.values()].map((message) => message.visibleAtMs));
        if (Number.isFinite(next)) this.#wakeAt(next);
        return;
      }
      this.#windowSinceMs ??= nowMs;
      const endsMs = this.#windowSinceMs + windowMs;
      if (visible.length < batchSize && nowMs < endsMs) {
        this.#wakeAt(this.#fullAtMs(endsMs));
        return;
      }
      this.#windowSinceMs = undefined;
      this.#handOver(visible.slice(0, batchSize), nowMs);
    }
  }

  /** When delayed messages will have filled the batch, if that is before the window ends. */
  #fullAtMs(endsMs: number): number {
    const instants = [...this.#waiting.values()].map((message) => message.visibleAtMs).sort((one, two) => one - two);
    return Math.min(instants[this.#options.batchSize - 1] ?? endsMs, endsMs);
  }

  #wakeAt(atMs: number): void {
    const alarm = new AbortController();
    this.#alarm = alarm;
    void this.#options.clock.sleepUntil(atMs, alarm.signal).then(() => {
      if (!alarm.signal.aborted) this.#look();
    });
  }

  #handOver(batch: readonly Message[], nowMs: number): void {
    for (const message of batch) {
      this.#waiting.delete(message.id);
      message.receives += 1;
      message.firstReceivedMs ??= nowMs;
    }
    this.invocations.push({ atMs: nowMs, messages: batch.length });
    // Begun later, so that a handler which sends at once finds this one counted.
    const begun = Promise.resolve().then(() => this.#invoke(batch, nowMs));
    const running = begun.finally(() => {
      this.#running.delete(running);
      this.#look();
    });
    this.#running.add(running);
  }

  async #invoke(batch: readonly Message[], receivedMs: number): Promise<void> {
    let failed = new Set(batch.map(({ id }) => id));
    try {
      const answer = await this.#options.handler({ Records: batch.map((message) => this.#record(message)) });
      failed = failedOf(answer, failed);
    } catch (error) {
      this.#options.onFailure?.(error);
    }
    const { visibilityTimeoutMs, maxReceiveCount } = this.#options;
    for (const message of batch.filter(({ id }) => failed.has(id))) {
      if (message.receives >= maxReceiveCount) this.deadLetters.push(message.body);
      else this.#put(Object.assign(message, { visibleAtMs: receivedMs + visibilityTimeoutMs }));
    }
  }

  #record({ id, body, sentMs, receives, firstReceivedMs }: Message): SQSRecord {
    return {
      messageId: id,
      receiptHandle: `${id}-${receives}`,
      body,
      attributes: {
        ApproximateReceiveCount: String(receives),
        SentTimestamp: String(sentMs),
        SenderId: 'local',
        ApproximateFirstReceiveTimestamp: String(firstReceivedMs ?? sentMs),
      },
      messageAttributes: {},
      md5OfBody: createHash('md5').update(body).digest('hex'),
      eventSource: 'aws:sqs',
      eventSourceARN: this.arn,
      awsRegion: 'eu-west-1',
    };
  }
}

/** As Lambda reads the answer: nothing said = all done; an ID that is empty or not of the batch = all failed. */
function failedOf(answer: SQSBatchResponse | undefined, batch: ReadonlySet<string>): Set<string> {
  const named = (answer?.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier);
  return new Set(named.every((id) => batch.has(id)) ? named : batch);
}
