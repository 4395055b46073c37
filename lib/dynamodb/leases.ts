/**
 * Leases: one item each, never deleted, so that its fencing number only grows.
 *
 *   free   = no item, or now >= untilMs
 *   taken  = somebody's until untilMs; only holder *and* fence can renew or release it
 *
 *   A: acquire  fence 1, until 60 s ---------.  A is paused and does not renew
 *   B: acquire at 60 s: fence 2, until 120 s -|-------
 *   A: renew with fence 1 -> conflict: A stops
 */
import { randomUUID } from 'node:crypto';
import type { Lease, StatePort } from '../ports.ts';
import { type Decoded, decode, field, leaseData, SCHEMA } from './codec.ts';
import { stateFailure } from './failure.ts';
import { leaseKey } from './keys.ts';
import type { Table } from './table.ts';

const NAMES = { '#data': 'data', '#schema': 'schema', '#version': 'version', '#writeId': 'writeId' };
/** A lease that is free again whenever we look at who has it: that often we try. */
const TRIES = 3;

/** Of `StatePort`; one write where the lease is free. */
export async function acquireLease(
  table: Table,
  ...[name, holder, nowMs, untilMs]: Parameters<StatePort['acquireLease']>
): ReturnType<StatePort['acquireLease']> {
  const key = leaseKey(name);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const writeId = randomUUID();
    // The whole map is set, since a path into `data` does not exist in a new item; so the fence is the version.
    const taken = await table.update(
      key,
      'SET #schema = :schema, #data = :data, #writeId = :writeId, #version = if_not_exists(#version, :none) + :one',
      {
        expression: 'attribute_not_exists(pk) OR (#schema = :schema AND #data.untilMs <= :now)',
        names: NAMES,
        values: {
          ':schema': SCHEMA,
          ':data': { holder, untilMs },
          ':writeId': writeId,
          ':now': nowMs,
          ':none': 0,
          ':one': 1,
        },
      },
    );
    const item = taken ?? (await table.get(key));
    if (item === undefined) continue;
    const { data, version } = understood(name, item);
    // The second: our own write, whose answer was lost and which the SDK then repeated.
    if (taken || field(item, 'writeId') === writeId) return { lease: { name, holder, fence: version, untilMs } };
    if (data.untilMs > nowMs) return { heldBy: data.holder, untilMs: data.untilMs };
  }
  return { heldBy: 'somebody (it changes hands)', untilMs: nowMs };
}

/** Of `StatePort`. */
export async function renewLease(table: Table, lease: Lease, untilMs: number): ReturnType<StatePort['renewLease']> {
  const renewed = await set(table, lease, { holder: lease.holder, untilMs });
  return renewed ? { lease: { ...lease, untilMs } } : 'conflict';
}

/** Of `StatePort`. A lease lost in the meantime is left to whoever has it. */
export async function releaseLease(table: Table, lease: Lease): Promise<void> {
  await set(table, lease, { holder: '', untilMs: 0 });
}

async function set(table: Table, lease: Lease, data: { holder: string; untilMs: number }): Promise<boolean> {
  const { '#writeId': _, ...names } = NAMES;
  const updated = await table.update(leaseKey(lease.name), 'SET #data = :data', {
    expression: '#schema = :schema AND #version = :fence AND #data.holder = :holder',
    names,
    values: { ':schema': SCHEMA, ':fence': lease.fence, ':holder': lease.holder, ':data': data },
  });
  return updated !== undefined;
}

/** A lease that cannot be understood is nobody's to take: it is reported, loudly, until somebody looks at it. */
function understood(name: string, item: unknown): Decoded<{ holder: string; untilMs: number }> {
  const decoded = decode(item, leaseData);
  if ('problem' in decoded) throw stateFailure('malformed', `lease ${name} is left alone: ${decoded.problem}`);
  return decoded;
}
