/**
 * The story of `npm start`: breaks a sample task and follows what becomes of it. It only breaks; whoever mends it is the
 * watcher. Each step waits for a line of the narrator, so a step that does not come is named when time is up. What it tells
 * of proxies is in `proxy-story.ts`.
 */
import { systemClock } from '../../../lib/clock.ts';
import { type LineKind, Narrator, type StoryLine, taskName } from './narrator.ts';
import type { Stack } from './stack.ts';

/** How the story is told. */
export interface StoryOptions {
  readonly tell: (line: StoryLine) => void;
}

/** A story under way. */
export interface Story {
  readonly narrator: Narrator;
  /** Resolves when all samples are healthy. Throws `StepMissing` at the deadline. */
  untilHealthy(deadlineMs: number): Promise<void>;
  /** Breaks a task of the service, until its replacement is healthy. Throws `StepMissing` at the deadline. */
  breakOne(service: string, deadlineMs: number): Promise<void>;
  /** A line of the story's own. */
  say(headline: string, text: string): void;
  /** Tells what is done, does it, and waits for the steps. Throws `StepMissing` at the deadline. */
  follow(deed: Deed, deadlineMs: number, steps: readonly Step[]): Promise<void>;
}

/** Something that the story does. */
export interface Deed {
  readonly headline: string;
  readonly text: string;
  readonly act: () => Promise<unknown>;
}

/** Time is up; `message` says for which step, and what was last heard. */
export class StepMissing extends Error {
  constructor(step: string, last: StoryLine | undefined) {
    const heard = last ? `; the last line was "${last.headline}: ${last.text}"` : '';
    super(`${step}${heard}`);
    this.name = 'StepMissing';
  }
}

/** A line that must come, and what it means when it does not. */
export interface Step {
  readonly kind: LineKind;
  /** Absent: any, or none. */
  readonly task?: string;
  readonly missing: string;
}

interface Waiter {
  /** Steps that have not come yet. */
  steps: readonly Step[];
  readonly resolve: () => void;
}

/** Begins to listen to the stack. Feed the watcher's lines and windows to its narrator. */
export function beginStory(stack: Stack, { tell }: StoryOptions): Story {
  const waiters = new Set<Waiter>();
  let last: StoryLine | undefined;
  const hear = (line: StoryLine) => {
    last = line;
    tell(line);
    for (const waiter of waiters) {
      waiter.steps = waiter.steps.filter(({ kind, task }) => kind !== line.kind || (task ?? line.task) !== line.task);
      if (waiter.steps.length === 0) waiter.resolve();
    }
  };
  const narrator = new Narrator({
    nowMs: systemClock.nowMs,
    specs: stack.samples.specs,
    tell: hear,
    stoppedReason: (taskId) => stack.ecs.world.task(taskId)?.stoppedReason,
  });
  stack.events.onEvent((event) => narrator.hearEvent(event));
  stack.ecs.world.onTaskChange((task, before) => narrator.hearTask(task, before));
  const follow: Story['follow'] = async ({ headline, text, act }, deadlineMs, steps) => {
    const followed = heard(deadlineMs, steps);
    hear({ kind: 'other', headline, text });
    await Promise.all([followed, act()]);
  };
  const heard = async (deadlineMs: number, steps: readonly Step[]) => {
    const missing = await waitFor(waiters, steps, deadlineMs);
    if (missing) throw new StepMissing(missing.missing, last);
  };
  return {
    narrator,
    follow,
    say: (headline, text) => hear({ kind: 'other', headline, text }),
    async untilHealthy(deadlineMs) {
      const healthy: Step = { kind: 'healthy', missing: 'the samples did not get healthy' };
      if (!narrator.isHealthy) await heard(deadlineMs, [healthy]);
    },
    async breakOne(service, deadlineMs) {
      const victim = [...stack.samples.tasks.values()].find((task) => task.service === service);
      if (!victim) throw new StepMissing(`no task of ${service} runs`, last);
      const { taskId, url } = victim;
      const name = taskName(service, taskId);
      const act = () => fetch(`${url}/break`, { method: 'PUT' });
      await follow({ headline: 'breaking', text: `${name}: PUT ${url}/break`, act }, deadlineMs, [
        { kind: 'critical', task: taskId, missing: `Consul did not find the check of ${name} critical` },
        { kind: 'restarted', task: taskId, missing: `${name} was not restarted` },
        { kind: 'replaced', task: taskId, missing: `no replacement of ${name} came to run` },
      ]);
      const healthy: Step = { kind: 'healthy', missing: 'the samples did not get healthy again' };
      if (!narrator.isHealthy) await heard(deadlineMs, [healthy]);
    },
  };
}

/** Resolves when all steps have come, in whatever order; at the deadline with the first that has not. */
async function waitFor(waiters: Set<Waiter>, steps: readonly Step[], deadlineMs: number): Promise<Step | undefined> {
  const over = new AbortController();
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const waiter: Waiter = { steps, resolve };
  waiters.add(waiter);
  await Promise.race([arrived, systemClock.sleepUntil(deadlineMs, over.signal)]);
  over.abort();
  waiters.delete(waiter);
  return waiter.steps[0];
}
