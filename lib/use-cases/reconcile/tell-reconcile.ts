/**
 * What of a reconcile is news: each action as a log line, an event and a line of history; each problem when it is new. What
 * was last told is kept with the heartbeat of the proxies' checks, so that a wrong declaration is one alarm and not one a
 * minute.
 */

import type { EventCode } from '../../event-codes.ts';
import { inParallel } from '../../in-parallel.ts';
import type { OutgoingEvent } from '../../ports.ts';
import type { ProxyProblem, ProxyReason } from '../../proxies/action.ts';
import { isTemporaryFailure } from '../../proxies/backoff.ts';
import { asFailure, isReadFailure } from '../failure.ts';
import { count, say } from '../say.ts';
import type { CarriedOut } from './carry-out.ts';
import { reportOf } from './carry-out.ts';
import type { DoneAction, ReconcileDeps, ReconcileReport } from './reconcile-types.ts';
import type { Round } from './round.ts';
import type { Worked } from './work-through.ts';

const PARALLEL_HISTORY = 8;

/** Problems that no action's own line tells. */
const PROBLEM_CODES: Partial<Record<ProxyReason, EventCode>> = {
  'declaration-invalid': 'declaration-invalid',
  'declaration-doubtful': 'declarations-doubtful',
  'empty-declarations': 'declarations-empty',
  'unidentified-task': 'proxy-unidentified',
  'ecs-error': 'ecs-failed',
};

/** Told as long as they last: their alarms wait for the third line, so that a blip is none. */
const OUTAGES: ReadonlySet<EventCode> = new Set<EventCode>(['ecs-failed', 'declarations-doubtful']);

/** Detail types of what was done, and of what failed. */
const EVENT_TYPES: Readonly<Record<DoneAction['kind'], { readonly done: string; readonly failed: string }>> = {
  start: { done: 'Proxy Launched', failed: 'Proxy Launch Failed' },
  stop: { done: 'Proxy Stopped', failed: 'Proxy Stop Failed' },
  redeploy: { done: 'Proxy Redeployed', failed: 'Proxy Redeploy Failed' },
};

/** Logs, counts, publishes, keeps history. Never throws for an outside system's failure. */
export async function tellReconcile(deps: ReconcileDeps, worked: Worked): Promise<void> {
  const { report, rounds } = worked;
  const done = rounds.flatMap((round) => round.done);
  for (const one of done) say(deps, codeOf(one), { ...reportOf(one) });
  tellEnds(deps, rounds);
  tellProblems(deps, worked);
  measure(deps, report);
  const events = [...done.map(eventOf), ...runStateEvents(deps, worked)];
  await keepHistory(deps, events, report.atMs);
  if (events.length > 0) await deps.events.publish(events);
  const { ok, actions, waiting, problems, rounds: made, deferred } = report;
  const fields = {
    ok,
    actions: actions.length,
    waiting: waiting.length,
    problems: problems.length,
    rounds: made,
    deferred,
  };
  say(deps, ok ? 'reconcile-done' : 'pass-failed', { ...fields, ...(ok ? {} : { failures: report.failures }) });
}

function codeOf({ outcome }: CarriedOut): EventCode {
  switch (outcome.kind) {
    case 'launched':
      return 'proxy-launched';
    case 'launch-failed':
      return isTemporaryFailure(outcome.reason) ? 'proxy-launch-failed' : 'proxy-launch-refused';
    case 'launch-refused':
      return isTemporaryFailure(outcome.code) ? 'proxy-launch-failed' : 'proxy-launch-refused';
    case 'launch-unknown':
      return 'proxy-launch-unanswered';
    case 'stop-accepted':
    case 'stop-gone':
      return 'proxy-stopped';
    case 'stop-failed':
    case 'stop-unknown':
      return 'proxy-stop-failed';
    case 'redeployed':
      return 'proxy-redeployed';
    case 'redeploy-failed':
      return 'proxy-redeploy-failed';
  }
}

function eventOf(one: CarriedOut): OutgoingEvent {
  const detail = reportOf(one);
  const types = EVENT_TYPES[detail.kind];
  return { type: detail.outcome === 'done' ? types.done : types.failed, detail: { ...detail } };
}

function runStateEvents(
  deps: ReconcileDeps,
  { runStateBefore, report: { runState } }: Worked,
): readonly OutgoingEvent[] {
  const { phase, kill } = runState;
  if (runStateBefore.phase === phase && runStateBefore.kill === kill) return [];
  const detail = { phase, kill: String(kill), before: runStateBefore.phase };
  say(deps, 'run-state-changed', detail);
  return [{ type: 'Proxy Run State Changed', detail }];
}

/** A task that ended without a stop of ours. */
function tellEnds(deps: ReconcileDeps, rounds: readonly Round[]): void {
  for (const { before, after } of rounds) {
    for (const [proxyId, state] of after) {
      const was = before.get(proxyId);
      if (was === undefined || was.exits >= state.exits || was.stop !== undefined) continue;
      say(deps, 'proxy-ended', { proxyId, taskArn: was.task?.taskArn, counted: state.counted, ...state.lastEnd });
    }
  }
}

function tellProblems(deps: ReconcileDeps, { problems, health, report, failures }: Worked): void {
  const reported = health?.reported ?? new Map<string, string>();
  const said = new Map<string, string>();
  const tell = (key: string, word: string, code: EventCode, fields: Readonly<Record<string, unknown>>) => {
    said.set(key, word);
    if (reported.get(key) !== word || OUTAGES.has(code)) say(deps, code, fields);
  };
  for (const problem of problems) {
    const code = PROBLEM_CODES[problem.reason];
    if (code !== undefined) tell(keyOf(problem), problem.message, code, { ...problem, problem: problem.message });
  }
  const capped = report.waiting.filter(({ reason }) => reason === 'stop-cap');
  if (capped.length > 0)
    tell('proxy stop-cap', 'capped', 'proxy-stops-capped', { proxies: capped.length, first: capped[0] });
  const isConsulTold = problems.some(({ reason }) => reason === 'declaration-doubtful');
  for (const failure of failures) {
    // ECS's are problems of their clusters, and an outage of Consul is told once.
    if (failure.system === 'ecs' || (failure.system === 'consul' && isConsulTold)) continue;
    const code = failure.system === 'state' ? 'state-failed' : 'pass-failed';
    tell(`proxy failure ${failure.system} ${failure.code}`, failure.message, code, { ...asFailure(failure) });
  }
  for (const key of [...reported.keys()]) if (key.startsWith('proxy ') && !said.has(key)) reported.delete(key);
  for (const [key, word] of said) reported.set(key, word);
}

function keyOf({ proxyId, reason, message }: ProxyProblem): string {
  return `proxy ${reason} ${proxyId ?? (reason === 'ecs-error' || reason === 'unidentified-task' ? message : '')}`;
}

function measure(deps: ReconcileDeps, report: ReconcileReport): void {
  const of = (kind: DoneAction['kind']) => report.actions.filter((action) => action.kind === kind);
  const failed = (actions: readonly DoneAction[]) => actions.filter(({ outcome }) => outcome !== 'done').length;
  count(deps, report.ok ? 'Reconciles' : 'ReconcilesFailed', 1);
  count(deps, 'ProxiesDeclared', report.declared ?? 0);
  count(deps, 'ProxiesRunning', report.running);
  count(deps, 'ProxyLaunches', of('start').length);
  count(deps, 'ProxyLaunchesFailed', failed(of('start')));
  count(deps, 'ProxyStops', of('stop').length);
  count(deps, 'ProxyStopsFailed', failed(of('stop')));
}

/** A line that could not be kept is said; what it tells has happened all the same. */
async function keepHistory(deps: ReconcileDeps, events: readonly OutgoingEvent[], atMs: number): Promise<void> {
  await inParallel(events, PARALLEL_HISTORY, async ({ type, detail }) => {
    const kind = type.toLowerCase().replaceAll(' ', '-');
    const told = Object.entries(detail).filter(([, value]) => typeof value === 'string');
    try {
      await deps.state.appendHistory({ atMs, kind, detail: Object.fromEntries(told) as Record<string, string> });
    } catch (error) {
      say(deps, 'state-failed', { problem: isReadFailure(error).message });
    }
  });
}
