/** Which policy decides: the document in force, what its change does to a streak, gaps in observation, the clock. */
import { describe, expect, test } from 'vitest';
import { failure, POLICY_KEY, reasons, START_MS, WatchWorld } from './watch-world.ts';

const rule = (checkRestart: Record<string, unknown>) => ({ rules: [{ match: {}, checkRestart }] });
const LIMIT_1 = rule({ limit: 1, interval: '10s', grace: '0s' });
/** As the deployment's environment may have it. */
const WATCH_BY_DEFAULT = { defaults: { ...new WatchWorld().settings.defaults, limit: 1, graceMs: 0 } };

describe('the policy document', () => {
  /** A good document was in force for a pass; nothing was bad yet. */
  async function afterGood(): Promise<{ world: WatchWorld; id: string; checkId: string }> {
    const world = new WatchWorld({ checkRestart: { limit: 1, interval: '10s', grace: '0s' } });
    const { id, checkId } = world.one('web', { status: 'passing' });
    await world.pass();
    world.consul.set(checkId, 'critical');
    return { world, id, checkId };
  }

  test.each([
    { what: 'not JSON', text: '{"rules": [' },
    { what: 'with an unknown field', text: '{"rules": [], "brake": {}}' },
    { what: 'half of which is right', text: JSON.stringify({ rules: [...LIMIT_1.rules, { match: {}, mod: 'off' }] }) },
  ])('that is $what is refused whole, every problem named; the last good one stays', async ({ text }) => {
    const { world, id } = await afterGood();
    world.policy(text);
    const report = await world.at(1000).pass();
    expect(report.policy).toMatchObject({ source: 'last-good', problems: [expect.any(String)] });
    expect(world.stops()).toEqual([id]);
    expect(world.telemetry.of('policy-refused')).toHaveLength(1);
  });

  test('that is gone leaves the last good one in force, and is an alarm', async () => {
    const { world, id } = await afterGood();
    world.consul.keys.delete(POLICY_KEY);
    const report = await world.at(1000).pass();
    expect(report.policy).toMatchObject({ source: 'last-good', problems: [expect.stringContaining(POLICY_KEY)] });
    expect(world.stops()).toEqual([id]);
    expect(world.telemetry.of('policy-missing')).toHaveLength(1);
  });

  test('that cannot be read leaves the last good one in force', async () => {
    const { world, id } = await afterGood();
    world.consul.fail('readKey', failure('consul', 'rate-limited'));
    const report = await world.at(1000).pass();
    expect(report.policy).toMatchObject({ source: 'last-good' });
    expect(world.stops()).toEqual([id]);
  });

  test('`{}` empties it, and the streaks go with it', async () => {
    const { world, checkId } = await afterGood();
    world.policy({ rules: [{ match: {}, checkRestart: { limit: 3, interval: '10s', grace: '0s' } }] });
    await world.at(1000).pass();
    expect(await world.streakSince(checkId)).toBe(START_MS + 1000);
    world.policy('{}');
    const report = await world.at(60_000).pass();
    expect(report.policy).toEqual({ source: 'consul', problems: [] });
    expect(report.checks).toMatchObject([{ reason: 'not-watched' }]);
    expect(world.writes()).toEqual([]);
    expect((await world.state.load()).checks).toEqual([]);
  });

  test('that never was leaves the defaults: nothing is watched', async () => {
    const world = new WatchWorld({ checkRestart: null });
    world.one();
    const report = await world.pass();
    expect(report.policy).toEqual({ source: 'none', problems: [] });
    expect(report.checks).toMatchObject([{ reason: 'not-watched' }]);
    expect(world.ecs.calls).toEqual([]);
    expect(world.state.writes.map(({ operation }) => operation)).toEqual(['saveHeartbeat']);
  });

  test('that never was leaves the defaults: those of the deployment decide', async () => {
    const world = new WatchWorld({ checkRestart: null, settings: WATCH_BY_DEFAULT });
    const { id } = world.one();
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });

  test('of which nothing is known, neither now nor from before, decides nothing', async () => {
    const world = new WatchWorld({ settings: WATCH_BY_DEFAULT });
    world.one();
    world.consul.fail('readKey', failure('consul', 'timeout'));
    await expect(world.pass()).rejects.toMatchObject({ system: 'consul', code: 'timeout' });
    expect(world.writes()).toEqual([]);
  });

  test('that could not be kept, and then cannot be read, decides nothing either: it may have said "off"', async () => {
    const world = new WatchWorld({ checkRestart: null, settings: WATCH_BY_DEFAULT });
    world.policy({ rules: [{ match: {}, mode: 'off' }] });
    world.one();
    world.state.fail(failure('state', 'rate-limited'), { of: ['savePolicy'] });
    await world.pass();
    expect(world.writes()).toEqual([]);
    world.consul.fail('readKey', failure('consul', 'timeout'));
    await world
      .at(10_000)
      .pass()
      .catch(() => {});
    expect(world.writes()).toEqual([]);
  });

  test('is kept once, not in every pass', async () => {
    const { world } = await afterGood();
    await world.passes(3, 1000);
    expect(world.state.writes.filter(({ operation }) => operation === 'savePolicy')).toHaveLength(1);
    expect(world.telemetry.of('policy-changed')).toHaveLength(1);
  });

  test('a check that the most cautious of its modes leaves alone is only told', async () => {
    const world = new WatchWorld({ rule: { mode: 'notify' } });
    world.one();
    for (const report of await world.passes(5, 10_000)) expect(reasons(report)).toEqual(['notify-only']);
    expect(world.writes()).toEqual([]);
    expect(world.events.events).toMatchObject([{ type: 'Restart Withheld', detail: { reason: 'notify-only' } }]);
  });
});

describe("an instance's own Meta", () => {
  test('that is not understood keeps its streak and restarts nothing; it is named', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '10s', grace: '0s' } });
    const { id, checkId } = world.one();
    await world.pass();
    const [[key, instance] = ['', undefined]] = world.consul.instances;
    if (!instance) throw new Error('no instance');
    world.consul.instances.set(key, { ...instance, meta: { ...instance.meta, 'check-restart-limit': '3.5' } });
    const report = await world.at(10_000).pass();
    expect(report.problems).toEqual([expect.stringContaining('check-restart-limit')]);
    expect(world.writes()).toEqual([]);
    expect(await world.streakSince(checkId)).toBe(START_MS);
    world.consul.instances.set(key, instance);
    await world.at(20_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('limit 0 is final', async () => {
    const world = new WatchWorld();
    world.policy({ rules: [{ match: { check: '*' }, checkRestart: { limit: 1, interval: '10s', grace: '0s' } }] });
    world.one();
    for (const [key, instance] of world.consul.instances) {
      world.consul.instances.set(key, { ...instance, meta: { ...instance.meta, 'check-restart-limit': '0' } });
    }
    expect((await world.pass()).checks).toMatchObject([{ reason: 'not-watched' }]);
    expect(world.writes()).toEqual([]);
  });
});

describe('a policy that changes while a streak runs', () => {
  test.each([
    { what: 'a smaller limit', to: { limit: 2, interval: '20s', grace: '0s' }, dueAtMs: 30_000 },
    { what: 'a shorter interval', to: { limit: 11, interval: '3s', grace: '0s' }, dueAtMs: 30_000 },
    { what: 'a larger limit', to: { limit: 5, interval: '20s', grace: '0s' }, dueAtMs: 80_000 },
  ])('$what applies to the stored streak from the next decision on', async ({ to, dueAtMs }) => {
    const world = new WatchWorld({ checkRestart: { limit: 11, interval: '20s', grace: '0s' } });
    const { id } = world.one();
    await world.passes(3, 10_000);
    world.policy(rule(to));
    for (let atMs = 30_000; atMs < dueAtMs; atMs += 10_000) await world.at(atMs).pass();
    expect(world.stops()).toEqual([]);
    await world.at(dueAtMs).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('a longer grace drops a streak that could not have begun under it, a shorter one applies at once', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 11, interval: '10s', grace: '0s' } });
    const { id, checkId } = world.one('web', { task: { startedAtMs: START_MS } });
    await world.passes(3, 10_000);
    world.policy(rule({ limit: 2, interval: '10s', grace: '60s' }));
    expect((await world.at(30_000).pass()).checks).toMatchObject([{ reason: 'in-grace' }]);
    expect(await world.streakSince(checkId)).toBeUndefined();
    world.policy(rule({ limit: 1, interval: '10s', grace: '35s' }));
    await world.at(40_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

describe('a gap in all observation', () => {
  test('longer than allowed: settles for a minute, not-observed, then goes on with what was counted', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '60s', grace: '0s' } });
    const { id } = world.one();
    await world.pass();
    // Nobody looked for 10 minutes.
    expect(reasons(await world.at(600_000).pass())).toEqual(['not-observed']);
    expect(reasons(await world.at(630_000).pass())).toEqual(['not-observed']);
    expect(reasons(await world.at(659_999).pass())).toEqual(['not-observed']);
    expect(world.writes()).toEqual([]);
    await world.at(660_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('holds back a check that is first seen after it, too', async () => {
    const world = new WatchWorld();
    const { id, checkId } = world.one('web', { status: 'passing' });
    await world.pass();
    world.consul.set(checkId, 'critical');
    expect(reasons(await world.at(600_000).pass())).toEqual(['not-observed']);
    await world.at(660_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('of just what is allowed holds nothing back', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 2, interval: '90s', grace: '0s' } });
    const { id } = world.one();
    await world.pass();
    await world.at(90_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

test('a clock that lies behind the heartbeat takes its instant: no streak shrinks, no grace grows', async () => {
  const world = new WatchWorld({ checkRestart: { limit: 3, interval: '10s', grace: '0s' } });
  const { id, checkId } = world.one();
  await world.pass();
  await world.at(15_000).pass();
  const report = await world.at(5000).pass();
  expect(report.atMs).toBe(START_MS + 15_000);
  expect(await world.streakSince(checkId)).toBe(START_MS);
  expect((await world.state.load()).heartbeat?.atMs).toBe(START_MS + 15_000);
  await world.at(19_000).pass();
  expect(world.stops()).toEqual([]);
  await world.at(20_000).pass();
  expect(world.stops()).toEqual([id]);
});
