/**
 * From a sighting to what decides over it: the instance's details, its policy, its task. Details are read only for
 * instances that are unhealthy, again when a check was registered anew, after five minutes, and in the pass that restarts.
 */
import { type Mapping, mapInstance } from '../check-restart/mapping.ts';
import { type PolicySubject, resolvePolicy } from '../check-restart/policy.ts';
import { type InstanceDetails, type InstanceRef, instanceKey } from '../ports.ts';
import { nodeKey, type Sighting, type Sightings } from './observe.ts';
import type { SettledCheck, WatchMemory } from './watch-memory.ts';
import type { PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** A sighting with everything that is known of it. */
export interface Subject extends Omit<SettledCheck, 'inputs'> {
  readonly sighting: Sighting;
  readonly maintenance: boolean;
}

/** How long details are believed. */
const DETAILS_FOR_MS = 5 * 60_000;
const CONNECT_PROXY = 'connect-proxy';

/** Reads the details that are missing or old. `fresh` names instances to read again whatever their age. */
export async function readDetails(
  deps: Pick<WatchDeps, 'consul'>,
  memory: WatchMemory,
  sightings: Sightings,
  nowMs: number,
  fresh: ReadonlySet<string> = new Set(),
): Promise<readonly InstanceRef[]> {
  const wanted = new Map<string, { ref: InstanceRef; createIndex: number }>();
  const registered = [
    ...sightings.checks
      .filter(({ status }) => status !== undefined)
      .map(({ ref, createIndex }) => ({ ref, createIndex })),
    ...sightings.maintenance.map((check) => ({ ref: check, createIndex: check.createIndex })),
  ];
  for (const { ref, createIndex } of registered) {
    const key = instanceKey(ref);
    const newest = Math.max(createIndex, wanted.get(key)?.createIndex ?? 0);
    wanted.set(key, { ref, createIndex: newest });
  }
  const isOld = (key: string, createIndex: number): boolean => {
    const known = memory.instances.get(key);
    if (!known || known.createIndex < createIndex || nowMs >= known.readAtMs + DETAILS_FOR_MS) return true;
    return fresh.has(key) && known.readAtMs < nowMs;
  };
  const stale = [...wanted.values()].filter(({ ref, createIndex }) => isOld(instanceKey(ref), createIndex));
  const refused = await fetchInto(deps, memory, stale, nowMs);
  // A sidecar is registered after its destination: its newer CreateIndex must not make that one be read twice.
  const justRead = new Set(stale.map(({ ref }) => instanceKey(ref)));
  const destinations = stale
    .map(({ ref, createIndex }) => ({
      ref: destinationOf(memory.instances.get(instanceKey(ref))?.details),
      createIndex,
    }))
    .flatMap(({ ref, createIndex }) => (ref ? [{ ref, createIndex }] : []))
    .filter(({ ref, createIndex }) => !justRead.has(instanceKey(ref)) && isOld(instanceKey(ref), createIndex));
  return [...refused, ...(await fetchInto(deps, memory, destinations, nowMs))];
}

async function fetchInto(
  deps: Pick<WatchDeps, 'consul'>,
  memory: WatchMemory,
  wanted: readonly { ref: InstanceRef; createIndex: number }[],
  nowMs: number,
): Promise<readonly InstanceRef[]> {
  if (wanted.length === 0) return [];
  const { found, refused } = await deps.consul.describeInstances(wanted.map(({ ref }) => ref));
  for (const { ref, createIndex } of wanted) {
    memory.instances.set(instanceKey(ref), { details: found.get(instanceKey(ref)), createIndex, readAtMs: nowMs });
  }
  return refused;
}

/** The instance that a sidecar serves, on the same node. */
function destinationOf(details: InstanceDetails | undefined): InstanceRef | undefined {
  if (details?.kind !== CONNECT_PROXY || !details.destinationServiceId || !details.destinationServiceName)
    return undefined;
  const { node, namespace, partition, destinationServiceId, destinationServiceName } = details;
  return { node, namespace, partition, serviceId: destinationServiceId, serviceName: destinationServiceName };
}

/** Settles policy and mapping of every sighting from the details in memory; reads nothing. */
export function resolveSubjects(
  deps: Pick<WatchDeps, 'parseMeta'>,
  settings: WatchSettings,
  document: PolicyDocument,
  memory: WatchMemory,
  sightings: Sightings,
): Subject[] {
  const tasksInMaintenance = new Set(
    sightings.maintenance
      .map((ref) => mapInstances(registrationsOf(ref, memory), settings))
      .flatMap((mapping) => (mapping.kind === 'mapped' ? [mapping.taskArn] : [])),
  );
  const instancesInMaintenance = new Set(sightings.maintenance.map(instanceKey));
  return sightings.checks.map((sighting) => {
    const { ref } = sighting;
    const { service, mapping, resolved, problems, address } = settledOf(deps, settings, document, memory, sighting);
    const maintenance =
      sightings.maintenanceNodes.has(nodeKey(ref)) ||
      instancesInMaintenance.has(instanceKey(ref)) ||
      (mapping.kind === 'mapped' && tasksInMaintenance.has(mapping.taskArn));
    return { sighting, service, mapping, resolved, problems, address, maintenance };
  });
}

/** An instance, and the one that it serves where it is a sidecar. */
interface Registrations {
  readonly details: InstanceDetails | undefined;
  readonly destination: InstanceDetails | undefined;
}

function registrationsOf(ref: InstanceRef, memory: WatchMemory): Registrations {
  const details = memory.instances.get(instanceKey(ref))?.details;
  const served = destinationOf(details);
  return { details, destination: served && memory.instances.get(instanceKey(served))?.details };
}

function mapInstances({ details, destination }: Registrations, settings: WatchSettings): Mapping {
  if (!details) return { kind: 'unmapped', why: 'the instance is not in the catalog any more' };
  return mapInstance(destination ? [destination, details] : [details], settings.mapping);
}

/** Settled anew only when the check's registration was read again, or another policy document is in force. */
function settledOf(
  deps: Pick<WatchDeps, 'parseMeta'>,
  settings: WatchSettings,
  document: PolicyDocument,
  memory: WatchMemory,
  { key, ref }: Sighting,
): SettledCheck {
  const registrations = registrationsOf(ref, memory);
  const { details, destination } = registrations;
  const inputs = [settings, document, details, destination, ref.serviceName, ref.checkName];
  const known = memory.settled.get(key);
  if (known?.inputs.every((input, n) => input === inputs[n])) return known;
  const settled = { inputs, ...settle(deps, settings, document, ref, registrations) };
  memory.settled.set(key, settled);
  return settled;
}

function settle(
  deps: Pick<WatchDeps, 'parseMeta'>,
  settings: WatchSettings,
  document: PolicyDocument,
  ref: Sighting['ref'],
  registrations: Registrations,
): Omit<SettledCheck, 'inputs'> {
  const { details, destination } = registrations;
  const mapping = mapInstances(registrations, settings);
  const service = destination?.serviceName ?? details?.destinationServiceName ?? ref.serviceName;
  const meta = deps.parseMeta((destination ?? details)?.meta ?? {});
  const base = { service, mapping, address: details?.address ?? '' };
  if (!meta.ok) return { ...base, resolved: undefined, problems: meta.problems };
  const subject: PolicySubject = {
    service,
    namespace: ref.namespace,
    cluster: mapping.kind === 'mapped' ? mapping.cluster : '',
    checkId: ref.checkId,
    checkName: ref.checkName,
  };
  return { ...base, resolved: resolvePolicy(settings.defaults, document.rules, meta.value, subject), problems: [] };
}
