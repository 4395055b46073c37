/**
 * What reconcile-proxies may be invoked with: a batch of its queue, the schedule, or an action by hand. Unknown keys of an
 * action are refused: a misspelt `dryRun` must not stop anything. Messages are hints: a batch comes down to when its newest
 * was sent.
 */
import * as z from 'zod/mini';
import { schemaProblems } from '../../lib/config/schema-problems.ts';
import { parseWakeUp } from '../../lib/sqs/wake-up.ts';
import type { RestartTarget } from '../../lib/use-cases/reconcile/operate-proxies.ts';

/** An understood invocation. */
export type ProxyInput =
  | { readonly action: 'batch'; readonly batch: Batch }
  | { readonly action: 'sync'; readonly dryRun: boolean; readonly stops?: number }
  | { readonly action: 'restart'; readonly of: RestartTarget }
  | { readonly action: 'status' | 'close' | 'kill' | 'run' };

/** Messages of the queue. */
export interface Batch {
  /** IDs of those that are understood. */
  readonly messageIds: readonly string[];
  /** When the newest of them was sent, or is meant for; absent where one does not say. */
  readonly newestMs?: number;
  /** IDs of those that are not, and never will be. */
  readonly malformed: readonly string[];
}

/** Thrown for an input that is not understood; lists every problem. Nothing has been done. */
export class InvalidInput extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`invalid input:\n${problems.join('\n')}`);
    this.name = 'InvalidInput';
    this.problems = problems;
  }
}

/** As many as a deployment can have; larger is a slip. */
const MOST_STOPS = 10_000;
const stopsError = `a whole number, 1 to ${MOST_STOPS}: how many proxies this sync may stop for good`;
const restartError = 'either proxy (its ID) or taskDefinition';

function text(error: string, most: number) {
  return z
    .string({ error })
    .check(z.minLength(1, { error }), z.maxLength(most, { error }), z.regex(/^[^\p{Cc}]*$/u, { error }));
}

function action<const A extends string, T extends Record<string, z.core.SomeType>>(name: A, shape: T) {
  return z.strictObject({ action: z.literal(name), ...shape }, { error: ['action', ...Object.keys(shape)].join(', ') });
}

const sync = action('sync', {
  dryRun: z._default(z.boolean({ error: 'true or false (not a text)' }), false),
  stops: z.exactOptional(
    z.int({ error: stopsError }).check(z.gte(1, { error: stopsError }), z.lte(MOST_STOPS, { error: stopsError })),
  ),
});
const restart = action('restart', {
  proxy: z.exactOptional(text('the ID of a proxy', 255)),
  taskDefinition: z.exactOptional(
    z
      .string({ error: 'FAMILY or FAMILY:REVISION' })
      .check(z.regex(/^[A-Za-z0-9_-]{1,255}(?::[1-9]\d{0,9})?$/, { error: 'FAMILY or FAMILY:REVISION' })),
  ),
});

const ACTIONS = ['sync', 'status', 'restart', 'close', 'kill', 'run'];
const input = z.discriminatedUnion(
  'action',
  [sync, restart, action('status', {}), action('close', {}), action('kill', {}), action('run', {})],
  { error: `an object whose action is one of ${ACTIONS.map((one) => `"${one}"`).join(', ')}` },
);

/** The event EventBridge sends when a schedule names no input of its own. */
const scheduled = z.looseObject({ source: z.enum(['aws.scheduler', 'aws.events']), 'detail-type': z.string() });

const records = z.looseObject({
  Records: z
    .array(
      z.looseObject({
        eventSource: z.literal('aws:sqs'),
        messageId: z.string(),
        body: z.string(),
        attributes: z.looseObject({ SentTimestamp: z.catch(z.optional(z.string()), undefined) }),
      }),
    )
    .check(z.minLength(1)),
});

type SqsRecord = z.infer<typeof records>['Records'][number];

/** No more of an event is read: what is in it decides nothing (C41). */
const taskStateChange = z.looseObject({
  source: z.literal('aws.ecs'),
  'detail-type': z.literal('ECS Task State Change'),
});

/**
 * Reads the function's event: a batch, ours, the schedule's, or nothing at all (a sync, as `invoke local` without data).
 * Throws `InvalidInput`.
 */
export function parseInput(event: unknown): ProxyInput {
  if (event === undefined || event === null || event === '' || isEmptyObject(event)) {
    return { action: 'sync', dryRun: false };
  }
  const queued = records.safeParse(event);
  if (queued.success) return { action: 'batch', batch: batchOf(queued.data.Records) };
  if (scheduled.safeParse(event).success) return { action: 'sync', dryRun: false };
  const read = input.safeParse(event);
  if (!read.success) throw new InvalidInput(schemaProblems(read.error.issues, event, 'input'));
  return read.data.action === 'restart' ? { action: 'restart', of: restartOf(read.data) } : read.data;
}

function batchOf(all: readonly SqsRecord[]): Batch {
  const understood = all.flatMap((record) => {
    const sent = sentOf(record);
    return sent ? [{ id: record.messageId, ...sent }] : [];
  });
  const ids = new Set(understood.map(({ id }) => id));
  const instants = understood.flatMap(({ atMs }) => (atMs === undefined ? [] : [atMs]));
  return {
    messageIds: [...ids],
    malformed: all.map(({ messageId }) => messageId).filter((id) => !ids.has(id)),
    // One that does not say may be the newest.
    ...(instants.length === understood.length && instants.length > 0
      ? { newestMs: instants.reduce((newest, atMs) => Math.max(newest, atMs)) }
      : {}),
  };
}

/** When a message was sent; a wake-up says itself for when it is meant. `undefined`: it is neither of the two. */
function sentOf({ body, attributes }: SqsRecord): { readonly atMs: number | undefined } | undefined {
  const wakeUp = parseWakeUp(body);
  if (wakeUp) return { atMs: wakeUp.atMs };
  if (!taskStateChange.safeParse(parsed(body)).success) return undefined;
  const sent = attributes.SentTimestamp ?? '';
  return { atMs: /^\d{1,15}$/.test(sent) ? Number(sent) : undefined };
}

function restartOf({ proxy, taskDefinition }: z.infer<typeof restart>): RestartTarget {
  if (proxy !== undefined && taskDefinition === undefined) return { proxyId: proxy };
  if (taskDefinition !== undefined && proxy === undefined) return { taskDefinition };
  throw new InvalidInput([`input: allowed: ${restartError}`]);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isEmptyObject(event: unknown): boolean {
  return typeof event === 'object' && !Array.isArray(event) && Object.keys(event ?? {}).length === 0;
}
