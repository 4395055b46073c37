/** Reconciles are serialised, few for a burst, and no message is lost. */
import { describe, expect, test } from 'vitest';
import { ReadFailure } from '../../lib/ports.ts';
import { CALLER, ReconcileWorld, START_MS, told } from './reconcile-world.ts';

const HELD = { name: 'reconcile', holder: 'other' };

test('a message that comes while another reconcile is under way comes back, as old as it is', async () => {
  const world = new ReconcileWorld().declare('a');
  await world.state.acquireLease(HELD.name, HELD.holder, START_MS, START_MS + 30_000);
  const result = await world.invoke({ newestMessageMs: START_MS - 5 });
  expect(result).toEqual({ outcome: 'lease-held', heldBy: 'other', untilMs: START_MS + 30_000 });
  expect(world.wakeUps).toEqual([{ why: 'wait-over', atMs: START_MS - 5, delayMs: 2000, sentMs: START_MS }]);
  expect(world.ecs.calls).toEqual([]);
});

test('the lease of a function that was killed blocks for 30s, then all goes on', async () => {
  const world = new ReconcileWorld().declare('a');
  await world.state.acquireLease(HELD.name, HELD.holder, START_MS, START_MS + 30_000);
  expect((await world.later(29_999).invoke()).outcome).toBe('lease-held');
  expect((await world.later(1).invoke()).outcome).toBe('done');
  expect((await world.invoke()).outcome, 'and was given back').toBe('done');
});

test('a batch older than the start of the last reconcile is done already, at the cost of no call to ECS', async () => {
  const world = new ReconcileWorld().declare('a');
  await world.pass();
  world.ecs.calls.length = 0;
  expect(await world.invoke({ newestMessageMs: START_MS - 1 })).toEqual({ outcome: 'covered', sinceMs: START_MS });
  expect(world.ecs.calls).toEqual([]);
  expect((await world.invoke({ newestMessageMs: START_MS })).outcome, 'of the same instant: not surely seen').toBe(
    'done',
  );
});

test('a reconcile that failed has covered nothing', async () => {
  const world = new ReconcileWorld().declare('a');
  const { proxies } = world.deps;
  const saveControl = async () => {
    throw new ReadFailure('state', 'timeout', 'the table is slow');
  };
  const broken = {
    ...world.deps,
    proxies: {
      loadProxies: () => proxies.loadProxies(),
      saveProxy: proxies.saveProxy.bind(proxies),
      deleteProxy: proxies.deleteProxy.bind(proxies),
      saveControl,
    },
  };
  const result = await world.invoke({ newestMessageMs: START_MS - 1 }, broken);
  expect(result).toMatchObject({ outcome: 'done', ok: false });
  expect((await world.invoke({ newestMessageMs: START_MS - 1 })).outcome).toBe('done');
});

test('1,000 events, in batches five at a time, are at most 10 reconciles, and the last state is served', async () => {
  const ids = Array.from({ length: 100 }, (_, index) => `p${index}`);
  const world = new ReconcileWorld().declare(ids);
  await world.pass();
  world.later(60_000);
  const messages: number[] = [];
  for (const id of ids) {
    world.ecs.world.exitTask(world.one(id).arn);
    for (let copy = 0; copy < 10; copy += 1) messages.push(world.clock.nowMs());
    world.clock.set(world.clock.nowMs() + 1);
  }
  let made = 0;
  while (messages.length > 0) {
    const batches = Array.from({ length: 5 }, () => messages.splice(0, 10)).filter((batch) => batch.length > 0);
    const results = await Promise.all(batches.map((batch) => world.invoke({ newestMessageMs: Math.max(...batch) })));
    made += results.filter(({ outcome }) => outcome === 'done').length;
    world.later(20);
    const due = world.wakeUps.filter((one) => one.sentMs + one.delayMs <= world.clock.nowMs());
    for (const one of due) messages.push(world.wakeUps.splice(world.wakeUps.indexOf(one), 1)[0]?.atMs ?? 0);
  }
  expect(made).toBeLessThanOrEqual(10);
  expect(world.running()).toHaveLength(100);
  expect(world.ecs.callsOf('RunTask')).toHaveLength(200);
});

describe('what is left over', () => {
  test('a wait under a minute sends one message for its end; a longer one is the schedule’s', async () => {
    const world = new ReconcileWorld({ proxies: { removalDelayMs: 30_000 } }).declare(['a', 'b']);
    await world.pass();
    world.wakeUps.length = 0;
    world.declared.delete('a');
    const startMs = world.later(60_000).clock.nowMs();
    await world.pass();
    expect(world.wakeUps).toEqual([{ why: 'wait-over', atMs: startMs + 30_000, delayMs: 30_000, sentMs: startMs }]);
    const slow = new ReconcileWorld({ proxies: { removalDelayMs: 90_000 } }).declare(['a', 'b']);
    await slow.pass();
    slow.declared.delete('a');
    await slow.later(60_000).pass();
    expect(slow.wakeUps).toEqual([]);
  });

  test('launches beyond the limit of one reconcile follow by a wake-up, each once', async () => {
    const ids = Array.from({ length: 7 }, (_, index) => `p${index}`);
    const world = new ReconcileWorld({ launchLimit: 3 }).declare(ids);
    const first = await world.pass();
    expect([first.deferred, told(first).length]).toEqual([4, 3]);
    expect(world.wakeUps).toMatchObject([{ why: 'wait-over', delayMs: 1000 }]);
    await world.passes(2, 1000);
    expect(world.running()).toHaveLength(7);
    expect(world.ecs.callsOf('RunTask')).toHaveLength(7);
  });

  test('what is not begun in the last seconds of the function is taken up by the next reconcile', async () => {
    const world = new ReconcileWorld().declare('a');
    const late = await world.pass({ endsAtMs: START_MS + 9_000 });
    expect(told(late)).toEqual([]);
    expect(world.wakeUps).toMatchObject([{ delayMs: 1000 }]);
    expect(told(await world.later(1000).pass())).toEqual(['start a launch-unknown done']);
    expect(world.running('a')).toHaveLength(1);
  });
});

test('a person waits for the lease a while, and is told when it stays held', async () => {
  const world = new ReconcileWorld().declare('a');
  await world.state.acquireLease(HELD.name, HELD.holder, START_MS, START_MS + 60_000);
  const waiting = world.operations.sync(CALLER);
  await world.clock.advance(10_000);
  expect((await waiting).outcome).toBe('lease-held');
  expect(world.wakeUps).toEqual([]);
});
