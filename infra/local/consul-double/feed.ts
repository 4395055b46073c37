/**
 * The double's Raft: numbers its transactions and wakes those who wait for a change. A blocking query registers right
 * after it has read, in the same turn, so no transaction falls between.
 */
import type { Clock } from '../../../lib/ports.ts';
import type { Changes } from './records.ts';

interface Waiter {
  readonly wakes: (changes: Changes) => boolean;
  readonly wake: () => void;
}

/** Transactions in order. Indexes start where a fresh `consul agent -dev` has its own node registered. */
export class ChangeFeed {
  #index = 4;
  readonly #waiters = new Set<Waiter>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of blocking queries that wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** One transaction: gets the next index, notes what it touches, and then wakes whom that concerns. */
  commit<T>(apply: (index: number, changes: Changes) => T): T {
    this.#index += 1;
    const changes: Changes = {
      statuses: new Set(),
      checkedServices: new Set(),
      checkedNodes: new Set(),
      services: new Set(),
      nodes: new Set(),
      servingNodes: new Set(),
      keys: new Set(),
    };
    const result = apply(this.#index, changes);
    for (const waiter of [...this.#waiters]) if (waiter.wakes(changes)) waiter.wake();
    return result;
  }

  /** True at the next transaction that `wakes` accepts, false at the deadline or when the signal aborts. */
  async next(wakes: Waiter['wakes'], deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    const woken = new AbortController();
    let byChange = false;
    const waiter: Waiter = {
      wakes,
      wake: () => {
        byChange = true;
        woken.abort();
      },
    };
    this.#waiters.add(waiter);
    try {
      await this.#clock.sleepUntil(deadlineMs, AbortSignal.any([woken.signal, signal]));
    } finally {
      this.#waiters.delete(waiter);
    }
    return byChange;
  }
}
