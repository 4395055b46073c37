import type { Clock } from '../lib/ports.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/**
 * A clock that moves only when it is told to. `advance` goes from sleeper to sleeper: each is woken at its own instant
 * and what it does then (sleeping again included) has run before the clock moves on. So minutes pass in no time, in
 * the order in which they would.
 */
export class VirtualClock implements Clock {
  #nowMs: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Instant of the next sleeper; `undefined` where nobody sleeps. */
  get nextWakeMs(): number | undefined {
    return this.#next()?.atMs;
  }

  sleepUntil(atMs: number, signal?: AbortSignal): Promise<void> {
    if (!(atMs > this.#nowMs) || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { atMs, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake);
    });
  }

  /** Jumps, backwards too, and wakes at once whoever is due; does not wait for what they do. */
  set(atMs: number): void {
    this.#nowMs = atMs;
    for (const sleeper of [...this.#sleepers]) if (sleeper.atMs <= atMs) sleeper.wake();
  }

  /** Goes forward by a duration. */
  async advance(durationMs: number): Promise<void> {
    await this.advanceTo(this.#nowMs + durationMs);
  }

  /** Goes forward to an instant, through those of all sleepers until then. */
  async advanceTo(atMs: number): Promise<void> {
    await settled();
    for (let next = this.#next(); next && next.atMs <= atMs; next = this.#next()) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
      await settled();
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  #next(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (!first || sleeper.atMs < first.atMs) first = sleeper;
    return first;
  }
}

/** Lets everything run that waits for nothing but promises. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
