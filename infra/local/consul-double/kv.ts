/** The key-value store, with Consul's indexes: of a key its own, of a prefix the newest in it, else the table's. */
import { bySortedKey } from './catalog-keys.ts';
import type { ChangeFeed } from './feed.ts';
import type { Reading } from './records.ts';

/** A stored value. */
export interface KvEntry {
  readonly key: string;
  readonly value: Buffer;
  readonly flags: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

/** The state behind `/v1/kv`. */
export class KvStore {
  readonly #feed: ChangeFeed;
  readonly #entries = new Map<string, KvEntry>();
  readonly #tombstones = new Map<string, number>();
  #tableIndex = 0;

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
  }

  /** With `cas`, only if the key's ModifyIndex is that (0 = there is no key). The same value again changes nothing. */
  put(key: string, value: Buffer | string, { flags = 0, cas }: { flags?: number; cas?: number } = {}): boolean {
    const before = this.#entries.get(key);
    if (cas !== undefined && cas !== (before?.modifyIndex ?? 0)) return false;
    const bytes = Buffer.from(value);
    this.#feed.commit((index, changes) => {
      if (before && before.flags === flags && before.value.equals(bytes)) return;
      const createIndex = before?.createIndex ?? index;
      this.#entries.set(key, { key, value: bytes, flags, createIndex, modifyIndex: index });
      this.#tableIndex = index;
      changes.keys.add(key);
    });
    return true;
  }

  /** A key, or all keys with a prefix. What is not there is no error. */
  delete(key: string, recurse = false): void {
    this.#feed.commit((index, changes) => {
      const doomed = recurse ? [...this.#entries.keys()].filter((other) => other.startsWith(key)) : [key];
      for (const name of doomed) {
        if (!this.#entries.delete(name)) continue;
        this.#tombstones.set(name, index);
        this.#tableIndex = index;
        changes.keys.add(name);
      }
    });
  }

  /** While there is no such key, every write of a key wakes. */
  get(key: string): Reading<KvEntry | undefined> {
    const value = this.#entries.get(key);
    return {
      value,
      index: value?.modifyIndex ?? this.#tableIndex,
      wakes: ({ keys }) => (value ? keys.has(key) : keys.size > 0),
    };
  }

  list(prefix: string): Reading<readonly KvEntry[]> {
    const value = bySortedKey(this.#entries).filter(({ key }) => key.startsWith(prefix));
    const graves = [...this.#tombstones].filter(([key]) => key.startsWith(prefix)).map(([, index]) => index);
    const index = Math.max(0, ...value.map(({ modifyIndex }) => modifyIndex), ...graves);
    return {
      value,
      index: value.length > 0 ? index : this.#tableIndex,
      wakes: ({ keys }) => keys.size > 0 && (value.length === 0 || [...keys].some((key) => key.startsWith(prefix))),
    };
  }
}
