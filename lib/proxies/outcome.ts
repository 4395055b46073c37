/**
 * What came of the actions, folded into the states: to be stored after RunTask and StopTask. Every outcome is taken in,
 * and every failure is among the problems; none of them keeps the others from being recorded.
 */
import type { ProxyProblem, ProxyReason } from './action.ts';
import { isTemporaryFailure, launchDelayMs, retryDelayMs } from './backoff.ts';
import { taskOfLaunch } from './observe.ts';
import { nextGeneration, type ProxyState, without } from './proxy-state.ts';
import type { ProxySettings } from './settings.ts';
import type { ReconcileMemory } from './trust.ts';

/** How RunTask ended. `generation` is that of the action. */
export type LaunchOutcome = { readonly proxyId: string; readonly generation: number } & (
  | {
      /** Also for a ConflictException that names the task which the token made. */
      readonly kind: 'launched';
      readonly taskArn: string;
    }
  | {
      /** `failures[]` of an HTTP 200: nothing was made, under this token, by any try. */
      readonly kind: 'launch-failed';
      readonly reason: string;
    }
  | {
      /** A 4xx: this try made nothing. */
      readonly kind: 'launch-refused';
      readonly code: string;
      readonly message: string;
    }
  | {
      /** No answer, or one that says nothing (a 5xx): a task may have been made. */
      readonly kind: 'launch-unknown';
      readonly message: string;
    }
);

/** How StopTask ended. `proxyId` is absent where the action had none. */
export type StopOutcome = { readonly proxyId?: string; readonly taskArn: string } & (
  | { readonly kind: 'stop-accepted' }
  /** ECS does not know the task (any more): confirmed by DescribeTasks, like an accepted one. */
  | { readonly kind: 'stop-gone' }
  | { readonly kind: 'stop-failed' | 'stop-unknown'; readonly message: string }
);

/** How UpdateService ended. */
export type RedeployOutcome = { readonly proxyId: string } & (
  | { readonly kind: 'redeployed' }
  | { readonly kind: 'redeploy-failed'; readonly message: string }
);

/** What came of one action. */
export type ActionOutcome = LaunchOutcome | StopOutcome | RedeployOutcome;

/** States after one outcome or several. */
export interface Folded {
  readonly states: ReadonlyMap<string, ProxyState>;
  /** To be written. */
  readonly changed: readonly ProxyState[];
  readonly memory: ReconcileMemory;
  /** When a launch that failed may be tried again; at or before `nowMs`: at once. */
  readonly nextAttemptMs?: number;
  readonly problems: readonly ProxyProblem[];
}

/** Folds all outcomes of a pass. An outcome that fits no launch or stop under way changes nothing. */
export function foldOutcomes(
  before: Pick<Folded, 'states' | 'memory'>,
  outcomes: readonly ActionOutcome[],
  settings: ProxySettings,
  nowMs: number,
): Folded {
  const states = new Map(before.states);
  const touched = new Set<string>();
  const problems: ProxyProblem[] = [];
  let nextAttemptMs = Number.POSITIVE_INFINITY;
  let { memory } = before;
  for (const outcome of outcomes) {
    problems.push(...problemOf(outcome));
    const { proxyId } = outcome;
    const state = proxyId === undefined ? undefined : states.get(proxyId);
    if (proxyId === undefined || state === undefined) continue;
    const after = foldOutcome(state, outcome, settings, nowMs);
    if (after === state) continue;
    states.set(proxyId, after);
    touched.add(proxyId);
    if (after.task === undefined) nextAttemptMs = Math.min(nextAttemptMs, after.nextAttemptMs ?? nowMs);
    // A refused stop gives its place in the cap back.
    if (outcome.kind === 'stop-failed') {
      memory = { ...memory, stops: memory.stops.filter((stop) => stop.proxyId !== proxyId) };
    }
    if (after.stop?.nextTryMs !== undefined) nextAttemptMs = Math.min(nextAttemptMs, after.stop.nextTryMs);
  }
  return {
    states,
    changed: [...touched].flatMap((proxyId) => states.get(proxyId) ?? []),
    memory,
    ...(Number.isFinite(nextAttemptMs) ? { nextAttemptMs } : {}),
    problems,
  };
}

/** Folds one outcome into the state of its proxy. */
export function foldOutcome(
  state: ProxyState,
  outcome: ActionOutcome,
  settings: ProxySettings,
  nowMs: number,
): ProxyState {
  switch (outcome.kind) {
    case 'launched':
    case 'launch-failed':
    case 'launch-refused':
    case 'launch-unknown':
      return foldLaunch(state, outcome, settings, nowMs);
    case 'stop-accepted':
    case 'stop-gone':
    case 'stop-failed':
    case 'stop-unknown':
      return foldStop(state, outcome, settings, nowMs);
    default:
      return state;
  }
}

function foldLaunch(state: ProxyState, outcome: LaunchOutcome, settings: ProxySettings, nowMs: number): ProxyState {
  const { launch } = state;
  if (launch === undefined || launch.generation !== outcome.generation) return state;
  if (outcome.kind === 'launched') {
    return { ...taskOfLaunch(state, { taskArn: outcome.taskArn }, nowMs), phase: 'running', reason: 'starting' };
  }
  const { backoff } = settings;
  const waiting = { phase: 'waiting' as const, nextAttemptMs: nowMs + retryDelayMs(launch.tries, backoff) };
  if (outcome.kind === 'launch-unknown') {
    const open = { ...launch, outcome: 'unknown' as const, maybeMadeAtMs: nowMs };
    return { ...state, ...waiting, launch: open, reason: 'launch-unknown' satisfies ProxyReason };
  }
  if (outcome.kind === 'launch-refused' && launch.maybeMadeAtMs !== undefined) {
    // This try made nothing, but an earlier one may have: the token is kept until that is known.
    const open = { ...launch, outcome: 'refused' as const };
    return { ...state, ...waiting, launch: open, reason: 'launch-unknown' satisfies ProxyReason };
  }
  const counted = state.counted + 1;
  const delayMs = launchDelayMs(counted, backoff);
  return {
    ...without(state, 'launch', 'nextAttemptMs'),
    ...(delayMs === 0 ? {} : { nextAttemptMs: nowMs + delayMs }),
    generation: nextGeneration(state, nowMs),
    counted,
    launches: state.launches + 1,
    lastEnd: { atMs: nowMs, reason: reasonOf(outcome).slice(0, 200) },
    phase: 'waiting',
    reason: 'launch-failed' satisfies ProxyReason,
  };
}

function reasonOf(outcome: LaunchOutcome): string {
  if (outcome.kind === 'launch-failed') return outcome.reason;
  return outcome.kind === 'launch-refused' ? `${outcome.code}: ${outcome.message}` : outcome.kind;
}

function foldStop(state: ProxyState, outcome: StopOutcome, settings: ProxySettings, nowMs: number): ProxyState {
  const { stop } = state;
  if (stop === undefined || stop.taskArn !== outcome.taskArn) return state;
  if (outcome.kind === 'stop-accepted' || outcome.kind === 'stop-gone') {
    const accepted = { ...without(stop, 'nextTryMs', 'problem'), outcome: 'accepted' as const, triedAtMs: nowMs };
    return { ...state, stop: accepted };
  }
  const nextTryMs = nowMs + retryDelayMs(stop.tries, settings.backoff);
  const failed = { ...stop, outcome: 'failed' as const, nextTryMs, problem: outcome.message.slice(0, 300) };
  return { ...state, stop: failed, reason: 'stop-failed' satisfies ProxyReason };
}

function problemOf(outcome: ActionOutcome): readonly ProxyProblem[] {
  const who = outcome.proxyId === undefined ? {} : { proxyId: outcome.proxyId };
  switch (outcome.kind) {
    case 'launch-failed':
      return [launchProblem(who, outcome.reason, outcome.reason)];
    case 'launch-refused':
      return [launchProblem(who, outcome.code, `${outcome.code}: ${outcome.message}`)];
    case 'launch-unknown':
      return [{ ...who, reason: 'launch-unknown', message: outcome.message, temporary: true }];
    case 'stop-failed':
    case 'stop-unknown':
      return [{ ...who, reason: 'stop-failed', message: `${outcome.taskArn}: ${outcome.message}`, temporary: true }];
    case 'redeploy-failed':
      return [{ ...who, reason: 'redeploy-failed', message: outcome.message, temporary: true }];
    default:
      return [];
  }
}

function launchProblem(who: { proxyId?: string }, cause: string, said: string): ProxyProblem {
  const temporary = isTemporaryFailure(cause);
  const message = `RunTask: ${said}${temporary ? '' : ' (not temporary: it needs a change)'}`;
  return { ...who, reason: 'launch-failed', message, temporary };
}
