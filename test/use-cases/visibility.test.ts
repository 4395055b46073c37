/** The ten-minute proof that the token sees something (DESIGN section 3): what it costs, and what follows without it. */
import { describe, expect, test } from 'vitest';
import { statusOf } from '../../lib/use-cases/status.ts';
import { look, PROOF_MS, proveSight } from '../../lib/use-cases/visibility.ts';
import { watchWindow } from '../../lib/use-cases/watch.ts';
import { failure, WatchWorld } from './watch-world.ts';

/** Takes all rights away from the token, as Consul 1.8 shows it: empty answers, and no sign. */
function blind(world: WatchWorld): { heal(): void } {
  const services = new Map(world.consul.services);
  const instances = new Map(world.consul.instances);
  world.consul.services.clear();
  world.consul.instances.clear();
  return {
    heal() {
      for (const [name, tags] of services) world.consul.services.set(name, tags);
      for (const [key, instance] of instances) world.consul.instances.set(key, instance);
    },
  };
}

function proofs(world: WatchWorld): readonly [services: number, instances: number] {
  return [world.consul.callsOf('listServices').length, world.consul.callsOf('listInstances').length];
}

describe('a token that sees nothing', () => {
  test('fails the pass, which says why in one line and what may be the case', async () => {
    const world = new WatchWorld();
    blind(world);
    const report = await world.pass();
    expect(report).toMatchObject({ ok: false, failures: [{ system: 'consul', code: 'filtered' }], restarts: [] });
    expect(report.failures[0]?.message).toMatch(
      /no service but Consul itself: either there is none yet, or the ACL token/,
    );
    expect(world.telemetry.of('pass-failed')).toMatchObject([{ system: 'consul', code: 'filtered' }]);
    expect(await world.state.load()).not.toHaveProperty('heartbeat');
  });

  test('is not taken for an estate in which all is well: streaks are kept, and age by the gap only', async () => {
    const checkRestart = { limit: 5, interval: '10s', grace: '0s' };
    const world = new WatchWorld({ checkRestart, settings: { maxObservationGapMs: 15_000, settleMs: 0 } });
    const { id, checkId } = world.one();
    await world.passes(2, 10_000);
    world.at(PROOF_MS);
    const { heal } = blind(world);
    world.consul.set(checkId, 'passing');
    const before = await world.state.load();
    expect(await world.pass()).toMatchObject({ ok: false });
    expect(await world.state.load()).toEqual(before);
    heal();
    world.consul.set(checkId, 'critical');
    // 10 s old when last seen, 25 s old now, and due at 40 s.
    await world.at(PROOF_MS + 1000).pass();
    await world.at(PROOF_MS + 15_000).pass();
    expect(world.stops()).toEqual([]);
    await world.at(PROOF_MS + 16_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('may see services and no node: they have no instance then', async () => {
    const world = new WatchWorld();
    world.one('web');
    world.consul.instances.clear();
    expect((await world.pass()).failures[0]?.message).toMatch(/no instance of them: .*node_prefix/);
  });

  test('is found out within a window, and the pass after it is healed is a good one', async () => {
    const world = new WatchWorld();
    world.one('web', { status: 'passing' });
    const { heal } = blind(world);
    const window = watchWindow(world.deps, world.settings, { holder: 'a', windowMs: 50_000, endsAtMs: Infinity });
    await world.clock.advance(20_000);
    heal();
    await world.clock.advance(60_000);
    expect(await window).toMatchObject({ outcome: 'done', last: { ok: true }, failures: [{ code: 'filtered' }] });
    expect(world.telemetry.of('pass-failed')).toHaveLength(1);
    expect(world.telemetry.of('pass-recovered')).toHaveLength(1);
  });

  test('is a problem of the status, with its remedy', async () => {
    const world = new WatchWorld();
    world.one('web', { status: 'passing' });
    await world.pass();
    expect(await statusOf(world.deps, world.settings)).toMatchObject({ status: 'OK', consul: { services: 2 } });
    blind(world);
    expect(await statusOf(world.deps, world.settings)).toMatchObject({
      status: '1 problem',
      problems: [{ problem: expect.stringContaining('no service'), remedy: expect.stringContaining('ACL') }],
      consul: { reachable: true, services: 0 },
    });
  });
});

describe('the proof', () => {
  test('costs two reads, once in ten minutes over all invocations', async () => {
    const world = new WatchWorld();
    world.one('web', { status: 'passing' });
    for (let atMs = 0; atMs < PROOF_MS; atMs += 60_000) await world.at(atMs).pass();
    expect(proofs(world)).toEqual([1, 1]);
    await world.at(PROOF_MS - 1).pass();
    expect(proofs(world)).toEqual([1, 1]);
    await world.at(PROOF_MS).pass();
    expect(proofs(world)).toEqual([2, 2]);
    expect((await world.state.load()).heartbeat?.provedMs).toBe(world.clock.nowMs());
  });

  test('costs a window of many passes two reads', async () => {
    const world = new WatchWorld();
    const { checkId } = world.one('web', { status: 'passing' });
    const window = watchWindow(world.deps, world.settings, { holder: 'a', windowMs: 50_000, endsAtMs: Infinity });
    for (let change = 0; change < 10; change += 1) {
      await world.clock.advance(2000);
      world.consul.set(checkId, change % 2 === 0 ? 'warning' : 'passing');
    }
    await world.clock.advance(60_000);
    expect(await window).toMatchObject({ outcome: 'done', failedPasses: 0 });
    expect(proofs(world)).toEqual([1, 1]);
  });

  test('is made again at once where the last one failed, or lies in the future', async () => {
    const world = new WatchWorld();
    const { heal } = blind(world);
    await world.pass();
    await world.at(1000).pass();
    expect(proofs(world)[0]).toBe(2);
    heal();
    world.consul.addInstance({ serviceId: 'web-1', serviceName: 'web' });
    const memory = { provedMs: world.clock.nowMs() + 1 };
    await proveSight(world.consul, memory, world.clock.nowMs());
    expect(proofs(world)[0]).toBe(3);
    expect(memory.provedMs).toBe(world.clock.nowMs());
  });

  test('of a dry run is not remembered, for a dry run writes nothing', async () => {
    const world = new WatchWorld();
    world.one('web', { status: 'passing' });
    expect(await world.pass({ dryRun: true })).toMatchObject({ ok: true });
    expect(await world.state.load()).not.toHaveProperty('heartbeat');
  });

  test('is not made where Consul gave no answer, and its own failure is the failure of the pass', async () => {
    const world = new WatchWorld();
    world.consul.fail('read', failure('consul', 'no-leader'), 1);
    await world.pass();
    expect(proofs(world)).toEqual([0, 0]);
    world.consul.fail('listServices', failure('consul', 'forbidden'), 1);
    expect(await world.pass()).toMatchObject({ ok: false, failures: [{ code: 'forbidden' }] });
  });

  test('passes over a service that has just gone, and over names that cannot be sent', async () => {
    const world = new WatchWorld();
    for (const name of ['..', '.', '', '\ud800', 'a-gone', 'b-gone']) world.consul.services.set(name, []);
    world.consul.addInstance({ serviceId: 'web-1', serviceName: 'web' });
    expect(await look(world.consul)).toEqual({ services: world.consul.services.size });
    expect(world.consul.callsOf('listInstances').map(({ argument }) => argument)).toEqual(['a-gone', 'b-gone', 'web']);
  });

  test('asks no more than three services', async () => {
    const world = new WatchWorld();
    for (const name of ['a', 'b', 'c', 'd']) world.consul.services.set(name, []);
    expect(await look(world.consul)).toMatchObject({ problem: expect.stringContaining('no instance') });
    expect(proofs(world)).toEqual([1, 3]);
  });

  test('has problems that are short enough for a failure', async () => {
    const world = new WatchWorld();
    const { problem: none = '' } = await look(world.consul);
    world.consul.services.set('a', []);
    const { problem: unseen = '' } = await look(world.consul);
    for (const problem of [none, unseen]) {
      expect(problem.length).toBeGreaterThan(80);
      expect(problem.length).toBeLessThanOrEqual(300);
    }
  });
});
