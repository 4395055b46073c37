import { describe, expect, test } from 'vitest';
import { watchUnhealthy } from '../../lib/consul/unhealthy-watch.ts';
import type { UnhealthyAnswer } from '../../lib/ports.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { START_MS, watchBegun } from './fake-consul.ts';
import { rawCheck } from './scripted-server.ts';

const never = new AbortController().signal;

const ids = (answer: UnhealthyAnswer | undefined) =>
  answer?.checks.map(({ checkId, status }) => `${checkId} ${status}`);

describe('a watch on what is bad', () => {
  test('reads the critical list; the warning list only where asked', async () => {
    const { consul, watch } = watchBegun();
    consul.set('critical', [{ CheckID: 'a' }]);
    consul.set('warning', [{ CheckID: 'b' }]);
    expect(ids(await watch.read(never))).toEqual(['a critical']);
    expect(consul.asked).toHaveLength(1);

    const both = watchBegun(true);
    both.consul.set('critical', [{ CheckID: 'a' }]);
    both.consul.set('warning', [{ CheckID: 'b' }]);
    expect(ids(await both.watch.read(never))).toEqual(['a critical', 'b warning']);
  });

  test('a change resolves at once, not at the end of the wait', async () => {
    const { clock, consul, watch } = watchBegun(true);
    await watch.read(never);
    const change = watch.change(START_MS + 50_000, never);
    await clock.advance(3000);
    consul.set('critical', [{ CheckID: 'a' }]);
    expect(ids(await change)).toEqual(['a critical']);
    expect(clock.nowMs()).toBe(START_MS + 3000);
  });

  test('the query asks with the index of the last answer and the time that is left, five minutes at most', async () => {
    const { clock, consul, watch } = watchBegun();
    consul.set('critical', [{ CheckID: 'a' }]);
    await watch.read(never);
    void watch.change(START_MS + 50_000, never);
    await clock.advance(1);
    expect(consul.asked.at(-1)?.query).toEqual({ index: '2', wait: '50000ms' });

    const long = watchBegun();
    await long.watch.read(never);
    void long.watch.change(START_MS + 3_600_000, never);
    await long.clock.advance(1);
    expect(long.consul.asked.at(-1)?.query.wait).toBe('300000ms');
  });

  test("without a change it ends at the caller's instant by our own timer, and not when Consul answers late", async () => {
    const { clock, watch } = watchBegun();
    await watch.read(never);
    let endedAtMs: number | undefined;
    void watch.change(START_MS + 16_000, never).then((answer) => {
      expect(answer).toBeUndefined();
      endedAtMs = clock.nowMs();
    });
    await clock.advance(20_000);
    expect(endedAtMs).toBe(START_MS + 16_000);
  });

  test('an instant that is past ends at once, and asks nothing', async () => {
    const { consul, watch } = watchBegun();
    await watch.read(never);
    expect(await watch.change(START_MS, never)).toBeUndefined();
    expect(consul.asked).toHaveLength(1);
  });

  test.each([
    ['output', { Output: 'other' }, false],
    ['name', { Name: 'other' }, false],
    ['ModifyIndex', { ModifyIndex: 99 }, false],
    ['check ID', { CheckID: 'b' }, true],
    ['node', { Node: 'n2' }, true],
    ['service ID', { ServiceID: 'orders-2' }, true],
    ['CreateIndex', { CreateIndex: 99 }, true],
  ])('another %s: %j differs: %s', async (_what, fields, differs) => {
    const { clock, consul, watch } = watchBegun();
    consul.set('critical', [{ CheckID: 'a' }]);
    await watch.read(never);
    const change = watch.change(START_MS + 5000, never);
    await clock.advance(1000);
    consul.set('critical', [{ CheckID: 'a', ...fields }]);
    await clock.advance(10_000);
    expect((await change) !== undefined).toBe(differs);
  });

  test('a changed output is in the next answer that is given out', async () => {
    const { clock, consul, watch } = watchBegun(true);
    consul.set('critical', [{ CheckID: 'a', Output: '' }]);
    await watch.read(never);
    const change = watch.change(START_MS + 50_000, never);
    await clock.advance(1000);
    consul.set('critical', [{ CheckID: 'a', Output: 'refused' }]);
    await clock.advance(1000);
    consul.set('warning', [{ CheckID: 'w' }]);
    expect((await change)?.checks.map((check) => check.output)).toEqual(['refused', 'refused']);
  });

  test("the other list's query stays in flight and its change comes next", async () => {
    const { clock, consul, watch } = watchBegun(true);
    consul.set('critical', [{ CheckID: 'a' }]);
    consul.set('warning', [{ CheckID: 'b' }]);
    await watch.read(never);
    const first = watch.change(START_MS + 50_000, never);
    await clock.advance(10);
    consul.set('critical', [{ CheckID: 'a' }, { CheckID: 'c' }]);
    expect(ids(await first)).toEqual(['a critical', 'c critical', 'b warning']);
    const second = watch.change(START_MS + 50_000, never);
    await clock.advance(10);
    consul.set('warning', []);
    expect(ids(await second)).toEqual(['a critical', 'c critical']);
    expect(consul.asked.filter(({ status }) => status === 'warning')).toHaveLength(2);
  });

  test('a check that moved between the lists is in the answer once, as the newer list has it', async () => {
    const { clock, consul, watch } = watchBegun(true);
    consul.set('warning', [{ CheckID: 'a' }]);
    await watch.read(never);
    const change = watch.change(START_MS + 50_000, never);
    await clock.advance(10);
    // Only the critical list wakes: the warning list's last known answer still has the check.
    consul.set('critical', [{ CheckID: 'a' }]);
    expect(ids(await change)).toEqual(['a critical']);
  });

  test('change without a read before gives out the first whole answer, of both lists', async () => {
    const { consul, watch } = watchBegun(true);
    consul.set('warning', [{ CheckID: 'b' }]);
    expect(ids(await watch.change(START_MS + 1000, never))).toEqual(['b warning']);
  });
});

test('change without a read before waits for both lists: one alone would make the other look healthy', async () => {
  const clock = new VirtualClock(START_MS);
  const warningsRead = Promise.withResolvers<void>();
  const client = {
    get: async ({ path }: { readonly path: string }) => {
      if (path.endsWith('warning')) await warningsRead.promise;
      return { body: [rawCheck({ CheckID: path })], index: '5' };
    },
    close: async () => undefined,
  };
  const watch = watchUnhealthy({ client, clock, warnings: true, marginMs: 0 });
  let answer: UnhealthyAnswer | undefined;
  const change = watch.change(START_MS + 50_000, never).then((given) => {
    answer = given;
  });
  await clock.advance(1);
  expect(answer).toBeUndefined();
  warningsRead.resolve();
  await change;
  expect(answer?.checks).toHaveLength(2);
});

describe('between waits', () => {
  test('a change that happens while nobody waits is not lost', async () => {
    const { clock, consul, watch } = watchBegun();
    await watch.read(never);
    const first = watch.change(START_MS + 1000, never);
    await clock.advance(1000);
    expect(await first).toBeUndefined();
    consul.set('critical', [{ CheckID: 'a' }]);
    await clock.advance(5000);
    expect(ids(await watch.change(START_MS + 50_000, never))).toEqual(['a critical']);
    expect(clock.nowMs()).toBe(START_MS + 6000);
  });

  test('what an immediate read has given out is not given out again by the query in flight', async () => {
    const { clock, consul, watch } = watchBegun();
    await watch.read(never);
    const first = watch.change(START_MS + 1000, never);
    await clock.advance(1000);
    await first;
    consul.set('critical', [{ CheckID: 'a' }]);
    expect(ids(await watch.read(never))).toEqual(['a critical']);
    const second = watch.change(START_MS + 5000, never);
    await clock.advance(10_000);
    expect(await second).toBeUndefined();
  });

  test('an answer in flight that a read has overtaken does not bring the old state back', async () => {
    const { clock, consul, watch } = watchBegun();
    await watch.read(never);
    const first = watch.change(START_MS + 1000, never);
    await clock.advance(500);
    consul.set('critical', [{ CheckID: 'a' }]);
    expect(ids(await first)).toEqual(['a critical']);
    void watch.change(START_MS + 501, never);
    await clock.advance(1);
    // The query in flight answers with [a, b] (index 3); before anybody takes that up, all is well again (index 4) and read.
    consul.set('critical', [{ CheckID: 'a' }, { CheckID: 'b' }]);
    await clock.advance(1);
    consul.set('critical', []);
    expect(ids(await watch.read(never))).toEqual([]);
    const next = watch.change(START_MS + 5000, never);
    await clock.advance(10_000);
    expect(await next).toBeUndefined();
    expect(consul.asked.at(-1)?.query.index).toBe('4');
  });

  test('an index that goes backwards is dropped, and the answer is data', async () => {
    const { clock, consul, watch } = watchBegun();
    for (let index = 0; index < 50; index++) consul.writeElsewhere();
    consul.set('critical', [{ CheckID: 'a' }]);
    await watch.read(never);
    const change = watch.change(START_MS + 20_000, never);
    await clock.advance(10);
    consul.restore(3);
    await clock.advance(10);
    expect(consul.asked.slice(-2).map(({ query }) => query.index)).toEqual([undefined, '3']);
    consul.set('critical', []);
    expect(ids(await change)).toEqual([]);
  });
});
