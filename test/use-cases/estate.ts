/**
 * An estate that lives: tasks of many services that turn bad, are stopped, replaced and registered again, watched by
 * cold passes with the brakes at their defaults. For the brakes' own tests through the whole watcher.
 */

import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import type { WatchSettings } from '../../lib/use-cases/watch-types.ts';
import { CLUSTER, START_MS, WatchWorld, type WorldOptions } from './watch-world.ts';

export const DEFAULT_BRAKES: WatchSettings['brakes'] = {
  service: DEFAULT_SERVICE_BRAKES,
  estate: DEFAULT_ESTATE_BRAKES,
};

/** One task of the estate as the test sees it. */
export interface Seat {
  readonly service: string;
  /** 0 = the first task, 1 = its first replacement, … */
  readonly generation: number;
  /** Place among the first tasks of its service; a replacement takes its predecessor's. */
  readonly place: number;
}

export interface EstateOptions extends WorldOptions {
  /** Whether a task is bad. */
  readonly isBad: (seat: Seat, sinceStartMs: number) => boolean;
  readonly replaceAfterMs?: number;
}

/** Services whose tasks register themselves and are judged by `isBad` before each pass. */
export class Estate {
  readonly world: WatchWorld;
  readonly #options: EstateOptions;
  readonly #checks = new Map<string, { readonly checkId: string; readonly seat: Seat; status: string }>();

  constructor(options: EstateOptions) {
    this.#options = options;
    const { settings } = options;
    this.world = new WatchWorld({ ...options, settings: { brakes: DEFAULT_BRAKES, ...settings } });
    this.world.ecs.world.onTaskChange((task) => {
      if (task.replaces === undefined || this.#checks.has(task.id) || task.lastStatus !== 'RUNNING') return;
      const before = this.#checks.get(task.replaces.split('/').at(-1) ?? '');
      const { checkId } = this.world.register(task.arn, { status: 'passing' });
      this.#checks.set(task.id, {
        checkId,
        seat: {
          service: task.service ?? '',
          generation: (before?.seat.generation ?? 0) + 1,
          place: before?.seat.place ?? 0,
        },
        status: 'passing',
      });
    });
    this.world.ecs.world.onStopped((task) => {
      const known = this.#checks.get(task.id);
      if (known) this.world.consul.set(known.checkId, 'absent');
    });
  }

  /** A service of so many tasks. */
  add(name: string, tasks: number): void {
    const task = { replaceAfterMs: this.#options.replaceAfterMs ?? 5000 };
    for (const [place, { id, checkId }] of this.world.service(name, { tasks, status: 'passing', task }).entries()) {
      this.#checks.set(id, { checkId, seat: { service: name, generation: 0, place }, status: 'passing' });
    }
  }

  /** Passes every `everyMs` until an instant after the beginning, that one included. */
  async until(sinceStartMs: number, everyMs: number): Promise<void> {
    const { clock } = this.world;
    while (clock.nowMs() - START_MS + everyMs <= sinceStartMs) {
      this.world.later(everyMs);
      this.judge();
      await this.world.pass();
    }
  }

  /** Tells Consul how every task is now. */
  judge(): void {
    const sinceStartMs = this.world.clock.nowMs() - START_MS;
    for (const [id, one] of this.#checks) {
      if (this.world.ecs.world.task(id)?.lastStatus !== 'RUNNING') continue;
      const status = this.#options.isBad(one.seat, sinceStartMs) ? 'critical' : 'passing';
      if (status !== one.status) this.world.consul.set(one.checkId, status);
      one.status = status;
    }
  }

  /** Instants of all StopTask calls, since the beginning. */
  stopsMs(): number[] {
    return this.world.ecs.callsOf('StopTask').map(({ atMs }) => atMs - START_MS);
  }

  /** Tasks of a service that run and are well. */
  healthy(name: string): number {
    return [...this.#checks].filter(([id, { seat, status }]) => {
      const task = this.world.ecs.world.task(id);
      return seat.service === name && task?.lastStatus === 'RUNNING' && status === 'passing';
    }).length;
  }
}

export { CLUSTER, START_MS };
