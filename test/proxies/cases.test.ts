/** The proxy and event cases of cases.md, as far as they are decisions. */
import { describe, expect, it } from 'vitest';
import { foldOutcomes, type LaunchOutcome } from '../../lib/proxies/outcome.ts';
import type { ProxyState } from '../../lib/proxies/proxy-state.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../lib/proxies/settings.ts';
import { NO_MEMORY } from '../../lib/proxies/trust.ts';
import { CALM, Deployment, declare } from './chaos.ts';
import { DOUBTFUL, good, NOW, plan, running, short, task, WEB } from './make.ts';

describe('cases of proxies', () => {
  it('C37: failures[] count as launches with their reasons, and one proxy never delays another', () => {
    const answers: Record<string, (string | undefined)[]> = {
      'web-proxy': ['AGENT', 'RESOURCE:MEMORY', undefined],
      'db-proxy': Array.from({ length: 20 }, () => 'ATTRIBUTE'),
    };
    let states: readonly ProxyState[] = [];
    const launches: Record<string, number[]> = { 'web-proxy': [], 'db-proxy': [] };
    const problems: string[] = [];
    const declared = good(declare('web-proxy', 'A'), declare('db-proxy', 'A'));
    for (let nowMs = NOW; nowMs < NOW + 20_000; nowMs += 500) {
      const running = states.flatMap((state) =>
        state.task ? [task({ taskArn: state.task.taskArn, proxyId: state.proxyId })] : [],
      );
      const result = plan({ nowMs, declared, states, tasks: running });
      const outcomes = result.actions.flatMap((action): LaunchOutcome[] => {
        if (action.kind !== 'start') return [];
        const { proxyId, generation } = action;
        launches[proxyId]?.push(nowMs - NOW);
        const reason = answers[proxyId]?.shift();
        if (reason === undefined) return [{ kind: 'launched', proxyId, generation, taskArn: `task/${proxyId}` }];
        return [{ kind: 'launch-failed', proxyId, generation, reason }];
      });
      const folded = foldOutcomes(
        { states: result.states, memory: NO_MEMORY },
        outcomes,
        DEFAULT_PROXY_SETTINGS,
        nowMs,
      );
      states = [...folded.states.values()];
      problems.push(...folded.problems.map(({ proxyId, message, temporary }) => `${proxyId} ${message} ${temporary}`));
    }
    expect(launches).toEqual({ 'web-proxy': [0, 500, 1000], 'db-proxy': [0, 500, 1000, 3000, 7000, 15_000] });
    expect(problems.slice(0, 3)).toEqual([
      'db-proxy RunTask: ATTRIBUTE (not temporary: it needs a change) false',
      'web-proxy RunTask: AGENT true',
      'db-proxy RunTask: ATTRIBUTE (not temporary: it needs a change) false',
    ]);
  });

  it('C38: a lost answer and MISSING for 20 s: one task, one token', () => {
    const deployment = new Deployment();
    const declared = good(declare(WEB, 'A'));
    const tokens = new Set<string>();
    deployment.pass(declared, { ...CALM, fates: ['lost'], lagMs: 20_000 });
    for (let pass = 0; pass < 60; pass += 1, deployment.nowMs += 1000) {
      for (const action of deployment.pass(declared).actions)
        if (action.kind === 'start') tokens.add(action.clientTokenText);
    }
    expect([deployment.ecs.launches, deployment.ecs.running(), tokens.size]).toEqual([1, ['task/1'], 1]);
  });

  it('C39: one empty answer stops nothing; tasks that are not ours are in no answer at all', () => {
    const deployment = new Deployment({ removalDelayMs: 0 });
    const six = good(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => declare(id, 'A')));
    deployment.pass(six);
    for (const declared of [good(), six, good(), DOUBTFUL, good()]) {
      deployment.nowMs += 60_000;
      expect(deployment.pass(declared).actions.filter(({ kind }) => kind === 'stop' || kind === 'start')).toEqual([]);
    }
    expect(deployment.ecs.launches).toBe(6);
    deployment.nowMs += 60_000;
    // The second good one in two passes, and under the cap.
    expect(deployment.pass(good()).actions.filter(({ kind }) => kind === 'stop')).toHaveLength(3);
  });

  it('C40: passes for late and doubled events launch once; none without the declaration', () => {
    const deployment = new Deployment();
    const declared = good(declare(WEB, 'A'));
    deployment.pass(declared);
    deployment.nowMs += 60_000;
    deployment.ecs.crash(WEB, deployment.nowMs);
    for (let event = 0; event < 4; event += 1) deployment.pass(declared);
    expect(deployment.ecs.launches).toBe(2);
    const undeclared = plan({
      declared: good(declare('db-proxy', 'A')),
      states: [running()],
      tasks: [task({ lastStatus: 'STOPPED' })],
    });
    expect(short(undeclared)).toEqual(['start db-proxy declared', 'wait web-proxy removal-delay']);
  });

  it('C41: what ECS says now decides; a lost event is repaired by the next pass', () => {
    expect(short(plan({ states: [running()], tasks: [task()] }))).toEqual(['keep web-proxy running']);
    const result = plan({ states: [running()], tasks: [task({ lastStatus: 'STOPPED', stoppedAtMs: NOW - 40_000 })] });
    expect(short(result)).toEqual(['start web-proxy restarted']);
  });
});
