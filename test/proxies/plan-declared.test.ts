/** The table of DESIGN section 4, and what doubt makes of it. */
import { describe, expect, it } from 'vitest';
import { declare, invalid } from './chaos.ts';
import { DOUBTFUL, type Given, good, idle, NOW, plan, running, short, task, WEB } from './make.ts';

const OTHER = declare('db-proxy', 'A');
const TABLE: readonly (readonly [string, Given, readonly string[]])[] = [
  // The table of DESIGN section 4.
  ['declared, not running: started', {}, ['start web-proxy declared']],
  ['declared, same, running: nothing', { states: [running()], tasks: [task()] }, ['keep web-proxy running']],
  [
    'declared, ended after a long run: started again',
    { states: [running()], tasks: [task({ lastStatus: 'STOPPED', stoppedAtMs: NOW })] },
    ['start web-proxy restarted'],
  ],
  [
    'changed: stopped first',
    { declared: good(declare(WEB, 'B')), states: [running()], tasks: [task()] },
    ['stop task/1 replaced'],
  ],
  [
    'changed, stopping: waited for',
    { declared: good(declare(WEB, 'B')), states: [running()], tasks: [task({ desiredStatus: 'STOPPED' })] },
    ['wait web-proxy task-stopping'],
  ],
  [
    'changed, still deprovisioning: waited for',
    {
      declared: good(declare(WEB, 'B')),
      states: [running()],
      tasks: [task({ lastStatus: 'DEPROVISIONING', desiredStatus: 'STOPPED' })],
    },
    ['wait web-proxy task-stopping'],
  ],
  [
    'changed, stopped: the new one starts',
    {
      declared: good(declare(WEB, 'B')),
      states: [running({ counted: 9 })],
      tasks: [task({ lastStatus: 'STOPPED', stoppedAtMs: NOW, startedAtMs: NOW })],
    },
    ['start web-proxy restarted'],
  ],
  [
    'invalid, running: kept',
    { declared: good(invalid(WEB)), states: [running()], tasks: [task()] },
    ['keep web-proxy running'],
  ],
  ['invalid, never good: nothing', { declared: good(invalid(WEB)) }, []],
  [
    'no longer declared: removal delay first',
    { declared: good(OTHER), states: [running()], tasks: [task()] },
    ['start db-proxy declared', 'wait web-proxy removal-delay'],
  ],
  [
    'no longer declared, 1 ms before the end of the delay',
    { declared: good(OTHER), states: [running({ absentSinceMs: NOW - 29_999 })], tasks: [task()] },
    ['start db-proxy declared', 'wait web-proxy removal-delay'],
  ],
  [
    'no longer declared for the delay: stopped',
    { declared: good(OTHER), states: [running({ absentSinceMs: NOW - 30_000 })], tasks: [task()] },
    ['stop task/1 removed', 'start db-proxy declared'],
  ],
  [
    'no longer declared, STOPPED confirmed: forgotten',
    {
      declared: good(OTHER),
      states: [running({ absentSinceMs: NOW - 30_000 })],
      tasks: [task({ lastStatus: 'STOPPED' })],
    },
    ['start db-proxy declared', 'forget web-proxy removed'],
  ],
  [
    'no longer declared, crashed within the delay: not started',
    { declared: good(OTHER), states: [idle({ absentSinceMs: NOW - 1 })] },
    ['start db-proxy declared', 'wait web-proxy removal-delay'],
  ],
  [
    'declared again within the delay: kept',
    { states: [running({ absentSinceMs: NOW - 29_000 })], tasks: [task()] },
    ['keep web-proxy running'],
  ],
  ['backing off', { states: [idle({ nextAttemptMs: NOW + 1 })] }, ['wait web-proxy backoff']],
  ['backed off', { states: [idle({ nextAttemptMs: NOW })] }, ['start web-proxy restarted']],
  // Doubt.
  [
    'doubtful, running: nothing',
    { declared: DOUBTFUL, states: [running()], tasks: [task()] },
    ['keep web-proxy running'],
  ],
  [
    'doubtful, crashed: started from the last good declaration',
    { declared: DOUBTFUL, states: [running()], tasks: [task({ lastStatus: 'STOPPED' })] },
    ['start web-proxy restarted'],
  ],
  [
    'doubtful, removal due: not stopped',
    { declared: DOUBTFUL, states: [running({ absentSinceMs: 1 })], tasks: [task()] },
    ['wait web-proxy declaration-doubtful'],
  ],
  [
    'doubtful, removed and ended: neither started nor forgotten',
    { declared: DOUBTFUL, states: [idle({ absentSinceMs: 1 })] },
    ['wait web-proxy declaration-doubtful'],
  ],
  [
    'doubtful, replacement not begun: not stopped',
    { declared: DOUBTFUL, states: [running({ fingerprint: 'B' })], tasks: [task()] },
    ['keep web-proxy running'],
  ],
  [
    'doubtful, two tasks: none is stopped',
    { declared: DOUBTFUL, states: [running()], tasks: [task(), task({ taskArn: 'task/2' })] },
    ['keep web-proxy running'],
  ],
  [
    'doubtful, said to be unhealthy: not stopped',
    {
      declared: DOUBTFUL,
      states: [running()],
      tasks: [task()],
      restarts: [{ proxyId: WEB, why: 'unhealthy', detail: '' }],
    },
    ['keep web-proxy running'],
  ],
  [
    'doubtful, an operator asks: stopped',
    {
      declared: DOUBTFUL,
      states: [running()],
      tasks: [task()],
      restarts: [{ proxyId: WEB, why: 'operator', detail: '' }],
    },
    ['stop task/1 operator'],
  ],
  [
    'its cluster could not be read: left alone',
    { states: [idle()], doubtfulClusters: { prod: 'incomplete' } },
    ['report web-proxy ecs-error'],
  ],
  ['nobody asked about its task: left alone', { states: [running()] }, []],
  // MISSING.
  [
    'MISSING within the patience: alive',
    {
      states: [
        running({ task: { taskArn: 'task/1', cluster: 'prod', fingerprint: 'A', launchedAtMs: NOW - 179_999 } }),
      ],
      missing: ['task/1'],
    },
    ['keep web-proxy starting'],
  ],
  [
    'MISSING after the patience: dead',
    {
      states: [
        running({ task: { taskArn: 'task/1', cluster: 'prod', fingerprint: 'A', launchedAtMs: NOW - 180_000 } }),
      ],
      missing: ['task/1'],
    },
    ['start web-proxy restarted'],
  ],
];

describe('declared × remembered × running', () => {
  it.each(TABLE)('%s', (_name, given, expected) => expect(short(plan(given))).toEqual(expected));
});
