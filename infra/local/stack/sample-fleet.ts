/**
 * The sample services' tasks, kept equal to what ECS runs: a program starts when its task is RUNNING, leaves Consul when
 * the task is told to stop, and ends with it. A replacement takes its predecessor's port if that is free again, so
 * that a command typed once can be typed again.
 */
import type { EcsDouble } from '../ecs-double/double.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { LocalConsul } from './local-consul.ts';
import { type SampleSpec, type SampleTask, startSampleTask } from './sample-task.ts';

/** The programs that run. */
export interface SampleFleet {
  readonly specs: readonly SampleSpec[];
  /** By task ID. */
  readonly tasks: ReadonlyMap<string, SampleTask>;
  /** Ends all programs; what happens in ECS from now on starts none. */
  close(): Promise<void>;
}

/** Adds the services to ECS and follows their tasks. `onProblem` hears of what could not be done. */
export function startSampleFleet(
  specs: readonly SampleSpec[],
  ecs: EcsDouble,
  consul: LocalConsul,
  onProblem: (problem: string) => void,
): SampleFleet {
  const tasks = new Map<string, SampleTask>();
  const ports = new Map<string, number>();
  const work = new Map<string, Promise<void>>();
  // One thing after the other for one task, whatever ECS does meanwhile.
  const next = (task: Readonly<TaskRecord>, step: () => Promise<void>) => {
    const done = (work.get(task.id) ?? Promise.resolve()).then(step).catch((error: unknown) => {
      onProblem(`sample task ${task.id}: ${error instanceof Error ? error.message : String(error)}`);
    });
    work.set(task.id, done);
  };
  const start = async (spec: SampleSpec, task: Readonly<TaskRecord>) => {
    const port = ports.get(task.replaces?.split('/').at(-1) ?? '') ?? 0;
    const started = await startSampleTask(spec, task, consul, port);
    tasks.set(task.id, started);
    ports.set(task.id, started.port);
  };
  const stopListening = ecs.world.onTaskChange((task, before) => {
    const spec = specs.find(({ name }) => name === task.service);
    if (!spec || before.lastStatus === task.lastStatus) return;
    if (task.lastStatus === 'RUNNING') next(task, () => start(spec, task));
    if (task.lastStatus === 'STOPPING') next(task, async () => tasks.get(task.id)?.leave());
    if (task.lastStatus === 'STOPPED' || task.lastStatus === 'DEPROVISIONING') {
      next(task, async () => {
        await tasks.get(task.id)?.close();
        tasks.delete(task.id);
      });
    }
  });
  for (const { name, count } of specs) ecs.world.addService({ name, desiredCount: count });
  return {
    specs,
    tasks,
    async close() {
      stopListening();
      await Promise.all(work.values());
      await Promise.all([...tasks.values()].map((task) => task.close()));
    },
  };
}
