/**
 * Claims that are not confirmed yet are work for every pass, whatever the checks say and whether or not Consul answers.
 *
 *   open, younger than 30 s    somebody may still be waiting for the answer: leave it
 *   open, older                ask ECS whether the call took effect; if not, make it again
 *   accepted                   compare with ECS in every pass, until the task has stopped or the deployment is complete
 *
 * So a function killed at any point neither stops twice, nor forgets, nor blocks.
 */
import { refund } from '../brakes/charge.ts';
import type { EcsService, EcsTask } from '../check-restart/ecs-facts.ts';
import { parseOwnerKey } from '../check-restart/eligibility.ts';
import type { Claim, ReadFailure, ServiceState } from '../ports.ts';
import { act, record, shortTask, updateService } from './act-and-record.ts';
import { isReadFailure } from './failure.ts';
import { say } from './say.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchDeps } from './watch-types.ts';

/** An unanswered call is made again after this time. */
export const REPEAT_AFTER_MS = 30_000;
/** An accepted claim makes a pass by itself this often: slots and new decisions wait for its confirmation. */
export const CONFIRM_EVERY_MS = 5000;
/** Passes come in quick succession; ECS is not asked more often than this. */
const CONFIRM_FLOOR_MS = 1000;
const STOP_ALARM_MS = 10 * 60_000;
const DEPLOYMENT_ALARM_MS = 60 * 60_000;

/** How ECS sees a claim. */
type Effect =
  /** The stop or the deployment is done. */
  | { readonly kind: 'done' }
  /** Under way: the call took effect. */
  | { readonly kind: 'underway'; readonly deploymentId?: string }
  /** As if the call had never been made. */
  | { readonly kind: 'none' }
  /** The forced deployment failed or vanished; `primary` is what runs now. */
  | { readonly kind: 'failed'; readonly primary: string };

/** Follows all claims in memory. Failures of one service do not hold up the others; they are returned. */
export async function followClaims(
  deps: WatchDeps,
  memory: WatchMemory,
  nowMs: number,
  mayClaim: () => Promise<boolean>,
): Promise<readonly ReadFailure[]> {
  const failures: ReadFailure[] = [];
  for (const service of [...memory.services.values()]) {
    if (!service.claims.some((claim) => isDue(claim, memory, nowMs))) continue;
    try {
      await followService(deps, memory, service, nowMs, mayClaim);
    } catch (error) {
      failures.push(isReadFailure(error));
    }
  }
  return failures;
}

/** When the open claims want a pass; `undefined` = there are none. */
export function claimsDeadlineMs(memory: WatchMemory, nowMs: number): number | undefined {
  const deadlines = [...memory.services.values()]
    .flatMap(({ claims }) => claims)
    .map((claim) => {
      if (claim.outcome === 'open') return claim.triedAtMs + REPEAT_AFTER_MS;
      return (memory.confirmedMs.get(claim.taskArn) ?? claim.triedAtMs) + CONFIRM_EVERY_MS;
    });
  return deadlines.length === 0 ? undefined : Math.max(nowMs + CONFIRM_FLOOR_MS, Math.min(...deadlines));
}

function isDue(claim: Claim, memory: WatchMemory, nowMs: number): boolean {
  if (claim.outcome === 'open') return nowMs >= claim.triedAtMs + REPEAT_AFTER_MS;
  return nowMs >= (memory.confirmedMs.get(claim.taskArn) ?? claim.triedAtMs) + CONFIRM_FLOOR_MS;
}

async function followService(
  deps: WatchDeps,
  memory: WatchMemory,
  service: ServiceState,
  nowMs: number,
  mayClaim: () => Promise<boolean>,
): Promise<void> {
  const owner = parseOwnerKey(service.key);
  const due = service.claims.filter((claim) => isDue(claim, memory, nowMs));
  const stops = due.filter(({ action }) => action === 'stop-task').map(({ taskArn }) => taskArn);
  const redeploys = due.some(({ action }) => action === 'force-new-deployment');
  const { tasks } = await deps.ecs.describeTasks(owner.cluster, stops);
  const services = await deps.ecs.describeServices(owner.cluster, redeploys ? [owner.ownerName] : []);
  for (const claim of due) {
    memory.confirmedMs.set(claim.taskArn, nowMs);
    const effect =
      claim.action === 'stop-task'
        ? effectOfStop(tasks.get(claim.taskArn))
        : effectOfDeployment(claim, services.get(owner.ownerName));
    await settle(deps, memory, service.key, owner, claim, effect, nowMs, mayClaim);
  }
}

function effectOfStop(task: EcsTask | undefined): Effect {
  if (!task || task.lastStatus === 'STOPPED') return { kind: 'done' };
  return { kind: task.desiredStatus === 'STOPPED' ? 'underway' : 'none' };
}

function effectOfDeployment(claim: Claim, service: EcsService | undefined): Effect {
  if (!service || service.status === 'INACTIVE') return { kind: 'done' };
  const primary = service.deployments.find(({ status }) => status === 'PRIMARY');
  if (claim.deploymentId === undefined) {
    // Never answered: any PRIMARY but the one before the call is ours, or makes ours needless.
    return primary && primary.id !== claim.primaryBefore
      ? { kind: 'underway', deploymentId: primary.id }
      : { kind: 'none' };
  }
  const ours = service.deployments.find(({ id }) => id === claim.deploymentId);
  if (!ours || ours.rolloutState === 'FAILED') return { kind: 'failed', primary: primary?.id ?? '' };
  const isComplete =
    ours.rolloutState === 'COMPLETED' || (ours.rolloutState === undefined && ours.runningCount >= ours.desiredCount);
  return isComplete && service.deployments.length === 1
    ? { kind: 'done' }
    : { kind: 'underway', deploymentId: claim.deploymentId };
}

async function settle(
  deps: WatchDeps,
  memory: WatchMemory,
  key: string,
  owner: { readonly cluster: string; readonly ownerName: string },
  claim: Claim,
  effect: Effect,
  nowMs: number,
  mayClaim: () => Promise<boolean>,
): Promise<void> {
  const fields = { owner: key, task: shortTask(claim.taskArn), action: claim.action, claimedAtMs: claim.claimedAtMs };
  const update = (change: (service: ServiceState) => ServiceState) => updateService(deps, memory, key, change);
  switch (effect.kind) {
    case 'done':
      await update((service) => without(service, claim));
      if (claim.outcome === 'open') await tellLate(deps, key, claim, nowMs);
      memory.confirmedMs.delete(claim.taskArn);
      memory.reported.delete(`claim ${claim.taskArn}`);
      return say(deps, 'restart-confirmed', fields);
    case 'failed':
      await update((service) => ({ ...without(service, claim), failedDeployment: effect.primary }));
      return say(deps, 'deployment-failed', { ...fields, deployment: claim.deploymentId });
    case 'underway': {
      alarmIfLate(deps, memory, claim, fields, nowMs);
      const { deploymentId } = effect;
      if (claim.outcome === 'accepted' && claim.deploymentId === deploymentId) return;
      if (claim.outcome === 'open') await tellLate(deps, key, claim, nowMs);
      const accept = (one: Claim): Claim => ({
        ...one,
        outcome: 'accepted',
        ...(deploymentId ? { deploymentId } : {}),
      });
      return update((service) => ({
        ...service,
        claims: service.claims.map((one) => (isSame(one, claim) ? accept(one) : one)),
      }));
    }
    case 'none':
      return settleWithoutEffect(deps, memory, key, owner, claim, nowMs, mayClaim);
  }
}

async function settleWithoutEffect(
  deps: WatchDeps,
  memory: WatchMemory,
  key: string,
  owner: { readonly cluster: string; readonly ownerName: string },
  claim: Claim,
  nowMs: number,
  mayClaim: () => Promise<boolean>,
): Promise<void> {
  const fields = { owner: key, task: shortTask(claim.taskArn), action: claim.action, tries: claim.tries };
  if (nowMs >= claim.claimedAtMs + STOP_ALARM_MS) {
    // Taken without effect, or never answered for so long that the check may have healed: the claim ends, and a check
    // that is still due is decided anew (C45).
    say(deps, 'restart-unconfirmed', fields);
    return updateService(deps, memory, key, (service) => {
      const rest = without(service, claim);
      return claim.outcome === 'open' ? { ...rest, brakes: refund(service.brakes, claim.taskArn) } : rest;
    });
  }
  if (claim.outcome === 'accepted') return;
  if (!(await mayClaim())) return;
  const again: Claim = { ...claim, tries: claim.tries + 1, triedAtMs: nowMs };
  const current = memory.services.get(key);
  // An item read again meanwhile may show that another pass has taken this very claim up.
  if (!current?.claims.some((one) => isSame(one, claim) && one.tries === claim.tries)) return;
  const claimed = { ...current, claims: [...without(current, claim).claims, again] };
  if ((await deps.state.saveService(claimed)) === 'conflict') {
    memory.services.set(key, await deps.state.readService(key)); // another pass has taken it up
    return;
  }
  memory.services.set(key, { ...claimed, version: current.version + 1 });
  say(deps, 'restart-repeated', fields);
  const result = await record(deps, memory, key, again, await act(deps, again, owner), nowMs);
  if (result.kind === 'acted' && result.outcome === 'accepted') await tellLate(deps, key, again, nowMs);
  if (result.failure) throw result.failure;
}

/**
 * A restart whose pass never told of it: killed, or left without an answer. It gets its event and its line of history now,
 * rather twice than never.
 */
async function tellLate(deps: WatchDeps, key: string, claim: Claim, nowMs: number): Promise<void> {
  const { cluster, ownerName } = parseOwnerKey(key);
  const detail = {
    task: shortTask(claim.taskArn),
    cluster,
    service: claim.consulService,
    owner: ownerName,
    check: claim.checkName,
    atMs: claim.claimedAtMs,
    action: claim.action,
    outcome: 'accepted',
    toldLateMs: nowMs - claim.claimedAtMs,
  };
  say(deps, claim.action === 'stop-task' ? 'restart-accepted' : 'deployment-forced', detail);
  await deps.events.publish([{ type: 'Restart', detail }]);
  await deps.state.appendHistory({ atMs: nowMs, kind: 'restart', detail });
}

function alarmIfLate(
  deps: WatchDeps,
  memory: WatchMemory,
  claim: Claim,
  fields: Readonly<Record<string, unknown>>,
  nowMs: number,
): void {
  const patienceMs = claim.action === 'stop-task' ? STOP_ALARM_MS : DEPLOYMENT_ALARM_MS;
  const reportKey = `claim ${claim.taskArn}`;
  if (nowMs < claim.claimedAtMs + patienceMs || memory.reported.get(reportKey) === 'restart-unconfirmed') return;
  memory.reported.set(reportKey, 'restart-unconfirmed');
  say(deps, 'restart-unconfirmed', fields);
}

/** The same claim, whatever another pass has recorded of it meanwhile. */
function isSame(one: Claim, other: Claim): boolean {
  return one.taskArn === other.taskArn && one.claimedAtMs === other.claimedAtMs;
}

function without(service: ServiceState, claim: Claim): ServiceState {
  return { ...service, claims: service.claims.filter((one) => !isSame(one, claim)) };
}
