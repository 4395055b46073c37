import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../lib/proxies/fingerprint.ts';
import { planReconcile } from '../../lib/proxies/plan.ts';
import { kill, RUNNING } from '../../lib/proxies/run-state.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../lib/proxies/settings.ts';
import { NO_MEMORY } from '../../lib/proxies/trust.ts';
import { declare } from './chaos.ts';
import { DOUBTFUL, good, idle, launchOf, NOW, plan, running, short, task, WEB } from './make.ts';

const OTHER = declare('db-proxy', 'A');

describe('equal declarations', () => {
  it('change no state, so that nothing is written', () => {
    const before = running();
    const result = plan({ states: [before], tasks: [task()] });
    expect(result.changed).toEqual([]);
    expect(result.states.get(WEB)).toBe(before);
    expect(result.nextAttemptMs).toBeUndefined();
  });
});

describe('an empty declared set', () => {
  const given = {
    declared: good(),
    states: [running()],
    tasks: [task()],
    settings: { ...DEFAULT_PROXY_SETTINGS, removalDelayMs: 0 },
  };

  it('is not believed at first', () => {
    const result = plan(given);
    expect(short(result)).toEqual(['keep web-proxy running']);
    expect(result.memory.emptyAtMs).toBe(NOW);
    expect(result.problems.map((problem) => problem.reason)).toEqual(['empty-declarations']);
  });

  it.each([
    ['at the same instant: one answer', NOW, ['keep web-proxy running']],
    ['later: believed', NOW - 1, ['stop task/1 removed']],
  ])('seen again %s', (_name, emptyAtMs, expected) => {
    expect(short(plan({ ...given, memory: { emptyAtMs, stops: [] } }))).toEqual(expected);
  });

  it('is counted from the start after an unusable answer', () => {
    expect(
      plan({ ...given, declared: DOUBTFUL, memory: { emptyAtMs: NOW - 1, stops: [] } }).memory.emptyAtMs,
    ).toBeUndefined();
  });

  it('is surprising too where all states were lost and tasks run', () => {
    expect(short(plan({ ...given, states: [] }))).toEqual(['keep web-proxy running']);
  });
});

describe('generations', () => {
  it('are never used twice, not even after the proxy was forgotten', () => {
    const tokens = [plan({}), plan({ nowMs: NOW + 5 })].map(
      ({ actions: [start] }) => start?.kind === 'start' && start.clientTokenText,
    );
    expect(new Set(tokens).size).toBe(2);
  });

  it('stay for a launch of unknown outcome', () => {
    const { actions } = plan({ states: [idle({ launch: launchOf() })] });
    expect(actions).toMatchObject([{ kind: 'start', generation: 7, clientTokenText: canonicalJson([WEB, 'A', 7]) }]);
  });
});

describe('execMode service', () => {
  const spec = { execMode: 'service', cluster: 'prod', ecsService: 'gw' } as const;
  const declared = good({ proxyId: WEB, origin: '', usable: true, spec, config: {}, fingerprint: 'S' });

  it('starts and stops nothing', () => {
    const result = plan({ declared });
    expect(short(result)).toEqual(['keep web-proxy service']);
    expect(
      short(
        plan({
          declared: good(OTHER),
          states: [...result.states.values()].map((state) => ({ ...state, absentSinceMs: 1 })),
        }),
      ),
    ).toEqual(['start db-proxy declared', 'forget web-proxy removed']);
  });

  it('is deployed anew when it is unhealthy', () => {
    const result = plan({ declared, restarts: [{ proxyId: WEB, why: 'unhealthy', detail: '' }] });
    expect(result.actions).toEqual([
      { kind: 'redeploy', proxyId: WEB, cluster: 'prod', ecsService: 'gw', reason: 'unhealthy' },
    ]);
  });

  it('follows a task only after that is gone', () => {
    expect(short(plan({ declared, states: [running()], tasks: [task()] }))).toEqual(['stop task/1 replaced']);
    expect(short(plan({ declared, states: [running()], tasks: [task({ lastStatus: 'STOPPED' })] }))).toEqual([
      'keep web-proxy service',
    ]);
  });
});

describe('what is not for us', () => {
  it('reports a task of ours that names no proxy, and touches it only in a kill', () => {
    const { proxyId: _proxyId, ...stranger } = task({ taskArn: 'task/9' });
    const states = [running()];
    const calm = plan({ states, tasks: [task(), stranger] });
    expect(short(calm)).toEqual(['keep web-proxy running']);
    expect(calm.problems.map((problem) => problem.reason)).toEqual(['unidentified-task']);
    expect(
      short(plan({ states, tasks: [task(), stranger], runState: kill({ phase: 'running', kill: false }) })),
    ).toEqual(['stop task/1 killed', 'stop task/9 killed']);
  });

  it('does nothing at all while ECS cannot be read', () => {
    const states = new Map([[WEB, idle()]]);
    const result = planReconcile({
      nowMs: NOW,
      declared: good(declare(WEB, 'A')),
      settings: DEFAULT_PROXY_SETTINGS,
      runState: RUNNING,
      memory: NO_MEMORY,
      states,
      tasks: { read: 'doubtful', why: 'throttled' },
    });
    expect([result.actions, result.changed, result.problems.map((problem) => problem.reason)]).toEqual([
      [],
      [],
      ['ecs-error'],
    ]);
  });
});
