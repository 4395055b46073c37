/** Windows exclude each other, and end when they may not go on. */
import { describe, expect, test } from 'vitest';
import { watchWindow } from '../../lib/use-cases/watch.ts';
import { failure, reasons, START_MS, WatchWorld } from './watch-world.ts';
import { done, runWindow } from './window-run.ts';

/** The world's ECS, but StopTask takes so long. */
function slowStops(world: WatchWorld, takesMs: number): typeof world.deps {
  const stopTask: typeof world.deps.ecs.stopTask = (request) => {
    world.later(takesMs);
    return world.deps.ecs.stopTask(request);
  };
  return { ...world.deps, ecs: { ...world.deps.ecs, stopTask } };
}

describe('two windows', () => {
  test('exclude each other: the second does nothing, and is told by whom and until when', async () => {
    const world = new WatchWorld();
    const { checkId } = world.one('web', { status: 'passing' });
    let second: unknown;
    await runWindow(world, [
      [
        20_000,
        () => {
          world.consul.calls.length = 0;
          void watchWindow(world.deps, world.settings, {
            holder: 'two',
            windowMs: 50_000,
            endsAtMs: START_MS + 95_000,
          }).then((result) => {
            second = result;
          });
        },
      ],
      [30_000, () => world.consul.set(checkId, 'critical')],
    ]);
    expect(second).toEqual({ outcome: 'lease-held', heldBy: 'one', untilMs: START_MS + 55_000 });
    expect(world.consul.callsOf('readKey')).toEqual([]);
    expect(world.telemetry.of('lease-held')).toHaveLength(1);
    expect(world.stops()).toHaveLength(1);
  });

  test('follow each other without a pause: a lease is given back at the end', async () => {
    const world = new WatchWorld();
    done(await runWindow(world));
    done(await runWindow(world, [], { holder: 'two' }));
  });

  test('of which the first was killed: the second waits for the end of its lease', async () => {
    const world = new WatchWorld();
    await world.state.acquireLease('watch', 'killed', START_MS, START_MS + 55_000);
    expect(await runWindow(world)).toMatchObject({ outcome: 'lease-held' });
    done(await runWindow(world.at(55_000)));
  });
});

describe('a window that takes longer than it should', () => {
  test('renews its lease while it goes on', async () => {
    const world = new WatchWorld();
    world.service('web', { tasks: 3 });
    const result = done(await runWindow(world, [], { endsAtMs: START_MS + 600_000 }, slowStops(world, 30_000)));
    expect(result.restarts).toHaveLength(3);
    expect(world.state.writes.map(({ operation }) => operation)).toContain('renewLease');
  });

  test('ends when it has lost its lease, and claims nothing more', async () => {
    const world = new WatchWorld();
    const tasks = world.service('web', { tasks: 3 });
    const slow = slowStops(world, 60_000);
    const stopTask: typeof slow.ecs.stopTask = async (request) => {
      const outcome = await slow.ecs.stopTask(request);
      const nowMs = world.clock.nowMs();
      await world.state.acquireLease('watch', 'two', nowMs, nowMs + 55_000);
      return outcome;
    };
    const deps = { ...slow, ecs: { ...slow.ecs, stopTask } };
    const result = done(await runWindow(world, [], { endsAtMs: START_MS + 600_000 }, deps));
    expect(result.restarts.map(({ task }) => task)).toEqual([tasks[0]?.id]);
    expect(world.stops()).toHaveLength(1);
    expect(result.passes).toBe(1);
    expect(world.telemetry.of('lease-lost')).toHaveLength(1);
    // What the other one holds is not taken from it.
    expect(await world.state.acquireLease('watch', 'three', world.clock.nowMs(), 1)).toMatchObject({ heldBy: 'two' });
  });

  test('claims nothing in the last 10s of the function', async () => {
    const world = new WatchWorld();
    const { checkId } = world.one('web', { status: 'passing' });
    const result = done(
      await runWindow(world, [[40_000, () => world.consul.set(checkId, 'critical')]], { endsAtMs: START_MS + 50_000 }),
    );
    expect(result.restarts).toEqual([]);
    expect(world.writes()).toEqual([]);
    expect(result.last && reasons(result.last)).toEqual(['restart-delay']);
  });

  test('claims until then', async () => {
    const world = new WatchWorld();
    const { checkId } = world.one('web', { status: 'passing' });
    await runWindow(world, [[39_999, () => world.consul.set(checkId, 'critical')]], { endsAtMs: START_MS + 50_000 });
    expect(world.stops()).toHaveLength(1);
  });
});

describe('a table that fails', () => {
  test('while the lease is to be renewed: the restarts that were made are reported, none is claimed any more', async () => {
    const world = new WatchWorld();
    const tasks = world.service('web', { tasks: 2 });
    world.state.fail(failure('state', 'timeout'), { of: ['renewLease'] });
    const result = done(await runWindow(world, [], { endsAtMs: START_MS + 600_000 }, slowStops(world, 60_000)));
    expect(result.restarts.map(({ task }) => task)).toEqual([tasks[0]?.id]);
    expect(world.stops()).toHaveLength(1);
    expect(world.events.events.map(({ type }) => type)).toContain('Restart');
  });

  test('while the lease is given back: the window has happened all the same', async () => {
    const world = new WatchWorld();
    world.one();
    world.state.fail(failure('state', 'timeout'), { of: ['releaseLease'] });
    expect(done(await runWindow(world)).restarts).toHaveLength(1);
    expect(world.telemetry.of('state-failed')).toHaveLength(1);
  });

  test.each(['acquireLease', 'load'] as const)(
    'in %s: nothing happens, and the invocation fails',
    async (operation) => {
      const world = new WatchWorld();
      world.one();
      world.state.fail(failure('state', 'timeout'), { of: [operation] });
      await expect(runWindow(world)).rejects.toMatchObject({ system: 'state', code: 'timeout' });
      expect(world.ecs.calls).toEqual([]);
      world.state.heal();
      done(await runWindow(world));
    },
  );
});
