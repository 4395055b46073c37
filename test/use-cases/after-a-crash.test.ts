/** What a later invocation knows of one that was cut off: restarts are told all the same, lost sightings are not invented. */
import { describe, expect, test } from 'vitest';
import { checkKey } from '../../lib/ports.ts';
import { mortal } from './ports-between.ts';
import { failure, START_MS, WatchWorld } from './watch-world.ts';

const SLOW_STOP = { stopNoticedMs: 5000, stoppingMs: 60_000 };

/** Dies at the first call of this name in the first pass. */
async function dieAt(world: WatchWorld, name: string, afterEffect: boolean): Promise<void> {
  const rehearsal = new WatchWorld({ delays: SLOW_STOP });
  rehearsal.one();
  const { deps: watched, calls } = mortal(rehearsal.deps, undefined);
  await rehearsal.pass({}, watched);
  const { deps } = mortal(world.deps, { call: calls.indexOf(name) + 1, afterEffect });
  await world.pass({}, deps).catch(() => {});
}

describe('a restart whose pass was killed', () => {
  test.each([
    ['before StopTask: told when it is carried out again', false],
    ['after StopTask: told when ECS shows that it took effect', true],
  ])('%s, with its event and its line of history, once', async (_, afterEffect) => {
    const world = new WatchWorld({ delays: SLOW_STOP });
    const { id } = world.one();
    await dieAt(world, 'ecs.stopTask', afterEffect);
    expect(world.events.events).toEqual([]);
    await world.at(30_000).passes(4, 10_000);
    expect(world.events.events.filter(({ type }) => type === 'Restart')).toMatchObject([
      { detail: { task: id, check: expect.any(String), atMs: START_MS, toldLateMs: 30_000 } },
    ]);
    expect(await world.state.recentHistory(10)).toMatchObject([{ kind: 'restart', detail: { task: id } }]);
  });

  test('is told by its own pass where nothing went wrong, and by no other', async () => {
    const world = new WatchWorld({ delays: SLOW_STOP });
    world.one();
    await world.passes(8, 10_000);
    expect(world.events.events.filter(({ type }) => type === 'Restart')).toHaveLength(1);
  });
});

describe('a good sighting that could not be written', () => {
  const COUNTS = { limit: 4, interval: '10s', grace: '0s' };

  test.each([
    ['the table fails', (world: WatchWorld) => world.state.fail(failure('state', 'timeout'), { of: ['deleteCheck'] })],
    ['another pass wrote', (world: WatchWorld) => world.state.conflict({ of: ['deleteCheck'] })],
  ])('ends the streak for the next invocation, too: %s', async (_, break_) => {
    const world = new WatchWorld({ checkRestart: COUNTS });
    const { checkId, id } = world.one();
    await world.pass();
    world.consul.set(checkId, 'passing');
    break_(world);
    await world.at(10_000).pass();
    world.state.heal();
    // Bad again at 20 s: due 30 s later, not 30 s after the first streak began.
    world.consul.set(checkId, 'critical');
    for (const atMs of [20_000, 30_000, 40_000]) await world.at(atMs).pass();
    expect(world.stops()).toEqual([]);
    await world.at(50_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('is named in the heartbeat until it is written', async () => {
    const world = new WatchWorld({ checkRestart: COUNTS });
    const { checkId } = world.one();
    await world.pass();
    world.consul.set(checkId, 'passing');
    world.state.fail(failure('state', 'timeout'), { of: ['deleteCheck'] });
    await world.at(10_000).pass();
    const key = checkKey({ partition: '', namespace: '', node: 'n1', checkId });
    expect((await world.state.load()).heartbeat?.unsaved).toEqual([key]);
    world.state.heal();
    await world.at(20_000).pass();
    const { heartbeat, checks } = await world.state.load();
    expect([heartbeat?.unsaved, checks]).toEqual([undefined, []]);
  });
});
