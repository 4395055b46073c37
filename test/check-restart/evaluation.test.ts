import { describe, expect, it } from 'vitest';
import { isBad } from '../../lib/check-restart/evaluation.ts';
import { counting, due, waiting, watchOne } from './watch-one.ts';

describe('what a status means', () => {
  it.each<[string, boolean, boolean]>([
    ['critical', false, true],
    ['critical', true, true],
    ['warning', false, true],
    ['warning', true, false],
    ['passing', false, false],
    ['passing', true, false],
    ['maintenance', false, false],
    ['unknown', false, false],
    ['Critical', false, false],
    ['', false, false],
  ])('%j, warnings ignored %s: bad is %s', (status, ignoreWarnings, expected) => {
    expect(isBad(status, ignoreWarnings)).toBe(expected);
  });

  it.each(['passing', 'maintenance', ''])('%j clears the streak', (status) => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, status)).toStrictEqual({ kind: 'good' });
    expect(check.state).toBeUndefined();
    expect(check.pass(21, 'critical')).toStrictEqual(counting(41));
  });
});

describe('limits', () => {
  it.each([
    [1, 5],
    [2, 15],
    [3, 25],
    [5, 45],
  ])('limit %d is due at %d s and not a millisecond before', (limit, at) => {
    const check = watchOne({ limit });
    check.pass(0, 'passing');
    if (at > 5) {
      expect(check.pass(5, 'critical')).toStrictEqual(counting(at));
      expect(check.pass(at - 0.001, 'critical')).toStrictEqual(counting(at));
    }
    expect(check.pass(at, 'critical')).toStrictEqual(due(5));
  });

  it('limit 0 is not watched, however bad', () => {
    expect(watchOne({ limit: 0 }).pass(1000, 'critical')).toStrictEqual(waiting('not-watched'));
  });

  it('a check that is no longer watched loses its state', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(10, 'critical', { limit: 0 });
    expect(check.state).toBeUndefined();
    expect(check.pass(20, 'critical')).toStrictEqual(counting(40));
  });

  it('a check that stays due is due in every pass, with the same begin', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical')).toStrictEqual(due(0));
    expect(check.pass(30, 'critical')).toStrictEqual(due(0));
  });

  it('C17: healed in the very pass in which it would be due', () => {
    const check = watchOne({ limit: 5, interval: 6 });
    check.pass(4, 'critical');
    expect(check.pass(28, 'passing')).toStrictEqual({ kind: 'good' });
  });

  it('C17: healed one pass too late', () => {
    const check = watchOne({ limit: 5, interval: 6 });
    check.pass(4, 'critical');
    expect(check.pass(27, 'critical')).toStrictEqual(counting(28));
    expect(check.pass(28, 'critical')).toStrictEqual(due(4));
  });
});

describe('warnings', () => {
  it('C18: are bad', () => {
    const check = watchOne({ limit: 2, interval: 15 });
    check.pass(1, 'warning');
    expect(check.pass(16, 'warning')).toStrictEqual(due(1));
  });

  it('C18: are good where they are ignored', () => {
    const check = watchOne({ limit: 1, ignoreWarnings: true });
    expect(check.pass(1, 'warning')).toStrictEqual({ kind: 'good' });
  });

  it('C18: that are ignored end a critical streak', () => {
    const check = watchOne({ limit: 2, interval: 15, ignoreWarnings: true });
    check.pass(1, 'critical');
    check.pass(10, 'warning');
    expect(check.pass(12, 'critical')).toStrictEqual(counting(27));
    expect(check.pass(27, 'critical')).toStrictEqual(due(12));
  });

  it('C18: and critical are one streak', () => {
    const check = watchOne({ limit: 2, interval: 15 });
    check.pass(1, 'critical');
    check.pass(10, 'warning');
    expect(check.pass(16, 'critical')).toStrictEqual(due(1));
  });
});

describe('grace', () => {
  it('C16: runs from the start of the task, not from the first sighting', () => {
    const check = watchOne({ limit: 1, grace: 30, startedAt: 30 });
    expect(check.pass(30, 'critical')).toStrictEqual(waiting('in-grace', 60));
    expect(check.pass(59.999, 'critical')).toStrictEqual(waiting('in-grace', 60));
    expect(check.pass(60, 'critical')).toStrictEqual(due(60));
  });

  it('begins no streak', () => {
    const check = watchOne({ grace: 30 });
    check.pass(0, 'critical');
    expect(check.state).toBeUndefined();
    check.pass(29, 'critical');
    expect(check.pass(30, 'critical')).toStrictEqual(counting(50));
  });

  it('C16: healed in grace is good', () => {
    const check = watchOne({ limit: 1, grace: 30 });
    check.pass(0, 'critical');
    expect(check.pass(20, 'passing')).toStrictEqual({ kind: 'good' });
  });

  it('C16: a task that ECS has not seen running has no grace to wait for and is never due', () => {
    const check = watchOne({ limit: 1, startedAt: undefined });
    expect(check.pass(1000, 'critical')).toStrictEqual(waiting('not-running'));
    expect(check.state).toBeUndefined();
  });

  it('the start of the task is remembered for passes in which ECS was not asked', () => {
    const check = watchOne({ grace: 5, startedAt: 0 });
    check.pass(5, 'critical');
    expect(check.pass(25, 'critical', { startedAt: undefined })).toStrictEqual(due(5));
  });
});

describe('another task', () => {
  it('starts afresh', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical', { task: 'task-2', startedAt: 12 })).toStrictEqual(counting(40));
    expect(check.state).toMatchObject({ taskArn: 'task-2', startedAtMs: 12_000 });
  });

  it('has its own grace', () => {
    const check = watchOne({ grace: 15 });
    check.pass(15, 'critical');
    expect(check.pass(40, 'critical', { task: 'task-2', startedAt: 30 })).toStrictEqual(waiting('in-grace', 45));
  });

  it('does not inherit the start of the old one', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical', { task: 'task-2', startedAt: undefined })).toStrictEqual(waiting('not-running'));
  });

  it('does not inherit settling, absence or freeze of the old one', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    check.pass(500, 'critical', { maintenance: true });
    check.pass(501, 'absent', { maintenance: true });
    expect(check.pass(502, 'critical', { task: 'task-2', startedAt: 501 })).toStrictEqual(due(502));
    expect(check.state).toStrictEqual({
      taskArn: 'task-2',
      startedAtMs: 501_000,
      seenMs: 502_000,
      streak: { sinceMs: 502_000, countedFromMs: 502_000 },
    });
  });
});

describe('a changed policy applies to the stored streak', () => {
  it('a smaller limit', () => {
    const check = watchOne({ limit: 5 });
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical')).toStrictEqual(counting(40));
    expect(check.pass(20, 'critical', { limit: 3 })).toStrictEqual(due(0));
  });

  it('a larger limit', () => {
    const check = watchOne({ limit: 3 });
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical', { limit: 4 })).toStrictEqual(counting(30));
  });

  it('another interval', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(12, 'critical', { interval: 6 })).toStrictEqual(due(0));
    expect(check.pass(12, 'critical', { interval: 20 })).toStrictEqual(counting(40));
  });

  it('a longer grace that is not over drops the streak', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical', { grace: 30 })).toStrictEqual(waiting('in-grace', 30));
    expect(check.state).toBeUndefined();
  });

  it('a longer grace that is over takes its part of the streak', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    expect(check.pass(20, 'critical', { grace: 12 })).toStrictEqual(counting(32));
    expect(check.pass(32, 'critical', { grace: 12 })).toStrictEqual(due(0));
  });

  it('a shorter grace begins no streak in the past', () => {
    const check = watchOne({ grace: 60 });
    check.pass(30, 'critical');
    expect(check.pass(31, 'critical', { grace: 0 })).toStrictEqual(counting(51));
  });

  it('warnings that are ignored from now on', () => {
    const check = watchOne();
    check.pass(0, 'warning');
    expect(check.pass(20, 'warning', { ignoreWarnings: true })).toStrictEqual({ kind: 'good' });
  });
});
