/** A check that has not run since its registration, or since its agent's restart, says nothing for a minute. */
import { describe, expect, it } from 'vitest';
import { isUnrun, UNRUN_PATIENCE_MS } from '../../lib/check-restart/evaluation.ts';
import { counting, due, waiting, watchOne, withheld } from './watch-one.ts';

const UNRUN = { unrun: true };

describe('what looks as if it had not run', () => {
  it.each(['http', 'tcp', 'udp', 'grpc', 'script', 'docker', 'alias', 'h2ping', 'os_service', 'HTTP'])(
    'a critical %s check without output',
    (type) => {
      expect(isUnrun({ status: 'critical', type, output: '' })).toBe(true);
    },
  );

  it.each<[string, string, string]>([
    ['critical', 'ttl', ''],
    ['critical', '', ''],
    ['critical', 'consul-ecs-health-check', ''],
    ['critical', 'http', 'connection refused'],
    ['critical', 'http', ' '],
    ['warning', 'http', ''],
    ['passing', 'http', ''],
  ])('not a %s check of type %j with output %j', (status, type, output) => {
    expect(isUnrun({ status, type, output })).toBe(false);
  });
});

describe('a check that has not run', () => {
  it('counts as absent for its first 60 s, then as bad', () => {
    const check = watchOne({ limit: 1 });
    expect(UNRUN_PATIENCE_MS).toBe(60_000);
    expect(check.pass(5, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 65));
    expect(check.pass(64.999, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 65));
    expect(check.pass(65, 'critical', UNRUN)).toStrictEqual(due(65));
  });

  it('goes on being bad after its 60 s', () => {
    const check = watchOne({ limit: 3 });
    check.pass(0, 'critical', UNRUN);
    expect(check.pass(60, 'critical', UNRUN)).toStrictEqual(counting(80));
    expect(check.pass(61, 'critical', UNRUN)).toStrictEqual(counting(80));
    expect(check.pass(80, 'critical', UNRUN)).toStrictEqual(due(60));
  });

  it('neither clears nor ages a streak that there was, but within the gap its time counts', () => {
    const check = watchOne({ limit: 5, interval: 10 });
    check.pass(0, 'critical');
    expect(check.pass(10, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 70));
    expect(check.pass(40, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 70));
    expect(check.pass(50, 'critical')).toStrictEqual(due(0));
  });

  it('for longer than the gap allows settles as after any absence', () => {
    const check = watchOne({ limit: 5, interval: 10, gap: 30 });
    check.pass(0, 'critical');
    check.pass(10, 'critical', UNRUN);
    expect(check.pass(50, 'critical')).toStrictEqual(counting(110));
    expect(check.pass(60, 'critical')).toStrictEqual(withheld('not-observed', 0, 110));
  });

  it('has its patience anew once it has run', () => {
    const check = watchOne({ limit: 100 });
    check.pass(0, 'critical', UNRUN);
    check.pass(50, 'critical');
    expect(check.state).not.toHaveProperty('unrunSinceMs');
    expect(check.pass(70, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 130));
  });

  it('has its patience anew once it has run, also in grace', () => {
    const check = watchOne({ grace: 100 });
    check.pass(0, 'critical', UNRUN);
    check.pass(50, 'critical');
    expect(check.state).toBeUndefined();
    expect(check.pass(70, 'critical', UNRUN)).toStrictEqual(waiting('not-observed', 130));
  });

  it('that then passes is good', () => {
    const check = watchOne();
    check.pass(0, 'critical', UNRUN);
    expect(check.pass(1, 'passing')).toStrictEqual({ kind: 'good' });
    expect(check.state).toBeUndefined();
  });

  it('does not get its patience again and again from a grace that lasts longer', () => {
    const check = watchOne({ limit: 1, grace: 90 });
    check.pass(0, 'critical', UNRUN);
    expect(check.pass(60, 'critical', UNRUN)).toStrictEqual(waiting('in-grace', 90));
    expect(check.pass(61, 'critical', UNRUN)).toStrictEqual(waiting('in-grace', 90));
    expect(check.pass(90, 'critical', UNRUN)).toStrictEqual(due(90));
  });

  it('nor from a maintenance', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical', UNRUN);
    expect(check.pass(60, 'critical', { unrun: true, maintenance: true })).toStrictEqual(waiting('maintenance'));
    expect(check.pass(61, 'critical', { unrun: true, maintenance: true })).toStrictEqual(waiting('maintenance'));
    expect(check.pass(90, 'critical', UNRUN)).toStrictEqual(due(90));
  });

  it('nor from a task that does not run yet', () => {
    const check = watchOne({ limit: 1, startedAt: undefined });
    check.pass(0, 'critical', UNRUN);
    expect(check.pass(60, 'critical', UNRUN)).toStrictEqual(waiting('not-running'));
    expect(check.pass(61, 'critical', { unrun: true, startedAt: 61 })).toStrictEqual(due(61));
  });

  it('of another task has its own patience', () => {
    const check = watchOne({ limit: 1 });
    check.pass(0, 'critical', UNRUN);
    const other = { unrun: true, task: 'task-2' };
    expect(check.pass(59, 'critical', other)).toStrictEqual(waiting('not-observed', 119));
  });

  it('is frozen with its streak by a maintenance', () => {
    const check = watchOne();
    check.pass(0, 'critical');
    check.pass(10, 'critical', { unrun: true, maintenance: true });
    check.pass(30, 'critical', UNRUN);
    expect(check.pass(35, 'critical')).toStrictEqual(counting(40));
  });
});
