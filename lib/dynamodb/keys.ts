/**
 * Where an item lies. One table, `pk` and `sk`:
 *
 *   pk       sk                                                    item
 *   state    heartbeat | policy | estate | check#CHECK | service#SERVICE    all that one load must return, and nothing else
 *   proxies  control | proxy#ID                                    all that one load of the reconciler must return
 *   health   as `state`                                            of the proxies' own checks, which reconcile-proxies judges
 *   lease    NAME                                                  lease with its fencing number
 *   slot     CLUSTER                                               instants of the restarts of the last minute
 *   history  13 digits of epoch milliseconds # random              a line of history, with a ttl
 *
 * Names in keys come from Consul and ECS, so they may be anything. Parts of a check's key are percent-encoded, and a
 * sort key has at most 1024 bytes: where a name makes it longer than 900, the name is replaced by `sha256:` and the
 * 64 hexadecimal digits of its SHA-256. Nothing is lost: every item holds its parts as attributes, and keys are only
 * built, never taken apart (but for a proxy's, whose item may be one that is not understood: `proxyIdOfKey`).
 */
import { createHash } from 'node:crypto';
import { type CheckRef, checkKey } from '../ports.ts';

/** Primary key of an item. */
export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** The partition that `load` reads. */
export const STATE_PARTITION = 'state';
/** The same items for the checks of proxies: neither function takes the other's checks for absent ones of its own. */
export const HEALTH_PARTITION = 'health';
/** The partition that `loadProxies` reads, and its sort keys. */
export const PROXY_PARTITION = 'proxies';
export const PROXY_PREFIX = 'proxy#';
export const CONTROL_SORT_KEY = 'control';
/** The partition of history. */
export const HISTORY_PARTITION = 'history';
/** Sort keys of the single items of the state. */
export const HEARTBEAT_SORT_KEY = 'heartbeat';
export const POLICY_SORT_KEY = 'policy';
export const ESTATE_SORT_KEY = 'estate';
/** What the sort keys of the others begin with. */
export const CHECK_PREFIX = 'check#';
export const SERVICE_PREFIX = 'service#';

const LONGEST_NAME_BYTES = 900;
const HASHED = 'sha256:';

/** Key of a watched check. */
export function watchedCheckKey(check: Pick<CheckRef, 'partition' | 'namespace' | 'node' | 'checkId'>): ItemKey {
  // Half a surrogate pair can be neither percent-encoded nor stored.
  const name = checkKey({
    partition: check.partition.toWellFormed(),
    namespace: check.namespace.toWellFormed(),
    node: check.node.toWellFormed(),
    checkId: check.checkId.toWellFormed(),
  });
  return { pk: STATE_PARTITION, sk: CHECK_PREFIX + bounded(name) };
}

/** Key of an ECS service's item; `service` is `ServiceState.key`. */
export function serviceKey(service: string): ItemKey {
  return { pk: STATE_PARTITION, sk: SERVICE_PREFIX + bounded(service) };
}

/** Key of the heartbeat. */
export const HEARTBEAT_KEY: ItemKey = { pk: STATE_PARTITION, sk: HEARTBEAT_SORT_KEY };
/** Key of the last good policy. */
export const POLICY_KEY: ItemKey = { pk: STATE_PARTITION, sk: POLICY_SORT_KEY };

/** Key of the brakes of the whole deployment. */
export const ESTATE_KEY: ItemKey = { pk: STATE_PARTITION, sk: ESTATE_SORT_KEY };

/** Key of a proxy. */
export function proxyKey(proxyId: string): ItemKey {
  return { pk: PROXY_PARTITION, sk: PROXY_PREFIX + bounded(proxyId) };
}

/** The proxy of a sort key, whatever its item holds; `undefined` for the control item and for IDs that are hashed. */
export function proxyIdOfKey(sk: string): string | undefined {
  const name = sk.startsWith(PROXY_PREFIX) ? sk.slice(PROXY_PREFIX.length) : '';
  return name === '' || name.startsWith(HASHED) ? undefined : name;
}

/** Key of the reconciler's control item. */
export const CONTROL_KEY: ItemKey = { pk: PROXY_PARTITION, sk: CONTROL_SORT_KEY };

/** Key of a lease. */
export function leaseKey(name: string): ItemKey {
  return { pk: 'lease', sk: bounded(name) };
}

/** Key of a cluster's restarts of the last minute. */
export function slotKey(cluster: string): ItemKey {
  return { pk: 'slot', sk: bounded(cluster) };
}

/** Key of a line of history: sorts by time; `unique` keeps two of the same millisecond apart. */
export function historyKey(atMs: number, unique: string): ItemKey {
  return { pk: HISTORY_PARTITION, sk: `${String(Math.trunc(atMs)).padStart(13, '0')}#${unique}` };
}

function bounded(text: string): string {
  const name = text.toWellFormed();
  const fits = Buffer.byteLength(name) <= LONGEST_NAME_BYTES && name !== '' && !name.startsWith(HASHED);
  return fits ? name : HASHED + createHash('sha256').update(name).digest('hex');
}
