/**
 * The claim: one write on the ECS service's item, conditional on its version, which also charges the brakes. Of two
 * passes that decide the same, one wins and acts; the loser reads and decides again.
 */
import { charge } from '../brakes/charge.ts';
import { costOf, type ServiceFacts, type Withholding } from '../brakes/facts.ts';
import { placesNeeded } from '../brakes/rate.ts';
import type { EstateBrakes } from '../brakes/settings.ts';
import type { Reason } from '../check-restart/reason.ts';
import type { Claim, ServiceState } from '../ports.ts';
import { decideAlone } from './brake-restarts.ts';
import type { DueTask, PlannedRestart } from './plan-restarts.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchDeps } from './watch-types.ts';

/** How often a lost race for an item is decided anew. */
export const CLAIM_TRIES = 4;

/** What carrying out needs to know of the pass. */
export interface RestartContext {
  readonly nowMs: number;
  /** The brakes' view of the service in this pass. */
  readonly facts: ServiceFacts;
  readonly brakes: EstateBrakes;
}

/** Why a restart is not issued. */
export interface Refused {
  readonly reason: Reason;
  readonly why: string;
  readonly untilMs?: number;
  readonly brakes?: readonly Withholding[];
}

/** The claim, or what stands against it. */
export type Claimed = { readonly claim: Claim } | { readonly refused: Refused };

/**
 * Takes the claim. Each try reads the item and the hold for all strongly and decides the brakes on what it read; the
 * write charges them and is conditional on that very version.
 */
export async function claim(
  deps: WatchDeps,
  memory: WatchMemory,
  planned: PlannedRestart,
  task: DueTask,
  context: RestartContext,
): Promise<Claimed> {
  const { nowMs, facts, brakes } = context;
  const cost = costOf(planned.action, facts.instances);
  let hasSlot = brakes.perMinute === null;
  for (let attempt = 1; attempt <= CLAIM_TRIES; attempt++) {
    const [service, estate] = await Promise.all([deps.state.readService(planned.ownerKey), deps.state.readEstate()]);
    memory.services.set(service.key, service);
    memory.estate = estate;
    const refused = standsAgainst(service, planned, task, nowMs);
    if (refused) return { refused };
    const decided = decideAlone(planned, service, estate.state, facts, brakes, nowMs);
    if ('reasons' in decided) return { refused: refusedByBrakes(decided.reasons, decided.nextMs) };
    if (!hasSlot && brakes.perMinute !== null) {
      const places = placesNeeded(cost, brakes.perMinute);
      const full = await deps.state.takeRestartSlot(planned.cluster, nowMs, brakes.perMinute, places);
      if (full) return { refused: refusedByBrakes([RATE_CAP], full.freeAtMs) };
      hasSlot = true;
    }
    // Calls of this pass may have taken long: whoever finds the claim open waits 30 s from its own call on.
    const mine = newClaim(planned, task, service, Math.max(nowMs, deps.clock.nowMs()));
    const claimed: ServiceState = {
      ...service,
      claims: [...service.claims, mine],
      refused: service.refused.filter(({ taskArn }) => taskArn !== task.taskArn),
      brakes: charge(decided.state, { id: task.taskArn, cost }, nowMs, facts.brakes),
      graceMs: facts.graceMs,
    };
    if ((await deps.state.saveService(claimed)) === 'saved') {
      memory.services.set(service.key, { ...claimed, version: service.version + 1 });
      return { claim: mine };
    }
  }
  return { refused: { reason: 'restart-in-flight', why: 'other passes keep writing the same service' } };
}

const RATE_CAP: Withholding = { reason: 'rate-cap', brake: 'per-minute' };

function refusedByBrakes(reasons: readonly Withholding[], untilMs: number): Refused {
  const why = reasons.map(({ brake }) => brake).join(', ');
  return { reason: reasons[0]?.reason ?? 'held', why, untilMs, brakes: reasons };
}

function standsAgainst(service: ServiceState, planned: PlannedRestart, task: DueTask, nowMs: number) {
  const redeploys = planned.action === 'force-new-deployment';
  const rival = service.claims.find(
    (claim) => redeploys || claim.action !== 'stop-task' || claim.taskArn === task.taskArn,
  );
  if (rival) return { reason: 'restart-in-flight', why: 'a restart is in flight already' } as const;
  const backingOff = service.refused.find(({ taskArn, nextTryMs }) => taskArn === task.taskArn && nowMs < nextTryMs);
  if (backingOff) {
    const why = `ECS refused ${backingOff.tries} ${backingOff.tries === 1 ? 'try' : 'tries'}`;
    return { reason: 'ecs-error', why, untilMs: backingOff.nextTryMs } as const;
  }
  const primary = primaryDeployment(planned);
  if (redeploys && service.failedDeployment !== undefined && service.failedDeployment === primary) {
    const why = 'our last forced deployment failed and nobody has deployed since';
    return { reason: 'deployment-failed', why } as const;
  }
  return undefined;
}

function primaryDeployment(planned: PlannedRestart): string | undefined {
  return planned.facts.service?.deployments.find(({ status }) => status === 'PRIMARY')?.id;
}

function newClaim(planned: PlannedRestart, task: DueTask, service: ServiceState, nowMs: number): Claim {
  const [first] = task.due;
  const primary = primaryDeployment(planned);
  return {
    taskArn: task.taskArn,
    action: planned.action,
    checkName: first?.subject.sighting.ref.checkName ?? '',
    consulService: first?.subject.service ?? '',
    claimedAtMs: nowMs,
    tries: (service.refused.find(({ taskArn }) => taskArn === task.taskArn)?.tries ?? 0) + 1,
    triedAtMs: nowMs,
    outcome: 'open',
    ...(planned.action === 'force-new-deployment' && primary !== undefined ? { primaryBefore: primary } : {}),
  };
}
