/**
 * Consul's JSON as our types. Lenient to what we do not use (unknown fields, `null` for empty), strict on what decides:
 * one entry that is not of the documented shape makes the whole answer `malformed`, since a list without it would be a
 * part that looks whole.
 */
import * as z from 'zod/mini';
import { parseDurationMs } from '../check-restart/duration.ts';
import { type InstanceDetails, ReadFailure, type UnhealthyCheck } from '../ports.ts';
import type { DeclaringInstance } from '../proxies/declaration.ts';
import { safeText } from './safe-text.ts';

/** Longest check output that is kept. */
export const OUTPUT_LENGTH = 256;

const text = z.nullish(z.string());
const index = z.nullish(z.number().check(z.int(), z.nonnegative()));
const texts = z.nullish(z.record(z.string(), z.string()));
/** `"10s"`, or Go's nanoseconds. */
const interval = z.nullish(z.union([z.string(), z.number()]));

const check = z.object({
  Node: z.string(),
  CheckID: z.string(),
  Status: z.string(),
  Name: text,
  Output: text,
  ServiceID: text,
  ServiceName: text,
  Type: text,
  Namespace: text,
  Partition: text,
  CreateIndex: index,
  Interval: interval,
  Definition: z.nullish(z.object({ Interval: interval })),
});

const instance = z.object({
  Node: z.string(),
  ServiceID: z.string(),
  ServiceName: z.string(),
  ServiceKind: text,
  ServiceAddress: text,
  ServicePort: z.nullish(z.number()),
  ServiceMeta: texts,
  NodeMeta: texts,
  ServiceProxy: z.nullish(z.object({ DestinationServiceName: text, DestinationServiceID: text })),
  Namespace: text,
  Partition: text,
});

const taggedInstance = z.object({
  Node: z.string(),
  ServiceID: z.string(),
  ServiceName: z.string(),
  ServiceTags: z.nullish(z.array(z.string())),
  ServiceMeta: texts,
});

const keyBelow = z.object({ Key: z.string(), Value: text });

const keyEntry = z.object({ Value: text, ModifyIndex: z.number().check(z.int(), z.nonnegative()) });

const checkList = z.array(check);
const instanceList = z.array(instance);
const taggedInstanceList = z.array(taggedInstance);
const keysBelow = z.array(keyBelow);
const keyEntries = z.array(keyEntry).check(z.length(1));
const serviceTags = z.record(z.string(), z.nullish(z.array(z.string())));

/** `health/state/*`: a list, never `null`. Throws `ReadFailure` (`malformed`). */
export function decodeStateChecks(body: unknown, what: string): readonly UnhealthyCheck[] {
  return parse(checkList, body, what).map(toCheck);
}

/** `health/checks/SERVICE`; `null` is an empty list (case C11). Throws `ReadFailure` (`malformed`). */
export function decodeServiceChecks(body: unknown, what: string): readonly UnhealthyCheck[] {
  return parse(z.nullish(checkList), body, what)?.map(toCheck) ?? [];
}

/** `catalog/service/NAME`; `null` is an empty list (case C11). Throws `ReadFailure` (`malformed`). */
export function decodeInstances(body: unknown, what: string): readonly InstanceDetails[] {
  return parse(z.nullish(instanceList), body, what)?.map(toInstance) ?? [];
}

/** `kv/KEY`. Throws `ReadFailure` (`malformed`). */
export function decodeKey(body: unknown, what: string): { readonly text: string; readonly modifyIndex: string } {
  const [entry] = parse(keyEntries, body, what);
  if (entry === undefined) throw malformed(what, 'no entry');
  return { text: Buffer.from(entry.Value ?? '', 'base64').toString('utf8'), modifyIndex: String(entry.ModifyIndex) };
}

/** `catalog/service/NAME`, with the tags; `null` is an empty list (case C11). Throws `ReadFailure` (`malformed`). */
export function decodeTaggedInstances(body: unknown, what: string): readonly DeclaringInstance[] {
  const instances = parse(z.nullish(taggedInstanceList), body, what) ?? [];
  return instances.map((raw) => ({
    node: raw.Node.toWellFormed(),
    serviceId: raw.ServiceID.toWellFormed(),
    serviceName: raw.ServiceName.toWellFormed(),
    tags: raw.ServiceTags ?? [],
    meta: raw.ServiceMeta ?? {},
  }));
}

/** `kv/PREFIX?recurse`: keys with their values, in base64; empty for no value. Throws `ReadFailure` (`malformed`). */
export function decodeKeysBelow(
  body: unknown,
  what: string,
): readonly { readonly key: string; readonly value: string }[] {
  return parse(keysBelow, body, what).map(({ Key, Value }) => ({ key: Key.toWellFormed(), value: Value ?? '' }));
}

/** `catalog/services`. Throws `ReadFailure` (`malformed`). */
export function decodeServices(body: unknown, what: string): ReadonlyMap<string, readonly string[]> {
  return new Map(Object.entries(parse(serviceTags, body, what)).map(([name, tags]) => [name, tags ?? []]));
}

function parse<Schema extends z.ZodMiniType>(schema: Schema, body: unknown, what: string): z.output<Schema> {
  const result = z.safeParse(schema, body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  // The path and the kind of the problem only: values may hold check output.
  const path = issue === undefined || issue.path.length === 0 ? 'the whole answer' : issue.path.map(String).join('.');
  const expected = issue !== undefined && 'expected' in issue ? `, expected ${String(issue.expected)}` : '';
  throw malformed(what, `${safeText(path, [], 100)} is not as documented${expected}`);
}

function malformed(what: string, problem: string): ReadFailure {
  return new ReadFailure('consul', 'malformed', `Consul's answer to ${what}: ${problem}`);
}

/** Names are made well-formed Unicode: keys are percent-encoded, and a lone surrogate would throw there. */
function toCheck(raw: z.output<typeof check>): UnhealthyCheck {
  const intervalMs = toIntervalMs(raw.Interval) ?? toIntervalMs(raw.Definition?.Interval);
  return {
    node: raw.Node.toWellFormed(),
    checkId: raw.CheckID.toWellFormed(),
    name: raw.Name ?? '',
    status: raw.Status,
    serviceId: (raw.ServiceID ?? '').toWellFormed(),
    serviceName: raw.ServiceName ?? '',
    namespace: (raw.Namespace ?? '').toWellFormed(),
    partition: (raw.Partition ?? '').toWellFormed(),
    type: raw.Type ?? '',
    output: (raw.Output ?? '').slice(0, OUTPUT_LENGTH),
    createIndex: raw.CreateIndex ?? 0,
    ...(intervalMs === undefined ? {} : { intervalMs }),
  };
}

/** Zero and what is no duration say nothing about the interval. */
function toIntervalMs(value: string | number | null | undefined): number | undefined {
  const intervalMs = typeof value === 'number' ? value / 1e6 : parseDurationMs(value ?? '');
  return intervalMs !== undefined && intervalMs > 0 ? intervalMs : undefined;
}

function toInstance(raw: z.output<typeof instance>): InstanceDetails {
  const { DestinationServiceName: name, DestinationServiceID: id } = raw.ServiceProxy ?? {};
  return {
    node: raw.Node.toWellFormed(),
    serviceId: raw.ServiceID.toWellFormed(),
    serviceName: raw.ServiceName,
    namespace: (raw.Namespace ?? '').toWellFormed(),
    partition: (raw.Partition ?? '').toWellFormed(),
    kind: raw.ServiceKind ?? '',
    address: raw.ServiceAddress ?? '',
    port: raw.ServicePort ?? 0,
    meta: raw.ServiceMeta ?? {},
    nodeMeta: raw.NodeMeta ?? {},
    ...(name ? { destinationServiceName: name } : {}),
    ...(id ? { destinationServiceId: id } : {}),
  };
}
