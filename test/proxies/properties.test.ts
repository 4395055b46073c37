/** What must hold whatever happens, in whatever order, wherever the function dies. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kill, RUNNING } from '../../lib/proxies/run-state.ts';
import type { Declared } from '../../lib/proxies/trust.ts';
import { Deployment, declare, invalid, type PassCircumstances } from './chaos.ts';
import type { CallFate } from './model-ecs.ts';

const IDS = ['web-proxy', 'db-proxy', 'gateway'] as const;
const RUNS = { numRuns: 600 };

const fate = fc.constantFrom<CallFate>('ok', 'ok', 'lost', 'dropped', 'refused', 'failures');
const crash = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ at: 'never' as const }) },
  fc.record({ at: fc.constantFrom('saving' as const, 'acting' as const), after: fc.nat(3) }),
  fc.constant({ at: 'recording' as const }),
);
const entry = fc.constantFrom('A', 'A', 'B', 'invalid', 'absent');
const good = fc.tuple(entry, entry, entry).map((entries): Declared => {
  const proxies = entries.flatMap((what, index) => {
    const id = IDS[index] ?? '';
    if (what === 'absent') return [];
    return [what === 'invalid' ? invalid(id) : declare(id, what)];
  });
  return { read: 'good', proxies };
});
const doubtful = fc.constant<Declared>({ read: 'doubtful', why: 'no leader' });
const declaredSet = fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: doubtful });
const circumstances: fc.Arbitrary<PassCircumstances> = fc.record({
  crash,
  fates: fc.array(fate, { maxLength: 5 }),
  // Less than the start patience, as ECS promises.
  lagMs: fc.constantFrom(0, 0, 5000, 170_000),
  restarts: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    fc
      .record({ proxyId: fc.constantFrom(...IDS), why: fc.constantFrom('unhealthy' as const, 'operator' as const) })
      .map((request) => [{ ...request, detail: 'test' }]),
  ),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pass' as const), declared: declaredSet, circumstances }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 500, 3000, 61_000, 200_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), id: fc.constantFrom(...IDS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish-stops' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('kill' as const, 'run' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function take(deployment: Deployment, one: Step): void {
  if (one.do === 'advance') deployment.nowMs += one.ms;
  else if (one.do === 'crash') deployment.ecs.crash(one.id, deployment.nowMs);
  else if (one.do === 'finish-stops') deployment.ecs.finishStops(deployment.nowMs);
  else if (one.do === 'pass') deployment.pass(one.declared, one.circumstances);
  else deployment.runState = one.do === 'kill' ? kill(deployment.runState) : RUNNING;
}

describe('whatever happens', () => {
  it('never runs two tasks of one proxy, and converges once it is calm', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), good, (steps, last) => {
        const deployment = new Deployment();
        for (const one of steps) {
          take(deployment, one);
          expect(deployment.ecs.violation).toBeUndefined();
        }
        deployment.runState = RUNNING;
        deployment.settleDown(last, 900_000);
        expect(deployment.ecs.violation).toBeUndefined();
        for (const id of IDS) {
          const what = last.read === 'good' ? last.proxies.find((proxy) => proxy.proxyId === id) : undefined;
          // An invalid one keeps what it had, if it had anything.
          if (what?.usable === false) expect(deployment.ecs.running(id).length).toBeLessThanOrEqual(1);
          else expect([id, deployment.ecs.running(id).length]).toEqual([id, what === undefined ? 0 : 1]);
        }
      }),
      RUNS,
    );
  });

  it('stops nothing on a doubtful read, nor on one surprising empty answer', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 25 }),
        fc.constantFrom<Declared>({ read: 'doubtful', why: '403' }, { read: 'good', proxies: [] }),
        (steps, answer) => {
          const deployment = new Deployment({ removalDelayMs: 0 });
          for (const one of steps) take(deployment, one);
          // Whatever was before, this is the first such answer after a good set that is not empty.
          deployment.runState = RUNNING;
          deployment.settleDown({ read: 'good', proxies: IDS.map((id) => declare(id, 'A')) }, 900_000);
          const before = deployment.ecs.running();
          const plan = deployment.pass(answer);
          expect(plan.actions.filter((action) => action.kind === 'stop' || action.kind === 'forget')).toEqual([]);
          expect(deployment.ecs.running()).toEqual(before);
          expect(before).toHaveLength(IDS.length);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('kill reports every stop that failed, tries it again, and ends with nothing left', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.array(fate, { maxLength: 3 }), (steps, fates) => {
        const deployment = new Deployment();
        for (const one of steps) take(deployment, one);
        deployment.runState = RUNNING;
        deployment.settleDown({ read: 'good', proxies: IDS.map((id) => declare(id, 'A')) }, 900_000);
        deployment.runState = kill(deployment.runState);
        const plan = deployment.pass(
          { read: 'doubtful', why: 'not read' },
          { crash: { at: 'never' }, fates, lagMs: 0 },
        );
        expect(plan.actions.filter((action) => action.kind === 'stop')).toHaveLength(IDS.length);
        const failures = fates.filter((one) => one !== 'ok').length;
        expect(plan.problems.filter((problem) => problem.reason === 'stop-failed')).toHaveLength(failures);
        expect(deployment.states.size).toBe(IDS.length);
        deployment.settleDown({ read: 'doubtful', why: 'not read' }, 600_000);
        expect(deployment.ecs.running()).toEqual([]);
        expect(deployment.states.size).toBe(0);
        expect(deployment.runState).toEqual({ phase: 'stopped', kill: true });
      }),
      { numRuns: 200 },
    );
  });

  it('every launch of unknown outcome is repeated with the client token that it had', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom<CallFate>('lost', 'dropped', 'refused'), { minLength: 1, maxLength: 6 }),
        (fates) => {
          const deployment = new Deployment();
          const tokens = new Set<string>();
          const declared: Declared = { read: 'good', proxies: [declare('web-proxy', 'A')] };
          let unknown = false;
          for (const one of fates) {
            const plan = deployment.pass(declared, { crash: { at: 'never' }, fates: [one], lagMs: 170_000 });
            for (const action of plan.actions) {
              if (action.kind !== 'start') continue;
              if (unknown) expect(tokens).toContain(action.clientTokenText);
              tokens.add(action.clientTokenText);
              unknown ||= one !== 'refused';
            }
            deployment.nowMs += 4000;
          }
          deployment.nowMs += 60_000;
          deployment.pass(declared);
          expect(deployment.ecs.running()).toHaveLength(1);
        },
      ),
      { numRuns: 200 },
    );
  });
});
