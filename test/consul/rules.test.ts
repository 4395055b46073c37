import { describe, expect, test } from 'vitest';
import { blockingBudgetMs, nextIndex, usableIndex, waitMsUntil } from '../../lib/consul/blocking-query.ts';
import { forEachParallel } from '../../lib/consul/parallel.ts';
import { fullBucket, takeToken } from '../../lib/consul/token-bucket.ts';

describe('the index of a blocking query', () => {
  test.each([
    [undefined, '5', '5'],
    ['5', '5', '5'],
    ['5', '6', '6'],
    ['5', '4', undefined],
    ['10', '9', undefined],
    ['9', '10', '10'],
    ['5', '0', undefined],
    ['5', undefined, undefined],
    ['5', 'x', undefined],
    ['5', '-6', undefined],
    ['5', '', undefined],
    ['9007199254740993', '9007199254740992', undefined],
    ['9007199254740992', '9007199254740993', '9007199254740993'],
  ])('sent %s, received %s: next %s', (sent, received, next) => expect(nextIndex(sent, received)).toBe(next));

  test('a text as long as a body is no index', () => expect(usableIndex('1'.repeat(1000))).toBeUndefined());
});

test.each([
  [50_000, 50_000],
  [299_999.2, 300_000],
  [400_000, 300_000],
  [10, 1000],
  [-5, 1000],
])('%s ms left: Consul waits %s ms', (leftMs, waitMs) => expect(waitMsUntil(1000 + leftMs, 1000)).toBe(waitMs));

test('we wait a sixteenth and a margin longer than Consul', () => {
  expect(blockingBudgetMs(300_000, 10_000)).toBe(328_750);
});

describe('the token bucket', () => {
  test('gives its capacity at once, then one token an interval', () => {
    let bucket = fullBucket({ capacity: 10, perSecond: 4 }, 0);
    const waits = Array.from({ length: 12 }, () => {
      const taken = takeToken(bucket, 0);
      bucket = taken.bucket;
      return taken.waitMs;
    });
    expect(waits).toEqual([...Array(10).fill(0), 250, 500]);
  });

  test('refills with time, to its capacity, and not when the clock goes backwards', () => {
    const empty = { limits: { capacity: 2, perSecond: 4 }, tokens: 0, atMs: 1000 };
    expect(takeToken(empty, 1250).waitMs).toBe(0);
    expect(takeToken(empty, 1100).waitMs).toBeCloseTo(150);
    expect(takeToken(empty, 0).waitMs).toBe(250);
    expect(takeToken(empty, 1_000_000).bucket.tokens).toBe(1);
  });
});

describe('work in parallel', () => {
  test('aborts what is under way at the first failure, begins nothing more, and throws that failure', async () => {
    const begun: number[] = [];
    let aborted = 0;
    const work = forEachParallel([1, 2, 3, 4], 2, async (item, signal) => {
      begun.push(item);
      if (item === 2) throw new Error('second');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted++;
      throw new Error('aborted');
    });
    await expect(work).rejects.toThrow('second');
    expect(begun).toEqual([1, 2]);
    expect(aborted).toBe(1);
  });
});
