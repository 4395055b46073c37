/** Blindness does not count: outages, absences, and the settling after them. */
import { describe, expect, it } from 'vitest';
import { counting, due, waiting, watchOne, withheld } from './watch-one.ts';

describe('a gap between two sightings', () => {
  it('that is exactly as long as allowed counts in full, and nothing settles', () => {
    const check = watchOne({ limit: 10, interval: 10 });
    check.pass(0, 'critical');
    expect(check.pass(90, 'critical')).toStrictEqual(due(0));
  });

  it('that is longer counts as the longest allowed, and nothing is restarted while that settles', () => {
    const check = watchOne({ limit: 10, interval: 10 });
    check.pass(0, 'critical');
    expect(check.pass(90.001, 'critical')).toStrictEqual(withheld('not-observed', 0, 150.001));
  });

  it('counts as far as it is allowed to', () => {
    const check = watchOne({ limit: 11, settle: 0 });
    check.pass(0, 'critical');
    expect(check.pass(1000, 'critical')).toStrictEqual(counting(1010));
    expect(check.pass(1010, 'critical')).toStrictEqual(due(0));
  });

  it('counts in full where there is no longest one, and nothing settles', () => {
    const check = watchOne({ gap: null, limit: 2, interval: 1000 });
    check.pass(0, 'critical');
    expect(check.pass(1000, 'critical')).toStrictEqual(due(0));
    expect(check.state).not.toHaveProperty('settleUntilMs');
  });

  it('each of several counts for itself', () => {
    const check = watchOne({ gap: 5, settle: 0, limit: 3, interval: 10 });
    check.pass(0, 'critical');
    check.pass(100, 'critical');
    check.pass(200, 'critical');
    expect(check.pass(300, 'critical')).toStrictEqual(counting(305));
    expect(check.pass(400, 'critical')).toStrictEqual(due(0));
  });

  it('of nothing that is allowed stops the streak from ageing at all', () => {
    const check = watchOne({ gap: 0, settle: 0, limit: 2, interval: 1 });
    check.pass(0, 'critical');
    expect(check.pass(1000, 'critical')).toStrictEqual(counting(1001));
  });

  it('before the first sighting is none', () => {
    expect(watchOne({ limit: 1 }).pass(5000, 'critical')).toStrictEqual(due(5000));
  });

  it('after which the check is good leaves nothing behind', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    check.pass(500, 'passing');
    expect(check.pass(501, 'critical')).toStrictEqual(due(501));
  });

  it('C01: without a longest gap an outage counts', () => {
    const check = watchOne({ gap: null, limit: 4, interval: 5 });
    for (const at of [3, 4, 5, 6, 7]) check.pass(at, 'critical');
    expect(check.pass(31, 'critical')).toStrictEqual(due(3));
  });

  it('C01: with one of 3 s an outage of 23 s counts 3 s', () => {
    const check = watchOne({ gap: 3, settle: 0, limit: 4, interval: 5 });
    for (const at of [3, 4, 5, 6, 7]) check.pass(at, 'critical');
    for (const at of [31, 32, 33, 34, 35, 36, 37, 38]) expect(check.pass(at, 'critical')).toStrictEqual(counting(39));
    expect(check.pass(39, 'critical')).toStrictEqual(due(3));
  });
});

describe('settling', () => {
  it('ends inclusively', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    expect(check.pass(200, 'critical')).toStrictEqual(withheld('not-observed', 0, 260));
    expect(check.pass(259.999, 'critical')).toStrictEqual(withheld('not-observed', 0, 260));
    expect(check.pass(260, 'critical')).toStrictEqual(due(0));
  });

  it('goes on counting', () => {
    const check = watchOne({ limit: 14 });
    check.pass(0, 'critical');
    expect(check.pass(200, 'critical')).toStrictEqual(counting(260));
    expect(check.pass(239, 'critical')).toStrictEqual(counting(260));
    expect(check.pass(240, 'critical')).toStrictEqual(withheld('not-observed', 0, 260));
    expect(check.pass(260, 'critical')).toStrictEqual(due(0));
  });

  it('does not shorten what is left to count', () => {
    const check = watchOne({ limit: 31 });
    check.pass(0, 'critical');
    expect(check.pass(200, 'critical')).toStrictEqual(counting(410));
  });

  it('that is over says nothing of the next deadline', () => {
    const check = watchOne({ limit: 31 });
    check.pass(0, 'critical');
    check.pass(200, 'critical');
    expect(check.pass(260, 'critical')).toStrictEqual(counting(410));
  });

  it('begins anew with every gap that is too long', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    check.pass(200, 'critical');
    expect(check.pass(300, 'critical')).toStrictEqual(withheld('not-observed', 0, 360));
  });

  it('is not cut short by another gap under a shorter setting', () => {
    const check = watchOne({ limit: 1, settle: 300 });
    check.pass(0, 'critical');
    check.pass(200, 'critical');
    expect(check.pass(300, 'critical', { settle: 10 })).toStrictEqual(withheld('not-observed', 0, 500));
  });

  it('of the whole deployment withholds, too, and ends inclusively', () => {
    const check = watchOne({ limit: 1 });
    expect(check.pass(10, 'critical', { settleUntil: 30 })).toStrictEqual(withheld('not-observed', 10, 30));
    expect(check.pass(29.999, 'critical', { settleUntil: 30 })).toStrictEqual(withheld('not-observed', 10, 30));
    expect(check.pass(30, 'critical', { settleUntil: 30 })).toStrictEqual(due(10));
  });

  it('is as long as the longer of both', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    expect(check.pass(200, 'critical', { settleUntil: 230 })).toStrictEqual(withheld('not-observed', 0, 260));
    expect(check.pass(201, 'critical', { settleUntil: 300 })).toStrictEqual(withheld('not-observed', 0, 300));
  });
});

describe('an absent check', () => {
  it('is neither cleared nor due', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(1, 'absent')).toStrictEqual({ kind: 'absent', sinceMs: 1000 });
    expect(check.pass(60, 'absent')).toStrictEqual({ kind: 'absent', sinceMs: 1000 });
    expect(check.state?.streak).toStrictEqual({ sinceMs: 0, countedFromMs: 0 });
  });

  it('that was never seen leaves no state', () => {
    const check = watchOne({ limit: 1 });
    expect(check.pass(1, 'absent')).toStrictEqual({ kind: 'absent', sinceMs: 1000 });
    expect(check.state).toBeUndefined();
  });

  it('C21: that never comes back is never due', () => {
    const check = watchOne({ limit: 2 });
    check.pass(5, 'critical');
    for (const at of [15, 16, 100, 10_000]) {
      expect(check.pass(at, 'absent')).toStrictEqual({ kind: 'absent', sinceMs: 15_000 });
    }
  });

  it('that comes back bad is due at once, if its absence was no longer than the gap', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'absent');
    expect(check.pass(60, 'critical')).toStrictEqual(due(0));
    expect(check.state).not.toHaveProperty('absentSinceMs');
  });

  it('that comes back after a longer absence has aged by the gap, and settles', () => {
    const check = watchOne({ limit: 12 });
    check.pass(0, 'critical');
    check.pass(10, 'critical');
    check.pass(20, 'absent');
    check.pass(500, 'absent');
    expect(check.pass(600, 'critical')).toStrictEqual(counting(660));
    expect(check.pass(609.999, 'critical')).toStrictEqual(counting(660));
    expect(check.pass(610, 'critical')).toStrictEqual(withheld('not-observed', 0, 660));
  });

  it('that comes back passing is good', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'absent');
    expect(check.pass(60, 'passing')).toStrictEqual({ kind: 'good' });
    expect(check.state).toBeUndefined();
  });

  it('that comes back in grace that was lengthened meanwhile has no streak', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'absent');
    expect(check.pass(20, 'critical', { grace: 30 })).toStrictEqual(waiting('in-grace', 30));
  });

  it('an absence in an outage is one gap', () => {
    const check = watchOne({ limit: 11, settle: 0 });
    check.pass(0, 'critical');
    check.pass(10, 'absent');
    // outage from 20 s to 300 s
    check.pass(300, 'absent');
    expect(check.pass(310, 'critical')).toStrictEqual(counting(320));
  });
});
