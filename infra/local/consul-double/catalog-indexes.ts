/** Indexes of the catalog's tables, from which the `X-Consul-Index` of each query comes. */
export class TableIndexes {
  nodes = 0;
  services = 0;
  checks = 0;
  readonly #ofService = new Map<string, number>();
  #lastExtinction = 0;

  /** A service that exists, in lower or any case, was touched. */
  touchService(name: string, index: number): void {
    const key = name.toLowerCase();
    if (this.#ofService.has(key)) this.#ofService.set(key, index);
  }

  /** A service was written, or lost an instance: the last one leaves only the common mark of extinctions. */
  noteService(key: string, index: number, exists: boolean): void {
    if (exists) {
      this.#ofService.set(key, index);
      return;
    }
    this.#ofService.delete(key);
    this.#lastExtinction = index;
  }

  /** Of a query for one service. One that does not exist has the index of the last extinction, if there was one. */
  ofService(key: string, { exists, withChecks }: { readonly exists: boolean; readonly withChecks: boolean }): number {
    const own = exists ? this.#ofService.get(key) : this.#lastExtinction;
    return own || Math.max(this.nodes, this.services, withChecks ? this.checks : 0);
  }
}
