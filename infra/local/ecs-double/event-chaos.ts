/**
 * ECS's events as EventBridge delivers them on a bad day: at least once, in any order, late or never (cases C40, C41).
 * Listens to a world and hands on what it pleases; everything is decided by its owner or by a seed, nothing by chance.
 */
import { createHash } from 'node:crypto';
import type { EcsEvent } from './wire.ts';
import type { EcsWorld } from './world.ts';

/** What is done to events that come from now on. */
export interface Mischief {
  /** Deliveries of each event, default 1. The further ones come with an ID of their own, as those of C40 do. */
  copies: number;
  /** True: nothing is handed on before `release`. */
  hold: boolean;
  /** These are never delivered. */
  lose: (event: EcsEvent) => boolean;
}

/** In which order held events are handed on. A number is the seed of a shuffle. */
export type ReleaseOrder = 'as-they-came' | 'reversed' | number;

/** Stands between a world and whoever listens to it. */
export class EventChaos {
  /** Change it at will; at first events are delivered as they come. */
  readonly mischief: Mischief = { copies: 1, hold: false, lose: () => false };
  /** Events that were lost, oldest first. */
  readonly lost: EcsEvent[] = [];
  readonly #listener: (event: EcsEvent) => void;
  readonly #end: () => void;
  #held: EcsEvent[] = [];

  constructor(world: EcsWorld, listener: (event: EcsEvent) => void) {
    this.#listener = listener;
    this.#end = world.onEvent((event) => this.#take(event));
  }

  /** How many deliveries are held back. */
  get held(): number {
    return this.#held.length;
  }

  /** Hands on what is held back; what comes later is held or not as `mischief` says. */
  release(order: ReleaseOrder = 'as-they-came'): void {
    const events = ordered(this.#held, order);
    this.#held = [];
    for (const event of events) this.#listener(event);
  }

  /** Listens no more; what is held back is never delivered. */
  end(): void {
    this.#end();
    this.#held = [];
  }

  #take(event: EcsEvent): void {
    if (this.mischief.lose(event)) {
      this.lost.push(event);
      return;
    }
    for (let copy = 0; copy < this.mischief.copies; copy += 1) {
      const delivery = copy === 0 ? event : { ...event, id: idOfCopy(event.id, copy) };
      if (this.mischief.hold) this.#held.push(delivery);
      else this.#listener(delivery);
    }
  }
}

function ordered(events: readonly EcsEvent[], order: ReleaseOrder): readonly EcsEvent[] {
  if (order === 'as-they-came') return events;
  if (order === 'reversed') return events.toReversed();
  const place = (event: EcsEvent) => digest(`${order}/${event.id}`);
  return events.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

function idOfCopy(id: string, copy: number): string {
  return digest(`${id}/${copy}`).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
