import { describe, expect, it } from 'vitest';
import { placesFreeAtMs, placesNeeded, rateBrake, recentRestarts } from '../../lib/brakes/rate.ts';

const NOW_MS = 1_000_000;

describe('recentRestarts', () => {
  it.each([
    [NOW_MS - 60_001, 0],
    [NOW_MS - 60_000, 0],
    [NOW_MS - 59_999, 1],
    [NOW_MS, 1],
    [NOW_MS + 5, 1],
  ])('a restart at %i counts %i (a place is free again after exactly 60 s)', (atMs, count) => {
    expect(recentRestarts([atMs], NOW_MS)).toHaveLength(count);
  });

  it('sorts, and leaves its input alone', () => {
    const instants = [NOW_MS, NOW_MS - 10];
    expect(recentRestarts(instants, NOW_MS)).toEqual([NOW_MS - 10, NOW_MS]);
    expect(instants).toEqual([NOW_MS, NOW_MS - 10]);
  });
});

describe('places', () => {
  const recent = [NOW_MS - 50_000, NOW_MS - 40_000, NOW_MS - 30_000];
  it.each([
    // perMinute, places, free at
    [4, 1, Number.NEGATIVE_INFINITY],
    [3, 1, NOW_MS + 10_000],
    [3, 2, NOW_MS + 20_000],
    [2, 1, NOW_MS + 20_000],
    [3, 3, NOW_MS + 30_000],
    [3, 4, undefined],
    [0, 1, undefined],
  ])('%i a minute with three taken: %i places', (perMinute, places, atMs) => {
    expect(placesFreeAtMs(recent, perMinute, places)).toBe(atMs);
  });

  it('a forced deployment larger than the cap needs the whole minute', () => {
    expect(placesNeeded(25, 10)).toBe(10);
    expect(placesNeeded(4, 10)).toBe(4);
    expect(rateBrake([], 10, 25)).toBeUndefined();
    expect(rateBrake([NOW_MS], 10, 25)?.untilMs).toBe(NOW_MS + 60_000);
  });

  it('0 a minute allows none, without an end; switched off allows all', () => {
    expect(rateBrake([], 0, 1)).toEqual({ brake: 'per-minute', reason: 'rate-cap' });
    expect(rateBrake([NOW_MS], null, 1)).toBeUndefined();
  });
});
