import { describe, expect, it } from 'vitest';
import { kill, RUNNING } from '../../lib/proxies/run-state.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../lib/proxies/settings.ts';
import { declare } from './chaos.ts';
import { type Given, good, NOW, plan, running, task } from './make.ts';

/** `count` running proxies, of which one is still declared. */
function mass(count: number, change: Given = {}): ReturnType<typeof plan> {
  const ids = Array.from({ length: count }, (_, index) => `p${String(index).padStart(4, '0')}`);
  const states = ids.map((proxyId) =>
    running({
      proxyId,
      absentSinceMs: 1,
      task: { taskArn: `task/${proxyId}`, cluster: 'prod', fingerprint: 'A', launchedAtMs: 1 },
    }),
  );
  const tasks = ids.map((proxyId) => task({ proxyId, taskArn: `task/${proxyId}` }));
  return plan({ declared: good(declare('other', 'A')), states, tasks, ...change });
}

const stops = (result: ReturnType<typeof plan>): number =>
  result.actions.filter((action) => action.kind === 'stop').length;

describe('the stop cap', () => {
  it.each([
    [2, 2],
    [3, 3],
    [10, 3],
    [19, 3],
    [20, 4],
    [1000, 200],
  ])('of %d proxies allows %d stops a minute', (count, expected) => expect(stops(mass(count))).toBe(expected));

  it('holds the others back until the first of them is a minute old', () => {
    const result = mass(10, {
      memory: {
        stops: [
          { proxyId: 'x', atMs: NOW - 59_999 },
          { proxyId: 'y', atMs: NOW - 60_000 },
        ],
      },
    });
    expect(stops(result)).toBe(2);
    expect(result.actions.filter((action) => action.kind === 'wait')[0]).toMatchObject({
      reason: 'stop-cap',
      untilMs: NOW + 1,
    });
    expect(result.nextAttemptMs).toBe(NOW + 1);
  });

  it('is lifted once by an operator', () => {
    expect(stops(mass(10, { stops: 8 }))).toBe(8);
    expect(stops(mass(10, { stops: 1 }))).toBe(3);
  });

  it('can be switched off', () => {
    expect(stops(mass(10, { settings: { ...DEFAULT_PROXY_SETTINGS, stopCap: null } }))).toBe(10);
  });

  it('does not count replacements', () => {
    const result = mass(10);
    const ids = [...result.states.keys()].filter((id) => id !== 'other');
    expect(stops(mass(10, { declared: good(...ids.map((id) => declare(id, 'B'))) }))).toBe(10);
  });

  it('does not hold a kill back', () => expect(stops(mass(10, { runState: kill(RUNNING) }))).toBe(10));

  it('is not used up by stops that fail again and again', () => {
    const failing = ['p0000', 'p0001', 'p0002'].map((proxyId) => {
      const stop = {
        taskArn: `task/${proxyId}`,
        why: 'removed',
        tries: 5,
        triedAtMs: 1,
        outcome: 'failed',
        nextTryMs: 2,
      } as const;
      return running({
        proxyId,
        absentSinceMs: 1,
        stop,
        task: { taskArn: `task/${proxyId}`, cluster: 'prod', launchedAtMs: 1 },
      });
    });
    const fresh = ['p0003', 'p0004', 'p0005'].map((proxyId) =>
      running({ proxyId, absentSinceMs: 1, task: { taskArn: `task/${proxyId}`, cluster: 'prod', launchedAtMs: 1 } }),
    );
    const states = [...failing, ...fresh];
    const tasks = states.map(({ proxyId }) => task({ proxyId, taskArn: `task/${proxyId}` }));
    const result = plan({ declared: good(declare('other', 'A')), states, tasks });
    expect(result.actions.flatMap((action) => (action.kind === 'stop' ? [action.proxyId] : []))).toEqual([
      'p0003',
      'p0004',
      'p0005',
    ]);
  });
});
