/**
 * ECS as the reconciler must survive it: client tokens that replay, answers that get lost, tasks that DescribeTasks does
 * not know for a while, stops that take time, tags dropped at the stop. The only place in these tests that knows what
 * really runs.
 */
import { isLive, type OwnTask } from '../../lib/proxies/own-task.ts';

/** How the next call ends. `lost`: done, but the answer never comes; `dropped`: not done, and no answer either. */
export type CallFate = 'ok' | 'lost' | 'dropped' | 'refused' | 'failures';

interface ModelTask extends OwnTask {
  readonly proxyId: string;
  readonly visibleAtMs: number;
}

/** What a launch is asked with. */
export interface ModelLaunch {
  readonly proxyId: string;
  readonly fingerprint: string;
  readonly generation: number;
  readonly clientTokenText: string;
}

export class ModelEcs {
  readonly #tasks = new Map<string, ModelTask>();
  readonly #made = new Map<string, string>();
  launches = 0;
  /** Set when two tasks of one proxy ran at once. */
  violation: string | undefined;

  runTask(
    launch: ModelLaunch,
    fate: CallFate,
    nowMs: number,
    lagMs: number,
  ): { kind: 'launched'; taskArn: string } | { kind: 'unknown' | 'refused' | 'failures' } {
    if (fate === 'refused') return { kind: 'refused' };
    if (fate === 'dropped') return { kind: 'unknown' };
    const replayed = this.#made.get(launch.clientTokenText);
    if (replayed === undefined && fate === 'failures') return { kind: 'failures' };
    const taskArn = replayed ?? this.#make(launch, nowMs, lagMs);
    return fate === 'lost' ? { kind: 'unknown' } : { kind: 'launched', taskArn };
  }

  #make(launch: ModelLaunch, nowMs: number, lagMs: number): string {
    this.launches += 1;
    const taskArn = `task/${this.launches}`;
    const beside = this.running(launch.proxyId);
    if (beside.length > 0) this.violation ??= `${taskArn} of ${launch.proxyId} beside ${beside.join(', ')}`;
    this.#made.set(launch.clientTokenText, taskArn);
    this.#tasks.set(taskArn, {
      taskArn,
      cluster: 'prod',
      proxyId: launch.proxyId,
      fingerprint: launch.fingerprint,
      generation: launch.generation,
      lastStatus: 'RUNNING',
      desiredStatus: 'RUNNING',
      startedAtMs: nowMs,
      visibleAtMs: nowMs + lagMs,
    });
    return taskArn;
  }

  /** True when ECS says that it took the stop. */
  stopTask(taskArn: string, fate: CallFate): 'accepted' | 'failed' | 'unknown' {
    if (fate === 'refused' || fate === 'failures') return 'failed';
    const task = this.#tasks.get(taskArn);
    if (task !== undefined && isLive(task) && fate !== 'dropped') {
      this.#tasks.set(taskArn, { ...task, desiredStatus: 'STOPPED', lastStatus: 'DEACTIVATING' });
    }
    return fate === 'ok' ? 'accepted' : 'unknown';
  }

  /** Tasks on their way to STOPPED arrive there. */
  finishStops(nowMs: number): void {
    for (const task of this.#tasks.values()) {
      if (isLive(task) && task.desiredStatus === 'STOPPED') this.#end(task, nowMs, 'UserInitiated');
    }
  }

  /** The proxy's tasks end by themselves. */
  crash(proxyId: string, nowMs: number): void {
    for (const task of this.#tasks.values()) {
      if (isLive(task) && task.proxyId === proxyId) this.#end(task, nowMs, 'EssentialContainerExited');
    }
  }

  #end(task: ModelTask, nowMs: number, stopCode: string): void {
    // ECS drops the tags of a task that stops; only what the overrides say stays.
    const { fingerprint: _fingerprint, generation: _generation, ...rest } = task;
    const ended = { lastStatus: 'STOPPED', desiredStatus: 'STOPPED', stoppedAtMs: nowMs, stopCode };
    this.#tasks.set(task.taskArn, { ...rest, ...ended });
  }

  running(proxyId?: string): readonly string[] {
    return [...this.#tasks.values()]
      .filter((task) => isLive(task) && (proxyId === undefined || task.proxyId === proxyId))
      .map((task) => task.taskArn);
  }

  /** As ListTasks and DescribeTasks answer; `asked` are the remembered ARNs. */
  answer(nowMs: number, asked: readonly string[]): { tasks: readonly OwnTask[]; missing: ReadonlySet<string> } {
    const tasks = [...this.#tasks.values()].filter(
      (task) => task.visibleAtMs <= nowMs && (isLive(task) || asked.includes(task.taskArn)),
    );
    const seen = new Set(tasks.map((task) => task.taskArn));
    return { tasks, missing: new Set(asked.filter((taskArn) => !seen.has(taskArn))) };
  }
}
