import { describe, expect, test } from 'vitest';
import { isMet, tableOf } from './figures.ts';
import { median, percentile } from './statistics.ts';

describe('statistics', () => {
  test.each([
    [[3], 3],
    [[9, 1], 5],
    [[5, 1, 9], 5],
    [[4, 1, 9, 2], 3],
  ])('the median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
  test.each([
    [50, 0.5, 25],
    [50, 0.99, 50],
    [100, 0.99, 99],
    [200, 0.99, 198],
    [1, 0.01, 1],
  ])('of 1 to %d, the share %d does not exceed %d', (count, share, expected) => {
    expect(percentile(upTo(count).toReversed(), share)).toBe(expected);
  });

  test('nothing measured is no number', () => {
    expect(() => median([])).toThrow('nothing was measured');
    expect(() => percentile([], 0.99)).toThrow('nothing was measured');
  });
});

describe('bounds', () => {
  test.each([
    [{ value: 5, bound: 5 }, true],
    [{ value: 5.1, bound: 5 }, false],
    [{ value: 5, bound: 5, below: true }, false],
    [{ value: 4.9, bound: 5, below: true }, true],
    [{ value: 1e9 }, true],
    [{ value: Number.NaN, bound: 5 }, false],
  ])('%j is met: %s', (figure, met) => {
    expect(isMet({ name: 'any', unit: 'ms', ...figure })).toBe(met);
  });

  test('stand in the table beside the value', () => {
    const figures = [
      { name: 'short', value: 3.1749, unit: '%', bound: 5 },
      { name: 'much longer', value: 320, unit: 'MB', bound: 200, below: true, note: 'why' },
      { name: 'told', value: 7, unit: 'ms' },
    ];
    const lines = tableOf({ bench: 'any', setting: {}, figures, raw: {} }).trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['figure', 'value', 'bound'],
      ['short', '3.17 %', '≤ 5 %', 'met'],
      ['much longer', '320 MB', '< 200 MB', 'NOT MET', 'why'],
      ['told', '7 ms'],
    ]);
  });
});
