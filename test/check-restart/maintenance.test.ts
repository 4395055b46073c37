/** Maintenance freezes a streak: alone, and together with absences and outages. */
import { describe, expect, it } from 'vitest';
import { counting, due, waiting, watchOne, withheld } from './watch-one.ts';

const ON = { maintenance: true };

describe('maintenance', () => {
  it('C22: freezes the streak, which goes on where it stood', () => {
    const check = watchOne({ limit: 2 });
    for (const at of [5, 6, 7]) check.pass(at, 'critical');
    for (const at of [8, 15, 49]) expect(check.pass(at, 'critical', ON)).toStrictEqual(waiting('maintenance'));
    expect(check.pass(50, 'critical')).toStrictEqual(counting(57));
    expect(check.pass(57, 'critical')).toStrictEqual(due(5));
  });

  it('withholds what was due before', () => {
    const check = watchOne({ limit: 2 });
    check.pass(0, 'critical');
    expect(check.pass(10, 'critical', ON)).toStrictEqual(withheld('maintenance', 0));
    expect(check.pass(11, 'critical')).toStrictEqual(due(0));
  });

  it('withholds a hair trigger', () => {
    expect(watchOne({ limit: 1 }).pass(10, 'critical', ON)).toStrictEqual(waiting('maintenance'));
  });

  it('begins no streak', () => {
    const check = watchOne({ limit: 2 });
    check.pass(0, 'critical', ON);
    expect(check.state).toBeUndefined();
    expect(check.pass(50, 'critical')).toStrictEqual(counting(60));
  });

  it('does not keep a good check from clearing its streak', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    expect(check.pass(6, 'passing', ON)).toStrictEqual({ kind: 'good' });
    expect(check.state).toBeUndefined();
  });

  it('comes after grace in what is reported', () => {
    expect(watchOne({ grace: 20 }).pass(10, 'critical', ON)).toStrictEqual(waiting('in-grace', 20));
  });

  it('that comes twice is taken off twice', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    check.pass(15, 'critical');
    check.pass(20, 'critical', ON);
    expect(check.pass(50, 'critical')).toStrictEqual(counting(60));
    expect(check.pass(60, 'critical')).toStrictEqual(due(0));
  });
});

describe('maintenance and absence', () => {
  it('that begins and ends while the check is absent is taken off the absence', () => {
    const check = watchOne({ gap: null, limit: 6 });
    check.pass(0, 'critical');
    check.pass(5, 'absent');
    check.pass(10, 'absent', ON);
    check.pass(30, 'absent');
    expect(check.pass(50, 'critical')).toStrictEqual(counting(70));
    expect(check.pass(70, 'critical')).toStrictEqual(due(0));
  });

  it('that ends in an absence does not count, what follows of the absence does', () => {
    const check = watchOne({ gap: null, limit: 6 });
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    check.pass(100, 'critical', ON);
    check.pass(110, 'absent', ON);
    check.pass(120, 'absent');
    expect(check.pass(140, 'critical')).toStrictEqual(counting(165));
  });

  it('that was long does not excuse a long absence after it', () => {
    const check = watchOne({ limit: 12, settle: 0 });
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    check.pass(1000, 'critical', ON);
    check.pass(1010, 'absent', ON);
    check.pass(1020, 'absent');
    // 5 s before the maintenance, and of 480 s of absence the 90 s that the gap allows
    expect(check.pass(1500, 'critical')).toStrictEqual(counting(1515));
  });

  it('that begins after a long absence does not excuse it, whether the check comes back during it or after it', () => {
    for (const backDuring of [true, false]) {
      const check = watchOne({ limit: 11, settle: 0 });
      check.pass(0, 'critical');
      check.pass(10, 'absent');
      check.pass(1000, 'absent', ON);
      if (backDuring) check.pass(1050, 'critical', ON);
      expect(check.pass(1100, 'critical')).toStrictEqual(counting(1110));
    }
  });

  it('that fills an absence leaves it a gap after which things settle', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    check.pass(10, 'absent');
    check.pass(20, 'absent', ON);
    check.pass(500, 'absent');
    expect(check.pass(510, 'critical')).toStrictEqual(withheld('not-observed', 0, 570));
  });

  it('an absent check without a streak has nothing to freeze', () => {
    const check = watchOne();
    check.pass(0, 'critical', { unrun: true });
    check.pass(1, 'absent', ON);
    expect(check.state).not.toHaveProperty('frozenSinceMs');
  });
});

describe('maintenance and outages', () => {
  it('a blind time before maintenance is seen counts as far as the gap allows', () => {
    const check = watchOne({ limit: 11, settle: 0 });
    check.pass(0, 'critical');
    expect(check.pass(1000, 'critical', ON)).toStrictEqual(waiting('maintenance'));
    expect(check.pass(1100, 'critical')).toStrictEqual(counting(1110));
  });

  it('maintenance that ends unseen lasts until the next sighting', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    expect(check.pass(80, 'critical')).toStrictEqual(counting(95));
  });

  it('an outage in maintenance is a gap after which things settle', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    expect(check.pass(500, 'critical')).toStrictEqual(withheld('not-observed', 0, 560));
  });

  it('an outage within maintenance does not age the streak', () => {
    const check = watchOne({ settle: 0 });
    check.pass(0, 'critical');
    check.pass(5, 'critical', ON);
    check.pass(500, 'critical', ON);
    expect(check.pass(501, 'critical')).toStrictEqual(counting(516));
  });
});
