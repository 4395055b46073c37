/**
 * Killed at any call of any port, before or after its effect: never two tasks of one proxy at a time, and when the killing
 * ends, what runs is what is declared.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReconcileDeps } from '../../lib/use-cases/reconcile/reconcile-types.ts';
import { Died } from '../use-cases/ports-between.ts';
import { ReconcileWorld } from './reconcile-world.ts';

/** Where a process dies: at its nth call (from 1) of any port. */
interface Death {
  readonly call: number;
  readonly afterEffect: boolean;
}

const IDS = ['a', 'b'];
/** Ports, and the methods whose calls can be cut off. */
const PORTS = {
  declarations: ['readDeclarations'],
  proxyEcs: ['ownTasks', 'runTask', 'stopTask', 'forceNewDeployment'],
  proxies: ['loadProxies', 'saveProxy', 'deleteProxy', 'saveControl'],
  state: ['acquireLease', 'renewLease', 'releaseLease', 'appendHistory', 'load', 'readEstate', 'takeRestartSlot'],
  health: [
    'load',
    'saveCheck',
    'deleteCheck',
    'readService',
    'saveService',
    'saveHeartbeat',
    'readEstate',
    'saveEstate',
  ],
  events: ['publish'],
  wakeUps: ['wakeUp'],
} as const;

/**
 * The dependencies of a process that dies, and the calls that it made. Calls go out in parallel: those that were sent when
 * it dies arrive all the same, and at once, not minutes later.
 */
function mortal(deps: ReconcileDeps, death: Death | undefined) {
  const calls: string[] = [];
  const sent: Promise<unknown>[] = [];
  let isDead = false;
  const between = async (name: string, call: () => unknown): Promise<unknown> => {
    if (isDead) throw new Died();
    calls.push(name);
    if (calls.length !== death?.call) {
      const answer = Promise.resolve(call());
      sent.push(answer);
      return answer;
    }
    if (death.afterEffect) await call();
    isDead = true;
    throw new Died();
  };
  const around = <Port extends object>(portName: string, port: Port, methods: readonly string[]): Port =>
    new Proxy(port, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        if (!methods.includes(String(name))) return method.bind(target);
        return (...args: unknown[]) =>
          between(`${portName}.${String(name)}`, () => Reflect.apply(method, target, args));
      },
    });
  const wrapped = {
    ...deps,
    declarations: around('declarations', deps.declarations, PORTS.declarations),
    proxyEcs: around('proxyEcs', deps.proxyEcs, PORTS.proxyEcs),
    proxies: around('proxies', deps.proxies, PORTS.proxies),
    state: around('state', deps.state, PORTS.state),
    health: around('health', deps.health, PORTS.health),
    events: around('events', deps.events, PORTS.events),
    wakeUps: around('wakeUps', deps.wakeUps, PORTS.wakeUps),
  };
  return { deps: wrapped, calls, arrived: () => Promise.allSettled(sent) };
}

/** What happens in the world between two passes. */
type Happening = 'nothing' | 'crash' | 'change' | 'withdraw' | 'declare' | 'unhealthy' | 'kill-answer';

class Life {
  readonly world = new ReconcileWorld({
    proxies: { removalDelayMs: 0 },
    delays: { stopNoticedMs: 500, stoppingMs: 3000, provisioningMs: 1000, pendingMs: 2000 },
  });
  /** Set when two tasks of one proxy were alive at once. */
  violation: string | undefined;
  #variant = 0;
  #isRegistered = false;

  constructor() {
    this.world.policy({
      rules: [{ match: {}, checkRestart: { limit: 1, grace: '5s' }, brakes: { restart: null, inFlight: null } }],
    });
    this.world.ecs.world.onTaskChange(() => {
      for (const id of IDS) {
        const alive = this.world.ecs.world
          .tasks()
          .filter(
            (task) => task.lastStatus !== 'STOPPED' && JSON.stringify(task.overrides).includes(`"value":"${id}"`),
          );
        if (alive.length > 1) this.violation ??= `${alive.length} tasks of ${id}`;
      }
    });
    this.world.declare(IDS);
  }

  happen(what: Happening): void {
    const { world } = this;
    const [task] = world.running('a');
    if (what === 'crash' && task && task.stopCode === undefined) world.ecs.world.exitTask(task.arn);
    if (what === 'change') world.declare('a', `v${this.#variant++}`);
    if (what === 'withdraw') world.declared.delete('a');
    if (what === 'declare') world.declare('a');
    if (what === 'unhealthy' && task?.lastStatus === 'RUNNING') {
      world.register('a');
      this.#isRegistered = true;
    }
    if (what === 'kill-answer') world.ecs.faults.add('RunTask', { kind: 'reset', afterEffect: true }, { times: 1 });
  }

  /** One invocation that may die; the next comes after a while. */
  async pass(death: Death | undefined, laterMs: number): Promise<string[]> {
    const { deps, calls, arrived } = mortal(this.world.deps, death);
    await this.world.invoke({}, deps).catch((error: unknown) => {
      if (!(error instanceof Died)) throw error;
    });
    await arrived();
    this.world.later(laterMs);
    return calls;
  }

  /** Nothing dies any more. */
  async settleDown(): Promise<void> {
    if (this.#isRegistered) this.world.consul.set('a-ready', 'absent');
    for (let pass = 0; pass < 30; pass += 1) await this.pass(undefined, 20_000);
  }

  assertConverged(why: string): void {
    expect(this.violation, why).toBeUndefined();
    for (const id of IDS)
      expect(this.world.running(id), `${id} ${why}`).toHaveLength(this.world.declared.has(id) ? 1 : 0);
  }
}

describe('killed at each call of the pass that', () => {
  const STORIES: readonly (readonly [string, readonly Happening[]])[] = [
    ['launches', ['nothing']],
    ['launches again after a crash', ['nothing', 'nothing', 'crash']],
    ['replaces', ['nothing', 'nothing', 'change']],
    ['removes', ['nothing', 'nothing', 'withdraw']],
    ['restarts what is unhealthy', ['nothing', 'nothing', 'unhealthy']],
    ['gets no answer to RunTask', ['kill-answer']],
  ];

  test.each(STORIES)(
    '%s',
    async (_name, happenings) => {
      const live = async (death: Death | undefined): Promise<{ life: Life; calls: readonly string[] }> => {
        const life = new Life();
        let calls: readonly string[] = [];
        for (const [index, what] of happenings.entries()) {
          life.happen(what);
          const isLast = index === happenings.length - 1;
          calls = await life.pass(isLast ? death : undefined, isLast ? 1000 : 10_000);
        }
        await life.settleDown();
        return { life, calls };
      };
      const { calls, life } = await live(undefined);
      life.assertConverged('alive');
      expect(calls.length).toBeGreaterThan(8);
      for (let call = 1; call <= calls.length; call += 1) {
        for (const afterEffect of [false, true]) {
          const dead = await live({ call, afterEffect });
          dead.life.assertConverged(`${calls[call - 1]} ${call} ${afterEffect ? 'after' : 'before'} its effect`);
        }
      }
    },
    120_000,
  );
});

test('killed again and again while the world changes: never two tasks of one proxy, and it converges', async () => {
  const happening = fc.constantFrom<Happening>(
    'nothing',
    'crash',
    'change',
    'withdraw',
    'declare',
    'unhealthy',
    'kill-answer',
  );
  const death = fc.option(fc.record({ call: fc.integer({ min: 1, max: 24 }), afterEffect: fc.boolean() }), {
    nil: undefined,
  });
  const step = fc.record({ happening, death, laterMs: fc.constantFrom(100, 2000, 31_000, 200_000) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const life = new Life();
      for (const one of steps) {
        life.happen(one.happening);
        await life.pass(one.death, one.laterMs);
      }
      await life.settleDown();
      life.assertConverged('in the end');
    }),
    {
      numRuns: 40,
      // Died while another launch was on its way, and the next pass after the start patience.
      examples: [[[{ happening: 'nothing', death: { call: 10, afterEffect: false }, laterMs: 200_000 }]]],
    },
  );
}, 120_000);
