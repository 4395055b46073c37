/**
 * What the brakes are told: per ECS service its size and its unhealthy instances. Asked only when a restart is due, or
 * while something is in flight or a breaker open; a pass in which nothing is bad asks nothing.
 */

import type { ServiceFacts, UnhealthyInstance } from '../brakes/facts.ts';
import { mergeServiceBrakes, type ServiceBrakes } from '../brakes/settings.ts';
import { NO_BRAKE_STATE } from '../brakes/state.ts';
import type { EcsService, EcsTask } from '../check-restart/ecs-facts.ts';
import { type OwnerKind, ownerKey, ownerOf, parseOwnerKey } from '../check-restart/eligibility.ts';
import { inParallel } from '../in-parallel.ts';
import type { ReadFailure, ServiceState } from '../ports.ts';
import { type ClusterFailures, describeInto, type TaskRef } from './ask-ecs.ts';
import { isReadFailure } from './failure.ts';
import type { Judged } from './judge.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** Facts of an unhealthy task are believed this long where it is only counted, not restarted. */
const COUNTED_FOR_MS = 10_000;

/** Facts of all services concerned; clusters that could not be read are in `failures` and have none. */
export interface BrakeFacts {
  readonly services: readonly ServiceFacts[];
  readonly failures: readonly ReadFailure[];
}

interface Owner {
  readonly key: string;
  readonly kind: OwnerKind;
  readonly cluster: string;
  readonly name: string;
  readonly unhealthy: UnhealthyInstance[];
  graceMs: number;
  brakes: ServiceBrakes | undefined;
}

/** True when a restart in flight or an open breaker must be followed, whatever is due. */
export function needsFollowing({ brakes }: ServiceState): boolean {
  return brakes.inFlight.length > 0 || brakes.breaker !== undefined;
}

/** Gathers the facts. `described`: services by owner key, as this pass has seen them. */
export async function brakeFacts(
  {
    deps,
    settings,
    document,
    memory,
  }: {
    readonly deps: WatchDeps;
    readonly settings: WatchSettings;
    readonly document: PolicyDocument;
    readonly memory: WatchMemory;
  },
  judged: readonly Judged[],
  described: ReadonlyMap<string, EcsService>,
  nowMs: number,
): Promise<BrakeFacts> {
  const bad = judged.filter(countsAsUnhealthy);
  const failures = await describeUnhealthy(deps, memory, bad, nowMs);
  const owners = new Map<string, Owner>();
  for (const one of bad) addInstance(owners, one, settings, document, memory);
  for (const state of memory.services.values()) if (needsFollowing(state)) addStored(owners, state);
  const read = await describeOwners(deps, [...owners.values()], described);
  const services = [...owners.values()].flatMap((owner) => {
    const service = read.services.get(owner.key);
    if (owner.kind === 'service' && !service) return [];
    return [factsOf(owner, service, memory.services.get(owner.key), settings)];
  });
  return { services, failures: [...failures.values(), ...read.failures] };
}

/** Bad, watched, and of a task that is known: good and absent checks, maintenance and unknown tasks say nothing. */
function countsAsUnhealthy({ subject, finding }: Judged): boolean {
  if (subject.mapping.kind !== 'mapped' || subject.sighting.status === undefined) return false;
  if (finding.kind === 'due') return true;
  if (finding.kind === 'withheld') return finding.reason !== 'maintenance';
  return finding.kind === 'waiting' && (finding.reason === 'counting' || finding.reason === 'in-grace');
}

async function describeUnhealthy(
  deps: WatchDeps,
  memory: WatchMemory,
  bad: readonly Judged[],
  nowMs: number,
): Promise<ClusterFailures> {
  const old = bad.flatMap(({ subject: { mapping } }): TaskRef[] => {
    if (mapping.kind !== 'mapped') return [];
    const known = memory.tasks.get(mapping.taskArn);
    return known && nowMs < known.readAtMs + COUNTED_FOR_MS ? [] : [mapping];
  });
  return describeInto(deps.ecs, memory, old, nowMs);
}

function addInstance(
  owners: Map<string, Owner>,
  { subject, finding }: Judged,
  settings: WatchSettings,
  document: PolicyDocument,
  memory: WatchMemory,
): void {
  const { mapping, resolved } = subject;
  const task = mapping.kind === 'mapped' ? memory.tasks.get(mapping.taskArn)?.task : undefined;
  if (!task || !resolved || !isRunning(task) || mapping.kind !== 'mapped') return;
  const of = ownerOf(task);
  const key = ownerKey(of);
  const owner = owners.get(key) ?? { ...of, key, unhealthy: [], graceMs: 0, brakes: undefined };
  owners.set(key, owner);
  owner.graceMs = Math.max(owner.graceMs, resolved.policy.graceMs);
  // Several Consul services may share an ECS service; the first in Consul's order names its brakes.
  owner.brakes ??= mergeServiceBrakes(
    settings.brakes.service,
    ...resolved.matched.map((index) => document.rules[index]?.brakes ?? {}),
  );
  const inGrace = finding.kind === 'waiting' && finding.reason === 'in-grace';
  const known = owner.unhealthy.findIndex(({ id }) => id === mapping.taskArn);
  const { startedAtMs } = task;
  const instance = { id: mapping.taskArn, inGrace, ...(startedAtMs === undefined ? {} : { startedAtMs }) };
  if (known < 0) owner.unhealthy.push(instance);
  // Of several checks of one task, one out of grace makes it unhealthy.
  else if (!inGrace) owner.unhealthy[known] = instance;
}

function addStored(owners: Map<string, Owner>, state: ServiceState): void {
  const graceMs = state.graceMs ?? 0;
  const known = owners.get(state.key);
  if (known) {
    known.graceMs = Math.max(known.graceMs, graceMs);
    return;
  }
  const { cluster, kind, ownerName } = parseOwnerKey(state.key);
  owners.set(state.key, { key: state.key, kind, cluster, name: ownerName, unhealthy: [], graceMs, brakes: undefined });
}

/** Services that this pass has described already are not asked for again. */
async function describeOwners(deps: WatchDeps, owners: readonly Owner[], described: ReadonlyMap<string, EcsService>) {
  const services = new Map(described);
  const failures: ReadFailure[] = [];
  const clusters = Map.groupBy(
    owners.filter(({ kind, key }) => kind === 'service' && !described.has(key)),
    ({ cluster }) => cluster,
  );
  await inParallel([...clusters], 4, async ([cluster, ofCluster]) => {
    try {
      const found = await deps.ecs.describeServices(
        cluster,
        ofCluster.map(({ name }) => name),
      );
      for (const { key, name } of ofCluster) {
        const service = found.get(name);
        if (service) services.set(key, service);
      }
    } catch (error) {
      failures.push(isReadFailure(error));
    }
  });
  return { services, failures };
}

function factsOf(
  owner: Owner,
  service: EcsService | undefined,
  stored: ServiceState | undefined,
  settings: WatchSettings,
): ServiceFacts {
  return {
    key: owner.key,
    cluster: owner.cluster,
    // A stand-alone task is an instance of nothing: it is judged alone, and counts as running.
    instances: service?.desiredCount ?? 1,
    runningCount: service?.runningCount ?? 1,
    graceMs: owner.graceMs,
    unhealthy: owner.unhealthy,
    openClaims: stored?.claims.map(({ taskArn }) => taskArn) ?? [],
    brakes: owner.brakes ?? settings.brakes.service,
    state: stored?.brakes ?? NO_BRAKE_STATE,
  };
}

function isRunning(task: EcsTask): boolean {
  return task.lastStatus === 'RUNNING' && task.desiredStatus === 'RUNNING';
}
