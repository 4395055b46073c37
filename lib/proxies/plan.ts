/**
 * A pass over all proxies: declared × remembered × running → ordered actions with reasons, and the states to store before
 * they are carried out. Level-triggered and total: it never throws, needs no event, and one bad declaration, one
 * unreadable cluster or one failing proxy never holds up the others.
 *
 * The caller: 1. stores `changed`, `forgotten`, `memory` and `runState`, each conditional on the version that it read;
 * 2. carries out the actions of proxies whose state was saved; 3. folds the outcomes in (`outcome.ts`) and stores again.
 */
import { earliestWaitMs, inOrder, type ProxyAction, type ProxyProblem } from './action.ts';
import { type DecideContext, decide, decideKill, invalidProblem, type RestartRequest } from './decide.ts';
import type { DeclaredProxy } from './declaration.ts';
import { observe } from './observe.ts';
import { isLive, type OwnTask, type OwnTasks } from './own-task.ts';
import { newProxyState, type ProxyState } from './proxy-state.ts';
import { type RunState, settle } from './run-state.ts';
import { sameContent } from './same-content.ts';
import type { ProxySettings } from './settings.ts';
import { type Decision, stopText } from './steps.ts';
import { openStopBudget } from './stop-cap.ts';
import { type Declared, judgeDeclared, type ReconcileMemory } from './trust.ts';

/** Everything that a pass goes by. Declarations are read before ECS, so that nothing declared is taken for missing. */
export interface ReconcileInput {
  readonly nowMs: number;
  readonly declared: Declared;
  readonly states: ReadonlyMap<string, ProxyState>;
  /** IDs whose stored item could not be read: rebuilt from ECS, and not started before a launch would have come to light. */
  readonly unreadable?: readonly string[];
  readonly tasks: OwnTasks;
  readonly settings: ProxySettings;
  readonly runState: RunState;
  readonly memory: ReconcileMemory;
  readonly restarts?: readonly RestartRequest[];
  /** An operator's `sync` with `stops: N`. */
  readonly stops?: number;
}

/** What a pass wants. */
export interface ReconcilePlan {
  readonly actions: readonly ProxyAction[];
  /** All proxies after the pass; one that did not change is the same object as in the input. */
  readonly states: ReadonlyMap<string, ProxyState>;
  /** To be written before any action is carried out. */
  readonly changed: readonly ProxyState[];
  readonly forgotten: readonly string[];
  readonly memory: ReconcileMemory;
  readonly runState: RunState;
  /** When the next pass has something to do, were nothing to happen before. */
  readonly nextAttemptMs?: number;
  readonly problems: readonly ProxyProblem[];
}

type GoodTasks = OwnTasks & { readonly read: 'good' };

/** Plans a pass. */
export function planReconcile(input: ReconcileInput): ReconcilePlan {
  const { runState, tasks } = input;
  if (runState.phase === 'stopped' || (runState.phase === 'stopping' && !runState.kill)) return planNothing(input);
  if (tasks.read === 'doubtful') {
    const problem: ProxyProblem = { reason: 'ecs-error', message: tasks.why, temporary: true };
    return { ...planNothing(input), actions: [], runState, problems: [problem] };
  }
  const killing = runState.kill;
  const trust = killing ? { trusted: false, memory: input.memory, problems: [] } : judgeDeclared(input, tasks.tasks);
  const declared = input.declared.read === 'good' && trust.trusted ? input.declared.proxies : [];
  const entries = new Map(declared.map((entry) => [entry.proxyId, entry]));
  const byProxy = groupTasks(input, tasks);
  const budget = openStopBudget(
    input.memory.stops,
    Math.max(input.states.size, byProxy.size),
    input.nowMs,
    input.settings,
    input.stops ?? 0,
  );
  const context: DecideContext = {
    nowMs: input.nowMs,
    settings: input.settings,
    missing: tasks.missing,
    trusted: trust.trusted,
    restarts: new Map((input.restarts ?? []).map((request) => [request.proxyId, request])),
    budget,
  };
  const ids = new Set([...input.states.keys(), ...entries.keys(), ...byProxy.keys()]);
  const decisions = orderOf([...ids], input.states).map((proxyId) =>
    decideOne(proxyId, entries.get(proxyId), byProxy.get(proxyId) ?? [], input, tasks, context),
  );
  const unidentified = planUnidentified(input, tasks, killing);
  const plan = assemble(input, decisions, { ...trust.memory, stops: budget.charged() });
  const nothingLeft = plan.states.size === 0 && !tasks.tasks.some(isLive) && tasks.doubtfulClusters.size === 0;
  return {
    ...plan,
    actions: inOrder([...plan.actions, ...unidentified.actions]),
    runState: settle(runState, nothingLeft),
    problems: [...trust.problems, ...clusterProblems(tasks), ...plan.problems, ...unidentified.problems],
  };
}

function planNothing(input: ReconcileInput): ReconcilePlan {
  const message = 'the run state says: leave everything as it is';
  return {
    actions: [{ kind: 'report', reason: 'closed', message }],
    states: input.states,
    changed: [],
    forgotten: [],
    memory: input.memory,
    runState: settle(input.runState, false),
    problems: [],
  };
}

/** Our tasks by proxy: by the ARN that is remembered, else by what the task itself says. */
function groupTasks(input: ReconcileInput, tasks: GoodTasks): Map<string, OwnTask[]> {
  const remembered = rememberedArns(input.states);
  const groups = new Map<string, OwnTask[]>();
  for (const task of tasks.tasks) {
    const proxyId = remembered.get(task.taskArn) ?? task.proxyId;
    if (proxyId === undefined || (!isLive(task) && !input.states.has(proxyId))) continue;
    const group = groups.get(proxyId);
    if (group === undefined) groups.set(proxyId, [task]);
    else group.push(task);
  }
  return groups;
}

function rememberedArns(states: ReadonlyMap<string, ProxyState>): ReadonlyMap<string, string> {
  return new Map([...states.values()].flatMap(({ proxyId, task }) => (task ? [[task.taskArn, proxyId] as const] : [])));
}

/** Stops that have failed often come last, so that they never use up the cap before others had their turn. */
function orderOf(ids: readonly string[], states: ReadonlyMap<string, ProxyState>): readonly string[] {
  const tries = (proxyId: string): number => states.get(proxyId)?.stop?.tries ?? 0;
  return [...ids].sort((one, other) => tries(one) - tries(other) || (one < other ? -1 : 1));
}

function decideOne(
  proxyId: string,
  entry: DeclaredProxy | undefined,
  tasks: readonly OwnTask[],
  input: ReconcileInput,
  answer: GoodTasks,
  context: DecideContext,
): Decision {
  const stored = input.states.get(proxyId);
  const specs = [stored?.spec?.cluster, entry?.usable ? entry.spec.cluster : undefined];
  const clusters = [stored?.task?.cluster, stored?.launch?.cluster, ...specs];
  if (clusters.some((cluster) => cluster !== undefined && answer.doubtfulClusters.has(cluster))) {
    const message = 'its cluster could not be read, so it is left alone';
    const actions: ProxyAction[] = [{ kind: 'report', proxyId, reason: 'ecs-error', message }];
    return { ...(stored === undefined ? {} : { state: stored }), actions, problems: [] };
  }
  const lost = stored === undefined && (input.unreadable ?? []).includes(proxyId);
  if (stored === undefined && tasks.length === 0 && entry !== undefined && !entry.usable && !lost) {
    return { actions: [], problems: [invalidProblem(entry)] };
  }
  const fresh = newProxyState(proxyId, input.nowMs);
  const patienceMs = input.settings.startPatienceMs;
  const rebuilt: ProxyState = { ...fresh, reason: 'state-rebuilt', nextAttemptMs: input.nowMs + patienceMs };
  const observed = observe(stored ?? (lost ? rebuilt : fresh), tasks, context);
  return input.runState.kill ? decideKill(observed, context) : decide(observed, entry, context);
}

function assemble(input: ReconcileInput, decisions: readonly Decision[], memory: ReconcileMemory): ReconcilePlan {
  const states = new Map<string, ProxyState>();
  const changed: ProxyState[] = [];
  for (const { state } of decisions) {
    if (state === undefined) continue;
    const before = input.states.get(state.proxyId);
    const same = before !== undefined && sameContent(before, state);
    states.set(state.proxyId, same ? before : state);
    if (!same) changed.push(state);
  }
  const actions = decisions.flatMap((decision) => decision.actions);
  const nextAttemptMs = earliestWaitMs(actions);
  return {
    actions,
    states,
    changed,
    forgotten: [...input.states.keys()].filter((proxyId) => !states.has(proxyId)),
    memory,
    runState: input.runState,
    ...(nextAttemptMs === undefined ? {} : { nextAttemptMs }),
    problems: decisions.flatMap((decision) => decision.problems),
  };
}

function clusterProblems(tasks: GoodTasks): readonly ProxyProblem[] {
  return [...tasks.doubtfulClusters].map(([cluster, why]) => {
    return { reason: 'ecs-error', message: `cluster ${cluster}: ${why}`, temporary: true };
  });
}

/** Ours by `startedBy`, but for no proxy that can be named: reported; stopped only when all are. */
function planUnidentified(
  input: ReconcileInput,
  tasks: GoodTasks,
  killing: boolean,
): { actions: readonly ProxyAction[]; problems: readonly ProxyProblem[] } {
  const remembered = rememberedArns(input.states);
  const unknown = tasks.tasks.filter(
    (task) => task.proxyId === undefined && isLive(task) && !remembered.has(task.taskArn),
  );
  if (killing) {
    const going = unknown.filter((task) => task.desiredStatus !== 'STOPPED');
    return {
      actions: going.map(({ taskArn, cluster }) => {
        return { kind: 'stop', taskArn, cluster, reason: 'killed', text: stopText('(unknown)', 'killed', '') };
      }),
      problems: [],
    };
  }
  const message = (task: OwnTask): string => `${task.taskArn} was started by us, but does not say for which proxy`;
  return {
    actions: [],
    problems: unknown.map((task) => {
      return { reason: 'unidentified-task', message: message(task), temporary: false };
    }),
  };
}
