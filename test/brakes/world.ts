/**
 * A small world on a virtual clock for the brakes alone: services of tasks that turn bad, are stopped and replaced.
 * Each pass confirms claims, builds the facts, asks `applyBrakes`, and charges what is allowed, in the order in which
 * the use case does. States make a round trip through JSON each pass, as they do through the table.
 */
import { applyBrakes, type BrakeResult } from '../../lib/brakes/apply.ts';
import { charge } from '../../lib/brakes/charge.ts';
import { type BrakeEvent, type Candidate, costOf, type ServiceFacts } from '../../lib/brakes/facts.ts';
import {
  type EstateBrakes,
  NO_ESTATE_BRAKES,
  NO_SERVICE_BRAKES,
  type ServiceBrakes,
} from '../../lib/brakes/settings.ts';
import { type BrakeState, type EstateState, NO_BRAKE_STATE } from '../../lib/brakes/state.ts';

export interface WorldService {
  readonly key: string;
  readonly cluster?: string;
  readonly instances: number;
  readonly brakes?: ServiceBrakes;
  /** Whether the task is bad. `generation` 0 = the first task of its slot, 1 = its first replacement. */
  readonly bad: (slot: number, generation: number, atMs: number) => boolean;
  /** From a stop to its replacement's start; `null` = never. Default 5 s. */
  readonly replaceAfterMs?: number | null;
  readonly action?: Candidate['action'];
}

export interface WorldOptions {
  readonly services: readonly WorldService[];
  readonly estate?: EstateBrakes;
  /** Bad this long = due. */
  readonly timeLimitMs?: number;
  readonly graceMs?: number;
  readonly pollMs?: number;
  readonly fromMs?: number;
  readonly untilMs: number;
  readonly onPass?: (pass: Pass) => void;
}

export interface Restart {
  readonly atMs: number;
  readonly service: string;
  readonly slot: number;
  readonly cost: number;
}

export interface Pass {
  readonly nowMs: number;
  readonly result: BrakeResult<Candidate>;
  readonly facts: readonly ServiceFacts[];
}

interface Task {
  readonly slot: number;
  readonly generation: number;
  readonly id: string;
  readonly startedAtMs: number;
  badSinceMs?: number;
}

interface Running {
  readonly spec: WorldService;
  readonly tasks: Map<number, Task>;
  readonly starting: { readonly slot: number; readonly generation: number; readonly atMs: number }[];
  state: BrakeState;
}

/** Plays the world; passes at every multiple of `pollMs`. */
export function play(options: WorldOptions): {
  readonly restarts: Restart[];
  readonly events: { readonly atMs: number; readonly event: BrakeEvent }[];
  readonly state: (key: string) => BrakeState | undefined;
} {
  const { estate = NO_ESTATE_BRAKES, timeLimitMs = 0, graceMs = 0, pollMs = 1000, fromMs = 0, untilMs } = options;
  const world = new Map<string, Running>(
    options.services.map((spec) => {
      const tasks = Array.from({ length: spec.instances }, (_, slot): [number, Task] => [
        slot,
        { slot, generation: 0, id: `${spec.key}/${slot}/0`, startedAtMs: fromMs - 3_600_000 },
      ]);
      return [spec.key, { spec, tasks: new Map(tasks), starting: [], state: NO_BRAKE_STATE }];
    }),
  );
  const restarts: Restart[] = [];
  const events: { atMs: number; event: BrakeEvent }[] = [];
  let estateState: EstateState = {};
  let recent = new Map<string, number[]>();

  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += pollMs) {
    const facts: ServiceFacts[] = [];
    const candidates: Candidate[] = [];
    for (const running of world.values()) {
      startReplacements(running, nowMs);
      const seen = look(running, nowMs, graceMs, timeLimitMs);
      facts.push(seen.facts);
      candidates.push(...seen.due);
    }
    const result = applyBrakes({
      nowMs,
      candidates,
      services: facts,
      estate: { brakes: estate, state: estateState, considered: world.size },
      restarts: recent,
    });
    options.onPass?.({ nowMs, result, facts });
    estateState = JSON.parse(JSON.stringify(result.estate));
    for (const event of result.events) events.push({ atMs: nowMs, event });
    for (const [key, state] of result.services) {
      const running = world.get(key);
      if (running) running.state = state;
    }
    recent = new Map([...recent].map(([cluster, instants]) => [cluster, instants.filter((at) => at > nowMs - 60_000)]));
    for (const allowed of result.allowed) {
      const running = world.get(allowed.service);
      if (running === undefined) continue;
      const cost = costOf(allowed.action, running.spec.instances);
      running.state = charge(running.state, { id: allowed.id, cost }, nowMs, running.spec.brakes ?? NO_SERVICE_BRAKES);
      const cluster = running.spec.cluster ?? 'prod';
      recent.set(cluster, [...(recent.get(cluster) ?? []), ...Array.from({ length: cost }, () => nowMs)]);
      const slot = Number(allowed.id.split('/').at(-2));
      restarts.push({ atMs: nowMs, service: allowed.service, slot, cost });
      const stopped = allowed.action === 'stop-task' ? [slot] : [...running.tasks.keys()];
      for (const one of stopped) stop(running, one, nowMs);
    }
    for (const running of world.values()) running.state = JSON.parse(JSON.stringify(running.state));
  }
  return { restarts, events, state: (key) => world.get(key)?.state };
}

function stop(running: Running, slot: number, nowMs: number): void {
  const task = running.tasks.get(slot);
  running.tasks.delete(slot);
  const { replaceAfterMs = 5000 } = running.spec;
  if (task === undefined || replaceAfterMs === null) return;
  running.starting.push({ slot, generation: task.generation + 1, atMs: nowMs + replaceAfterMs });
}

function startReplacements(running: Running, nowMs: number): void {
  for (const { slot, generation, atMs } of running.starting.splice(0)) {
    if (atMs > nowMs) running.starting.push({ slot, generation, atMs });
    else
      running.tasks.set(slot, { slot, generation, id: `${running.spec.key}/${slot}/${generation}`, startedAtMs: atMs });
  }
}

function look(
  running: Running,
  nowMs: number,
  graceMs: number,
  timeLimitMs: number,
): { readonly facts: ServiceFacts; readonly due: Candidate[] } {
  const { spec, tasks, state } = running;
  const unhealthy: ServiceFacts['unhealthy'][number][] = [];
  const due: Candidate[] = [];
  for (const task of [...tasks.values()].sort((one, other) => one.slot - other.slot)) {
    if (!spec.bad(task.slot, task.generation, nowMs)) {
      delete task.badSinceMs;
      continue;
    }
    const inGrace = nowMs < task.startedAtMs + graceMs;
    unhealthy.push({ id: task.id, startedAtMs: task.startedAtMs, inGrace });
    if (inGrace) continue;
    task.badSinceMs ??= nowMs;
    if (nowMs - task.badSinceMs < timeLimitMs) continue;
    const action = spec.action ?? 'stop-task';
    if (action === 'force-new-deployment' && due.length > 0) continue;
    due.push({ id: task.id, service: spec.key, action, unhealthySinceMs: task.badSinceMs });
  }
  const facts: ServiceFacts = {
    key: spec.key,
    cluster: spec.cluster ?? 'prod',
    instances: spec.instances,
    runningCount: tasks.size,
    graceMs,
    unhealthy,
    openClaims: [],
    brakes: spec.brakes ?? NO_SERVICE_BRAKES,
    state,
  };
  return { facts, due };
}
