/**
 * One round: plan → store → act → fold → store. The order is what makes a crash anywhere harmless: an intent is in the
 * table before its call is made, and a step is carried out only where its intent was stored.
 */
import type { ReadFailure } from '../../ports.ts';
import type { ProxyProblem } from '../../proxies/action.ts';
import type { RestartRequest } from '../../proxies/decide.ts';
import { foldOutcomes } from '../../proxies/outcome.ts';
import type { OwnTasks } from '../../proxies/own-task.ts';
import { planReconcile, type ReconcilePlan } from '../../proxies/plan.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { Declared } from '../../proxies/trust.ts';
import type { Refused } from '../claim.ts';
import { isReadFailure } from '../failure.ts';
import { count, say } from '../say.ts';
import { type CarriedOut, carryOut, type EcsAction, ecsActions } from './carry-out.ts';
import type { ProxyHealth } from './judge-proxies.ts';
import type { ProxyStore } from './proxy-store.ts';
import type { ReconcileDeps, ReconcileSettings } from './reconcile-types.ts';

/** What a round goes by. */
export interface RoundInput {
  /** One instant for all rounds of a reconcile: a second look at one answer must not pass for a second answer. */
  readonly nowMs: number;
  readonly declared: Declared;
  readonly tasks: OwnTasks & { readonly read: 'good' };
  readonly restarts: readonly RestartRequest[];
  readonly stops?: number;
  readonly dryRun: boolean;
  /** RunTask calls that are left in this reconcile. */
  readonly launchesLeft: number;
  readonly health: ProxyHealth | undefined;
  readonly mayAct: () => Promise<boolean>;
}

/** What a round came to. */
export interface Round {
  readonly plan: ReconcilePlan;
  /** Steps that were stored, in a dry run all. */
  readonly intended: readonly EcsAction[];
  readonly done: readonly CarriedOut[];
  /** States before and after, for what is news. */
  readonly before: ReadonlyMap<string, ProxyState>;
  readonly after: ReadonlyMap<string, ProxyState>;
  readonly problems: readonly ProxyProblem[];
  readonly failures: readonly ReadFailure[];
  readonly charged: ReadonlyMap<string, Refused | undefined>;
  /** Launches left to the next reconcile. */
  readonly deferred: number;
  /** When a launch or stop that failed may be tried again. */
  readonly nextAttemptMs?: number;
  /** False: what all proxies share could not be stored, and nothing was done. */
  readonly stored: boolean;
}

/** Plans and carries out. Never throws for an outside system's failure. */
export async function runRound(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  store: ProxyStore,
  input: RoundInput,
): Promise<Round> {
  const before = store.states;
  const plan = planOf(settings, store, input);
  const nothing = { plan, before, done: [], charged: new Map(), deferred: 0 };
  if (input.dryRun) {
    const intended = ecsActions(plan.actions);
    return { ...nothing, intended, after: plan.states, problems: plan.problems, failures: [], stored: true };
  }
  const unstored = await storeControl(deps, store, plan);
  if (unstored !== undefined) {
    const problems = [...plan.problems, ...unstored.problems];
    return { ...nothing, intended: [], after: before, problems, failures: unstored.failures, stored: false };
  }
  const deferred = beyondLimit(plan, input.launchesLeft);
  const charged = await chargeAll(plan, before, input.health);
  const refused = [...charged].flatMap(([proxyId, against]) => (against === undefined ? [] : [proxyId]));
  const saved = await store.save(plan.changed, plan.forgotten, new Set([...deferred, ...refused]));
  const intended = ecsActions(plan.actions).filter((action) => isStored(action, saved.proxyIds, store));
  const done = await carryOut(deps, intended, input.mayAct);
  const folded = foldOutcomes(
    { states: store.states, memory: plan.memory },
    done.map(({ outcome }) => outcome),
    settings.proxies,
    Math.max(input.nowMs, deps.clock.nowMs()),
  );
  const recorded = await store.save(folded.changed, []);
  const conflicts = saved.conflicts + recorded.conflicts;
  if (conflicts > 0) say(deps, 'state-conflict', { proxies: conflicts });
  count(deps, 'StateConflicts', conflicts);
  return {
    plan: { ...plan, memory: folded.memory },
    intended,
    done,
    before,
    after: store.states,
    problems: [...plan.problems, ...folded.problems],
    failures: [...saved.failures, ...recorded.failures],
    charged,
    deferred: deferred.size,
    ...(folded.nextAttemptMs === undefined ? {} : { nextAttemptMs: folded.nextAttemptMs }),
    stored: true,
  };
}

function planOf({ proxies }: ReconcileSettings, store: ProxyStore, input: RoundInput): ReconcilePlan {
  const { nowMs, declared, tasks, restarts, stops } = input;
  return planReconcile({
    nowMs,
    declared,
    tasks,
    restarts,
    states: store.states,
    unreadable: store.unreadableIds(),
    settings: proxies,
    runState: store.control.runState,
    memory: store.control.memory,
    ...(stops === undefined ? {} : { stops }),
  });
}

/** What all proxies share is stored first: the cap on stops holds only where its charges are kept. */
async function storeControl(
  deps: ReconcileDeps,
  store: ProxyStore,
  { runState, memory }: ReconcilePlan,
): Promise<{ readonly problems: readonly ProxyProblem[]; readonly failures: readonly ReadFailure[] } | undefined> {
  try {
    if ((await store.saveControl({ runState, memory })) === 'saved') return undefined;
    say(deps, 'state-conflict', { control: true });
    const message = 'somebody else wrote the control item; nothing was done';
    return { problems: [{ reason: 'state-conflict', message, temporary: true }], failures: [] };
  } catch (error) {
    return { problems: [], failures: [isReadFailure(error)] };
  }
}

/** Proxies whose launch is left to the next reconcile: they keep the state that they have. */
function beyondLimit({ actions }: ReconcilePlan, left: number): ReadonlySet<string> {
  const starts = actions.flatMap((action) => (action.kind === 'start' ? [action.proxyId] : []));
  return new Set(starts.slice(Math.max(0, left)));
}

/** Charges each stop of an unhealthy proxy that begins now. One that was begun is charged already. */
async function chargeAll(
  { actions, states }: ReconcilePlan,
  before: ReadonlyMap<string, ProxyState>,
  health: ProxyHealth | undefined,
): Promise<ReadonlyMap<string, Refused | undefined>> {
  const charged = new Map<string, Refused | undefined>();
  for (const action of actions) {
    if (action.kind !== 'stop' || action.reason !== 'unhealthy' || action.proxyId === undefined) continue;
    const isBegun = before.get(action.proxyId)?.stop?.taskArn === action.taskArn;
    if (isBegun || states.get(action.proxyId)?.task?.taskArn !== action.taskArn) continue;
    charged.set(action.proxyId, await chargeOne(action.proxyId, health));
  }
  return charged;
}

async function chargeOne(proxyId: string, health: ProxyHealth | undefined): Promise<Refused | undefined> {
  try {
    return await health?.charge(proxyId);
  } catch (error) {
    return { reason: 'restart-in-flight', why: isReadFailure(error).message };
  }
}

/** A stop of everything is a stop of what cannot be understood, too: it needs nothing of the item but the task. */
function isStored(action: EcsAction, unsaved: ReadonlySet<string>, store: ProxyStore): boolean {
  if (action.proxyId === undefined || !unsaved.has(action.proxyId)) return true;
  return action.kind === 'stop' && action.reason === 'killed' && store.unreadableIds().includes(action.proxyId);
}
