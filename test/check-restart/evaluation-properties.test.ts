/** Evaluation against tiny models of its own definition, and what must hold whatever happened before. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate } from '../../lib/check-restart/evaluation.ts';
import { anyState, passes, settings } from './random-passes.ts';
import { type Circumstances, context, observation, type Seen, watchOne } from './watch-one.ts';

/** Nomad's `check_restart`, in its own terms: an unhealthy state that is a time, a grace that is a time. Seconds. */
function nomad({
  limit,
  interval,
  grace,
  ignoreWarnings,
}: Pick<Circumstances, 'limit' | 'interval' | 'grace' | 'ignoreWarnings'>) {
  let unhealthySince: number | undefined;
  return (at: number, status: Seen): boolean => {
    const healthy = status === 'warning' ? ignoreWarnings : status !== 'critical';
    if (healthy) {
      unhealthySince = undefined;
      return false;
    }
    if (at < grace) return false;
    unhealthySince ??= at;
    return at >= unhealthySince + interval * (limit - 1);
  };
}

/** How old a streak is by the definition: what passed between two sightings, at most the gap, none of it frozen. Seconds. */
function ager(gap: number | null) {
  let age: number | undefined;
  let pending = 0;
  let lastAt = 0;
  let frozen = false;
  return (at: number, sighting: boolean, maintenance: boolean): number | undefined => {
    if (age !== undefined && !frozen) pending += at - lastAt;
    lastAt = at;
    if (sighting) {
      if (age !== undefined) age += Math.min(pending, gap ?? pending);
      else if (!maintenance) age = 0;
      pending = 0;
    }
    frozen = maintenance && age !== undefined;
    return age;
  };
}

const policies = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  interval: fc.constantFrom(1, 5, 10, 40),
  grace: fc.constantFrom(0, 7, 30, 100),
  ignoreWarnings: fc.boolean(),
});

describe('evaluation', () => {
  it('without a longest gap and without maintenance is Nomad’s check_restart', () => {
    fc.assert(
      fc.property(policies, passes(false), (policy, timeline) => {
        const model = nomad(policy);
        const check = watchOne({ ...policy, gap: null });
        for (const { at, seen } of timeline) {
          const { kind } = check.pass(at, seen);
          if (seen === 'absent') expect(kind).toBe('absent');
          else expect(kind === 'due').toBe(model(at, seen));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('ages a streak by what the gap allows of the time between sightings that no maintenance froze', () => {
    fc.assert(
      fc.property(settings, passes(true), (usual, timeline) => {
        const grace = 0;
        const check = watchOne({ ...usual, grace, limit: 2, interval: 1_000_000, ignoreWarnings: false });
        let model = ager(usual.gap ?? null);
        for (const { at, failed, seen, maintenance } of timeline) {
          if (failed) continue;
          const verdict = check.pass(at, seen, { maintenance });
          if (verdict.kind === 'good') model = ager(usual.gap ?? null);
          const age = verdict.kind === 'good' ? undefined : model(at, seen !== 'absent', maintenance);
          if (seen === 'absent') continue;
          const { state } = check;
          const actual = state?.streak && (state.frozenSinceMs ?? state.seenMs) - state.streak.countedFromMs;
          expect(actual).toBe(age === undefined ? undefined : age * 1000);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('never calls a streak due that is younger than the time limit, by wall time or by gap times sightings', () => {
    fc.assert(
      fc.property(settings, passes(true), (usual, timeline) => {
        const check = watchOne(usual);
        const limit = (usual.interval ?? 0) * ((usual.limit ?? 0) - 1);
        let begin: number | undefined;
        let sightings = 0;
        for (const { at, failed, seen, unrun, maintenance } of timeline) {
          if (failed) continue;
          const verdict = check.pass(at, seen, { unrun, maintenance });
          if (check.state?.streak === undefined) begin = undefined;
          else if (begin === undefined) [begin, sightings] = [at, 0];
          else if (check.state.absentSinceMs === undefined) sightings += 1;
          if (verdict.kind !== 'due') continue;
          expect(verdict.sinceMs).toBe((begin ?? Number.NaN) * 1000);
          expect(at - (begin ?? at)).toBeGreaterThanOrEqual(limit);
          expect((usual.gap ?? Number.POSITIVE_INFINITY) * sightings || 0).toBeGreaterThanOrEqual(limit);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('whatever is remembered', () => {
  const situations = fc.record({ at: fc.nat(1000), startedAt: fc.nat(1000), maintenance: fc.boolean() });
  const bads = fc.constantFrom<Seen>('critical', 'warning');

  it('a good observation clears it', () => {
    fc.assert(
      fc.property(
        anyState,
        settings,
        situations,
        fc.constantFrom<Seen>('passing', 'odd'),
        (before, usual, where, seen) => {
          expect(evaluate(before, observation(seen), context(where.at, { ...usual, ...where }))).toStrictEqual({
            state: undefined,
            verdict: { kind: 'good' },
          });
        },
      ),
    );
  });

  it('nothing is due in grace, and no streak is there', () => {
    fc.assert(
      fc.property(anyState, settings, situations, bads, (before, usual, where, seen) => {
        fc.pre(where.at < where.startedAt + (usual.grace ?? 0));
        const { state, verdict } = evaluate(before, observation(seen), context(where.at, { ...usual, ...where }));
        expect(verdict.kind).not.toBe('due');
        expect(state?.streak).toBeUndefined();
      }),
    );
  });

  it('nothing is due in maintenance', () => {
    fc.assert(
      fc.property(anyState, settings, situations, bads, (before, usual, where, seen) => {
        const { verdict } = evaluate(
          before,
          observation(seen),
          context(where.at, { ...usual, ...where, maintenance: true }),
        );
        expect(verdict.kind).not.toBe('due');
      }),
    );
  });

  it('nothing is due before a settling ends, of the check or of the deployment', () => {
    fc.assert(
      fc.property(anyState, settings, situations, fc.nat(1000), bads, (before, usual, where, settleUntil, seen) => {
        const mine = { ...before, taskArn: 'task-1', settleUntilMs: settleUntil * 1000 };
        fc.pre(where.at < settleUntil);
        const circumstances = { ...usual, ...where };
        expect(evaluate(mine, observation(seen), context(where.at, circumstances)).verdict.kind).not.toBe('due');
        const global = context(where.at, { ...circumstances, settleUntil });
        expect(evaluate(before, observation(seen), global).verdict.kind).not.toBe('due');
      }),
    );
  });

  it('nothing is due right after a gap that is too long, unless nothing settles', () => {
    fc.assert(
      fc.property(anyState, settings, situations, bads, (before, usual, where, seen) => {
        fc.pre(before.taskArn === 'task-1' && where.at * 1000 - before.seenMs > (usual.gap ?? Infinity) * 1000);
        const { verdict } = evaluate(before, observation(seen), context(where.at, { ...usual, ...where, settle: 1 }));
        expect(verdict.kind).not.toBe('due');
      }),
    );
  });

  it('nothing is due of an absent check, nor of one that is not watched, nor of a task that does not run', () => {
    fc.assert(
      fc.property(anyState, settings, situations, bads, (before, usual, where, seen) => {
        const circumstances = { ...usual, ...where };
        const { startedAtMs: _, ...unstarted } = before;
        const verdicts = [
          evaluate(before, observation('absent'), context(where.at, circumstances)).verdict.kind,
          evaluate(before, observation(seen), context(where.at, { ...circumstances, limit: 0 })).verdict.kind,
          evaluate(unstarted, observation(seen), context(where.at, { ...usual, startedAt: undefined })).verdict.kind,
        ];
        expect(verdicts).not.toContain('due');
      }),
    );
  });
});
