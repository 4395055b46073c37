import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDurationMs, parseDurationMs } from '../../lib/check-restart/duration.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('a Go duration is read', () => {
  it.each<[string, number]>([
    ['0', 0],
    ['0s', 0],
    ['90s', 90_000],
    ['1h30m', HOUR_MS + 30 * MINUTE_MS],
    ['1h0m5s', HOUR_MS + 5000],
    ['2m', 2 * MINUTE_MS],
    ['100ms', 100],
    ['1m100ms', MINUTE_MS + 100],
    ['1.5s', 1500],
    ['1.s', 1000],
    ['.5s', 500],
    ['1.005s', 1005],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['1ns', 1e-6],
    ['30s1m', 90_000],
    ['1s1s', 2000],
    ['007s', 7000],
    ['2562047h47m16s', 9_223_372_036_000],
  ])('%j is %d ms', (text, expectedMs) => {
    expect(parseDurationMs(text)).toBe(expectedMs);
  });
});

describe('what is no duration is refused', () => {
  it.each([
    '',
    ' ',
    's',
    '.s',
    '90',
    '0.0',
    '00',
    '-5s',
    '-0s',
    '+5s',
    '1e3s',
    '1_000s',
    '1,5s',
    '1.2.3s',
    '0x10s',
    '5S',
    '5 s',
    ' 5s',
    '5s ',
    '5s\n',
    '5s,3s',
    '1h30',
    '1d',
    '1w',
    '٣s',
    'NaN',
    'Infinitys',
    'undefined',
  ])('%j', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  it.each(['2562047h47m17s', '9223372036855ms', '999999999h', `${'9'.repeat(400)}s`, `1h${'9'.repeat(400)}ns`])(
    'what Go cannot hold: %.20s',
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );

  it('at once, however long it is', () => {
    const started = performance.now();
    expect(parseDurationMs(`${'1h'.repeat(50_000)}!`)).toBeUndefined();
    expect(parseDurationMs(`${'1'.repeat(100_000)}!`)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('a duration is written', () => {
  it.each<[number, string]>([
    [0, '0s'],
    [1, '1ms'],
    [0.5, '0.5ms'],
    [1e-7, '0s'],
    [999, '999ms'],
    [1000, '1s'],
    [1500, '1.5s'],
    [59_999, '59.999s'],
    [59_999.9999, '1m'],
    [MINUTE_MS, '1m'],
    [90_000, '1m30s'],
    [HOUR_MS - 1, '59m59.999s'],
    [HOUR_MS, '1h'],
    [HOUR_MS + 1, '1h0.001s'],
    [HOUR_MS + 30 * MINUTE_MS, '1h30m'],
    [25 * HOUR_MS, '25h'],
  ])('%d ms is %j', (durationMs, expected) => {
    expect(formatDurationMs(durationMs)).toBe(expected);
  });

  it('so that reading it gives the same milliseconds', () => {
    const anyMs = fc.oneof(
      fc.integer({ min: 0, max: 2 * HOUR_MS }),
      fc.integer({ min: 0, max: 9_000_000_000_000 }),
      fc.integer({ min: 0, max: 2_000_000 }).map((thousands) => thousands * 1000),
    );
    fc.assert(
      fc.property(anyMs, (durationMs) => {
        expect(parseDurationMs(formatDurationMs(durationMs))).toBe(durationMs);
      }),
      { numRuns: 1000 },
    );
  });
});
