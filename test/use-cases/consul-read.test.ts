/** Cases C01 to C08 at the level of the use case: what follows from a read that failed or is doubtful. */
import { describe, expect, test } from 'vitest';
import type { ReadFailureCode } from '../../lib/ports.ts';
import type { ConsulMethod } from './consul-fake.ts';
import { failure, WatchWorld } from './watch-world.ts';

/** A streak that is due at 40s, seen since the beginning. */
const DUE_AT_40S = { limit: 5, interval: '10s', grace: '0s' };

describe('C01: a pass that Consul does not answer', () => {
  test('C01: writes nothing and changes no marks; one error line an outage, and a counter', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AT_40S });
    const { checkId } = world.one();
    await world.pass();
    const before = await world.state.load();
    const writesBefore = world.state.writes.length;
    world.consul.fail('read', failure('consul', 'no-leader'));
    const report = await world.at(10_000).pass();
    expect(report).toMatchObject({ ok: false, failures: [{ system: 'consul', code: 'no-leader' }], restarts: [] });
    expect(await world.at(20_000).state.load()).toEqual(before);
    expect(world.state.writes.length).toBe(writesBefore);
    expect(world.telemetry.of('pass-failed')).toHaveLength(1);
    expect(world.telemetry.counters.get('PassesFailed')).toBe(1);
    expect(await world.streakSince(checkId)).toBe(world.clock.nowMs() - 20_000);
  });

  test('C01: blind time is credited up to the gap only', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AT_40S, settings: { maxObservationGapMs: 15_000, settleMs: 0 } });
    const { id } = world.one();
    await world.passes(2, 10_000);
    world.consul.fail('read', failure('consul', 'unreachable'));
    for (const atMs of [20_000, 30_000, 40_000, 50_000]) await world.at(atMs).pass();
    world.consul.heal();
    // Aged 10s at 10s, by the gap's 15s at 60s, and the rest of the 40s by 75s.
    await world.at(60_000).pass();
    await world.at(74_000).pass();
    expect(world.stops()).toEqual([]);
    await world.at(75_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

/** Whatever of Consul fails in a pass: everything stays as it was, and the next complete answer goes on from there. */
const DOUBTS: readonly { method: ConsulMethod; code: ReadFailureCode; id: string }[] = [
  { id: 'C02 (c)', method: 'read', code: 'stale' },
  { id: 'C03', method: 'read', code: 'filtered' },
  { id: 'C04', method: 'read', code: 'malformed' },
  { id: 'C06', method: 'read', code: 'rate-limited' },
  { id: 'C07', method: 'read', code: 'timeout' },
  { id: 'C02 (b)', method: 'lookUpChecks', code: 'no-leader' },
  { id: 'C03', method: 'lookUpChecks', code: 'filtered' },
  { id: 'C05', method: 'lookUpChecks', code: 'malformed' },
  { id: 'C03', method: 'describeInstances', code: 'filtered' },
  { id: 'C04', method: 'describeInstances', code: 'malformed' },
  { id: 'C07', method: 'describeInstances', code: 'timeout' },
];

describe('a doubtful answer', () => {
  test.each(DOUBTS)('$id: $code in $method keeps all marks, and restarts nothing that is due', async (doubt) => {
    const world = new WatchWorld({ checkRestart: DUE_AT_40S });
    const due = world.one('web');
    const lost = world.one('api');
    await world.passes(4, 10_000);
    // `api` is in no list, so that it must be looked up; `web` is due, and its details must be read again for that.
    world.consul.set(lost.checkId, 'passing');
    const before = await world.state.load();
    const writesBefore = world.state.writes.length;
    world.consul.fail(doubt.method, failure('consul', doubt.code));
    const report = await world.at(40_000).pass();
    expect(report).toMatchObject({ ok: false, failures: [{ system: 'consul', code: doubt.code }] });
    expect(world.writes()).toEqual([]);
    expect(world.state.writes.length).toBe(writesBefore);
    expect(await world.state.load()).toEqual(before);
    // Not taken for a recovery of all, nor for absence:
    expect(report.checks).toEqual([]);
    expect(world.telemetry.of('absent-check')).toEqual([]);

    world.consul.heal();
    await world.at(41_000).pass();
    expect(world.stops()).toEqual([due.id]);
    expect(await world.streakSince(lost.checkId)).toBeUndefined();
  });

  test('C02: forty tracked checks that a doubtful answer lacks keep their streaks', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AT_40S });
    world.service('web', { tasks: 40 });
    await world.pass();
    world.consul.fail('lookUpChecks', failure('consul', 'no-leader'));
    for (const { checkId } of (await world.state.load()).checks) world.consul.set(checkId, 'absent');
    expect(await world.at(10_000).pass()).toMatchObject({ ok: false });
    const { checks } = await world.state.load();
    expect(checks.filter(({ state }) => state.streak !== undefined)).toHaveLength(40);
    expect(checks.filter(({ state }) => state.absentSinceMs !== undefined)).toEqual([]);
  });

  test('C07: the next pass works when Consul does, and says that it is over', async () => {
    const world = new WatchWorld();
    const { id } = world.one();
    world.consul.fail('read', failure('consul', 'timeout'), 1);
    expect(await world.pass()).toMatchObject({ ok: false });
    expect(world.state.writes.filter(({ operation }) => operation !== 'savePolicy')).toEqual([]);
    expect(await world.pass()).toMatchObject({ ok: true, restarts: [{ task: id }] });
  });
});

describe('C08: a name that cannot be sent', () => {
  test('C08: is skipped and reported, and the others are handled in the same pass', async () => {
    const world = new WatchWorld();
    world.consul.addInstance({ serviceId: 'x', serviceName: '..' });
    world.consul.register({ checkId: 'c0', serviceId: 'x', serviceName: '..' });
    const { id } = world.one('web');
    const report = await world.pass();
    expect(report.restarts).toMatchObject([{ task: id }]);
    expect(report.problems).toEqual([expect.stringContaining('".."')]);
    expect(report.checks).toContainEqual(expect.objectContaining({ check: 'c0', reason: 'unmapped' }));
    expect(world.telemetry.of('registration-problem')).toHaveLength(1);
    await world.at(1000).pass();
    expect(world.telemetry.of('registration-problem')).toHaveLength(1);
  });
});
