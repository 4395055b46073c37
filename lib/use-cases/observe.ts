/**
 * From Consul's answers to one sighting a check. Only what is bad is read; a tracked check that is in no list is looked
 * up before anything is concluded of it, since a check that moves between `critical` and `warning` while both are read
 * is in neither.
 */
import { isUnrun } from '../check-restart/evaluation.ts';
import { type CheckRef, type ConsulPort, checkKey, type UnhealthyAnswer, type UnhealthyCheck } from '../ports.ts';
import type { WatchMemory } from './watch-memory.ts';

/** One check as this pass saw it. */
export interface Sighting {
  readonly key: string;
  readonly ref: CheckRef & { readonly checkName: string };
  /** `undefined` = absent. */
  readonly status: string | undefined;
  readonly unrun: boolean;
  /** 0 for an absent one. */
  readonly createIndex: number;
  readonly intervalMs?: number;
}

/** Everything that one pass saw. */
export interface Sightings {
  /** Service checks: all bad ones in Consul's order, then tracked ones that are good or absent. */
  readonly checks: readonly Sighting[];
  /** Bad node checks; they say nothing about a task. */
  readonly nodeChecks: readonly UnhealthyCheck[];
  /** Nodes and instances in maintenance. */
  readonly maintenanceNodes: ReadonlySet<string>;
  readonly maintenance: readonly UnhealthyCheck[];
}

/** An absent check is looked up again at most this often. */
export const ABSENT_LOOK_UP_MS = 30_000;

const NODE_MAINTENANCE = '_node_maintenance';
const SERVICE_MAINTENANCE = '_service_maintenance:';

/** Completes Consul's answer by look-ups of tracked checks. Throws `ReadFailure`. */
export async function observe(
  consul: ConsulPort,
  memory: WatchMemory,
  answer: UnhealthyAnswer,
  nowMs: number,
): Promise<Sightings> {
  const maintenance = answer.checks.filter(
    ({ checkId, serviceId }) => serviceId !== '' && checkId.startsWith(SERVICE_MAINTENANCE),
  );
  const serviceChecks = answer.checks.filter(
    ({ checkId, serviceId }) => serviceId !== '' && !checkId.startsWith(SERVICE_MAINTENANCE),
  );
  const ofNodes = answer.checks.filter(({ serviceId }) => serviceId === '');
  const bad = [...new Map(serviceChecks.map((check) => [checkKey(check), sighting(check)])).values()];
  const seen = new Set(bad.map(({ key }) => key));
  return {
    checks: [...bad, ...(await lookUp(consul, memory, seen, nowMs))],
    nodeChecks: ofNodes.filter(({ checkId }) => checkId !== NODE_MAINTENANCE),
    maintenanceNodes: new Set(ofNodes.filter(({ checkId }) => checkId === NODE_MAINTENANCE).map(nodeKey)),
    maintenance,
  };
}

/** Identity of a node. */
export function nodeKey(of: { readonly partition: string; readonly node: string }): string {
  return `${encodeURIComponent(of.partition)}/${encodeURIComponent(of.node)}`;
}

function sighting(check: UnhealthyCheck): Sighting {
  const { node, serviceId, serviceName, namespace, partition, checkId, name } = check;
  return {
    key: checkKey(check),
    ref: { node, serviceId, serviceName, namespace, partition, checkId, checkName: name || checkId },
    status: check.status,
    unrun: isUnrun(check),
    createIndex: check.createIndex,
    ...(check.intervalMs === undefined ? {} : { intervalMs: check.intervalMs }),
  };
}

async function lookUp(
  consul: ConsulPort,
  memory: WatchMemory,
  seen: ReadonlySet<string>,
  nowMs: number,
): Promise<Sighting[]> {
  const lost = [...memory.tracked].filter(([key, { current }]) => current !== undefined && !seen.has(key));
  const due = lost.filter(([key]) => nowMs >= (memory.lookedUpMs.get(key) ?? -Infinity) + ABSENT_LOOK_UP_MS);
  const found = due.length > 0 ? await consul.lookUpChecks(due.map(([, { ref }]) => ref)) : new Map();
  for (const [key] of due) memory.lookedUpMs.set(key, nowMs);
  for (const key of seen) memory.lookedUpMs.delete(key);
  return lost.map(([key, { ref }]) => {
    const check: UnhealthyCheck | undefined = found.get(key);
    if (check) {
      memory.lookedUpMs.delete(key);
      return sighting(check);
    }
    return { key, ref, status: undefined, unrun: false, createIndex: 0 };
  });
}
