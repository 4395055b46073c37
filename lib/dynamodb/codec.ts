/**
 * How an item looks, and how it is read back.
 *
 * Every item is an envelope around `data`:
 *   pk, sk     key (see `keys.ts`)
 *   schema     1; raised when `data` changes so that an older deployment must not touch it
 *   version    guards the item: a write names the version that it read
 *   writeId    names the write that left the item like this (see `table.ts`)
 *   ttl        epoch *seconds*; absent where the item does not expire
 *   data       one of the shapes below
 *
 * A field is added to a shape by one line here (the compiler asks for it as soon as the type in `lib` has it), optional,
 * without a new schema number. Fields that this version does not know are kept and written back: two deployments overlap
 * for minutes, and the older one must not drop what the newer one stored (a hold, say).
 */
import * as z from 'zod/mini';
import type { BrakeState, BreakerState, BudgetWindow, EstateState, Hold, InFlightRestart } from '../brakes/state.ts';
import type { CheckState, Streak } from '../check-restart/evaluation.ts';
import type { Claim, Heartbeat, HistoryEntry, RefusedTry, ServiceState, StoredPolicy, WatchedCheck } from '../ports.ts';

/** The schema number that this version writes, and the only one that it understands. */
export const SCHEMA = 1;

/** Names every field of a type, so that one forgotten does not compile. */
export type Shape<T> = { readonly [K in keyof Required<T>]: z.ZodMiniType };

/** Building blocks of all shapes. */
export const text = z.string();
/** Instants and durations; whole milliseconds are usual, fractions harmless. */
export const ms = z.number().check(z.gte(Number.MIN_SAFE_INTEGER), z.lte(Number.MAX_SAFE_INTEGER));
export const optionalMs = z.exactOptional(ms);
export const count = z.int().check(z.nonnegative());

const streak = z.looseObject({ sinceMs: ms, countedFromMs: ms } satisfies Shape<Streak>);

const checkState = z.looseObject({
  taskArn: text,
  startedAtMs: optionalMs,
  seenMs: ms,
  streak: z.exactOptional(streak),
  absentSinceMs: optionalMs,
  frozenSinceMs: optionalMs,
  settleUntilMs: optionalMs,
  unrunSinceMs: optionalMs,
  goneSinceMs: optionalMs,
} satisfies Shape<CheckState>);

/** A watched check, without its version, which is the envelope's. */
export const watchedCheckData = z.looseObject({
  node: text,
  checkId: text,
  checkName: text,
  serviceId: text,
  serviceName: text,
  namespace: text,
  partition: text,
  state: checkState,
} satisfies Shape<Omit<WatchedCheck, 'version'>>);

const claim = z.looseObject({
  taskArn: text,
  action: z.enum(['stop-task', 'force-new-deployment']),
  checkName: text,
  consulService: text,
  claimedAtMs: ms,
  tries: count,
  triedAtMs: ms,
  outcome: z.enum(['open', 'accepted']),
  deploymentId: z.exactOptional(text),
  primaryBefore: z.exactOptional(text),
} satisfies Shape<Claim>);

const refusedTry = z.looseObject({ taskArn: text, tries: count, nextTryMs: ms } satisfies Shape<RefusedTry>);

const hold = z.looseObject({
  untilMs: optionalMs,
  why: text,
  byBudget: z.exactOptional(z.literal(true)),
} satisfies Shape<Hold>);

const budgetWindow = z.looseObject({
  windowStartMs: ms,
  used: count,
  eventSent: z.exactOptional(z.literal(true)),
} satisfies Shape<BudgetWindow>);

const breaker = z.looseObject({
  openedMs: ms,
  waitFromMs: ms,
  failedProbes: count,
  ready: z.exactOptional(z.literal(true)),
  probe: z.exactOptional(z.looseObject({ id: text, atMs: ms })),
  announced: z.exactOptional(z.literal(true)),
} satisfies Shape<BreakerState>);

const inFlightRestart = z.looseObject({
  id: text,
  sinceMs: ms,
  places: count,
  windowStartMs: optionalMs,
  previousRestartMs: optionalMs,
  reported: z.exactOptional(z.literal(true)),
} satisfies Shape<InFlightRestart>);

const brakes = z.looseObject({
  budget: z.exactOptional(budgetWindow),
  lastRestartMs: optionalMs,
  hold: z.exactOptional(hold),
  breaker: z.exactOptional(breaker),
  inFlight: z.array(inFlightRestart),
  fullSinceMs: optionalMs,
} satisfies Shape<BrakeState>);

/** Brakes of the whole deployment, without their version. */
export const estateData = z.looseObject({
  openSinceMs: optionalMs,
  hold: z.exactOptional(hold),
} satisfies Shape<EstateState>);

/** An ECS service, without its version. */
export const serviceData = z.looseObject({
  key: text,
  claims: z.array(claim),
  refused: z.array(refusedTry),
  brakes,
  graceMs: optionalMs,
  failedDeployment: z.exactOptional(text),
} satisfies Shape<Omit<ServiceState, 'version'>>);

/** The heartbeat. */
export const heartbeatData = z.looseObject({
  atMs: ms,
  settleUntilMs: optionalMs,
  provedMs: optionalMs,
  unsaved: z.exactOptional(z.array(text)),
  reported: z.record(text, text),
} satisfies Shape<Heartbeat>);

/** The last good policy. */
export const policyData = z.looseObject({ text, modifyIndex: text } satisfies Shape<StoredPolicy>);

/** A lease, its fence being the envelope's version. `holder` is empty once it has been released. */
export const leaseData = z.looseObject({ holder: text, untilMs: ms });

/** Instants of a cluster's restarts, oldest first. */
export const slotsData = z.looseObject({ takenMs: z.array(ms) });

/** A line of history. */
export const historyData = z.looseObject({
  atMs: ms,
  kind: text,
  detail: z.record(text, z.union([text, z.number(), z.boolean()])),
} satisfies Shape<HistoryEntry>);

const envelope = z.looseObject({
  pk: text,
  sk: text,
  version: z.int().check(z.positive()),
  writeId: z.exactOptional(text),
  ttl: z.exactOptional(z.number()),
  data: z.unknown(),
});

/** An item as the table holds it, its data understood. */
export interface Decoded<T> {
  readonly version: number;
  readonly writeId?: string;
  readonly data: T;
}

/** Reads an item; `problem` says in one line what is wrong, and holds no value of the item. */
export function decode<T>(item: unknown, data: z.ZodMiniType<T>): Decoded<T> | { readonly problem: string } {
  const schema = schemaOf(item);
  if (schema !== SCHEMA) return { problem: `schema ${printable(schema)} is not known here (${SCHEMA} is)` };
  const outer = envelope.safeParse(item);
  if (!outer.success) return { problem: problemOf(outer.error.issues) };
  const inner = data.safeParse(outer.data.data);
  if (!inner.success) return { problem: `data: ${problemOf(inner.error.issues)}` };
  const { version, writeId } = outer.data;
  return { version, data: inner.data, ...(writeId === undefined ? {} : { writeId }) };
}

/** What keeps a value from being stored, or `undefined`. */
export function problemToStore(value: unknown, data: z.ZodMiniType): string | undefined {
  const result = data.safeParse(value);
  return result.success ? undefined : problemOf(result.error.issues);
}

/** True for an item whose ttl (epoch seconds) is over; DynamoDB may keep returning it for days. */
export function isExpired(item: unknown, nowMs: number): boolean {
  const ttl = field(item, 'ttl');
  return typeof ttl === 'number' && ttl <= ttlSeconds(nowMs);
}

/** The unit of the ttl attribute: whole epoch seconds. */
export function ttlSeconds(atMs: number): number {
  return Math.floor(atMs / 1000);
}

function schemaOf(item: unknown): unknown {
  return field(item, 'schema');
}

/** A field of something that may be anything. */
export function field(item: unknown, name: string): unknown {
  return typeof item === 'object' && item !== null && Object.hasOwn(item, name) ? Reflect.get(item, name) : undefined;
}

function printable(schema: unknown): string {
  return typeof schema === 'number' ? String(schema) : schema === undefined ? '(none)' : `of type ${typeof schema}`;
}

const PROBLEMS_NAMED = 3;

function problemOf(issues: readonly z.core.$ZodIssue[]): string {
  const named = issues.slice(0, PROBLEMS_NAMED).map((issue) => `${issue.path.join('.') || 'item'} is not as expected`);
  return [...named, ...(issues.length > PROBLEMS_NAMED ? ['…'] : [])].join(', ');
}
