/** What the brakes are told, and the words in which they answer. */
import type { ServiceBrakes } from './settings.ts';
import type { BrakeState } from './state.ts';

/** The stable words for a brake; a subset of `lib/check-restart/reason.ts`. */
export type BrakeReason = 'budget-spent' | 'restart-delay' | 'concurrency-cap' | 'rate-cap' | 'breaker-open' | 'held';

/** Which brake it is; several share a reason word. */
export type BrakeName =
  | 'hold-all'
  | 'hold'
  | 'estate-breaker'
  | 'service-breaker'
  | 'restart-budget'
  | 'restart-delay'
  | 'in-flight'
  | 'per-minute';

/** A brake that applies. */
export interface Withholding {
  readonly reason: BrakeReason;
  readonly brake: BrakeName;
  /** From this instant on the brake is off (inclusive). Absent: nobody knows, such as "until released". Always later than now. */
  readonly untilMs?: number;
}

/** A restart that is due. */
export interface Candidate {
  /** The task's ARN or ID; names the restart in flight and its refund. */
  readonly id: string;
  /** Key of its ECS service. */
  readonly service: string;
  readonly action: 'stop-task' | 'force-new-deployment';
  /** Oldest first. */
  readonly unhealthySinceMs: number;
}

/** An instance with a bad check whose task ECS says is RUNNING and wanted RUNNING. One entry a task. */
export interface UnhealthyInstance {
  readonly id: string;
  /** Absent where ECS does not say; then it is taken for a replacement of ours. */
  readonly startedAtMs?: number;
  /** In grace: not unhealthy yet, but a sign that a replacement is not proven. */
  readonly inGrace: boolean;
}

/**
 * One ECS service. All services with an unhealthy instance belong in (the estate breaker counts them), and all whose
 * stored state has something in flight or a breaker (otherwise these never end).
 */
export interface ServiceFacts {
  /** `CLUSTER/service/NAME` or `CLUSTER/family/NAME`. */
  readonly key: string;
  readonly cluster: string;
  /** ECS `desiredCount`; 1 for stand-alone tasks. */
  readonly instances: number;
  /** ECS `runningCount`, read in this pass. */
  readonly runningCount: number;
  /** The longest grace among its policies. */
  readonly graceMs: number;
  readonly unhealthy: readonly UnhealthyInstance[];
  /** IDs of claims that are not confirmed: their tasks may still run, so `runningCount` says nothing yet. */
  readonly openClaims: readonly string[];
  readonly brakes: ServiceBrakes;
  readonly state: BrakeState;
}

/** What is to be published. Those with a `service` only after that service's state was saved, else they come twice. */
export type BrakeEvent =
  | {
      readonly type: 'budget-spent';
      readonly service: string;
      readonly mode: 'fail' | 'delay';
      readonly used: number;
      readonly limit: number;
      readonly untilMs?: number;
    }
  | { readonly type: 'replacement-overdue'; readonly service: string; readonly id: string; readonly sinceMs: number }
  | {
      readonly type: 'breaker-opened';
      readonly service: string;
      readonly unhealthy: number;
      readonly instances: number;
      readonly retryAtMs?: number;
    }
  | {
      readonly type: 'breaker-probe-failed';
      readonly service: string;
      readonly failedProbes: number;
      readonly retryAtMs?: number;
    }
  | { readonly type: 'breaker-closed'; readonly service: string }
  | {
      readonly type: 'estate-breaker-opened';
      readonly down: number;
      readonly considered: number;
      /** Keys of the first 20 that are down. */
      readonly services: readonly string[];
    }
  | { readonly type: 'estate-breaker-closed' };

/** A service's state after a look at it, and what to publish of that. */
export interface Observed {
  readonly state: BrakeState;
  readonly events: readonly BrakeEvent[];
}

/** Restarts that an action costs in budget, slots and places: a forced deployment as many as the service has instances. */
export function costOf(action: Candidate['action'], instances: number): number {
  return action === 'force-new-deployment' ? Math.max(1, instances) : 1;
}

/** Whether `part` is more than `share` of `whole`; exactly the share is not more, whatever binary fractions make of it. */
export function isMoreThanShare(part: number, share: number, whole: number): boolean {
  return part > share * whole + 1e-9;
}

/** Unhealthy in the breakers' sense: RUNNING/RUNNING, bad, out of grace; each task once. */
export function unhealthyCount(facts: Pick<ServiceFacts, 'unhealthy'>): number {
  return new Set(facts.unhealthy.filter((instance) => !instance.inGrace).map((instance) => instance.id)).size;
}

/** A brake that ends at a known instant, or not (`undefined`). */
export function withholding(brake: BrakeName, reason: BrakeReason, untilMs: number | undefined): Withholding {
  return untilMs === undefined ? { brake, reason } : { brake, reason, untilMs };
}
