/**
 * One restart: claim → act → record.
 *
 * The claim is a write on the ECS service's item, conditional on its version: of two passes that decide the same, one
 * wins and acts. Everything after the claim may be cut off at any point: an open claim is taken up by every later pass
 * (`open-claims.ts`), which asks ECS whether the call took effect before it is made again.
 */

import type { Claim } from '../ports.ts';
import { act, asStop, type RestartResult, record, shortTask, updateService } from './act-and-record.ts';
import { claim, type RestartContext } from './claim.ts';
import type { DueTask, PlannedRestart } from './plan-restarts.ts';
import { say } from './say.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { WatchDeps } from './watch-types.ts';

/** Carries out one planned restart. Throws `ReadFailure` only when the table cannot be reached before the claim. */
export async function restart(
  deps: WatchDeps,
  memory: WatchMemory,
  planned: PlannedRestart,
  context: RestartContext,
): Promise<RestartResult> {
  const [task] = planned.tasks;
  if (!task) throw new Error('a planned restart without a task');
  const ready = await askAgain(deps, planned, task);
  if (ready) return ready;
  const claimed = await claim(deps, memory, planned, task, context);
  if ('refused' in claimed) return { kind: 'refused', ...claimed.refused };
  say(deps, 'restart-issued', { owner: planned.ownerKey, task: shortTask(task.taskArn), action: planned.action });
  const outcome = await act(deps, claimed.claim, planned);
  if (outcome.outcome !== 'refused' || !outcome.controllerMismatch || planned.action !== 'force-new-deployment') {
    return record(deps, memory, planned.ownerKey, claimed.claim, outcome, context.nowMs);
  }
  // The service's controller does not take forced deployments: stop the one task instead, under the same claim (C30).
  const fallback: Claim = { ...claimed.claim, action: 'stop-task' };
  await updateService(deps, memory, planned.ownerKey, (service) =>
    asStop(service, fallback, context.nowMs, context.facts.brakes),
  );
  return record(deps, memory, planned.ownerKey, fallback, await act(deps, fallback, planned), context.nowMs);
}

/** Asks ECS once more about the very task, as the last thing before the claim: facts of this pass may be seconds old. */
async function askAgain(deps: WatchDeps, planned: PlannedRestart, task: DueTask): Promise<RestartResult | undefined> {
  const { tasks } = await deps.ecs.describeTasks(planned.cluster, [task.taskArn]);
  const now = tasks.get(task.taskArn);
  if (!now) return { kind: 'refused', reason: 'task-not-found', why: 'the task went away just now' };
  if (now.lastStatus === 'RUNNING' && now.desiredStatus === 'RUNNING') return undefined;
  const reason = now.lastStatus === 'STOPPED' ? 'already-stopped' : 'task-stopping';
  return { kind: 'refused', reason, why: 'the task began to stop just now' };
}
