/**
 * `StatePort` on DynamoDB. Costs: `load` one Query (more pages only beyond 1 MB), a save or delete one write, a slot a read
 * and a write, a lease one write each to acquire, renew and release. After a failed condition one strong read more.
 */
import { randomUUID } from 'node:crypto';
import type * as z from 'zod/mini';
import { NO_BRAKE_STATE } from '../brakes/state.ts';
import type {
  Heartbeat,
  HistoryEntry,
  Lease,
  ServiceState,
  StatePort,
  StoredEstate,
  StoredPolicy,
  StoredState,
  WatchedCheck,
} from '../ports.ts';
import {
  decode,
  estateData,
  field,
  heartbeatData,
  historyData,
  policyData,
  SCHEMA,
  serviceData,
  ttlSeconds,
  watchedCheckData,
} from './codec.ts';
import { stateFailure } from './failure.ts';
import {
  CHECK_PREFIX,
  ESTATE_KEY,
  ESTATE_SORT_KEY,
  HEARTBEAT_KEY,
  HEARTBEAT_SORT_KEY,
  HISTORY_PARTITION,
  historyKey,
  type ItemKey,
  POLICY_KEY,
  POLICY_SORT_KEY,
  SERVICE_PREFIX,
  STATE_PARTITION,
  serviceKey,
  watchedCheckKey,
} from './keys.ts';
import { acquireLease, releaseLease, renewLease } from './leases.ts';
import { restartsOfMinute, takeRestartSlot } from './slots.ts';
import { Table, type TableOptions } from './table.ts';

const HISTORY_KEPT_MS = 90 * 24 * 3_600_000;

/** `partition`: of checks, services, heartbeat, policy and estate; the default is the watcher's. The rest is everybody's. */
export interface StateOptions extends TableOptions {
  readonly partition?: string;
}

/** The state of one deployment. Every method throws `ReadFailure` (system `state`) and nothing else. */
export function createDynamoState({ partition = STATE_PARTITION, ...options }: StateOptions): StatePort {
  const table = new Table(options);
  const at = (key: ItemKey): ItemKey => ({ ...key, pk: partition });
  return {
    load: async () => sorted(await table.partition(partition)),
    saveCheck: ({ version, ...data }: WatchedCheck) =>
      table.putVersion(at(watchedCheckKey(data)), version, { data, shape: watchedCheckData }),
    deleteCheck: (check: WatchedCheck) => table.deleteVersion(at(watchedCheckKey(check)), check.version),
    readService: (key: string) => readService(table, at(serviceKey(key)), key),
    saveService: ({ version, ...data }: ServiceState) =>
      table.putVersion(at(serviceKey(data.key)), version, { data, shape: serviceData }),
    readEstate: () => readEstate(table, at(ESTATE_KEY)),
    saveEstate: ({ version, state: data }: StoredEstate) =>
      table.putVersion(at(ESTATE_KEY), version, { data, shape: estateData }),
    recentRestarts: (cluster, nowMs) => restartsOfMinute(table, cluster, nowMs),
    takeRestartSlot: (cluster, nowMs, perMinute, places) => takeRestartSlot(table, cluster, nowMs, perMinute, places),
    saveHeartbeat: (heartbeat: Heartbeat) => saveHeartbeat(table, at(HEARTBEAT_KEY), heartbeat),
    savePolicy: (policy: StoredPolicy) => savePolicy(table, at(POLICY_KEY), policy),
    acquireLease: (name, holder, nowMs, untilMs) => acquireLease(table, name, holder, nowMs, untilMs),
    renewLease: (lease: Lease, untilMs: number) => renewLease(table, lease, untilMs),
    releaseLease: (lease: Lease) => releaseLease(table, lease),
    appendHistory: (entry: HistoryEntry) => appendHistory(table, entry),
    recentHistory: (limit: number) => recentHistory(table, limit),
  };
}

async function readService(table: Table, place: ItemKey, key: string): Promise<ServiceState> {
  const item = await table.get(place);
  if (item === undefined) return { key, version: 0, claims: [], refused: [], brakes: NO_BRAKE_STATE };
  const read = readAs(item, serviceData, (data) => serviceKey(data.key));
  if ('problem' in read) throw stateFailure('malformed', `service ${key} is left alone: ${read.problem}`);
  return { ...read.data, version: read.version };
}

async function readEstate(table: Table, key: ItemKey): Promise<StoredEstate> {
  const item = await table.get(key);
  if (item === undefined) return { version: 0, state: {} };
  const read = decode(item, estateData);
  if ('problem' in read) throw stateFailure('malformed', `the item ${ESTATE_SORT_KEY} is left alone: ${read.problem}`);
  return { version: read.version, state: read.data };
}

/**
 * One write, no version: the later heartbeat wins, and an earlier one that comes late is dropped. One that cannot be
 * understood is left alone and reported.
 */
async function saveHeartbeat(table: Table, key: ItemKey, heartbeat: Heartbeat): Promise<void> {
  const stored = { data: heartbeat, shape: heartbeatData };
  const result = await table.put(key, 1, stored, {
    expression: 'attribute_not_exists(pk) OR (#schema = :schema AND #data.atMs <= :atMs)',
    names: { '#schema': 'schema', '#data': 'data' },
    values: { ':schema': SCHEMA, ':atMs': heartbeat.atMs },
  });
  if (result === 'conflict') await refuseUnlessUnderstood(table, key, heartbeatData);
}

async function savePolicy(table: Table, key: ItemKey, policy: StoredPolicy): Promise<void> {
  const result = await table.put(
    key,
    1,
    { data: policy, shape: policyData },
    {
      expression: 'attribute_not_exists(pk) OR #schema = :schema',
      names: { '#schema': 'schema' },
      values: { ':schema': SCHEMA },
    },
  );
  if (result === 'conflict') await refuseUnlessUnderstood(table, key, policyData);
}

async function refuseUnlessUnderstood(table: Table, key: ItemKey, shape: z.ZodMiniType): Promise<void> {
  const read = decode(await table.get(key), shape);
  if ('problem' in read) throw stateFailure('malformed', `item ${key.sk} is left alone: ${read.problem}`);
}

async function appendHistory(table: Table, entry: HistoryEntry): Promise<void> {
  const ttl = ttlSeconds(entry.atMs + HISTORY_KEPT_MS);
  const stored = { data: entry, shape: historyData, ttl };
  await table.put(historyKey(entry.atMs, randomUUID()), 1, stored, { expression: 'attribute_not_exists(pk)' });
}

/** Lines that are not understood are left out: history decides nothing. */
async function recentHistory(table: Table, limit: number): Promise<readonly HistoryEntry[]> {
  return (await table.last(HISTORY_PARTITION, limit)).flatMap((item) => {
    const read = decode(item, historyData);
    return 'problem' in read ? [] : [read.data];
  });
}

/** Sorts the partition's items by kind. What is not understood says so and holds nothing else up. */
function sorted(items: readonly Record<string, unknown>[]): StoredState {
  const checks: WatchedCheck[] = [];
  const services: ServiceState[] = [];
  const unreadable: { key: string; problem: string }[] = [];
  let heartbeat: Heartbeat | undefined;
  let policy: StoredPolicy | undefined;
  let estate: StoredEstate | undefined;
  for (const item of items) {
    const key = String(field(item, 'sk'));
    const setAside = (read: { readonly problem: string }) => unreadable.push({ key, problem: read.problem });
    if (key.startsWith(CHECK_PREFIX)) {
      const read = readAs(item, watchedCheckData, watchedCheckKey);
      if ('problem' in read) setAside(read);
      else checks.push({ ...read.data, version: read.version });
    } else if (key.startsWith(SERVICE_PREFIX)) {
      const read = readAs(item, serviceData, (data) => serviceKey(data.key));
      if ('problem' in read) setAside(read);
      else services.push({ ...read.data, version: read.version });
    } else if (key === HEARTBEAT_SORT_KEY) {
      const read = decode(item, heartbeatData);
      if ('problem' in read) setAside(read);
      else heartbeat = read.data;
    } else if (key === ESTATE_SORT_KEY) {
      const read = decode(item, estateData);
      if ('problem' in read) setAside(read);
      else estate = { version: read.version, state: read.data };
    } else if (key === POLICY_SORT_KEY) {
      const read = decode(item, policyData);
      if ('problem' in read) setAside(read);
      else policy = read.data;
    } else {
      setAside({ problem: 'not a kind of item that is known here' });
    }
  }
  return {
    checks,
    services,
    unreadable,
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(policy === undefined ? {} : { policy }),
    ...(estate === undefined ? {} : { estate }),
  };
}

/** Understood only where the content belongs to the key: one that names another check would act upon that one. */
function readAs<T>(item: unknown, shape: z.ZodMiniType<T>, keyOf: (data: T) => ItemKey) {
  const read = decode(item, shape);
  if ('problem' in read || keyOf(read.data).sk === field(item, 'sk')) return read;
  return { problem: 'its key and its content name different things' };
}
