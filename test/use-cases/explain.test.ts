/** `explain`: the same decision as a pass, told in full, and nothing written. */
import { expect, test } from 'vitest';
import type { ExplainRequest } from '../../lib/use-cases/explain.ts';
import { hold } from '../../lib/use-cases/hold.ts';
import { explainByHand } from '../../lib/use-cases/watch.ts';
import { CLUSTER, START_MS, WatchWorld } from './watch-world.ts';

const COUNTS = { limit: 3, interval: '10s', grace: '90s' };

function explain(world: WatchWorld, request: ExplainRequest) {
  return explainByHand(world.deps, world.settings, request);
}

test('a counting check: how its task was found, who decided each field, and when it is due', async () => {
  const world = new WatchWorld({ checkRestart: COUNTS });
  const web = world.one();
  await world.pass();
  world.later(5000);
  const { checks } = await explain(world, { task: web.id });
  expect(checks).toHaveLength(1);
  expect(checks[0]).toMatchObject({
    service: 'web',
    status: 'critical',
    verdict: 'counting',
    untilMs: START_MS + 20_000,
    task: { id: web.id, cluster: CLUSTER, how: 'Meta task-arn' },
    policy: { limit: { value: 3, from: 'rule 1' }, mode: { value: 'restart', from: 'default' } },
    timer: { intervalMs: 10_000, timeLimitMs: 20_000, unhealthySinceMs: START_MS, dueAtMs: START_MS + 20_000 },
  });
});

test('a due check would be restarted now, and nothing is written or stopped by saying so', async () => {
  const world = new WatchWorld();
  const web = world.one();
  const { checks } = await explain(world, { service: 'web' });
  expect(checks).toMatchObject([{ verdict: 'restart', why: 'stop-task', task: { id: web.id, lastStatus: 'RUNNING' } }]);
  expect(world.state.writes).toEqual([]);
  expect(world.writes()).toEqual([]);
  expect(world.events.events).toEqual([]);
});

test('a held check names all its brakes and when they end', async () => {
  const world = new WatchWorld();
  world.one();
  await hold(world.deps, { service: `${CLUSTER}/service/web`, forMs: 60_000, why: 'moving' });
  const { checks, brakes } = await explain(world, { check: 'web' });
  expect(checks).toEqual([]);
  expect(brakes).toEqual([]);
  const all = await explain(world, { service: 'web' });
  expect(all.checks).toMatchObject([
    { verdict: 'held', brakes: [{ brake: 'hold', reason: 'held', untilMs: START_MS + 60_000 }] },
  ]);
  expect(all.brakes).toMatchObject([{ owner: `${CLUSTER}/service/web`, hold: { why: 'moving' } }]);
});

test('an instance whose task cannot be told says why', async () => {
  const world = new WatchWorld();
  world.consul.addInstance({ serviceId: 'web-1', serviceName: 'web' });
  world.consul.register({ checkId: 'c1', serviceId: 'web-1', serviceName: 'web' });
  const { checks } = await explain(world, { check: 'c1' });
  expect(checks).toMatchObject([{ verdict: 'unmapped', task: { how: expect.stringContaining('names a task') } }]);
});

test('a healthy check is explained where its service is named', async () => {
  const world = new WatchWorld();
  world.one('web', { status: 'passing' });
  expect((await explain(world, { service: 'web' })).checks).toMatchObject([{ status: 'passing', verdict: 'good' }]);
  expect(await explain(world, { task: '0'.repeat(32) })).toMatchObject({ checks: [], note: expect.any(String) });
});

test('why a task was restarted: its open claim and its line of history', async () => {
  const world = new WatchWorld({ delays: { stoppingMs: 5000 } });
  const web = world.one();
  await world.pass();
  world.later(500);
  const explanation = await explain(world, { task: web.arn });
  expect(explanation.openClaims).toMatchObject([{ task: web.id, action: 'stop-task', outcome: 'accepted' }]);
  expect(explanation.history).toMatchObject([{ kind: 'restart', detail: { task: web.id } }]);
  expect(explanation.checks).toMatchObject([{ verdict: 'restart-in-flight' }]);
});
