/** Keys of the catalog's records, and records by key in groups. */

/** Key of a node: names differ only without regard to case. */
export function nodeKeyOf(partition: string, node: string): string {
  return `${partition}\0${node.toLowerCase()}\0`;
}

/** Key of a service or a check on a node. */
export function identityOf(nodeKey: string, namespace: string, id: string): string {
  return `${nodeKey}${namespace}\0${id.toLowerCase()}`;
}

/** Values in the order of their keys, as Consul lists them. */
export function bySortedKey<T>(entries: ReadonlyMap<string, T>): T[] {
  return [...entries].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, value]) => value);
}

/** Whether a stored record says the same as a new one, apart from its indexes. */
export function sameBut(
  before: { readonly createIndex: number; readonly modifyIndex: number },
  after: object,
): boolean {
  const { createIndex: _create, modifyIndex: _modify, ...rest } = before;
  return canonical(rest) === canonical(after);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

/** Records by identity, and by the groups that each one names. */
export class RecordIndex<T> {
  readonly #records = new Map<string, T>();
  readonly #groups = new Map<string, Map<string, T>>();
  readonly #groupsOf: (record: T) => readonly string[];

  constructor(groupsOf: (record: T) => readonly string[]) {
    this.#groupsOf = groupsOf;
  }

  get(identity: string): T | undefined {
    return this.#records.get(identity);
  }

  set(identity: string, record: T): void {
    this.delete(identity);
    this.#records.set(identity, record);
    for (const name of this.#groupsOf(record)) {
      const group = this.#groups.get(name) ?? new Map<string, T>();
      this.#groups.set(name, group.set(identity, record));
    }
  }

  delete(identity: string): void {
    const record = this.#records.get(identity);
    if (record === undefined) return;
    this.#records.delete(identity);
    for (const name of this.#groupsOf(record)) {
      const group = this.#groups.get(name);
      group?.delete(identity);
      if (group?.size === 0) this.#groups.delete(name);
    }
  }

  all(): readonly T[] {
    return bySortedKey(this.#records);
  }

  group(name: string): readonly T[] {
    const group = this.#groups.get(name);
    return group ? bySortedKey(group) : [];
  }
}
