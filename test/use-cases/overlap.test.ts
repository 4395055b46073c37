/**
 * Two passes at once: the scheduler fired twice, or somebody runs a pass by hand beside the window. Every call of every
 * port may come before or after any call of the other pass.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import type { PassReport } from '../../lib/use-cases/watch-types.ts';
import { portsBetween, Turnstile } from './ports-between.ts';
import { reasons, START_MS, WatchWorld } from './watch-world.ts';

const BRAKES = { service: DEFAULT_SERVICE_BRAKES, estate: DEFAULT_ESTATE_BRAKES };

/** A world in which one task is due, with a streak that the state knows. */
async function dueWorld(action: string): Promise<WatchWorld> {
  const world = new WatchWorld({
    checkRestart: { limit: 2, interval: '10s', grace: '0s' },
    rule: { action },
    settings: { brakes: BRAKES },
    delays: { stopNoticedMs: 2000, replaceMs: 5000, pendingMs: 5000 },
  });
  world.one('web', { task: { replaceAfterMs: 5000 } });
  await world.pass();
  world.at(10_000);
  return world;
}

/** Two passes, their calls in this order. */
function together(world: WatchWorld, choices: readonly number[]): Promise<PassReport[]> {
  const process = (between: Parameters<typeof portsBetween>[1]) => world.pass({}, portsBetween(world.deps, between));
  return new Turnstile(choices).run({ one: process, other: process });
}

/** Exactly one of both acted, and all of it was paid for once. */
async function assertOnce(world: WatchWorld, reports: readonly PassReport[]): Promise<void> {
  expect(world.writes()).toHaveLength(1);
  expect(reports.flatMap(({ restarts }) => restarts)).toHaveLength(1);
  expect(reports.every(({ ok, failures }) => ok && failures.length === 0)).toBe(true);
  const owner = await world.owner();
  expect(owner.claims).toHaveLength(1);
  expect(owner.brakes.budget?.used).toBe(1);
  expect(owner.brakes.inFlight).toHaveLength(1);
  expect(world.events.events.filter(({ type }) => type === 'Restart')).toHaveLength(1);
  expect(world.state.history).toHaveLength(1);
}

describe.each(['stop-task', 'force-new-deployment'])('C44: two passes in which one task is due (%s)', (action) => {
  test('C44: in step, one claims before it acts; the other ends normally with restart-in-flight', async () => {
    const world = await dueWorld(action);
    const reports = await together(
      world,
      Array.from({ length: 200 }, (_, turn) => turn % 2),
    );
    await assertOnce(world, reports);
    expect(reports.flatMap(reasons)).toEqual(['restart-in-flight']);
    const claimAt = world.state.writes.findIndex(
      ({ operation, value }) => operation === 'saveService' && hasClaim(value),
    );
    expect(claimAt).toBeGreaterThanOrEqual(0);
  });

  test('C44: the other pass at any point of the first', async () => {
    const { length } = await callsOfOnePass(action);
    expect(length).toBeGreaterThan(10);
    for (let before = 0; before <= length; before += 1) {
      const world = await dueWorld(action);
      // `one` makes so many calls, then `other` makes all of its own, then `one` goes on.
      const choices = [...Array<number>(before).fill(0), ...Array<number>(100).fill(1)];
      await assertOnce(world, await together(world, choices));
    }
  });

  test('C44: in any order of their calls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1), { minLength: 10, maxLength: 80 }), async (choices) => {
        const world = await dueWorld(action);
        await assertOnce(world, await together(world, choices));
      }),
      { numRuns: 60 },
    );
  });
});

function hasClaim(value: unknown): boolean {
  const claims: unknown = Reflect.get(Object(value), 'claims');
  return Array.isArray(claims) && claims.length > 0;
}

/** Calls that a pass makes by itself. */
async function callsOfOnePass(action: string): Promise<readonly string[]> {
  const world = await dueWorld(action);
  const calls: string[] = [];
  await world.pass(
    {},
    portsBetween(world.deps, async (name, call) => {
      calls.push(name);
      return call();
    }),
  );
  return calls;
}

test('three passes of which each sees three due tasks of one service stop as many as may be in flight', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(2), { minLength: 10, maxLength: 150 }), async (choices) => {
      const world = new WatchWorld({
        rule: { brakes: { inFlight: 2, restart: null } },
        settings: { brakes: { ...BRAKES, estate: { ...BRAKES.estate, serviceBreaker: null } } },
      });
      world.service('web', { tasks: 3 });
      const process = (between: Parameters<typeof portsBetween>[1]) =>
        world.pass({}, portsBetween(world.deps, between));
      await new Turnstile(choices).run({ a: process, b: process, c: process });
      expect(world.stops().length).toBeLessThanOrEqual(2);
      expect(new Set(world.stops()).size).toBe(world.stops().length);
      const owner = await world.owner();
      expect(owner.claims).toHaveLength(world.stops().length);
      expect(owner.brakes.inFlight).toHaveLength(world.stops().length);
    }),
    { numRuns: 40 },
  );
});

test('a claim that was never answered is taken up by one of two passes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(1), { minLength: 10, maxLength: 60 }), async (choices) => {
      const world = await dueWorld('force-new-deployment');
      await leaveOpenClaim(world);
      world.at(60_000);
      await together(world, choices);
      expect(world.writes()).toHaveLength(1);
      expect((await world.owner()).claims).toMatchObject([{ tries: 2, outcome: 'accepted' }]);
    }),
    { numRuns: 40 },
  );
});

test('two claims of one service that were never answered are each taken up once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(1), { minLength: 10, maxLength: 60 }), async (choices) => {
      const world = new WatchWorld({ delays: { stopNoticedMs: 60_000 } });
      world.service('web', { tasks: 2 });
      const deps = portsBetween(world.deps, async (name, call) =>
        name === 'ecs.stopTask' ? { outcome: 'unknown', message: 'lost' } : call(),
      );
      await world.pass({}, deps);
      expect((await world.owner()).claims).toMatchObject([{ outcome: 'open' }, { outcome: 'open' }]);
      world.at(40_000);
      await together(world, choices);
      expect(world.stops()).toHaveLength(2);
      expect(new Set(world.stops()).size).toBe(2);
      expect((await world.owner()).claims).toMatchObject([{ tries: 2 }, { tries: 2 }]);
    }),
    { numRuns: 60 },
  );
});

/** As a process leaves it that died between its claim and its call. */
async function leaveOpenClaim(world: WatchWorld): Promise<void> {
  const deps = portsBetween(world.deps, (name, call) =>
    name === 'ecs.forceNewDeployment' ? Promise.reject(new Error('killed')) : call(),
  );
  await expect(world.pass({}, deps)).rejects.toThrow('killed');
  expect((await world.owner()).claims).toMatchObject([{ outcome: 'open', triedAtMs: START_MS + 10_000 }]);
  expect(world.writes()).toEqual([]);
}
