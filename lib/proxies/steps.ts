/** The single steps that a decision is made of: launch, stop, wait, keep, forget. Each returns the state that goes with it. */
import type { ProxyAction, ProxyProblem, ProxyReason } from './action.ts';
import { clientTokenText } from './fingerprint.ts';
import type { ObserveContext, Observed } from './observe.ts';
import { type Launch, type ProxyPhase, type ProxyState, type StopWhy, without } from './proxy-state.ts';
import type { StopBudget } from './stop-cap.ts';
import { isCapped } from './stop-cap.ts';

/** What becomes of one proxy in a pass. No state: it is forgotten. */
export interface Decision {
  readonly state?: ProxyState;
  readonly actions: readonly ProxyAction[];
  readonly problems: readonly ProxyProblem[];
}

/** What a stop needs besides the proxy. */
export interface StopContext extends ObserveContext {
  readonly budget: StopBudget;
}

const STOP_TEXT: Readonly<Record<StopWhy, string>> = {
  removed: 'no longer declared',
  replaced: 'its declaration has changed',
  unhealthy: 'unhealthy',
  operator: 'restart asked for',
  duplicate: 'a second task of the same proxy',
  killed: 'all proxies are stopped',
};

/** Sets phase and reason. */
export function mark(state: ProxyState, phase: ProxyPhase, reason: ProxyReason): ProxyState {
  return { ...state, phase, reason };
}

/** Nothing is done before `untilMs`; without it, before something changes. */
export function wait(state: ProxyState, phase: ProxyPhase, reason: ProxyReason, untilMs?: number): Decision {
  const { proxyId } = state;
  const action: ProxyAction = { kind: 'wait', proxyId, reason, ...(untilMs === undefined ? {} : { untilMs }) };
  return { state: mark(state, phase, reason), actions: [action], problems: [] };
}

/** Everything is as it should be. */
export function keep(state: ProxyState, phase: ProxyPhase, reason: ProxyReason): Decision {
  return {
    state: mark(state, phase, reason),
    actions: [{ kind: 'keep', proxyId: state.proxyId, reason }],
    problems: [],
  };
}

/** Nothing of it is left. */
export function forget(state: ProxyState, reason: ProxyReason): Decision {
  return { actions: [{ kind: 'forget', proxyId: state.proxyId, reason }], problems: [] };
}

/** A decision with one more problem. */
export function alsoReport(decision: Decision, problem: ProxyProblem): Decision {
  return { ...decision, problems: [...decision.problems, problem] };
}

/**
 * Stops the current task, unless it is stopping already, was told to a moment ago, or the cap is reached. The stop is in
 * the state until STOPPED is confirmed; a failed one is tried again with growing waits.
 */
export function stopCurrent(observed: Observed, why: StopWhy, context: StopContext, detail = ''): Decision {
  const { state, sight } = observed;
  const { task } = state;
  if (task === undefined) return wait(state, 'stopping', 'task-stopping');
  if (sight === 'going') return wait(state, 'stopping', 'task-stopping');
  const { nowMs, settings } = context;
  const before = state.stop?.taskArn === task.taskArn ? state.stop : undefined;
  if (before?.outcome === 'accepted' && nowMs < before.triedAtMs + settings.stopRepeatMs) {
    return wait(state, 'stopping', 'stop-unconfirmed', before.triedAtMs + settings.stopRepeatMs);
  }
  if (before?.outcome === 'failed' && before.nextTryMs !== undefined && nowMs < before.nextTryMs) {
    const message = before.problem ?? 'StopTask failed';
    const problem: ProxyProblem = { proxyId: state.proxyId, reason: 'stop-failed', message, temporary: true };
    return alsoReport(wait(state, 'stopping', 'stop-failed', before.nextTryMs), problem);
  }
  const full = isCapped(why) ? context.budget.take(state.proxyId) : undefined;
  if (full !== undefined) return wait(state, 'running', 'stop-cap', full.freeAtMs);
  const stop = {
    taskArn: task.taskArn,
    why,
    tries: (before?.tries ?? 0) + 1,
    triedAtMs: nowMs,
    outcome: 'open' as const,
  };
  const text = stopText(state.proxyId, why, detail);
  return {
    state: mark({ ...state, stop }, 'stopping', why),
    actions: [
      { kind: 'stop', proxyId: state.proxyId, taskArn: task.taskArn, cluster: task.cluster, reason: why, text },
    ],
    problems: [],
  };
}

/** Stops the tasks beside the current one. They are not remembered: each pass looks for them again. */
export function stopOthers(observed: Observed, why: StopWhy): readonly ProxyAction[] {
  const { proxyId } = observed.state;
  return observed.others
    .filter((other) => other.desiredStatus !== 'STOPPED')
    .map(({ taskArn, cluster }) => {
      return { kind: 'stop', proxyId, taskArn, cluster, reason: why, text: stopText(proxyId, why, '') };
    });
}

/** For StopTask: no control characters, at most 255 UTF-16 units, no half surrogate pair at the cut. */
export function stopText(proxyId: string, why: StopWhy, detail: string): string {
  const text = `proxy ${proxyId}: ${STOP_TEXT[why]}${detail === '' ? '' : `: ${detail}`}`.replace(/\p{Cc}/gu, ' ');
  return text.slice(0, 255).replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * Launches the last good declaration. The launch is in the state before RunTask is called; a launch whose outcome is not
 * known is called again as it was, with the same generation and so with the same client token.
 */
export function launch(state: ProxyState, context: ObserveContext): Decision {
  const { spec, fingerprint, proxyId, generation } = state;
  if (spec === undefined || fingerprint === undefined) return wait(state, 'idle', 'not-declared');
  const before = state.launch;
  const next: Launch = {
    generation,
    fingerprint,
    cluster: spec.cluster,
    tries: (before?.tries ?? 0) + 1,
    triedAtMs: context.nowMs,
    outcome: 'open',
    ...(before?.maybeMadeAtMs === undefined ? {} : { maybeMadeAtMs: before.maybeMadeAtMs }),
  };
  const again = state.launches === 0 ? 'declared' : 'restarted';
  const reason: ProxyReason = before === undefined ? again : 'launch-unknown';
  return {
    state: mark({ ...without(state, 'nextAttemptMs'), launch: next }, 'launching', reason),
    actions: [
      {
        kind: 'start',
        proxyId,
        reason,
        spec,
        fingerprint,
        generation,
        clientTokenText: clientTokenText({ proxyId, fingerprint, generation }),
      },
    ],
    problems: [],
  };
}
