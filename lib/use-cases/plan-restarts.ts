/** From due checks and ECS's fresh facts to restarts and refusals. Plans only; nothing is written. */
import type { Withholding } from '../brakes/facts.ts';
import type { EcsTask } from '../check-restart/ecs-facts.ts';
import { eligibility, type OwnerKind, ownerKey, ownerOf, type TaskFacts } from '../check-restart/eligibility.ts';
import type { Action } from '../check-restart/policy.ts';
import type { Reason } from '../check-restart/reason.ts';
import type { ReadFailure } from '../ports.ts';
import type { Judged } from './judge.ts';
import type { WatchSettings } from './watch-types.ts';

/** One task that is due, with all its due checks, in Consul's order. */
export interface DueTask {
  readonly taskArn: string;
  readonly cluster: string;
  readonly due: readonly Judged[];
}

/** A restart to be carried out: one task, or one service with all its due tasks. */
export interface PlannedRestart {
  readonly action: Action;
  /** `notify` and `dry-run`: decided like a restart, and then only told. */
  readonly mode: 'restart' | 'notify' | 'dry-run';
  /** Key of the service item. */
  readonly ownerKey: string;
  readonly ownerKind: OwnerKind;
  readonly ownerName: string;
  readonly cluster: string;
  /** The tasks that are due; one unless the whole service is redeployed. */
  readonly tasks: readonly DueTask[];
  readonly facts: TaskFacts;
}

/** A due task that is not restarted now. */
export interface Refusal {
  readonly task: DueTask;
  readonly reason: Reason;
  readonly why: string;
  readonly untilMs?: number;
  /** All brakes that apply. */
  readonly brakes?: readonly Withholding[];
}

/** The plan of a pass. */
export interface RestartPlan {
  readonly restarts: readonly PlannedRestart[];
  readonly refusals: readonly Refusal[];
}

/** Groups due checks by task, in the order in which Consul lists them. */
export function dueTasks(judged: readonly Judged[]): DueTask[] {
  const tasks = new Map<string, { taskArn: string; cluster: string; due: Judged[] }>();
  for (const one of judged) {
    const { mapping } = one.subject;
    if (one.finding.kind !== 'due' || mapping.kind !== 'mapped') continue;
    const { taskArn, cluster } = mapping;
    const task = tasks.get(taskArn) ?? { taskArn, cluster, due: [] };
    task.due.push(one);
    tasks.set(taskArn, task);
  }
  return [...tasks.values()];
}

/** Plans what can be done about the due tasks, given what ECS said of them in this pass. */
export function planRestarts(
  tasks: readonly DueTask[],
  facts: ReadonlyMap<string, TaskFacts>,
  failures: ReadonlyMap<string, ReadFailure>,
  settings: WatchSettings,
  nowMs: number,
): RestartPlan {
  const refusals: Refusal[] = [];
  const restarts = new Map<string, PlannedRestart>();
  for (const task of tasks) {
    const known = facts.get(task.taskArn);
    if (!known) {
      const why = failures.get(task.cluster)?.message ?? 'ECS did not answer';
      refusals.push({ task, reason: 'ecs-error', why });
      continue;
    }
    const decision = decide(task, known, settings, nowMs);
    if ('reason' in decision) {
      refusals.push({ task, ...decision });
      continue;
    }
    const owner = ownerOf(decision.task);
    const key = ownerKey(owner);
    const planKey =
      decision.action === 'force-new-deployment' ? `service ${key} ${decision.mode}` : `task ${task.taskArn}`;
    const planned = restarts.get(planKey);
    restarts.set(planKey, {
      action: decision.action,
      mode: decision.mode,
      ownerKey: key,
      ownerKind: owner.kind,
      ownerName: owner.name,
      cluster: task.cluster,
      tasks: [...(planned?.tasks ?? []), task],
      facts: planned?.facts ?? known,
    });
  }
  return { restarts: [...restarts.values()], refusals };
}

type Decision =
  | { readonly action: Action; readonly mode: PlannedRestart['mode']; readonly task: EcsTask }
  | { readonly reason: Reason; readonly why: string };

/** A task may be due by several checks under different policies: the first that may act decides, else the first reason. */
function decide(task: DueTask, facts: TaskFacts, settings: WatchSettings, nowMs: number): Decision {
  const decisions = task.due.map((judged) => decideOne(judged, facts, settings, nowMs));
  const acting = decisions.find((decision) => 'action' in decision && decision.mode === 'restart');
  return (
    acting ??
    decisions.find((decision) => 'action' in decision) ??
    decisions[0] ?? { reason: 'ecs-error', why: `nothing is known of ${task.taskArn}` }
  );
}

function decideOne({ subject }: Judged, facts: TaskFacts, settings: WatchSettings, nowMs: number): Decision {
  const policy = subject.resolved?.policy;
  if (!policy) return { reason: 'not-watched', why: 'no policy' };
  const { allowedServices, requireAddress, proxyStartedBy } = settings;
  const verdict = eligibility(facts, {
    policy,
    address: subject.address,
    requireAddress,
    allowedServices,
    proxyStartedBy,
    nowMs,
  });
  if (!verdict.eligible) return verdict;
  if (!facts.task) return { reason: 'task-not-found', why: 'ECS does not know the task' };
  const mode = settings.dryRun ? 'dry-run' : policy.mode === 'notify' ? 'notify' : 'restart';
  return { action: verdict.action, mode, task: facts.task };
}
