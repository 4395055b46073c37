/**
 * One pass of the watcher: decide, then claim, act and record, then write what changed, then report.
 *
 * Whatever cannot be read ends the pass before anything is remembered: an unread world changes no state.
 */
import type { ReadFailure, UnhealthyAnswer } from '../ports.ts';
import type { BrakedPlan } from './brake-restarts.ts';
import { type Decision, decidePass } from './decide-pass.ts';
import { isReadFailure } from './failure.ts';
import { leftoversOf } from './leftovers.ts';
import type { RestartPlan } from './plan-restarts.ts';
import { entriesOf, type Outcome, reportPass, takenTasks } from './report-pass.ts';
import { restart } from './restart.ts';
import { count, say } from './say.ts';
import { tellPass } from './tell-pass.ts';
import { remember, writeChanges } from './watch-memory.ts';
import type { PassOptions, PassReport } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** Runs one pass over one answer. Throws `ReadFailure` when it cannot decide; then nothing has changed. */
export async function watchPass(watcher: Watcher, answer: UnhealthyAnswer, options: PassOptions): Promise<PassReport> {
  const decision = await decidePass(watcher, answer, options);
  const { nowMs, plan } = decision;
  const failures = [...decision.failures];
  const outcomes = options.dryRun ? plannedOnly(plan) : await carryOut(watcher, plan, options, nowMs, failures);
  return finishPass(watcher, { ...decision, failures }, outcomes, options);
}

/** Remembers a decided pass and how its restarts ended, reports it, and tells what is news. A dry run only reports. */
export async function finishPass(
  watcher: Watcher,
  decision: Decision,
  outcomes: readonly Outcome[],
  options: PassOptions,
): Promise<PassReport> {
  const failures = [...decision.failures];
  if (!options.dryRun) failures.push(...(await rememberPass(watcher, decision, outcomes, options)));
  const result = { ...decision, outcomes, failures, options, leftovers: leftoversOf(watcher, decision) };
  const entries = entriesOf(result);
  const report = reportPass(watcher, result, entries);
  if (!options.dryRun) await tellPass(watcher, result, report, entries);
  return report;
}

/** Keeps the states of this pass. A pass confined to one service is no sighting of the others. */
async function rememberPass(
  { deps, memory }: Watcher,
  decision: Decision,
  outcomes: readonly Outcome[],
  options: PassOptions,
): Promise<readonly ReadFailure[]> {
  rememberAll(memory, decision, outcomes);
  const written = await writeChanges(memory, deps.state);
  count(deps, 'StateConflicts', written.conflicts);
  if (written.conflicts > 0) say(deps, 'state-conflict', { checks: written.conflicts });
  if (options.service === undefined) {
    memory.lastGoodPassMs = decision.nowMs;
    memory.settleUntilMs = decision.settleUntilMs;
  }
  return written.failures;
}

/** What a dry run makes of its restarts. */
export function plannedOnly(plan: RestartPlan): Outcome[] {
  return plan.restarts.map((planned) => ({
    planned,
    result: { kind: 'refused', reason: 'dry-run', why: 'this pass is a dry run' },
  }));
}

/** Carries out the plan in its order. What cannot be claimed any more is left to the next pass. */
async function carryOut(
  { deps, memory }: Watcher,
  plan: BrakedPlan,
  options: PassOptions,
  nowMs: number,
  failures: ReadFailure[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const planned of plan.restarts) {
    const facts = plan.facts.get(planned.ownerKey);
    if (!facts) {
      const why = 'ECS did not describe the service';
      outcomes.push({ planned, result: { kind: 'refused', reason: 'ecs-error', why } });
    } else if (!(await options.mayClaim())) {
      const why = 'too late in this window, or the lease is lost';
      outcomes.push({ planned, result: { kind: 'refused', reason: 'restart-delay', why } });
    } else {
      try {
        const result = await restart(deps, memory, planned, { nowMs, facts, brakes: plan.brakes });
        if (result.failure) failures.push(result.failure);
        outcomes.push({ planned, result });
      } catch (error) {
        const failure = isReadFailure(error);
        failures.push(failure);
        // Without the table nobody knows whether another pass has claimed it.
        const reason = failure.system === 'ecs' ? 'ecs-error' : 'restart-in-flight';
        outcomes.push({ planned, result: { kind: 'refused', reason, why: failure.message } });
      }
    }
  }
  return outcomes;
}

/** All states of this pass; those of a restarted task's checks go with it, one that ECS calls gone is marked. */
function rememberAll(memory: Watcher['memory'], { judged, plan, nowMs }: Decision, outcomes: readonly Outcome[]): void {
  const restarted = new Set(
    outcomes.filter(isAnswered).flatMap((outcome) => takenTasks(outcome).map(({ taskArn }) => taskArn)),
  );
  const goneNow = new Set(plan.refusals.filter(isGone).map(({ task }) => task.taskArn));
  for (const { subject, state } of judged) {
    const { ref } = subject.sighting;
    if (state && restarted.has(state.taskArn)) remember(memory, ref, undefined);
    else if (state && goneNow.has(state.taskArn))
      remember(memory, ref, { ...state, goneSinceMs: state.goneSinceMs ?? nowMs });
    else remember(memory, ref, state);
  }
  for (const { current, ref } of memory.tracked.values()) {
    if (current && restarted.has(current.taskArn)) remember(memory, ref, undefined);
  }
}

function isAnswered({ result }: Outcome): boolean {
  return result.kind === 'acted' && result.outcome !== 'unanswered';
}

function isGone({ reason }: RestartPlan['refusals'][number]): boolean {
  return reason === 'task-not-found' || reason === 'already-stopped';
}
