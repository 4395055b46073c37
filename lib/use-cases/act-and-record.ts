/** Making the call of a claim, and recording how it ended. */
import { charge, refund } from '../brakes/charge.ts';
import type { ServiceBrakes } from '../brakes/settings.ts';
import { stopReason } from '../check-restart/stop-reason.ts';
import type { ActOutcome, Claim, ReadFailure, RefusedTry, ServiceState } from '../ports.ts';
import { CLAIM_TRIES, type Refused } from './claim.ts';
import { isReadFailure } from './failure.ts';
import { count, say } from './say.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchDeps } from './watch-types.ts';

const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 10 * 60_000;
const FORGET_REFUSED_MS = 60 * 60_000;

/** How a planned restart ended. */
export type RestartResult =
  | {
      readonly kind: 'acted';
      readonly action: Claim['action'];
      readonly outcome: 'accepted' | 'already-gone' | 'unanswered';
      /** The answer could not be recorded; the open claim is found by the next pass. */
      readonly failure?: ReadFailure;
    }
  | ({ readonly kind: 'refused'; readonly failure?: ReadFailure } & Refused);

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

/** Records how a call ended. Whatever happens to this write, the call was made, and its open claim is found by the next pass. */
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
  const failed: { failure?: ReadFailure } = {};
  try {
    await updateService(deps, memory, key, (service) => applyOutcome(service, claimed, outcome, nowMs));
  } catch (error) {
    failed.failure = isReadFailure(error);
  }
  if (outcome.outcome === 'refused') {
    count(deps, 'RestartsRefused', 1);
    const why = `${outcome.code}: ${outcome.message}`;
    return { kind: 'refused', reason: 'ecs-error', why, untilMs: nowMs + backoffMs(claimed.tries), ...failed };
  }
  const ended = outcome.outcome === 'gone' ? 'already-gone' : 'accepted';
  return { kind: 'acted', action: claimed.action, outcome: ended, ...failed };
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
    refused: [...service.refused.filter((one) => one.taskArn !== taskArn && !isForgotten(one, nowMs)), again],
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

/** A task that was not tried again for so long is gone; without an end the item would grow with every such task. */
function isForgotten({ nextTryMs }: RefusedTry, nowMs: number): boolean {
  return nowMs >= nextTryMs + FORGET_REFUSED_MS;
}

function backoffMs(tries: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS);
}

/** The task's ID, for people: what follows the last slash, since every bad check is told in every pass. */
export function shortTask(taskArn: string): string {
  return taskArn.slice(taskArn.lastIndexOf('/') + 1);
}

/**
 * A service's state when its forced deployment turned out to be impossible and a task is stopped instead: the claim is
 * the stop's from now on, and costs one restart instead of one an instance. Pure.
 */
export function asStop(service: ServiceState, stop: Claim, nowMs: number, brakes: ServiceBrakes): ServiceState {
  return {
    ...service,
    claims: service.claims.map((one) => (one.taskArn === stop.taskArn ? stop : one)),
    brakes: charge(refund(service.brakes, stop.taskArn), { id: stop.taskArn, cost: 1 }, nowMs, brakes),
  };
}
