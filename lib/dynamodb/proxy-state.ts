/** `ProxyStatePort` on DynamoDB: the reconciler's own partition, one strong Query, every write over the version read. */
import { RUNNING } from '../proxies/run-state.ts';
import { NO_MEMORY } from '../proxies/trust.ts';
import type { ProxyStatePort, ReconcileControl, StoredProxies, StoredProxy } from '../proxy-ports.ts';
import { decode, field } from './codec.ts';
import { CONTROL_KEY, CONTROL_SORT_KEY, PROXY_PARTITION, proxyIdOfKey, proxyKey } from './keys.ts';
import { controlData, proxyData } from './proxy-codec.ts';
import { Table, type TableOptions } from './table.ts';

/** The reconciler's state. Every method throws `ReadFailure` (system `state`) and nothing else. */
export function createDynamoProxyState(options: TableOptions): ProxyStatePort {
  const table = new Table(options);
  return {
    loadProxies: async () => sorted(await table.partition(PROXY_PARTITION)),
    saveProxy: ({ version, state: data }: StoredProxy) =>
      table.putVersion(proxyKey(data.proxyId), version, { data, shape: proxyData }),
    deleteProxy: ({ version, state }: StoredProxy) => table.deleteVersion(proxyKey(state.proxyId), version),
    saveControl: ({ version, ...data }: ReconcileControl) =>
      table.putVersion(CONTROL_KEY, version, { data, shape: controlData }),
  };
}

/** Stands for a control item that is not understood. It stops everything: an operator may have closed or killed. */
export const UNREADABLE_CONTROL: ReconcileControl = {
  version: 0,
  runState: { phase: 'stopped', kill: false },
  memory: NO_MEMORY,
};

function sorted(items: readonly Record<string, unknown>[]): StoredProxies {
  const proxies: StoredProxy[] = [];
  const unreadable: { key: string; problem: string; proxyId?: string }[] = [];
  let control: ReconcileControl = { version: 0, runState: RUNNING, memory: NO_MEMORY };
  for (const item of items) {
    const key = String(field(item, 'sk'));
    if (key === CONTROL_SORT_KEY) {
      const read = decode(item, controlData);
      if ('problem' in read) {
        unreadable.push({ key, problem: read.problem });
        control = UNREADABLE_CONTROL;
      } else control = { ...read.data, version: read.version };
      continue;
    }
    const proxyId = idOf(item, key);
    const named = proxyId === undefined ? {} : { proxyId };
    const read = decode(item, proxyData);
    if ('problem' in read) unreadable.push({ key, problem: read.problem, ...named });
    else if (proxyKey(read.data.proxyId).sk !== key) {
      unreadable.push({ key, problem: 'its key and its content name different things', ...named });
    } else proxies.push({ version: read.version, state: read.data });
  }
  return { control, proxies, unreadable };
}

/** From the key, where it can be: whose item it is must be known though a newer schema calls everything otherwise. */
function idOf(item: unknown, key: string): string | undefined {
  const proxyId = proxyIdOfKey(key) ?? field(field(item, 'data'), 'proxyId');
  return typeof proxyId === 'string' && proxyKey(proxyId).sk === key ? proxyId : undefined;
}
