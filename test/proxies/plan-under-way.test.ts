/** Launches, restarts and stops that are under way, and tasks that nobody remembers. */
import { describe, expect, it } from 'vitest';
import { declare } from './chaos.ts';
import { type Given, good, idle, launchOf, NOW, plan, running, short, task, WEB } from './make.ts';

const OTHER = declare('db-proxy', 'A');
const TABLE: readonly (readonly [string, Given, readonly string[]])[] = [
  // Launches of unknown outcome.
  [
    'intent without an outcome: the same launch again',
    { states: [idle({ launch: launchOf() })] },
    ['start web-proxy launch-unknown'],
  ],
  [
    'its task is listed: adopted',
    { states: [idle({ launch: launchOf() })], tasks: [task()] },
    ['keep web-proxy running'],
  ],
  [
    'its declaration has changed: waited for',
    { declared: good(declare(WEB, 'B')), states: [idle({ launch: launchOf() })] },
    ['wait web-proxy launch-unknown'],
  ],
  [
    'a second try may have made it later than the first',
    {
      declared: good(declare(WEB, 'B')),
      states: [idle({ launch: launchOf({ tries: 2, maybeMadeAtMs: NOW - 181_000, triedAtMs: NOW - 11_000 }) })],
    },
    ['wait web-proxy launch-unknown'],
  ],
  [
    'changed, and it never came to light: the new one starts',
    { declared: good(declare(WEB, 'B')), states: [idle({ launch: launchOf({ triedAtMs: NOW - 180_000 }) })] },
    ['start web-proxy restarted'],
  ],
  [
    'removed: not forgotten before it would have come to light',
    { declared: good(OTHER), states: [idle({ launch: launchOf(), absentSinceMs: 1 })] },
    ['start db-proxy declared', 'wait web-proxy launch-unknown'],
  ],
  // Tasks that nobody remembers.
  ['state lost: adopted, not started again', { tasks: [task()] }, ['keep web-proxy running']],
  [
    'state lost, tags unknown: adopted as it is',
    { tasks: [task({ fingerprint: undefined, generation: undefined } as object)] },
    ['keep web-proxy running'],
  ],
  [
    'state lost, other declaration: replaced',
    { declared: good(declare(WEB, 'B')), tasks: [task()] },
    ['stop task/1 replaced'],
  ],
  ['state unreadable, nothing runs: not started yet', { unreadable: [WEB] }, ['wait web-proxy state-rebuilt']],
  [
    'two of one proxy: the remembered one stays',
    { states: [running()], tasks: [task({ taskArn: 'task/0' }), task()] },
    ['stop task/0 duplicate', 'keep web-proxy running'],
  ],
  [
    'two, none remembered: the older one stays',
    { states: [idle()], tasks: [task({ taskArn: 'task/0', startedAtMs: NOW }), task()] },
    ['stop task/0 duplicate', 'keep web-proxy running'],
  ],
  [
    'nothing remembered, one still stopping: none is started beside it',
    { states: [idle()], tasks: [task({ taskArn: 'task/0', desiredStatus: 'STOPPED' })] },
    ['wait web-proxy task-stopping'],
  ],
  [
    'an undeclared one of ours: removal delay first',
    { declared: good(OTHER), tasks: [task()] },
    ['start db-proxy declared', 'wait web-proxy removal-delay'],
  ],
  // Restarts.
  [
    'unhealthy: stopped',
    {
      states: [running()],
      tasks: [task()],
      restarts: [{ proxyId: WEB, why: 'unhealthy', taskArn: 'task/1', detail: '' }],
    },
    ['stop task/1 unhealthy'],
  ],
  [
    'another task was judged: not stopped',
    {
      states: [running()],
      tasks: [task()],
      restarts: [{ proxyId: WEB, why: 'unhealthy', taskArn: 'task/0', detail: '' }],
    },
    ['keep web-proxy running'],
  ],
  [
    'a restart whose stop failed is tried again without being asked for',
    {
      states: [
        running({
          stop: { taskArn: 'task/1', why: 'unhealthy', tries: 1, triedAtMs: 1, outcome: 'failed', nextTryMs: NOW },
        }),
      ],
      tasks: [task()],
    },
    ['stop task/1 unhealthy'],
  ],
  [
    'an operator restarts a waiting one',
    { states: [idle({ nextAttemptMs: NOW + 9000 })], restarts: [{ proxyId: WEB, why: 'operator', detail: '' }] },
    ['start web-proxy restarted'],
  ],
  // Stops.
  [
    'accepted a moment ago: not repeated',
    {
      declared: good(declare(WEB, 'B')),
      states: [
        running({
          stop: { taskArn: 'task/1', why: 'replaced', tries: 1, triedAtMs: NOW - 29_999, outcome: 'accepted' },
        }),
      ],
      tasks: [task()],
    },
    ['wait web-proxy stop-unconfirmed'],
  ],
  [
    'accepted, no effect: repeated',
    {
      declared: good(declare(WEB, 'B')),
      states: [
        running({
          stop: { taskArn: 'task/1', why: 'replaced', tries: 1, triedAtMs: NOW - 30_000, outcome: 'accepted' },
        }),
      ],
      tasks: [task()],
    },
    ['stop task/1 replaced'],
  ],
  [
    'not answered: repeated at once',
    {
      declared: good(declare(WEB, 'B')),
      states: [
        running({ stop: { taskArn: 'task/1', why: 'replaced', tries: 1, triedAtMs: NOW - 1, outcome: 'open' } }),
      ],
      tasks: [task()],
    },
    ['stop task/1 replaced'],
  ],
  [
    'failed, and not wanted any more: kept',
    {
      states: [
        running({
          stop: { taskArn: 'task/1', why: 'removed', tries: 1, triedAtMs: 1, outcome: 'failed', nextTryMs: 2 },
        }),
      ],
      tasks: [task()],
    },
    ['keep web-proxy running'],
  ],
];

describe('what is under way', () => {
  it.each(TABLE)('%s', (_name, given, expected) => expect(short(plan(given))).toEqual(expected));
});

describe('a stop', () => {
  const failed = { taskArn: 'task/1', why: 'removed', tries: 1, triedAtMs: 1, outcome: 'failed' } as const;

  it('that failed is reported by each pass, and tried again at its time', () => {
    const stop = { ...failed, nextTryMs: NOW + 1, problem: 'AccessDenied' };
    const given = { declared: good(OTHER), states: [running({ absentSinceMs: 1, stop })], tasks: [task()] };
    const early = plan(given);
    expect(short(early)).toEqual(['start db-proxy declared', 'wait web-proxy stop-failed']);
    expect(early.problems).toMatchObject([{ proxyId: WEB, reason: 'stop-failed', message: 'AccessDenied' }]);
    expect(early.nextAttemptMs).toBe(NOW + 1);
    expect(short(plan({ ...given, nowMs: NOW + 1 }))).toEqual(['stop task/1 removed', 'start db-proxy declared']);
  });

  it('that is not wanted any more is dropped', () => {
    expect(plan({ states: [running({ stop: failed })], tasks: [task()] }).states.get(WEB)?.stop).toBeUndefined();
  });

  it('is not over before STOPPED: neither an end nor a new generation', () => {
    const result = plan({ states: [running()], tasks: [task({ desiredStatus: 'STOPPED' })] });
    expect(result.states.get(WEB)).toMatchObject({ task: { taskArn: 'task/1' }, exits: 0, generation: 7 });
  });
});
