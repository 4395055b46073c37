/**
 * One proxy: what is declared, what is remembered, what runs → what to do. The table of DESIGN section 4:
 *
 *   declared               running   act
 *   yes                    no        start, unless backing off
 *   no, for removalDelay   yes       stop; forget it when STOPPED is confirmed
 *   changed fingerprint    yes       stop, confirm, start the new one
 *   invalid                yes       keep it running, report
 *   same                   yes       nothing
 *   doubtful               yes       nothing; a crashed one is started again from the last good declaration
 */
import type { ProxyProblem } from './action.ts';
import type { DeclaredProxy } from './declaration.ts';
import type { Observed } from './observe.ts';
import { type ProxyState, type StopWhy, without } from './proxy-state.ts';
import { describeProblem } from './shape.ts';
import {
  alsoReport,
  type Decision,
  forget,
  keep,
  launch,
  type StopContext,
  stopCurrent,
  stopOthers,
  wait,
} from './steps.ts';

/** Asks for one restart: by the judge of its checks, or by an operator. */
export interface RestartRequest {
  readonly proxyId: string;
  readonly why: 'unhealthy' | 'operator';
  /** The task that was judged; another one is not stopped for its sake. */
  readonly taskArn?: string;
  /** Said in StopTask's reason. */
  readonly detail: string;
}

/** What holds for all proxies of a pass. */
export interface DecideContext extends StopContext {
  /** True when the declared set is good and believed. Else nothing is stopped and nothing forgotten. */
  readonly trusted: boolean;
  readonly restarts: ReadonlyMap<string, RestartRequest>;
}

/** Decides one proxy. `entry` is absent when it is not declared, and means nothing unless the set is trusted. */
export function decide(observed: Observed, entry: DeclaredProxy | undefined, context: DecideContext): Decision {
  const state = context.trusted ? applyDeclaration(observed.state, entry, context.nowMs) : observed.state;
  const seen = { ...observed, state };
  const decision = state.task === undefined ? decideIdle(seen, context) : decideRunning(seen, context);
  if (!context.trusted || entry === undefined || entry.usable) return decision;
  return alsoReport(decision, invalidProblem(entry));
}

/** All problems of an unusable declaration, as one. */
export function invalidProblem(entry: DeclaredProxy & { readonly usable: false }): ProxyProblem {
  const message = `${entry.origin}: ${entry.problems.map(describeProblem).join('; ')}`;
  return { proxyId: entry.proxyId, reason: 'declaration-invalid', message, temporary: false };
}

/** What a good answer says of this proxy. A changed declaration starts with a fresh count. */
function applyDeclaration(state: ProxyState, entry: DeclaredProxy | undefined, nowMs: number): ProxyState {
  if (entry === undefined) return { ...state, absentSinceMs: state.absentSinceMs ?? nowMs };
  const present = without(state, 'absentSinceMs');
  if (!entry.usable) return present;
  const { spec, fingerprint } = entry;
  if (state.fingerprint === fingerprint) return present;
  const declared = { ...present, spec, fingerprint };
  return state.fingerprint === undefined ? declared : { ...without(declared, 'nextAttemptMs'), counted: 0 };
}

function removalIsDue(state: ProxyState, context: DecideContext): boolean {
  return state.absentSinceMs !== undefined && context.nowMs - state.absentSinceMs >= context.settings.removalDelayMs;
}

/** A removal that takes effect forgets the count: whoever declares it again begins afresh. */
function removed(observed: Observed): Observed {
  return { ...observed, state: { ...without(observed.state, 'nextAttemptMs'), counted: 0 } };
}

function decideRunning(observed: Observed, context: DecideContext): Decision {
  const { state, sight } = observed;
  if (sight === 'unasked') {
    const message = `ECS was not asked about ${state.task?.taskArn ?? 'its task'}`;
    const problem: ProxyProblem = { proxyId: state.proxyId, reason: 'ecs-error', message, temporary: true };
    return alsoReport({ state, actions: [], problems: [] }, problem);
  }
  const decision = decideCurrent(observed, context);
  // One task of the proxy is kept; on a doubtful read not even its double is stopped.
  const doubles = context.trusted ? stopOthers(observed, 'duplicate') : [];
  return { ...decision, actions: [...doubles, ...decision.actions] };
}

function decideCurrent(observed: Observed, context: DecideContext): Decision {
  const { state, sight } = observed;
  if (context.trusted && removalIsDue(state, context)) return stopCurrent(removed(observed), 'removed', context);
  const wanted = wantedStop(state, context);
  if (wanted !== undefined) return stopCurrent(observed, wanted.why, context, wanted.detail);
  if (sight === 'going') return wait(state, 'stopping', 'task-stopping');
  const kept = without(state, 'stop');
  if (state.absentSinceMs !== undefined) {
    // Due, but the read is doubtful: the next good answer decides, whenever that is.
    if (removalIsDue(state, context)) return wait(kept, 'running', 'declaration-doubtful');
    return wait(kept, 'running', 'removal-delay', state.absentSinceMs + context.settings.removalDelayMs);
  }
  return keep(kept, 'running', state.task?.startedAtMs === undefined ? 'starting' : 'running');
}

function wantedStop(state: ProxyState, context: DecideContext): { why: StopWhy; detail: string } | undefined {
  const { task, stop } = state;
  if (task === undefined) return undefined;
  const differs = task.fingerprint !== undefined && task.fingerprint !== state.fingerprint && state.spec !== undefined;
  const outdated = differs || state.spec?.execMode === 'service';
  if (context.trusted && state.absentSinceMs === undefined && outdated) return { why: 'replaced', detail: '' };
  // A restart that was begun is finished, whoever asked for it and whatever the checks say by now.
  const begun =
    stop?.taskArn === task.taskArn && (stop.why === 'operator' || stop.why === 'unhealthy') ? stop : undefined;
  if (begun !== undefined && (context.trusted || begun.why === 'operator')) return { why: begun.why, detail: '' };
  const request = context.restarts.get(state.proxyId);
  if (request === undefined || (request.taskArn !== undefined && request.taskArn !== task.taskArn)) return undefined;
  return context.trusted || request.why === 'operator' ? { why: request.why, detail: request.detail } : undefined;
}

function decideIdle(observed: Observed, context: DecideContext): Decision {
  const { state, others } = observed;
  const { nowMs, settings } = context;
  if (others.length > 0) return wait(state, 'stopping', 'task-stopping');
  if (state.absentSinceMs !== undefined) return decideAbsent(observed, context);
  const { spec } = state;
  if (spec === undefined) {
    // Found in ECS, ended, and its declaration is unusable: there is nothing to start it from.
    const settled = state.launch === undefined && (state.nextAttemptMs ?? nowMs) <= nowMs;
    return settled && context.trusted
      ? forget(state, 'declaration-invalid')
      : wait(state, 'idle', 'not-declared', state.nextAttemptMs);
  }
  if (state.launch !== undefined && (spec.execMode === 'service' || state.launch.fingerprint !== state.fingerprint)) {
    // Its task would be one of the old declaration. It comes to light within the patience, or there is none.
    return waitForLaunch(state, context);
  }
  if (spec.execMode === 'service') return decideService(state, spec.cluster, spec.ecsService ?? state.proxyId, context);
  const asked = context.restarts.get(state.proxyId)?.why === 'operator' && state.launch === undefined;
  if (!asked && state.nextAttemptMs !== undefined && nowMs < state.nextAttemptMs) {
    const rebuilt = state.reason === 'state-rebuilt';
    const reason = state.launch === undefined ? (rebuilt ? 'state-rebuilt' : 'backoff') : 'launch-unknown';
    return wait(state, 'waiting', reason, state.nextAttemptMs);
  }
  return launch(asked ? { ...state, counted: 0 } : state, { nowMs, settings, missing: context.missing });
}

function decideAbsent(observed: Observed, context: DecideContext): Decision {
  const { state } = observed;
  const dueAtMs = (state.absentSinceMs ?? context.nowMs) + context.settings.removalDelayMs;
  if (!removalIsDue(state, context)) return wait(state, 'waiting', 'removal-delay', dueAtMs);
  if (!context.trusted) return wait(state, 'waiting', 'declaration-doubtful');
  return state.launch === undefined ? forget(state, 'removed') : waitForLaunch(removed(observed).state, context);
}

function waitForLaunch(state: ProxyState, context: DecideContext): Decision {
  const sinceMs = state.launch?.maybeMadeAtMs ?? state.launch?.triedAtMs ?? context.nowMs;
  return wait(state, 'waiting', 'launch-unknown', sinceMs + context.settings.startPatienceMs);
}

function decideService(state: ProxyState, cluster: string, ecsService: string, context: DecideContext): Decision {
  const request = context.restarts.get(state.proxyId);
  const kept = keep(state, 'service', 'service');
  if (request === undefined || (request.why === 'unhealthy' && !context.trusted)) return kept;
  const action = { kind: 'redeploy', proxyId: state.proxyId, cluster, ecsService, reason: request.why } as const;
  return { ...kept, actions: [action] };
}

/** `kill`: everything of ours is stopped, nothing is started; forgotten when nothing of it can be left. */
export function decideKill(observed: Observed, context: DecideContext): Decision {
  const { state, sight, others } = observed;
  const doubles = stopOthers(observed, 'killed');
  if (state.task !== undefined && sight !== 'unasked') {
    const decision = stopCurrent(observed, 'killed', context);
    return { ...decision, actions: [...doubles, ...decision.actions] };
  }
  if (state.task !== undefined || others.length > 0) {
    const decision = wait(state, 'stopping', 'task-stopping');
    return { ...decision, actions: [...doubles, ...decision.actions] };
  }
  return state.launch === undefined ? forget(state, 'killed') : waitForLaunch(state, context);
}
