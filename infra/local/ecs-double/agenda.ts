/**
 * What is going to happen, in order of time. It has no clock and no timers: whoever owns the clock (a virtual one in
 * `simulate`, the real one in the local stack) says how far time has come. So the same world runs on both.
 */
export class Agenda {
  readonly #items: { readonly atMs: number; readonly run: () => void }[] = [];
  readonly #changed = new Set<() => void>();
  #runningAtMs: number | undefined;

  /** Instant of the item that is running now; undefined between items. */
  get runningAtMs(): number | undefined {
    return this.#runningAtMs;
  }

  /** When the next item is due. */
  get dueAtMs(): number | undefined {
    return this.#items[0]?.atMs;
  }

  /** Puts an item behind those of the same instant. */
  at(atMs: number, run: () => void): void {
    let place = this.#items.length;
    while (place > 0 && (this.#items[place - 1]?.atMs ?? 0) > atMs) place -= 1;
    this.#items.splice(place, 0, { atMs, run });
    for (const listener of this.#changed) listener();
  }

  /** Runs what is due up to and including the instant, also what those items add. */
  runUntil(nowMs: number): void {
    if (this.#runningAtMs !== undefined) return;
    try {
      for (let next = this.#items[0]; next && next.atMs <= nowMs; next = this.#items[0]) {
        this.#items.shift();
        this.#runningAtMs = next.atMs;
        next.run();
      }
    } finally {
      this.#runningAtMs = undefined;
    }
  }

  /** Tells when something was added, so that a timer can be set anew. */
  onChange(listener: () => void): () => void {
    this.#changed.add(listener);
    return () => this.#changed.delete(listener);
  }
}
