/**
 * Brings what is remembered of one proxy up to what ECS says now: which task is its current one, whether that has ended,
 * whether a launch of unknown outcome has come to light. Nothing is decided here.
 */
import { countAfterEnd, launchDelayMs, type TaskEnd } from './backoff.ts';
import { isGoing, isLive, type OwnTask } from './own-task.ts';
import { nextGeneration, type ProxyState, type ProxyTask, without } from './proxy-state.ts';
import type { ProxySettings } from './settings.ts';

/** How the current task was seen. `unseen`: MISSING, but too young to be dead. `unasked`: ECS said nothing of it. */
export type Sight = 'live' | 'going' | 'unseen' | 'unasked';

/** One proxy as it is. */
export interface Observed {
  readonly state: ProxyState;
  /** Present exactly when `state.task` is. */
  readonly sight?: Sight;
  /** Other tasks of the same proxy that still run. No task is started beside them. */
  readonly others: readonly OwnTask[];
}

/** What observing needs to know of ECS's answer. */
export interface ObserveContext {
  readonly nowMs: number;
  readonly settings: ProxySettings;
  readonly missing: ReadonlySet<string>;
}

/** Looks at one proxy. `tasks`: all of ours that name it, and the remembered one. */
export function observe(state: ProxyState, tasks: readonly OwnTask[], context: ObserveContext): Observed {
  const current = followTask(followLaunch(state, tasks, context), tasks, context);
  const live = tasks.filter(isLive);
  const adopted = current.task === undefined ? adopt(current, live, context) : current;
  const { task } = adopted;
  const others = live.filter((candidate) => candidate.taskArn !== task?.taskArn);
  if (task === undefined) return { state: adopted, others };
  const seen = live.find((candidate) => candidate.taskArn === task.taskArn);
  return { state: adopted, sight: sightOf(seen, task, context), others };
}

function sightOf(seen: OwnTask | undefined, task: ProxyTask, context: ObserveContext): Sight {
  if (seen !== undefined) return isGoing(seen) ? 'going' : 'live';
  return context.missing.has(task.taskArn) ? 'unseen' : 'unasked';
}

/** A launch whose outcome nobody recorded may have made a task until now; one that never came to light did not. */
function followLaunch(state: ProxyState, tasks: readonly OwnTask[], context: ObserveContext): ProxyState {
  const { launch } = state;
  if (launch === undefined) return state;
  const made = tasks.find((task) => task.generation === launch.generation);
  if (made !== undefined) return taskOfLaunch(state, made, context.nowMs);
  const maybeMadeAtMs = launch.outcome === 'open' ? launch.triedAtMs : (launch.maybeMadeAtMs ?? launch.triedAtMs);
  if (context.nowMs - maybeMadeAtMs < context.settings.startPatienceMs) {
    return { ...state, launch: { ...launch, maybeMadeAtMs } };
  }
  return { ...without(state, 'launch'), generation: nextGeneration(state, context.nowMs) };
}

function followTask(state: ProxyState, tasks: readonly OwnTask[], context: ObserveContext): ProxyState {
  const { task } = state;
  if (task === undefined) return state;
  const seen = tasks.find((candidate) => candidate.taskArn === task.taskArn);
  if (seen !== undefined) {
    const startedAtMs = seen.startedAtMs ?? task.startedAtMs;
    const known = startedAtMs === undefined ? state : { ...state, task: { ...task, startedAtMs } };
    return isLive(seen) ? known : recordEnd(known, seen, context);
  }
  const old = context.nowMs - task.launchedAtMs >= context.settings.startPatienceMs;
  return context.missing.has(task.taskArn) && old ? recordEnd(state, undefined, context) : state;
}

/** A running task of ours that is not remembered: a launch that came to light, or the item was lost. */
function adopt(state: ProxyState, live: readonly OwnTask[], context: ObserveContext): ProxyState {
  const candidates = live.filter((task) => !isGoing(task));
  const [best] = candidates.sort((one, other) => preference(state, one, other));
  if (best === undefined) return state;
  if (state.launch !== undefined) return taskOfLaunch(state, best, context.nowMs);
  return { ...state, task: taskOf(best, context.nowMs) };
}

/** The declared one before others, RUNNING before others, then the oldest; the ARN makes it the same every time. */
function preference(state: ProxyState, one: OwnTask, other: OwnTask): number {
  const declared = (task: OwnTask): number => (task.fingerprint === state.fingerprint ? 0 : 1);
  const running = (task: OwnTask): number => (task.lastStatus === 'RUNNING' ? 0 : 1);
  const started = (task: OwnTask): number => task.startedAtMs ?? Number.MAX_SAFE_INTEGER;
  const byArn = one.taskArn < other.taskArn ? -1 : 1;
  return declared(one) - declared(other) || running(one) - running(other) || started(one) - started(other) || byArn;
}

function taskOf(task: OwnTask, nowMs: number): ProxyTask {
  const { taskArn, cluster, fingerprint, generation, startedAtMs } = task;
  return {
    taskArn,
    cluster,
    launchedAtMs: nowMs,
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(generation === undefined ? {} : { generation }),
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
  };
}

/** A launch has become a task: it counts, and is no longer under way. */
export function taskOfLaunch(
  state: ProxyState,
  made: Pick<OwnTask, 'taskArn'> & Partial<OwnTask>,
  nowMs: number,
): ProxyState {
  const { launch } = state;
  if (launch === undefined) return state;
  const { fingerprint, generation, cluster } = launch;
  const task = taskOf({ lastStatus: '', desiredStatus: '', fingerprint, generation, cluster, ...made }, nowMs);
  return {
    ...without(state, 'launch', 'nextAttemptMs'),
    task,
    counted: state.counted + 1,
    launches: state.launches + 1,
  };
}

/** The current task has ended, whoever stopped it. `seen` is absent where ECS has forgotten it. */
function recordEnd(state: ProxyState, seen: OwnTask | undefined, context: ObserveContext): ProxyState {
  const { task } = state;
  if (task === undefined) return state;
  const { backoff } = context.settings;
  const atMs = Math.min(seen?.stoppedAtMs ?? context.nowMs, context.nowMs);
  const end: TaskEnd = {
    ...(task.startedAtMs === undefined ? {} : { uptimeMs: Math.max(0, atMs - task.startedAtMs) }),
    ...(seen?.stopCode === undefined ? {} : { stopCode: seen.stopCode }),
    ...(seen?.stoppedReason === undefined ? {} : { stoppedReason: seen.stoppedReason }),
  };
  // A change has set the count to 0 already, so the end of the task that it replaces charges nothing.
  const counted = countAfterEnd(state.counted, end, backoff);
  const delayMs = launchDelayMs(counted, backoff);
  return {
    ...without(state, 'task', 'stop', 'nextAttemptMs'),
    ...(delayMs === 0 ? {} : { nextAttemptMs: atMs + delayMs }),
    generation: nextGeneration(state, context.nowMs),
    counted,
    exits: state.exits + 1,
    lastEnd: {
      atMs,
      reason: (seen === undefined ? 'MISSING' : (seen.stopCode ?? seen.stoppedReason ?? 'STOPPED')).slice(0, 200),
      ...(seen?.exitCode === undefined ? {} : { exitCode: seen.exitCode }),
    },
  };
}
