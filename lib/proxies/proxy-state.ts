/**
 * What is remembered of one proxy: plain JSON, one item each, guarded by the item's version. It holds the last good
 * declaration (so that doubtful reads and bad updates change nothing), the task, and the launch that is under way.
 *
 * Order of writes: the plan's states are stored first (a launch is in them as an intent with its generation), then
 * RunTask and StopTask are called, then the outcomes are folded in and stored. A crash anywhere between leaves a launch
 * whose outcome is not known, and that is repeated with the same client token, or waited for: never a second task.
 */
import type { ProxySpec } from './spec.ts';

/** Version of the item's shape. */
export const PROXY_STATE_SCHEMA = 1;

/** In short what a proxy is doing, for `status`. */
export type ProxyPhase = 'waiting' | 'launching' | 'running' | 'stopping' | 'service' | 'idle';

/** The task that is ours. */
export interface ProxyTask {
  readonly taskArn: string;
  readonly cluster: string;
  /** Absent where it was found in ECS without its tags. */
  readonly fingerprint?: string;
  readonly generation?: number;
  /** When RunTask answered, or when it was found; MISSING soon after that is not dead. */
  readonly launchedAtMs: number;
  /** When it became RUNNING. */
  readonly startedAtMs?: number;
}

/** A launch between its intent and its outcome. */
export interface Launch {
  readonly generation: number;
  readonly fingerprint: string;
  readonly cluster: string;
  readonly tries: number;
  /** When the last call was made, or was about to be. */
  readonly triedAtMs: number;
  /** `open`: no outcome was recorded; `unknown`: no answer; `refused`: the last call made nothing, an earlier one may have. */
  readonly outcome: 'open' | 'unknown' | 'refused';
  /** The last instant at which a task may have been made without our knowing. */
  readonly maybeMadeAtMs?: number;
}

/** Why a task is stopped. */
export type StopWhy = 'removed' | 'replaced' | 'unhealthy' | 'operator' | 'duplicate' | 'killed';

/** A stop from its intent until STOPPED is confirmed. */
export interface Stop {
  readonly taskArn: string;
  readonly why: StopWhy;
  readonly tries: number;
  readonly triedAtMs: number;
  readonly outcome: 'open' | 'accepted' | 'failed';
  /** Of a failed one: not before. */
  readonly nextTryMs?: number;
  readonly problem?: string;
}

/** How the last task ended, or the last launch failed. */
export interface ProxyEnd {
  readonly atMs: number;
  readonly reason: string;
  readonly exitCode?: number;
}

/** Everything remembered of one proxy. */
export interface ProxyState {
  readonly schema: typeof PROXY_STATE_SCHEMA;
  readonly proxyId: string;
  /** Last good declaration; absent for a task that was found in ECS and has not been seen declared. */
  readonly spec?: ProxySpec;
  readonly fingerprint?: string;
  /** Of the next launch, or of the one under way. Never used twice, not even after the proxy was forgotten. */
  readonly generation: number;
  readonly task?: ProxyTask;
  readonly launch?: Launch;
  readonly stop?: Stop;
  /** Launches since the last healthy run, change or removal: what the backoff counts. */
  readonly counted: number;
  /** All launches, failed ones too, and all ends of tasks, for `status`. */
  readonly launches: number;
  readonly exits: number;
  /** Not launched before. */
  readonly nextAttemptMs?: number;
  /** Since when good answers have not declared it. */
  readonly absentSinceMs?: number;
  readonly lastEnd?: ProxyEnd;
  readonly phase: ProxyPhase;
  /** A stable word; see `plan.ts`. */
  readonly reason: string;
}

/** A proxy seen for the first time. Generations begin at the clock, so that one that was forgotten never repeats a token. */
export function newProxyState(proxyId: string, nowMs: number): ProxyState {
  return {
    schema: PROXY_STATE_SCHEMA,
    proxyId,
    generation: nowMs,
    counted: 0,
    launches: 0,
    exits: 0,
    phase: 'idle',
    reason: 'new',
  };
}

/** The generation after this one. */
export function nextGeneration(state: Pick<ProxyState, 'generation'>, nowMs: number): number {
  return Math.max(state.generation + 1, nowMs);
}

/** A copy without some optional fields. */
export function without<T extends object, K extends keyof T>(value: T, ...keys: readonly K[]): Omit<T, K> {
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}

/** `run` begins anew: counts and waits are gone, what runs stays known. A launch or stop under way is still under way. */
export function startAnew(state: ProxyState): ProxyState {
  return { ...without(state, 'nextAttemptMs'), counted: 0 };
}
