/**
 * The sample services' tasks and their programs. A replacement takes its predecessor's port if that is free again, so that
 * a command typed once can be typed again.
 */
import type { EcsDouble } from '../ecs-double/double.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { LocalConsul } from './local-consul.ts';
import { type Declaration, type SampleSpec, type SampleTask, startSampleTask } from './sample-task.ts';
import { followTasks, type TaskPrograms } from './task-programs.ts';

/** The programs that run. */
export interface SampleFleet extends TaskPrograms {
  readonly specs: readonly SampleSpec[];
  /** From now on instances of the service declare a proxy each: those that run are registered again. */
  declareProxies(service: string, declaration: Declaration): Promise<void>;
}

/** Adds the services to ECS and follows their tasks. `onProblem` hears of what could not be done. */
export function startSampleFleet(
  specs: readonly SampleSpec[],
  ecs: EcsDouble,
  consul: LocalConsul,
  onProblem: (problem: string) => void,
): SampleFleet {
  const ports = new Map<string, number>();
  const declarations = new Map<string, Declaration>();
  const start = async (spec: SampleSpec, task: Readonly<TaskRecord>): Promise<SampleTask> => {
    const port = ports.get(task.replaces?.split('/').at(-1) ?? '') ?? 0;
    const declaration = declarations.get(spec.name);
    const started = await startSampleTask(declaration ? { ...spec, declaration } : spec, task, consul, port);
    ports.set(task.id, started.port);
    return started;
  };
  const programs = followTasks(
    ecs,
    (task) => {
      const spec = specs.find(({ name }) => name === task.service);
      return spec && start(spec, task);
    },
    onProblem,
  );
  for (const { name, count } of specs) ecs.world.addService({ name, desiredCount: count });
  return {
    ...programs,
    specs,
    async declareProxies(service, declaration) {
      declarations.set(service, declaration);
      const running = [...programs.tasks.values()].filter((task) => task.service === service);
      await Promise.all(running.map((task) => task.declare(declaration)));
    },
  };
}
