/**
 * The programs inside tasks, kept equal to what ECS runs: one starts when its task is RUNNING, leaves Consul when the task
 * is told to stop, and ends with it.
 */
import type { EcsDouble } from '../ecs-double/double.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { SampleTask } from './sample-task.ts';

/** The programs that run. */
export interface TaskPrograms {
  /** By task ID. */
  readonly tasks: ReadonlyMap<string, SampleTask>;
  /** Ends all programs; what happens in ECS from now on starts none. */
  close(): Promise<void>;
}

/** `start` answers `undefined` for tasks of others. `onProblem` hears of what could not be done. */
export function followTasks(
  ecs: EcsDouble,
  start: (task: Readonly<TaskRecord>) => Promise<SampleTask> | undefined,
  onProblem: (problem: string) => void,
): TaskPrograms {
  const tasks = new Map<string, SampleTask>();
  const work = new Map<string, Promise<void>>();
  // One thing after the other for one task, whatever ECS does meanwhile.
  const next = (task: Readonly<TaskRecord>, step: () => Promise<void>) => {
    const done = (work.get(task.id) ?? Promise.resolve()).then(step).catch((error: unknown) => {
      onProblem(`sample task ${task.id}: ${error instanceof Error ? error.message : String(error)}`);
    });
    work.set(task.id, done);
  };
  const stopListening = ecs.world.onTaskChange((task, before) => {
    if (before.lastStatus === task.lastStatus) return;
    if (task.lastStatus === 'RUNNING') {
      next(task, async () => {
        const started = await start(task);
        if (started) tasks.set(task.id, started);
      });
    }
    if (task.lastStatus === 'STOPPING') next(task, async () => tasks.get(task.id)?.leave());
    if (task.lastStatus === 'STOPPED' || task.lastStatus === 'DEPROVISIONING') {
      next(task, async () => {
        await tasks.get(task.id)?.close();
        tasks.delete(task.id);
      });
    }
  });
  return {
    tasks,
    async close() {
      stopListening();
      await Promise.all(work.values());
      await Promise.all([...tasks.values()].map((task) => task.close()));
    },
  };
}
