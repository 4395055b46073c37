/**
 * Calls on the one table: each with a deadline of its own, each error a `ReadFailure`, each write conditional.
 *
 * A write that blocks itself: the SDK repeats a request whose answer was lost. If the first one took effect, the
 * condition of the repetition fails, and a claim that is ours would look like somebody else's. So every write leaves a
 * `writeId`, and after a failed condition the item that is there now is read:
 *
 *   PUT version 3 -> 4, writeId w1   ... stored, answer lost
 *   PUT version 3 -> 4, writeId w1   ... ConditionalCheckFailed
 *   GET (strong)                     ... version 4, writeId w1: it was us -> saved
 *
 * (DynamoDB could hand the blocking item back with the failure; dynalite does not.)
 */
import { randomUUID } from 'node:crypto';
import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandOutput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import type * as z from 'zod/mini';
import type { Clock, WriteResult } from '../ports.ts';
import { field, isExpired, problemToStore, SCHEMA, ttlSeconds } from './codec.ts';
import { isConditionFailure, stateFailure, toReadFailure } from './failure.ts';
import type { ItemKey } from './keys.ts';

/** DynamoDB takes items of 400 KB, counted in its own way; JSON is never shorter than that by a seventh. */
const LARGEST_ITEM_BYTES = 350 * 1024;
/** A listing longer than this is not ours: a million checks would fit. */
const MOST_PAGES = 2000;

/** What the table's calls need. */
export interface TableOptions {
  readonly client: DynamoDBDocumentClient;
  readonly table: string;
  /** For the comparison with ttl only. */
  readonly clock: Clock;
  /** Deadline of one call, its repetitions included. */
  readonly callTimeoutMs?: number;
}

/** What a write stores: the item's data with the shape it must have, and its end in epoch seconds. */
export interface Storable {
  readonly data: object;
  readonly shape: z.ZodMiniType;
  readonly ttl?: number;
}

/** A condition on the item that is there, with its own names and values. */
export interface Condition {
  readonly expression: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
}

/** The table. */
export class Table {
  readonly #client: DynamoDBDocumentClient;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #callTimeoutMs: number;

  constructor(options: TableOptions) {
    this.#client = options.client;
    this.#name = options.table;
    this.#clock = options.clock;
    this.#callTimeoutMs = options.callTimeoutMs ?? 5000;
  }

  /** Strong read; `undefined` where there is none, or an expired one. */
  async get(key: ItemKey): Promise<Record<string, unknown> | undefined> {
    const { Item } = await this.#call('GetItem', (abortSignal) =>
      this.#client.send(new GetCommand({ TableName: this.#name, Key: key, ConsistentRead: true }), { abortSignal }),
    );
    return Item === undefined || isExpired(Item, this.#clock.nowMs()) ? undefined : Item;
  }

  /** Strong read of a whole partition, expired items left out. All of it, or an error. */
  async partition(pk: string): Promise<Record<string, unknown>[]> {
    const items: Record<string, unknown>[] = [];
    let start: QueryCommandOutput['LastEvaluatedKey'];
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const input = {
        TableName: this.#name,
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
      };
      const answer: QueryCommandOutput = await this.#call('Query', (abortSignal) =>
        this.#client.send(new QueryCommand(input), { abortSignal }),
      );
      for (const item of answer.Items ?? []) items.push(item);
      // A page may be empty and still not be the last one: only the missing key says that.
      start = answer.LastEvaluatedKey;
      if (start === undefined) return items.filter((item) => !isExpired(item, this.#clock.nowMs()));
    }
    throw stateFailure('incomplete', `Query on table ${this.#name}: no end after ${MOST_PAGES} pages`);
  }

  /** The last items of a partition by sort key, newest first, at most one page; expired ones left out. */
  async last(pk: string, limit: number): Promise<Record<string, unknown>[]> {
    const input = {
      TableName: this.#name,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': pk },
      ScanIndexForward: false,
      Limit: limit,
    };
    const answer: QueryCommandOutput = await this.#call('Query', (abortSignal) =>
      this.#client.send(new QueryCommand(input), { abortSignal }),
    );
    return (answer.Items ?? []).filter((item) => !isExpired(item, this.#clock.nowMs()));
  }

  /**
   * Writes an item over the version that was read (0 = there must be none, or an expired one), as version + 1. An item
   * of another schema is never written over.
   */
  async putVersion(key: ItemKey, version: number, stored: Storable): Promise<WriteResult> {
    return await this.put(key, version + 1, stored, this.#versionIs(version));
  }

  /** Writes an item where the condition holds; `conflict` where it does not. */
  async put(key: ItemKey, version: number, stored: Storable, condition: Condition): Promise<WriteResult> {
    const writeId = randomUUID();
    const item = { ...key, schema: SCHEMA, version, writeId, ttl: stored.ttl, data: wellFormed(stored.data) };
    this.#refuseUnstorable(key, item, stored);
    const input: PutCommandInput = { TableName: this.#name, Item: item, ...written(condition) };
    try {
      await this.#call('PutItem', (abortSignal) => this.#client.send(new PutCommand(input), { abortSignal }));
      return 'saved';
    } catch (error) {
      if (!isConditionFailure(error)) throw error;
      return field(await this.get(key), 'writeId') === writeId ? 'saved' : 'conflict';
    }
  }

  /** Deletes the version that was read. An item that is gone already counts as deleted. */
  async deleteVersion(key: ItemKey, version: number): Promise<WriteResult> {
    const { expression, ...rest } = this.#versionIs(version);
    const condition = { expression: `attribute_not_exists(pk) OR (${expression})`, ...rest };
    const input = { TableName: this.#name, Key: key, ...written(condition) };
    try {
      await this.#call('DeleteItem', (abortSignal) => this.#client.send(new DeleteCommand(input), { abortSignal }));
      return 'saved';
    } catch (error) {
      if (isConditionFailure(error)) return 'conflict';
      throw error;
    }
  }

  /** One UpdateItem; the new item, or `undefined` where the condition did not hold. */
  async update(key: ItemKey, set: string, condition: Condition): Promise<Record<string, unknown> | undefined> {
    const input: UpdateCommandInput = {
      TableName: this.#name,
      Key: key,
      UpdateExpression: set,
      ReturnValues: 'ALL_NEW',
      ...written(condition),
    };
    try {
      const answer = await this.#call('UpdateItem', (abortSignal) =>
        this.#client.send(new UpdateCommand(input), { abortSignal }),
      );
      return answer.Attributes ?? {};
    } catch (error) {
      if (isConditionFailure(error)) return undefined;
      throw error;
    }
  }

  #versionIs(version: number): Condition {
    const names = { '#ttl': 'ttl' };
    const values = { ':nowSeconds': ttlSeconds(this.#clock.nowMs()) };
    // What has expired is not there: neither does it block a new item, nor can it be the version that was read.
    if (version === 0) return { expression: 'attribute_not_exists(pk) OR #ttl <= :nowSeconds', names, values };
    return {
      expression: '#version = :version AND #schema = :schema AND (attribute_not_exists(#ttl) OR #ttl > :nowSeconds)',
      names: { ...names, '#version': 'version', '#schema': 'schema' },
      values: { ...values, ':version': version, ':schema': SCHEMA },
    };
  }

  #refuseUnstorable(key: ItemKey, item: object, stored: Storable): void {
    const problem = problemToStore(stored.data, stored.shape);
    if (problem !== undefined) throw stateFailure('malformed', `item ${key.sk} cannot be stored: ${problem}`);
    const bytes = Buffer.byteLength(JSON.stringify(item));
    if (bytes <= LARGEST_ITEM_BYTES) return;
    const kilobytes = (limit: number) => Math.ceil(limit / 1024);
    const sizes = `${kilobytes(bytes)} KB, at most ${kilobytes(LARGEST_ITEM_BYTES)} KB`;
    throw stateFailure('malformed', `item ${key.sk} is too large to be stored: ${sizes}`);
  }

  async #call<T>(operation: string, send: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await send(AbortSignal.timeout(this.#callTimeoutMs));
    } catch (error) {
      if (isConditionFailure(error)) throw error;
      throw toReadFailure(error, operation, this.#name);
    }
  }
}

function written(
  condition: Condition,
): Pick<PutCommandInput, 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'> {
  return {
    ConditionExpression: condition.expression,
    ...(condition.names ? { ExpressionAttributeNames: { ...condition.names } } : {}),
    ...(condition.values ? { ExpressionAttributeValues: { ...condition.values } } : {}),
  };
}

/** Half a surrogate pair cannot be sent as UTF-8; Consul's names may hold one. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), wellFormed(inner)]));
}
