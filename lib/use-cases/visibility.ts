/**
 * Whether the token sees anything at all. With ACLs that deny by default a token without rights gets 200 and `[]` of
 * Consul's check lists, and old servers do not say that they left something out: a healthy estate for ever. So every ten
 * minutes the catalog must name a service besides Consul itself, and must show an instance of one (which takes the right
 * to read nodes, as the check lists do).
 *
 * An estate that never had a service looks the same, and is reported the same: nothing is watched there either. A token
 * that sees a part of the services is not found out by this.
 */
import { type ConsulPort, ReadFailure } from '../ports.ts';
import type { WatchMemory } from './watch-memory.ts';

/** A proof holds for so long. */
export const PROOF_MS = 10 * 60_000;

/** Services asked for instances: one may have gone since the catalog was read. */
const TRIES = 3;

const NO_SERVICE =
  'the catalog shows no service but Consul itself: either there is none yet, or the ACL token may not read services ' +
  '(service_prefix "" read). The two look the same; nothing is watched until there is one';
const NO_INSTANCE =
  'the catalog names services, but shows no instance of them: the ACL token may not read nodes (node_prefix "" read)';

/** What was seen. */
export interface Sight {
  /** Number of services that the catalog names. */
  readonly services: number;
  /** Why nothing may be concluded from what Consul answers to this token. */
  readonly problem?: string;
}

/** Looks: one read of the catalog, and one of a service (at most three). Throws `ReadFailure` when a read fails. */
export async function look(consul: Pick<ConsulPort, 'listServices' | 'listInstances'>): Promise<Sight> {
  const names = [...(await consul.listServices()).keys()];
  const others = names.filter((name) => name !== 'consul' && isSendable(name));
  if (others.length === 0) return { services: names.length, problem: NO_SERVICE };
  for (const name of others.slice(0, TRIES)) {
    if ((await consul.listInstances(name)).length > 0) return { services: names.length };
  }
  return { services: names.length, problem: NO_INSTANCE };
}

/** Proves that something is seen, unless that was proved in the last ten minutes. Throws `ReadFailure`, else. */
export async function proveSight(
  consul: Pick<ConsulPort, 'listServices' | 'listInstances'>,
  memory: Pick<WatchMemory, 'provedMs'>,
  nowMs: number,
): Promise<void> {
  const { provedMs } = memory;
  // One in the future is of a clock that was wrong.
  if (provedMs !== undefined && provedMs <= nowMs && nowMs < provedMs + PROOF_MS) return;
  const { problem } = await look(consul);
  if (problem !== undefined) throw new ReadFailure('consul', 'filtered', problem);
  memory.provedMs = nowMs;
}

/** Somebody's service called `..` must not keep all others from being seen. */
function isSendable(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && name.isWellFormed();
}
