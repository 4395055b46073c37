/** A deployment that uses no proxies is not bothered with them; one that does hears of every doubtful read. */
import { expect, test } from 'vitest';
import { ReadFailure } from '../../lib/ports.ts';
import { ReconcileWorld } from './reconcile-world.ts';

const FORBIDDEN = new ReadFailure('consul', 'forbidden', 'GET /v1/kv/ecs-check-restart/proxy-defaults: 403');
const NOTHING_ALLOWED = { families: [], clusters: [], commands: [], services: [] };

function unused(world: ReconcileWorld): ReconcileWorld {
  Object.assign(world.settings.rules.allow, NOTHING_ALLOWED);
  return world;
}

test('with empty allow-lists and nothing remembered, a token without rights on declarations is no failure', async () => {
  const world = unused(new ReconcileWorld());
  world.doubt = FORBIDDEN;
  const report = await world.pass();
  expect([report.ok, report.failures, report.problems]).toEqual([true, [], []]);
  expect(world.telemetry.of('declarations-doubtful')).toEqual([]);
});

test('with empty allow-lists, what is declared is still read and named as not allowed', async () => {
  const world = unused(new ReconcileWorld()).declare('a');
  expect((await world.pass()).problems).toMatchObject([{ proxyId: 'a', reason: 'declaration-invalid' }]);
});

test('as soon as a proxy is remembered, a doubtful read is told, and its task keeps running', async () => {
  const world = new ReconcileWorld().declare('a');
  await world.pass();
  unused(world);
  world.doubt = FORBIDDEN;
  world.later(60_000);
  const report = await world.pass();
  expect(report.failures).toMatchObject([{ code: 'forbidden' }]);
  expect(world.ecs.callsOf('StopTask')).toEqual([]);
});

test('a failed stop is published as what it is', async () => {
  const world = new ReconcileWorld({ proxies: { removalDelayMs: 0 } }).declare(['a', 'b']);
  await world.pass();
  world.declared.delete('a');
  world.ecs.faults.add('StopTask', { kind: 'error', code: 'AccessDeniedException' });
  world.later(60_000);
  await world.pass();
  expect(world.events.events.map(({ type }) => type)).toContain('Proxy Stop Failed');
});
