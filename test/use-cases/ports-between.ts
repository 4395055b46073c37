/** Stands between the use cases and their ports: every call to any method of any port goes through one function. */
import type { UnhealthyWatch } from '../../lib/ports.ts';
import type { WatchDeps } from '../../lib/use-cases/watch-types.ts';

/** Carries out a call, or does not. `name` is `PORT.METHOD`. */
export type Between = (name: string, call: () => Promise<unknown>) => Promise<unknown>;

/** The dependencies with `between` around every call of Consul, ECS, state and events. */
export function portsBetween(deps: WatchDeps, between: Between): WatchDeps {
  const consul = around('consul', deps.consul, between);
  return {
    ...deps,
    ecs: around('ecs', deps.ecs, between),
    state: around('state', deps.state, between),
    events: around('events', deps.events, between),
    consul: new Proxy(consul, {
      get(target, name) {
        if (name !== 'watchUnhealthy') return Reflect.get(target, name);
        return (options: { readonly warnings: boolean }): UnhealthyWatch => {
          const watch = deps.consul.watchUnhealthy(options);
          // `close` is no call that could be lost: nobody waits for its effect.
          return { ...around('consul', watch, between), close: () => watch.close() };
        };
      },
    }),
  };
}

function around<Port extends object>(portName: string, port: Port, between: Between): Port {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const wrapped =
        methods.get(name) ??
        ((...args: unknown[]) =>
          between(`${portName}.${String(name)}`, async () => Reflect.apply(method, target, args)));
      methods.set(name, wrapped);
      return wrapped;
    },
    ownKeys: (target) => Reflect.ownKeys(target),
  });
}

/** The process is gone: nothing of it happens any more. */
export class Died extends Error {
  override readonly name = 'Died';
}

/** Where a process dies: at its nth call (from 1) of any port, before or after the call took effect. */
export interface Death {
  readonly call: number;
  readonly afterEffect: boolean;
}

/** Dependencies of a process that dies, and the names of the calls that it made. */
export function mortal(deps: WatchDeps, death: Death | undefined) {
  const calls: string[] = [];
  let isDead = false;
  const between: Between = async (name, call) => {
    if (isDead) throw new Died();
    calls.push(name);
    if (calls.length !== death?.call) return call();
    if (death.afterEffect) await call();
    isDead = true;
    throw new Died();
  };
  return { deps: portsBetween(deps, between), calls };
}

/**
 * Lets several processes go on in a chosen order: each waits before every call of a port, and when all of them wait
 * (or have ended), the next one is chosen. `choices` are numbers; the one that is chosen is `choice % waiting`.
 */
export class Turnstile {
  readonly #choices: readonly number[];
  readonly #waiting = new Map<string, () => void>();
  readonly #alive = new Set<string>();
  #taken = 0;

  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  /** Runs all processes to their ends, in the chosen order; the last choice repeats. */
  async run<Result>(processes: Readonly<Record<string, (between: Between) => Promise<Result>>>): Promise<Result[]> {
    for (const name of Object.keys(processes)) this.#alive.add(name);
    return Promise.all(
      Object.entries(processes).map(async ([name, process]) => {
        try {
          return await process(async (_, call) => {
            await this.#wait(name);
            return call();
          });
        } finally {
          this.#alive.delete(name);
          this.#letOneGo();
        }
      }),
    );
  }

  #wait(name: string): Promise<void> {
    return new Promise((resolve) => {
      // A process may make several calls at once; they go one after the other.
      const earlier = this.#waiting.get(name);
      this.#waiting.set(name, () => {
        earlier?.();
        resolve();
      });
      this.#letOneGo();
    });
  }

  #letOneGo(): void {
    if (this.#waiting.size === 0 || this.#waiting.size < this.#alive.size) return;
    const names = [...this.#waiting.keys()].sort();
    const choice = this.#choices[Math.min(this.#taken, this.#choices.length - 1)] ?? 0;
    this.#taken += 1;
    const name = names[choice % names.length] ?? '';
    const go = this.#waiting.get(name);
    this.#waiting.delete(name);
    go?.();
  }
}
