/**
 * One restart: claim → act → record.
 *
 * The claim is a write on the ECS service's item, conditional on its version: of two passes that decide the same, one
 * wins and acts. Everything after the claim may be cut off at any point: an open claim is taken up by every later pass
 * (`open-claims.ts`), which asks ECS whether the call took effect before it is made again.
 */

import { charge, refund } from '../brakes/charge.ts';
import { costOf, type ServiceFacts, type Withholding } from '../brakes/facts.ts';
import { placesNeeded } from '../brakes/rate.ts';
import type { EstateBrakes } from '../brakes/settings.ts';
import type { Reason } from '../check-restart/reason.ts';
import { stopReason } from '../check-restart/stop-reason.ts';
import { parseTaskArn } from '../check-restart/task-arn.ts';
import type { ActOutcome, Claim, RefusedTry, ServiceState } from '../ports.ts';
import { decideAlone } from './brake-restarts.ts';
import type { DueTask, PlannedRestart } from './plan-restarts.ts';
import { count, say } from './say.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchDeps } from './watch-types.ts';

/** How a planned restart ended. */
export type RestartResult =
  | {
      readonly kind: 'acted';
      readonly action: Claim['action'];
      readonly outcome: 'accepted' | 'already-gone' | 'unanswered';
    }
  | ({ readonly kind: 'refused' } & Refused);

/** How often a lost race for the item is decided anew. */
const CLAIM_TRIES = 4;
const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 10 * 60_000;

/** What carrying out needs to know of the pass. */
export interface RestartContext {
  readonly nowMs: number;
  /** The brakes' view of the service in this pass. */
  readonly facts: ServiceFacts;
  readonly brakes: EstateBrakes;
}

/** Carries out one planned restart. Throws `ReadFailure` only when the table cannot be reached before the claim. */
export async function restart(
  deps: WatchDeps,
  memory: WatchMemory,
  planned: PlannedRestart,
  context: RestartContext,
): Promise<RestartResult> {
  const [task] = planned.tasks;
  if (!task) throw new Error('a planned restart without a task');
  const ready = await askAgain(deps, planned, task);
  if (ready) return ready;
  const claimed = await claim(deps, memory, planned, task, context);
  if ('refused' in claimed) return { kind: 'refused', ...claimed.refused };
  say(deps, 'restart-issued', { owner: planned.ownerKey, task: shortTask(task.taskArn), action: planned.action });
  const outcome = await act(deps, claimed.claim, planned);
  if (outcome.outcome !== 'refused' || !outcome.controllerMismatch || planned.action !== 'force-new-deployment') {
    return record(deps, memory, planned.ownerKey, claimed.claim, outcome, context.nowMs);
  }
  // The service's controller does not take forced deployments: stop the one task instead, under the same claim (C30).
  const fallback: Claim = { ...claimed.claim, action: 'stop-task' };
  await updateService(deps, memory, planned.ownerKey, (service) => ({
    ...service,
    claims: service.claims.map((one) => (one.taskArn === fallback.taskArn ? fallback : one)),
    brakes: charge(
      refund(service.brakes, fallback.taskArn),
      { id: fallback.taskArn, cost: 1 },
      context.nowMs,
      context.facts.brakes,
    ),
  }));
  return record(deps, memory, planned.ownerKey, fallback, await act(deps, fallback, planned), context.nowMs);
}

/** Asks ECS once more about the very task, as the last thing before the claim: facts of this pass may be seconds old. */
async function askAgain(deps: WatchDeps, planned: PlannedRestart, task: DueTask): Promise<RestartResult | undefined> {
  const { tasks } = await deps.ecs.describeTasks(planned.cluster, [task.taskArn]);
  const now = tasks.get(task.taskArn);
  if (!now) return { kind: 'refused', reason: 'task-not-found', why: 'the task went away just now' };
  if (now.lastStatus === 'RUNNING' && now.desiredStatus === 'RUNNING') return undefined;
  const reason = now.lastStatus === 'STOPPED' ? 'already-stopped' : 'task-stopping';
  return { kind: 'refused', reason, why: 'the task began to stop just now' };
}

interface Refused {
  readonly reason: Reason;
  readonly why: string;
  readonly untilMs?: number;
  readonly brakes?: readonly Withholding[];
}

type Claimed = { readonly claim: Claim } | { readonly refused: Refused };

/**
 * Takes the claim. Each try reads the item and the hold for all strongly and decides the brakes on what it read; the
 * write charges them and is conditional on that very version.
 */
async function claim(
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
    const mine = newClaim(planned, task, service, nowMs);
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

/** Makes the call of a claim. */
export async function act(
  deps: Pick<WatchDeps, 'ecs'>,
  claimed: Claim,
  owner: { readonly cluster: string; readonly ownerName: string },
): Promise<ActOutcome> {
  if (claimed.action === 'force-new-deployment') {
    return deps.ecs.forceNewDeployment({ cluster: owner.cluster, service: owner.ownerName });
  }
  const reason = stopReason(claimed.checkName);
  return deps.ecs.stopTask({ cluster: owner.cluster, task: claimed.taskArn, reason });
}

/** Records how a call ended. Whatever happens to this write, the open claim is found by the next pass. */
export async function record(
  deps: WatchDeps,
  memory: WatchMemory,
  key: string,
  claimed: Claim,
  outcome: ActOutcome,
  nowMs: number,
): Promise<RestartResult> {
  if (outcome.outcome === 'unknown') {
    say(deps, 'restart-unanswered', { task: claimed.taskArn, why: outcome.message });
    return { kind: 'acted', action: claimed.action, outcome: 'unanswered' };
  }
  await updateService(deps, memory, key, (service) => applyOutcome(service, claimed, outcome, nowMs));
  if (outcome.outcome === 'refused') {
    count(deps, 'RestartsRefused', 1);
    const why = `${outcome.code}: ${outcome.message}`;
    return { kind: 'refused', reason: 'ecs-error', why, untilMs: nowMs + backoffMs(claimed.tries) };
  }
  return { kind: 'acted', action: claimed.action, outcome: outcome.outcome === 'gone' ? 'already-gone' : 'accepted' };
}

/**
 * A service's state after an answer: accepted claims stay until confirmed, refused ones become a later try and get
 * budget and slot back, as does a stop of a task that was gone already. Pure.
 */
export function applyOutcome(
  service: ServiceState,
  claimed: Claim,
  outcome: Exclude<ActOutcome, { outcome: 'unknown' }>,
  nowMs: number,
): ServiceState {
  const others = service.claims.filter(({ taskArn }) => taskArn !== claimed.taskArn);
  if (outcome.outcome === 'gone') {
    return { ...service, claims: others, brakes: refund(service.brakes, claimed.taskArn) };
  }
  if (outcome.outcome === 'accepted') {
    const { deploymentId } = outcome;
    const accepted: Claim = {
      ...claimed,
      outcome: 'accepted',
      ...(deploymentId === undefined ? {} : { deploymentId }),
    };
    return { ...service, claims: [...others, accepted] };
  }
  const { tries, taskArn } = claimed;
  const again: RefusedTry = { taskArn, tries, nextTryMs: nowMs + backoffMs(tries) };
  return {
    ...service,
    claims: others,
    refused: [...service.refused.filter((one) => one.taskArn !== taskArn), again],
    brakes: refund(service.brakes, taskArn),
  };
}

/** Reads, changes and writes a service's item until nobody interferes; a lost race is read again. */
export async function updateService(
  deps: Pick<WatchDeps, 'state'>,
  memory: WatchMemory,
  key: string,
  change: (service: ServiceState) => ServiceState,
): Promise<void> {
  let service = memory.services.get(key) ?? (await deps.state.readService(key));
  for (let attempt = 1; attempt <= CLAIM_TRIES; attempt++) {
    const changed = change(service);
    if ((await deps.state.saveService(changed)) === 'saved') {
      memory.services.set(key, { ...changed, version: service.version + 1 });
      return;
    }
    service = await deps.state.readService(key);
    memory.services.set(key, service);
  }
}

function backoffMs(tries: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS);
}

/** The task's ID, for people. */
export function shortTask(taskArn: string): string {
  return parseTaskArn(taskArn)?.id ?? taskArn;
}
