/**
 * One of the lists `health/state/critical` and `health/state/warning`, followed by a blocking query.
 *
 * While such a list is empty Consul wakes the query at every check write in the datacenter, and otherwise for a changed
 * Output too. So an answer counts only when its set of (node, check, status, service ID, CreateIndex) differs from the one
 * last given out, and every query takes a token, so that a busy datacenter cannot make us ask more than a few times a second.
 *
 * A query stays in flight when its caller has stopped waiting for it (at a deadline): its answer is taken up by the next
 * wait. An immediate read may overtake it; an answer older than the last read's is then dropped and asked again from the
 * read's index, so a read neither loses a change nor brings an old state back.
 */
import type { Clock, UnhealthyCheck } from '../ports.ts';
import { blockingBudgetMs, isBefore, nextIndex, waitMsUntil } from './blocking-query.ts';
import type { ConsulClient } from './client.ts';
import { decodeStateChecks } from './decode.ts';
import { type BucketLimits, fullBucket, type TokenBucket, takeToken } from './token-bucket.ts';

/** What one list said. */
export interface ListAnswer {
  readonly checks: readonly UnhealthyCheck[];
  readonly index: string | undefined;
}

type Heard =
  | { readonly ok: true; readonly answer: ListAnswer; readonly sentIndex: string | undefined }
  | { readonly ok: false; readonly error: unknown };

/** What a list needs. */
export interface StatusListOptions {
  readonly client: ConsulClient;
  readonly clock: Clock;
  readonly status: 'critical' | 'warning';
  readonly pace: BucketLimits;
  /** Added to a blocking query's own limit. */
  readonly marginMs: number;
  /** Aborts the query in flight. */
  readonly closed: AbortSignal;
}

/** A query in flight; `heard` once it has ended. Its promise never rejects. */
interface Flight {
  ended: Promise<void>;
  heard: Heard | undefined;
}

/** Follows one list. */
export class StatusList {
  readonly #options: StatusListOptions;
  readonly #path: string;
  #bucket: TokenBucket;
  /** Where the next blocking query begins; absent = it answers at once. */
  #index: string | undefined;
  #latest: ListAnswer | undefined;
  #latestSet: ReadonlySet<string> | undefined;
  #givenSet: ReadonlySet<string> | undefined;
  #flight: Flight | undefined;

  constructor(options: StatusListOptions) {
    this.#options = options;
    this.#path = `/v1/health/state/${options.status}`;
    this.#bucket = fullBucket(options.pace, options.clock.nowMs());
  }

  /** The newest answer, `undefined` before the first. */
  get latest(): ListAnswer | undefined {
    return this.#latest;
  }

  /** True when the newest answer is not what was last given out. */
  get differs(): boolean {
    return this.#latestSet !== this.#givenSet && !sameSet(this.#latestSet, this.#givenSet);
  }

  /** The newest answer is being given out now. */
  giveOut(): void {
    this.#givenSet = this.#latestSet;
  }

  /** An immediate read becomes the newest answer. Throws `ReadFailure`. */
  async readNow(signal: AbortSignal): Promise<void> {
    const reply = await this.#options.client.get({ path: this.#path, signal });
    const checks = decodeStateChecks(reply?.body, this.#path);
    this.#store({ checks, index: reply?.index });
    this.#index = reply?.index;
  }

  /** Drops a failure that nobody was waiting for: it is no news any more, and the next wait starts afresh. */
  forgetFailure(): void {
    if (this.#flight?.heard?.ok !== false) return;
    this.#flight = undefined;
    this.#index = undefined;
  }

  /** Resolves when the query in flight has ended, and never rejects; sends a query where there is none. */
  ended(untilMs: number): Promise<void> {
    this.#flight ??= this.#launch(untilMs);
    return this.#flight.ended;
  }

  /** Takes up the query in flight, if it has ended. Throws its failure. */
  takeUp(): void {
    const heard = this.#flight?.heard;
    if (heard === undefined) return;
    this.#flight = undefined;
    if (!heard.ok) {
      this.#index = undefined;
      throw heard.error;
    }
    const index = nextIndex(heard.sentIndex, heard.answer.index);
    const readIndex = this.#latest?.index;
    if (index !== undefined && readIndex !== undefined && isBefore(index, readIndex)) return;
    this.#store(heard.answer);
    this.#index = index;
  }

  /** Resolves when nothing is in flight any more; the caller aborts `closed` first. */
  async settled(): Promise<void> {
    await this.#flight?.ended;
  }

  #store(answer: ListAnswer): void {
    this.#latest = answer;
    this.#latestSet = new Set(answer.checks.map(identity));
  }

  #launch(untilMs: number): Flight {
    const flight: Flight = { ended: Promise.resolve(), heard: undefined };
    flight.ended = this.#ask(untilMs).then(
      (heard) => {
        flight.heard = heard;
      },
      (error: unknown) => {
        flight.heard = { ok: false, error };
      },
    );
    return flight;
  }

  async #ask(untilMs: number): Promise<Heard> {
    const { client, clock, closed, marginMs } = this.#options;
    const taken = takeToken(this.#bucket, clock.nowMs());
    this.#bucket = taken.bucket;
    if (taken.waitMs > 0) await clock.sleepUntil(clock.nowMs() + taken.waitMs, closed);
    // Read after the pause: an immediate read may have moved it on.
    const sentIndex = this.#index;
    const waitMs = waitMsUntil(untilMs, clock.nowMs());
    const blocking = {
      query: { index: sentIndex ?? '', wait: `${waitMs}ms` },
      blockingBudgetMs: blockingBudgetMs(waitMs, marginMs),
    };
    const reply = await client.get({
      path: this.#path,
      signal: closed,
      ...(sentIndex === undefined ? {} : blocking),
    });
    return { ok: true, sentIndex, answer: { checks: decodeStateChecks(reply?.body, this.#path), index: reply?.index } };
  }
}

/** What makes an answer differ from another one (DESIGN section 3). */
function identity(check: UnhealthyCheck): string {
  const { partition, namespace, node, checkId, status, serviceId, createIndex } = check;
  return JSON.stringify([partition, namespace, node, checkId, status, serviceId, createIndex]);
}

function sameSet(first: ReadonlySet<string> | undefined, second: ReadonlySet<string> | undefined): boolean {
  if (first === undefined || second === undefined) return first === second;
  return first.size === second.size && [...first].every((each) => second.has(each));
}
