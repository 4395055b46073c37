import { describe, expect, it } from 'vitest';
import { type ActionOutcome, foldOutcome, foldOutcomes } from '../../lib/proxies/outcome.ts';
import { startAnew } from '../../lib/proxies/proxy-state.ts';
import { DEFAULT_PROXY_SETTINGS as SETTINGS } from '../../lib/proxies/settings.ts';
import { NO_MEMORY } from '../../lib/proxies/trust.ts';
import { idle, launchOf, NOW, running, WEB } from './make.ts';

const launching = idle({ launch: launchOf({ triedAtMs: NOW }) });
const failed = { kind: 'launch-failed', proxyId: WEB, generation: 7, reason: 'AGENT' } as const;
const refused = { kind: 'launch-refused', proxyId: WEB, generation: 7, code: 'ClientException', message: 'x' } as const;
const unknown = { kind: 'launch-unknown', proxyId: WEB, generation: 7, message: 'timeout' } as const;

describe('a launch', () => {
  it('that made a task counts, and is over', () => {
    const after = foldOutcome(
      launching,
      { kind: 'launched', proxyId: WEB, generation: 7, taskArn: 'task/2' },
      SETTINGS,
      NOW,
    );
    expect(after).toMatchObject({
      counted: 2,
      launches: 2,
      task: { taskArn: 'task/2', fingerprint: 'A', generation: 7, launchedAtMs: NOW },
    });
    expect(after.launch).toBeUndefined();
  });

  it.each([failed, refused])(
    'that is known to have made none counts, and gets the next generation: $kind',
    (outcome) => {
      const after = foldOutcome(launching, outcome, SETTINGS, NOW);
      expect(after.launch).toBeUndefined();
      expect(after).toMatchObject({ counted: 2, launches: 2, generation: NOW });
    },
  );

  it('of unknown outcome keeps generation and token, and is repeated after 2 s', () => {
    const after = foldOutcome(launching, unknown, SETTINGS, NOW);
    expect(after).toMatchObject({ generation: 7, counted: 1, nextAttemptMs: NOW + 2000 });
    expect(after.launch).toMatchObject({ generation: 7, outcome: 'unknown', maybeMadeAtMs: NOW });
  });

  it('refused after one of unknown outcome keeps them too: the earlier try may have made a task', () => {
    const before = foldOutcome(launching, unknown, SETTINGS, NOW - 5000);
    const after = foldOutcome(before, refused, SETTINGS, NOW);
    expect(after.launch).toMatchObject({ generation: 7, outcome: 'refused', maybeMadeAtMs: NOW - 5000 });
  });

  it('with failures[] after one of unknown outcome made none: a token that made a task is answered with it', () => {
    const before = foldOutcome(launching, unknown, SETTINGS, NOW - 5000);
    expect(foldOutcome(before, failed, SETTINGS, NOW).launch).toBeUndefined();
  });

  it('of another generation changes nothing', () => {
    expect(foldOutcome(launching, { ...failed, generation: 6 }, SETTINGS, NOW)).toBe(launching);
  });
});

describe('all outcomes of a pass', () => {
  const stop = { taskArn: 'task/1', why: 'removed', tries: 1, triedAtMs: NOW, outcome: 'open' } as const;
  const three = ['a', 'b', 'c'].map((proxyId) => running({ proxyId, stop: { ...stop, taskArn: `task/${proxyId}` } }));
  const states = new Map(three.map((state) => [state.proxyId, state]));
  const memory = { stops: three.map(({ proxyId }) => ({ proxyId, atMs: NOW })) };
  const outcomes: ActionOutcome[] = [
    { kind: 'stop-failed', proxyId: 'a', taskArn: 'task/a', message: 'AccessDenied' },
    { kind: 'stop-accepted', proxyId: 'b', taskArn: 'task/b' },
    { kind: 'stop-unknown', proxyId: 'c', taskArn: 'task/c', message: 'timeout' },
  ];

  it.each([outcomes, [...outcomes].reverse()])('are taken in, whatever the order: two of three fail', (...list) => {
    const after = foldOutcomes({ states, memory }, list, SETTINGS, NOW);
    expect(after.problems.map((problem) => problem.proxyId).sort()).toEqual(['a', 'c']);
    expect([...after.states.values()].map((state) => state.stop?.outcome)).toEqual(['failed', 'accepted', 'failed']);
    expect(after.nextAttemptMs).toBe(NOW + 2000);
  });

  it('give the place in the cap of a refused stop back', () => {
    expect(foldOutcomes({ states, memory }, outcomes, SETTINGS, NOW).memory.stops.map((one) => one.proxyId)).toEqual([
      'b',
      'c',
    ]);
  });

  it('report a failed stop of a task that no state knows', () => {
    const after = foldOutcomes(
      { states, memory: NO_MEMORY },
      [{ kind: 'stop-failed', taskArn: 'task/9', message: 'x' }],
      SETTINGS,
      NOW,
    );
    expect([after.problems.length, after.changed]).toEqual([1, []]);
  });

  it('want a launch that failed for the first time to be tried at once', () => {
    const before = { states: new Map([[WEB, idle({ launch: launchOf(), counted: 0 })]]), memory: NO_MEMORY };
    expect(foldOutcomes(before, [failed], SETTINGS, NOW).nextAttemptMs).toBe(NOW);
  });
});

describe('run', () => {
  it('begins with fresh counts and knows what runs', () => {
    const after = startAnew(idle({ counted: 9, nextAttemptMs: NOW + 60_000, launch: launchOf() }));
    expect([after.counted, after.nextAttemptMs, after.launch?.generation]).toEqual([0, undefined, 7]);
    expect(startAnew(running()).task).toEqual(running().task);
  });
});
