/** The state that judging proxies works on: two partitions as one port. */
import type { StatePort, StoredEstate } from '../../ports.ts';
import type { ReconcileDeps } from './reconcile-types.ts';

/** Checks and brakes of proxies are ours; leases, history, places of the minute and the hold for all are the deployment's. */
export function healthState({ health, state }: Pick<ReconcileDeps, 'health' | 'state'>): StatePort {
  const withHold = async (own: StoredEstate): Promise<StoredEstate> => {
    const { hold } = (await state.readEstate()).state;
    const { hold: _, ...rest } = own.state;
    return { ...own, state: hold === undefined ? rest : { ...rest, hold } };
  };
  return {
    load: async () => {
      const stored = await health.load();
      return { ...stored, estate: await withHold(stored.estate ?? { version: 0, state: {} }) };
    },
    readEstate: async () => withHold(await health.readEstate()),
    saveEstate: ({ version, state: { hold: _, ...own } }) => health.saveEstate({ version, state: own }),
    saveCheck: (check) => health.saveCheck(check),
    deleteCheck: (check) => health.deleteCheck(check),
    readService: (key) => health.readService(key),
    saveService: (service) => health.saveService(service),
    saveHeartbeat: (heartbeat) => health.saveHeartbeat(heartbeat),
    savePolicy: (policy) => health.savePolicy(policy),
    ...ofDeployment(state),
  };
}

/** For the watcher of services: checks of ours, everything else of the deployment. */
export function checksOf({ health, state }: Pick<ReconcileDeps, 'health' | 'state'>): StatePort {
  return {
    load: () => health.load(),
    saveCheck: (check) => health.saveCheck(check),
    deleteCheck: (check) => health.deleteCheck(check),
    saveHeartbeat: async () => {},
    savePolicy: async () => {},
    readService: (key) => state.readService(key),
    saveService: (service) => state.saveService(service),
    readEstate: () => state.readEstate(),
    saveEstate: (estate) => state.saveEstate(estate),
    ...ofDeployment(state),
  };
}

type OfDeployment = Pick<
  StatePort,
  | 'recentRestarts'
  | 'takeRestartSlot'
  | 'acquireLease'
  | 'renewLease'
  | 'releaseLease'
  | 'appendHistory'
  | 'recentHistory'
>;

/** What both functions share, whatever is judged. */
function ofDeployment(state: StatePort): OfDeployment {
  return {
    recentRestarts: (cluster, nowMs) => state.recentRestarts(cluster, nowMs),
    takeRestartSlot: (...of) => state.takeRestartSlot(...of),
    acquireLease: (...of) => state.acquireLease(...of),
    renewLease: (...of) => state.renewLease(...of),
    releaseLease: (lease) => state.releaseLease(lease),
    appendHistory: (entry) => state.appendHistory(entry),
    recentHistory: (limit) => state.recentHistory(limit),
  };
}
