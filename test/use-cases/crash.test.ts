/**
 * The function is killed: at each call of any port, before and after the call took effect, once or again and again.
 * Whatever happens, no task is stopped twice, no replacement before it is due itself, nothing is forgotten or blocked. All
 * brakes are on, as they are by default: a slot or a budget that a dead process kept would block the next restart.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { type Death, Died, mortal } from './ports-between.ts';
import { type Registered, START_MS, WatchWorld } from './watch-world.ts';

const PASS_MS = 5000;
const GRACE_MS = 60_000;
/** An open claim is taken up after 30 s; a pass may come up to 5 s after that, and the first one lasts no time. */
const PATIENCE_MS = 30_000 + 2 * PASS_MS;
const POLICY = { limit: 1, interval: '10s', grace: '60s' };

type Action = 'stop-task' | 'force-new-deployment';

/** What came of a world in which some passes were killed. */
interface Lived {
  readonly world: WatchWorld;
  readonly first: Registered;
  /** Number of calls of the first pass. */
  readonly callsOfFirst: number;
}

/** Passes every 5 s; the nth of them dies as `deaths[n]` says. Replacements are as bad as what they replace. */
async function live(action: Action, deaths: readonly (Death | undefined)[], passes = 40): Promise<Lived> {
  const world = new WatchWorld({
    checkRestart: POLICY,
    rule: { action },
    settings: { brakes: { service: DEFAULT_SERVICE_BRAKES, estate: DEFAULT_ESTATE_BRAKES } },
    delays: { stopNoticedMs: 2000, stoppingMs: 4000, replaceMs: 1000, provisioningMs: 3000, pendingMs: 2000 },
  });
  const first = world.one('web', { task: { replaceAfterMs: 1000 } });
  const registered = new Map([[first.id, first]]);
  world.ecs.world.onTaskChange((task) => {
    const known = registered.get(task.id);
    if (!known && task.lastStatus === 'RUNNING') registered.set(task.id, world.register(task.arn));
    if (known && task.lastStatus === 'STOPPED') world.deregister(known);
  });
  let callsOfFirst = 0;
  for (let pass = 0; pass < passes; pass += 1) {
    const { deps, calls } = mortal(world.deps, deaths[pass]);
    await world
      .at(pass * PASS_MS)
      .pass({}, deps)
      .catch(mustHaveDied);
    if (pass === 0) callsOfFirst = calls.length;
  }
  return { world, first, callsOfFirst };
}

function mustHaveDied(error: unknown): void {
  if (!(error instanceof Died)) throw error;
}

/** Instants at which a task was told to stop by us, and ended for that reason. */
function stopsOf({ world }: Lived) {
  return world.ecs.callsOf('StopTask').map(({ input, atMs }) => {
    const task = world.ecs.world.task(String(input.task));
    if (!task) throw new Error('StopTask of no task');
    return { id: task.id, atMs, startedAtMs: task.startedAtMs ?? 0, stoppingAtMs: task.stoppingAtMs };
  });
}

/** What must hold whatever was killed and when. */
function assertSafe(lived: Lived): void {
  const stops = stopsOf(lived);
  for (const { id, atMs, startedAtMs, stoppingAtMs } of stops) {
    expect(atMs - startedAtMs, `${id} was due`).toBeGreaterThanOrEqual(GRACE_MS);
    expect(atMs, `${id} was not stopping yet`).toBe(stoppingAtMs);
  }
  expect(new Set(stops.map(({ id }) => id)).size, 'each task is stopped once').toBe(stops.length);
}

async function assertNothingBlocked({ world }: Lived): Promise<void> {
  const { services } = await world.state.load();
  const old = services
    .flatMap(({ claims }) => claims)
    .filter((claim) => claim.claimedAtMs < world.clock.nowMs() - 60_000);
  expect(old, 'no claim stays').toEqual([]);
}

/** Every death of a first pass. */
function allDeaths(calls: number): Death[] {
  return Array.from({ length: calls }, (_, call) =>
    [false, true].map((afterEffect) => ({ call: call + 1, afterEffect })),
  ).flat();
}

describe('a stop', () => {
  test('killed at any call of the pass that issues it, happens once and within bounded time', async () => {
    const { callsOfFirst } = await live('stop-task', []);
    expect(callsOfFirst).toBeGreaterThan(10);
    for (const death of allDeaths(callsOfFirst)) {
      const lived = await live('stop-task', [death]);
      assertSafe(lived);
      const stops = stopsOf(lived);
      const why = JSON.stringify(death);
      expect(stops[0], why).toMatchObject({ id: lived.first.id });
      expect((stops[0]?.atMs ?? 0) - START_MS, why).toBeLessThanOrEqual(PATIENCE_MS);
      // The replacement is watched again, with a grace of its own, and restarted when it is due and its slot is free: a
      // call of unknown fate keeps the slot until it is looked at.
      expect(stops.length, why).toBeGreaterThanOrEqual(2);
      const replacement = stops[1];
      expect((replacement?.atMs ?? 0) - (replacement?.startedAtMs ?? 0), why).toBeLessThanOrEqual(
        GRACE_MS + PATIENCE_MS,
      );
      await assertNothingBlocked(lived);
    }
  }, 120_000);

  test('killed again and again, happens once a task; when the killing ends, all goes on', async () => {
    const death = fc.option(fc.record({ call: fc.integer({ min: 1, max: 30 }), afterEffect: fc.boolean() }), {
      nil: undefined,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(death, { maxLength: 25 }), async (deaths) => {
        const lived = await live('stop-task', deaths, 50);
        assertSafe(lived);
        expect(stopsOf(lived)[0]?.id).toBe(lived.first.id);
        await assertNothingBlocked(lived);
      }),
      { numRuns: 25 },
    );
  }, 120_000);
});

describe('a forced deployment', () => {
  /** Deployments that we began, with the PRIMARY one before each. */
  const forced = ({ world }: Lived) => world.ecs.callsOf('UpdateService').map(({ atMs }) => atMs - START_MS);

  test('killed at any call of the pass that issues it, happens once and within bounded time', async () => {
    const { callsOfFirst } = await live('force-new-deployment', []);
    for (const death of allDeaths(callsOfFirst)) {
      // 14 passes: the replacement is not out of its grace yet, so that every call is for the first task.
      const lived = await live('force-new-deployment', [death], 14);
      const why = JSON.stringify(death);
      expect(forced(lived), why).toHaveLength(1);
      expect(forced(lived)[0], why).toBeLessThanOrEqual(PATIENCE_MS);
      expect(lived.world.stops(), why).toEqual([]);
      expect(lived.world.ecs.world.task(lived.first.id)?.desiredStatus, why).toBe('STOPPED');
      expect((await lived.world.owner()).claims, why).toEqual([]);
    }
  }, 120_000);

  test('killed again and again, is never repeated over a newer deployment', async () => {
    const death = fc.option(fc.record({ call: fc.integer({ min: 1, max: 30 }), afterEffect: fc.boolean() }), {
      nil: undefined,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(death, { maxLength: 25 }), async (deaths) => {
        const lived = await live('force-new-deployment', deaths, 50);
        // A replacement starts 6s after the deployment and has 60s of grace.
        const atMs = forced(lived);
        for (const [index, later] of atMs.slice(1).entries()) {
          expect(later - (atMs[index] ?? 0)).toBeGreaterThanOrEqual(GRACE_MS);
        }
        await assertNothingBlocked(lived);
      }),
      { numRuns: 25 },
    );
  }, 120_000);
});
