/** Cases C16 to C24: when a check is due, as the whole pass sees it. */
import { describe, expect, test } from 'vitest';
import { CLUSTER, reasons, START_MS, WatchWorld } from './watch-world.ts';

/** Due 20s after the first bad pass. */
const DUE_AFTER_20S = { limit: 3, interval: '10s', grace: '0s' };

describe('C16: a task that does not run yet', () => {
  test('C16: is never restarted, and its grace begins when it runs', async () => {
    const world = new WatchWorld({ checkRestart: { limit: 1, interval: '10s', grace: '30s' } });
    world.ecs.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 1, startTasks: false });
    const arn = world.ecs.world.addTask({ service: 'web', cluster: CLUSTER, startedAtMs: START_MS + 100_000 });
    const { id } = world.register(arn);
    for (let atMs = 0; atMs < 130_000; atMs += 5000) {
      const report = await world.at(atMs).pass();
      expect(report.restarts).toEqual([]);
      expect(report.checks).toMatchObject([{ reason: atMs < 100_000 ? 'not-running' : 'in-grace' }]);
    }
    await world.at(130_000).pass();
    expect(world.stops()).toEqual([id]);
  });
});

describe('C19: a task that ECS drains', () => {
  test('C19: is not stopped again, and a passing blip changes nothing', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AFTER_20S });
    const { arn, checkId } = world.one();
    await world.passes(2, 10_000);
    world.ecs.world.setDesiredStatus(arn, 'STOPPED');
    const report = await world.at(20_000).pass();
    expect(reasons(report)).toEqual(['task-stopping']);
    expect(world.ecs.callsOf('DescribeTasks').length).toBeGreaterThan(0);
    world.consul.set(checkId, 'passing');
    await world.at(25_000).pass();
    world.consul.set(checkId, 'critical');
    for (let atMs = 30_000; atMs <= 120_000; atMs += 10_000) await world.at(atMs).pass();
    expect(world.writes()).toEqual([]);
  });

  test('C19: DescribeTasks is asked before StopTask, in the pass itself and right before the claim', async () => {
    const world = new WatchWorld();
    world.one();
    await world.pass();
    const operations = world.ecs.calls.map(({ operation }) => operation);
    expect(operations.at(-1)).toBe('StopTask');
    expect(operations.at(-2)).toBe('DescribeTasks');
    expect(operations.filter((operation) => operation === 'DescribeTasks').length).toBeGreaterThanOrEqual(2);
  });

  test('C19: a task that begins to stop between decision and claim is left alone', async () => {
    const world = new WatchWorld();
    const { arn } = world.one();
    let asked = 0;
    const describeTasks: typeof world.deps.ecs.describeTasks = async (cluster, tasks) => {
      asked += 1;
      if (asked === 2) world.ecs.world.setDesiredStatus(arn, 'STOPPED');
      return world.deps.ecs.describeTasks(cluster, tasks);
    };
    const report = await world.pass({}, { ...world.deps, ecs: { ...world.deps.ecs, describeTasks } });
    expect(reasons(report)).toEqual(['task-stopping']);
    expect(world.writes()).toEqual([]);
    expect((await world.owner()).claims).toEqual([]);
  });
});

describe('C21: a check that goes missing', () => {
  test('C21: is never restarted; one warning a check, and a metric, in passes that are all cold starts', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AFTER_20S });
    const one = world.one('web');
    const other = world.one('api');
    await world.pass();
    world.consul.set(one.checkId, 'absent');
    world.consul.set(other.checkId, 'absent');
    for (let atMs = 10_000; atMs <= 200_000; atMs += 10_000) await world.at(atMs).pass();
    expect(world.writes()).toEqual([]);
    expect(world.telemetry.of('absent-check').map(({ check }) => check)).toEqual([one.checkId, other.checkId]);
    expect(world.telemetry.counters.get('ChecksAbsent')).toBe(40);
  });

  test('C21: coming back critical it goes on where it was, its absence credited up to the gap', async () => {
    const world = new WatchWorld({
      checkRestart: { limit: 11, interval: '10s', grace: '0s' },
      settings: { maxObservationGapMs: 30_000, settleMs: 0 },
    });
    const { id, checkId } = world.one();
    await world.passes(3, 10_000);
    world.consul.set(checkId, 'absent');
    for (let atMs = 30_000; atMs <= 200_000; atMs += 10_000) await world.at(atMs).pass();
    world.consul.set(checkId, 'critical');
    // Aged 20s at 20s, 30s more by 210s: 100s are reached at 260s.
    for (let atMs = 210_000; atMs < 260_000; atMs += 10_000) await world.at(atMs).pass();
    expect(world.stops()).toEqual([]);
    await world.at(260_000).pass();
    expect(world.stops()).toEqual([id]);
  });

  test('is forgotten after a day, or when ECS calls its task gone in two passes', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AFTER_20S });
    const kept = world.one('web');
    const gone = world.one('api');
    await world.pass();
    world.consul.set(kept.checkId, 'absent');
    world.consul.set(gone.checkId, 'absent');
    world.ecs.world.exitTask(gone.arn);
    const tracked = async () => (await world.state.load()).checks.map(({ checkId }) => checkId);
    await world.at(40_000).pass();
    expect(await tracked()).toEqual([kept.checkId, gone.checkId]);
    await world.at(80_000).pass();
    expect(await tracked()).toEqual([kept.checkId]);
    await world.at(24 * 3_600_000).pass();
    expect(await tracked()).toEqual([kept.checkId]);
    await world.at(24 * 3_600_000 + 80_000).pass();
    expect(await tracked()).toEqual([]);
  });
});

describe('C22: maintenance', () => {
  const maintained = [
    { what: 'of the service', node: 'n1', checkId: '_service_maintenance:', ofService: true },
    { what: 'of the node', node: 'n1', checkId: '_node_maintenance', ofService: false },
  ];

  test.each(maintained)('C22: $what restarts nothing and freezes the timer', async ({ checkId, ofService }) => {
    const world = new WatchWorld({ checkRestart: DUE_AFTER_20S });
    const { id, serviceId } = world.one('web');
    const other = world.one('api', { status: 'passing' });
    await world.passes(2, 10_000);
    const ownId = ofService ? checkId + serviceId : checkId;
    const of = ofService ? { serviceId, serviceName: 'web' } : { serviceId: '', serviceName: '' };
    world.consul.register({ checkId: ownId, type: 'maintenance', ...of });
    for (let atMs = 20_000; atMs <= 300_000; atMs += 10_000) {
      const { restarts, checks } = await world.at(atMs).pass();
      expect(restarts).toEqual([]);
      expect(checks.filter(({ service }) => service === 'web').map(({ reason }) => reason)).toEqual(['maintenance']);
    }
    world.consul.set(ownId, 'absent');
    // Aged 10 to 20s when it began; thawed at 310s.
    await world.at(310_000).pass();
    await world.at(320_000).pass();
    expect(world.stops()).toEqual([id]);
    expect(world.stops()).not.toContain(other.id);
  });

  test('C22: due in the very pass in which it begins, it is withheld; nothing fires when it ends', async () => {
    const world = new WatchWorld({ checkRestart: DUE_AFTER_20S });
    world.one('web');
    await world.passes(2, 10_000);
    world.consul.register({ checkId: '_node_maintenance', type: 'maintenance' });
    expect(reasons(await world.at(20_000).pass())).toEqual(['maintenance']);
    expect(world.writes()).toEqual([]);
  });

  test("C22: another node's maintenance, and another instance's, hold nothing back", async () => {
    const world = new WatchWorld();
    const { id } = world.one('web');
    const other = world.one('api');
    world.consul.register({ checkId: '_node_maintenance', node: 'n2', type: 'maintenance' });
    const checkId = `_service_maintenance:${other.serviceId}`;
    world.consul.register({ checkId, serviceId: other.serviceId, serviceName: 'api', type: 'maintenance' });
    await world.pass();
    expect(world.stops()).toEqual([id]);
  });
});

test('C23: a dead agent restarts none of its twenty tasks, and is reported once', async () => {
  const world = new WatchWorld();
  world.service('web', { tasks: 20, status: 'passing' });
  world.consul.register({ checkId: 'serfHealth', name: 'Serf Health Status', serviceId: '', serviceName: '' });
  const [report] = await world.passes(10, 10_000);
  expect(report?.checks).toEqual([expect.objectContaining({ check: 'Serf Health Status', reason: 'node-check' })]);
  expect(world.ecs.calls).toEqual([]);
  expect(world.telemetry.of('node-check')).toHaveLength(1);
});

test('C24: only the status counts, and an unchanged one is not written again', async () => {
  const world = new WatchWorld({ checkRestart: DUE_AFTER_20S, settings: { maxObservationGapMs: 90_000 } });
  const { id, checkId } = world.one();
  let restartedAtMs: number | undefined;
  for (let pass = 0; pass < 60; pass += 1) {
    world.consul.set(checkId, { output: `down since ${pass} s` });
    const { restarts } = await world.at(pass * 1000).pass();
    if (restarts.length > 0) restartedAtMs = pass * 1000;
  }
  expect(restartedAtMs).toBe(20_000);
  expect(world.stops()).toEqual([id]);
  const counts = Object.groupBy(world.state.writes, ({ operation }) => operation);
  expect(counts.saveCheck).toHaveLength(1);
  expect(counts.deleteCheck).toHaveLength(1);
  expect(counts.saveHeartbeat?.length).toBeLessThanOrEqual(60);
  expect(counts.appendHistory).toHaveLength(1);
  // Claim, answer, confirmation, and what the brakes still follow of it.
  expect(counts.saveService?.length).toBeLessThanOrEqual(5);
  expect(world.state.writes.length).toBeLessThanOrEqual(60 + 2 + 1 + 5 + 1);
});
