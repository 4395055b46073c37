/**
 * What is done under the lease: read the world once, judge, then rounds until nothing is left to do at once. A round more
 * is made where a launch failed and may be tried again without a wait (three launches are free), with our tasks read anew.
 */
import type { ReadFailure } from '../../ports.ts';
import type { ProxyProblem } from '../../proxies/action.ts';
import type { RestartRequest } from '../../proxies/decide.ts';
import type { RunState } from '../../proxies/run-state.ts';
import type { Declared } from '../../proxies/trust.ts';
import { isReadFailure } from '../failure.ts';
import type { PassReport } from '../watch-types.ts';
import { judgeProxies, type ProxyHealth } from './judge-proxies.ts';
import type { ProxyStore } from './proxy-store.ts';
import { type ReadTasks, readDeclared, readTasks } from './read-world.ts';
import type { ReconcileDeps, ReconcileReport, ReconcileRequest, ReconcileSettings } from './reconcile-types.ts';
import { problemsOf, reportReconcile, type World } from './report-reconcile.ts';
import { type Round, runRound } from './round.ts';

/** Rounds of one reconcile; what is left then follows by a wake-up. */
const MOST_ROUNDS = 5;
const LAUNCH_LIMIT = 100;

/** What is to be done, and how long. */
export interface Work {
  readonly request: ReconcileRequest;
  readonly startMs: number;
  readonly dryRun: boolean;
  /** False: too late, or the lease is lost; begin nothing more. */
  readonly mayAct: () => Promise<boolean>;
}

/** Everything that came of it. */
export interface Worked {
  readonly report: ReconcileReport;
  readonly rounds: readonly Round[];
  readonly problems: readonly ProxyProblem[];
  readonly failures: readonly ReadFailure[];
  readonly health: ProxyHealth | undefined;
  readonly runStateBefore: RunState;
}

/** Works it through. Never throws for an outside system's failure. */
export async function workThrough(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  store: ProxyStore,
  work: Work,
): Promise<Worked> {
  const failures: ReadFailure[] = [];
  const runStateBefore = store.control.runState;
  // A clock that lies behind the last reconcile would make waits longer and uptimes shorter.
  const nowMs = Math.max(work.startMs, store.control.lastStartMs ?? 0);
  const ordered = await takeOrder(store, work, failures);
  const world = await readWorld(deps, settings, store, work, failures);
  const restarts = [...(world.health?.requests ?? []), ...orderedRestarts(store, work)];
  const rounds: Round[] = [];
  let { tasks } = world;
  let launchesLeft = settings.launchLimit ?? LAUNCH_LIMIT;
  while (ordered) {
    const round = await runRound(deps, settings, store, {
      nowMs,
      declared: world.declared,
      tasks: tasks.tasks,
      restarts: rounds.length === 0 ? restarts : [],
      ...(work.request.stops === undefined ? {} : { stops: work.request.stops }),
      dryRun: work.dryRun,
      launchesLeft,
      health: world.health,
      mayAct: work.mayAct,
    });
    rounds.push(round);
    launchesLeft -= round.done.filter(({ action }) => action.kind === 'start').length;
    const isOver = round.nextAttemptMs === undefined || round.nextAttemptMs > deps.clock.nowMs();
    if (isOver || rounds.length >= MOST_ROUNDS || launchesLeft <= 0 || !(await work.mayAct())) break;
    tasks = await readTasks(deps, settings, store.states, world.declared);
  }
  failures.push(...rounds.flatMap((round) => round.failures));
  const passes = await finishHealth(world.health, rounds, failures);
  const isRecorded = !work.dryRun && ordered && (await recordEnd(store, rounds, nowMs, failures));
  const all = { store, work, nowMs, endMs: deps.clock.nowMs(), world, rounds, passes, failures };
  const problems = problemsOf(all);
  const report = reportReconcile({ ...all, isRecorded: isRecorded || work.dryRun }, problems);
  return { report, rounds, problems, failures, health: world.health, runStateBefore };
}

const NO_TASKS: ReadTasks = {
  tasks: { read: 'good', tasks: [], missing: new Set(), doubtfulClusters: new Map() },
  clusters: 0,
  failures: [],
};

const NONE: Declared = { read: 'good', proxies: [] };

function isUnused({ rules: { allow } }: ReconcileSettings, store: ProxyStore): boolean {
  const startsNothing = allow.clusters.length === 0 || allow.families.length + allow.services.length === 0;
  return startsNothing && store.states.size === 0 && store.unreadableIds().length === 0;
}

async function readWorld(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  store: ProxyStore,
  work: Work,
  failures: ReadFailure[],
): Promise<World> {
  const { phase, kill } = store.control.runState;
  const unread: Declared = { read: 'doubtful', why: 'not read: proxies are not reconciled' };
  const isKilling = kill && phase === 'stopping';
  if (phase !== 'running' && !isKilling) return { declared: unread, tasks: NO_TASKS, health: undefined };
  const { declared, failure } = isKilling ? { declared: unread } : await readDeclared(deps, settings);
  // Where nothing may be started and nothing ever was, a token without rights on declarations is nobody's problem.
  if (failure !== undefined && isUnused(settings, store)) return { declared: NONE, tasks: NO_TASKS, health: undefined };
  if (failure !== undefined) failures.push(failure);
  const tasks = await readTasks(deps, settings, store.states, declared);
  failures.push(...tasks.failures);
  const isAnything = store.states.size > 0 || (declared.read === 'good' && declared.proxies.length > 0);
  if (isKilling || !isAnything) return { declared, tasks, health: undefined };
  try {
    const { dryRun, mayAct } = work;
    const health = await judgeProxies(deps, settings, { states: store.states, tasks: tasks.tasks, dryRun, mayAct });
    return { declared, tasks, health };
  } catch (error) {
    failures.push(isReadFailure(error));
    return { declared, tasks, health: undefined };
  }
}

/** Stores an operator's word before anything is done on it. False: it could not be stored. */
async function takeOrder(store: ProxyStore, { request, dryRun }: Work, failures: ReadFailure[]): Promise<boolean> {
  const { order } = request;
  if (order === undefined || dryRun) return true;
  try {
    const runState = order.runState?.(store.control.runState) ?? store.control.runState;
    if ((await store.saveControl({ runState })) === 'conflict') return false;
  } catch (error) {
    failures.push(isReadFailure(error));
    return false;
  }
  const { state } = order;
  if (state !== undefined) {
    const changed = [...store.states.values()].filter(
      (before) => JSON.stringify(state(before)) !== JSON.stringify(before),
    );
    const saved = await store.save(changed.map(state), []);
    failures.push(...saved.failures);
  }
  return true;
}

function orderedRestarts({ states }: ProxyStore, { request }: Work): readonly RestartRequest[] {
  return request.order?.restarts?.([...states.values()]) ?? [];
}

async function finishHealth(
  health: ProxyHealth | undefined,
  rounds: readonly Round[],
  failures: ReadFailure[],
): Promise<readonly PassReport[]> {
  if (health === undefined) return [];
  try {
    const charged = new Map(rounds.flatMap((round) => [...round.charged]));
    return await health.finish(
      rounds.flatMap(({ done }) => done),
      charged,
    );
  } catch (error) {
    failures.push(isReadFailure(error));
    return [];
  }
}

/** What came before this start is done. False: that could not be recorded, so it will be done again. */
async function recordEnd(
  store: ProxyStore,
  rounds: readonly Round[],
  nowMs: number,
  failures: ReadFailure[],
): Promise<boolean> {
  const last = rounds.at(-1);
  if (last === undefined || !last.stored) return false;
  try {
    return (await store.saveControl({ memory: last.plan.memory, lastStartMs: nowMs })) === 'saved';
  } catch (error) {
    failures.push(isReadFailure(error));
    return false;
  }
}
