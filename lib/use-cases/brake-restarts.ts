/**
 * The brakes over a plan: which of the eligible restarts may be issued now, and what holds back each other one.
 *
 * Every candidate is decided together with all others first. Right before its claim it is decided once more, alone, on
 * the service item as it was read for the claim (`decideAlone`): what another pass charged meanwhile counts.
 */
import { applyBrakes } from '../brakes/apply.ts';
import { needsConsidered } from '../brakes/estate-breaker.ts';
import type { BrakeEvent, Candidate, ServiceFacts, Withholding } from '../brakes/facts.ts';
import { type EstateBrakes, mergeEstateBrakes } from '../brakes/settings.ts';
import type { BrakeState, EstateState } from '../brakes/state.ts';
import type { EcsService } from '../check-restart/ecs-facts.ts';
import { anyGlobMatches } from '../check-restart/glob.ts';
import type { ConsulPort, ReadFailure, ServiceState } from '../ports.ts';
import { brakeFacts, needsFollowing } from './brake-facts.ts';
import { isReadFailure } from './failure.ts';
import type { Judged } from './judge.ts';
import type { PlannedRestart, Refusal, RestartPlan } from './plan-restarts.ts';
import type { PolicyDocument, WatchSettings } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** A restart that the brakes let through, with what deciding it once more needs. */
export interface BrakedRestart extends Candidate {
  readonly planned: PlannedRestart;
}

/** The plan after the brakes. */
export interface BrakedPlan {
  readonly restarts: readonly PlannedRestart[];
  readonly refusals: readonly Refusal[];
  readonly facts: ReadonlyMap<string, ServiceFacts>;
  readonly brakes: EstateBrakes;
  readonly events: readonly BrakeEvent[];
  readonly failures: readonly ReadFailure[];
}

/** The brakes of the deployment, as document and settings have them. */
export function estateBrakesOf(settings: WatchSettings, document: PolicyDocument): EstateBrakes {
  return mergeEstateBrakes(settings.brakes.estate, document.brakes);
}

/** Applies the brakes and stores what looking at the services changed, unless the pass is a dry run. */
export async function brakePlan(
  watcher: Watcher,
  judged: readonly Judged[],
  plan: RestartPlan,
  nowMs: number,
  save: boolean,
): Promise<BrakedPlan> {
  const { settings, document, memory, deps } = watcher;
  const brakes = estateBrakesOf(settings, document);
  const isQuiet = plan.restarts.length === 0 && ![...memory.services.values()].some(needsFollowing);
  if (isQuiet && memory.estate.state.openSinceMs === undefined) {
    return { ...plan, facts: new Map(), brakes, events: [], failures: [] };
  }
  const { services, failures } = await brakeFacts(watcher, judged, describedServices(plan), nowMs);
  const considered = needsConsidered(services, brakes)
    ? (watcher.considered ?? (await consideredServices(deps.consul, document)))
    : undefined;
  const clusters = [...new Set(plan.restarts.map(({ cluster }) => cluster))];
  const restarts = new Map<string, readonly number[]>();
  if (brakes.perMinute !== null) {
    for (const cluster of clusters) restarts.set(cluster, await deps.state.recentRestarts(cluster, nowMs));
  }
  const estate = { brakes, state: memory.estate.state, ...(considered === undefined ? {} : { considered }) };
  // What only notifies must not take a place from what acts.
  const acting = plan.restarts.filter(({ mode }) => mode === 'restart').map(candidateOf);
  const telling = plan.restarts.filter(({ mode }) => mode !== 'restart').map(candidateOf);
  const decided = applyBrakes({ nowMs, candidates: acting, services, estate, restarts });
  const told = applyBrakes({
    nowMs,
    candidates: telling,
    services: withStates(services, decided.services),
    estate,
    restarts,
  });
  const states = new Map([...decided.services, ...told.services]);
  // Both looked at the same estate; one of them speaks for it.
  const spoken = acting.length > 0 || telling.length === 0 ? decided : told;
  const events = [...decided.events, ...told.events].filter(
    (event) => 'service' in event || spoken.events.includes(event),
  );
  const published = save ? await store(watcher, states, spoken.estate, events) : [];
  return {
    restarts: decided.allowed.map(({ planned }) => planned),
    refusals: [
      ...plan.refusals,
      ...[...decided.withheld, ...told.withheld].flatMap(({ candidate, reasons, nextMs }) =>
        withheldTasks(candidate.planned, reasons, nextMs),
      ),
      ...told.allowed.flatMap(({ planned }) => onlyTold(planned)),
    ],
    facts: new Map(withStates(services, states).map((facts) => [facts.key, facts])),
    brakes,
    events: published,
    failures,
  };
}

function describedServices({ restarts }: RestartPlan): ReadonlyMap<string, EcsService> {
  return new Map(
    restarts.flatMap(({ ownerKey, facts: { service } }) => (service ? [[ownerKey, service] as const] : [])),
  );
}

/** Decides one restart again on a fresh item; returns the state to charge, or what holds it back. */
export function decideAlone(
  planned: PlannedRestart,
  service: ServiceState,
  estate: EstateState,
  facts: ServiceFacts,
  brakes: EstateBrakes,
  nowMs: number,
): { readonly state: BrakeState } | { readonly reasons: readonly Withholding[]; readonly nextMs: number } {
  const openClaims = service.claims.map(({ taskArn }) => taskArn);
  const fresh: ServiceFacts = { ...facts, state: service.brakes, openClaims };
  const alone = { ...brakes, perMinute: null, estateBreaker: null };
  const result = applyBrakes({
    nowMs,
    candidates: [candidateOf(planned)],
    services: [fresh],
    estate: { brakes: alone, state: estate },
    restarts: new Map(),
  });
  const [withheld] = result.withheld;
  if (withheld) return { reasons: withheld.reasons, nextMs: withheld.nextMs };
  return { state: result.services.get(facts.key) ?? service.brakes };
}

function candidateOf(planned: PlannedRestart): BrakedRestart {
  const due = planned.tasks.flatMap((task) => task.due);
  const since = due.flatMap(({ finding }) => (finding.kind === 'due' ? [finding.sinceMs] : []));
  return {
    id: planned.tasks[0]?.taskArn ?? '',
    service: planned.ownerKey,
    action: planned.action,
    unhealthySinceMs: since.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY),
    planned,
  };
}

function withStates(
  services: readonly ServiceFacts[],
  states: ReadonlyMap<string, BrakeState>,
): readonly ServiceFacts[] {
  return services.map((facts) => ({ ...facts, state: states.get(facts.key) ?? facts.state }));
}

/** Writes changed states; returns the events whose states were saved, so that none is published twice. */
async function store(
  { deps, memory }: Watcher,
  states: ReadonlyMap<string, BrakeState>,
  estate: EstateState,
  events: readonly BrakeEvent[],
): Promise<BrakeEvent[]> {
  const saved = new Set<string>();
  for (const [key, brakes] of states) {
    const service = memory.services.get(key) ?? (await deps.state.readService(key));
    if ((await deps.state.saveService({ ...service, brakes })) === 'saved') {
      memory.services.set(key, { ...service, brakes, version: service.version + 1 });
      saved.add(key);
    } else memory.services.set(key, await deps.state.readService(key));
  }
  let isEstateSaved = false;
  if (estate !== memory.estate.state) {
    isEstateSaved = (await deps.state.saveEstate({ ...memory.estate, state: estate })) === 'saved';
    memory.estate = isEstateSaved
      ? { version: memory.estate.version + 1, state: estate }
      : await deps.state.readEstate();
  }
  return events.filter((event) => ('service' in event ? saved.has(event.service) : isEstateSaved));
}

function withheldTasks(planned: PlannedRestart, reasons: readonly Withholding[], untilMs: number): Refusal[] {
  const [first] = reasons;
  if (!first) return [];
  const why = reasons.map(({ brake }) => brake).join(', ');
  return planned.tasks.map((task) => ({ task, reason: first.reason, why, untilMs, brakes: reasons }));
}

function onlyTold(planned: PlannedRestart): Refusal[] {
  const reason = planned.mode === 'notify' ? 'notify-only' : 'dry-run';
  const why = planned.mode === 'notify' ? 'the mode is notify' : 'the deployment is in dry run';
  return planned.tasks.map((task) => ({ task, reason, why }));
}

/**
 * All services that count for the estate breaker: those that rules with a limit name, or, where none does, all but
 * Consul itself and sidecars. Unknown when Consul does not answer; nothing is restarted then.
 */
async function consideredServices(consul: ConsulPort, document: PolicyDocument): Promise<number | undefined> {
  try {
    const names = [...(await consul.listServices()).keys()].filter(
      (name) => name !== 'consul' && !name.endsWith('-sidecar-proxy'),
    );
    const globs = document.rules
      .filter(({ set, match }) => (set.limit ?? 0) > 0 && match.check === undefined)
      .map(({ match }) => match.service ?? '*');
    return globs.length === 0 ? names.length : names.filter((name) => anyGlobMatches(globs, name)).length;
  } catch (error) {
    isReadFailure(error);
    return undefined;
  }
}
