/** A reconcile's report, with everything that is wrong in one place. */
import type { ReadFailure } from '../../ports.ts';
import type { ProxyAction, ProxyProblem } from '../../proxies/action.ts';
import type { Declared } from '../../proxies/trust.ts';
import { asFailure } from '../failure.ts';
import type { PassReport } from '../watch-types.ts';
import { plannedOf, reportOf } from './carry-out.ts';
import type { ProxyHealth } from './judge-proxies.ts';
import type { ProxyStore } from './proxy-store.ts';
import type { ReadTasks } from './read-world.ts';
import type { ReconcileReport, WaitingProxy } from './reconcile-types.ts';
import type { Round } from './round.ts';
import type { Work } from './work-through.ts';

/** What was read before the first round. */
export interface World {
  readonly declared: Declared;
  readonly tasks: ReadTasks;
  readonly health: ProxyHealth | undefined;
}

/** All that a reconcile has come to. */
export interface ReconcileResultParts {
  readonly store: ProxyStore;
  readonly work: Work;
  readonly nowMs: number;
  readonly endMs: number;
  readonly world: World;
  readonly rounds: readonly Round[];
  readonly passes: readonly PassReport[];
  readonly failures: readonly ReadFailure[];
}

/** Launches that were left over follow after this. */
const DEFERRED_MS = 1000;

/** Everything that is wrong, each thing once: of every round, and of what could not be read or stored. */
export function problemsOf({ store, rounds, work }: ReconcileResultParts): readonly ProxyProblem[] {
  const unreadable = store.unreadable.map(({ key, problem, proxyId }): ProxyProblem => {
    const message = `the item ${key} is not understood and left alone: ${problem}`;
    return { ...(proxyId === undefined ? {} : { proxyId }), reason: 'state-unreadable', message, temporary: false };
  });
  const known = new Set(store.states.keys());
  const unknown = (work.request.order?.restarts?.([...store.states.values()]) ?? [])
    .filter(({ proxyId }) => !known.has(proxyId))
    .map(({ proxyId }): ProxyProblem => {
      return { proxyId, reason: 'not-known', message: `there is no proxy ${proxyId}`, temporary: false };
    });
  const all = [...unreadable, ...unknown, ...rounds.flatMap(({ problems }) => problems)];
  return [...new Map(all.map((problem) => [JSON.stringify(problem), problem])).values()];
}

/** Builds the report. */
export function reportReconcile(
  result: ReconcileResultParts & { readonly isRecorded: boolean },
  problems: readonly ProxyProblem[],
): ReconcileReport {
  const { store, work, nowMs, world, rounds, passes, failures } = result;
  const last = rounds.at(-1);
  const isBlind = world.tasks.clusters > 0 && world.tasks.failures.length === world.tasks.clusters;
  const done = rounds.flatMap((round) => round.done);
  const nextMs = nextAttemptMs(result);
  return {
    outcome: 'done',
    atMs: nowMs,
    ok: (last?.stored ?? false) && result.isRecorded && !isBlind,
    dryRun: work.dryRun,
    runState: last?.plan.runState ?? store.control.runState,
    ...(world.declared.read === 'good' ? { declared: world.declared.proxies.length } : {}),
    running: [...store.states.values()].filter(({ task }) => task !== undefined).length,
    actions: work.dryRun ? (last?.intended ?? []).map(plannedOf) : done.map(reportOf),
    waiting: waitingOf(last),
    problems,
    failures: failures.map(asFailure),
    restarts: passes.flatMap((pass) => pass.restarts),
    skipped: passes.flatMap((pass) => pass.skipped),
    checks: passes.flatMap((pass) => pass.checks),
    rounds: rounds.length,
    deferred: last?.deferred ?? 0,
    ...(nextMs === undefined ? {} : { nextMs }),
  };
}

function waitingOf(last: Round | undefined): readonly WaitingProxy[] {
  const waits = (last?.plan.actions ?? []).flatMap((action) => (action.kind === 'wait' ? [waitOf(action)] : []));
  const failed = (last?.done ?? []).flatMap(({ action: { proxyId } }): WaitingProxy[] => {
    const state = proxyId === undefined ? undefined : last?.after.get(proxyId);
    if (state?.phase !== 'waiting') return [];
    const { reason, nextAttemptMs: untilMs } = state;
    const isKnown = reason === 'launch-failed' || reason === 'launch-unknown';
    return isKnown ? [{ proxyId: state.proxyId, reason, ...(untilMs === undefined ? {} : { untilMs }) }] : [];
  });
  return [...waits, ...failed];
}

function waitOf({ proxyId, reason, untilMs }: Extract<ProxyAction, { kind: 'wait' }>): WaitingProxy {
  return { proxyId, reason, ...(untilMs === undefined ? {} : { untilMs }) };
}

/** The earliest of everything that is waited for, and at once where something was not begun any more. */
function nextAttemptMs({ rounds, passes, endMs }: ReconcileResultParts): number | undefined {
  const last = rounds.at(-1);
  const isLeft = last !== undefined && (last.deferred > 0 || last.done.length < last.intended.length);
  const ends = [
    last?.plan.nextAttemptMs,
    last?.nextAttemptMs,
    ...passes.map((pass) => pass.nextDeadlineMs),
    isLeft ? endMs + DEFERRED_MS : undefined,
  ].filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}
