/** State is written on change only; a heartbeat stands for all the sightings in between. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asOfLastPass, type CheckState, evaluate, sameState } from '../../lib/check-restart/evaluation.ts';
import { anyState, passes, settings } from './random-passes.ts';
import { context, observation, watchOne } from './watch-one.ts';

const STATE: CheckState = {
  taskArn: 'task-1',
  startedAtMs: 1,
  seenMs: 100,
  streak: { sinceMs: 2, countedFromMs: 3 },
  frozenSinceMs: 4,
  settleUntilMs: 5,
  unrunSinceMs: 6,
  goneSinceMs: 7,
};

describe('a stored state as of the last good pass', () => {
  it('was seen in that pass', () => {
    expect(asOfLastPass(STATE, 150)).toStrictEqual({ ...STATE, seenMs: 150 });
  });

  it('was seen when it was written, if the heartbeat is older', () => {
    expect(asOfLastPass(STATE, 50)).toStrictEqual(STATE);
  });

  it('is as it was stored without a heartbeat', () => {
    expect(asOfLastPass(STATE, undefined)).toStrictEqual(STATE);
  });

  it('was not seen in that pass if it was absent', () => {
    const absent = { ...STATE, absentSinceMs: 120 };
    expect(asOfLastPass(absent, 150)).toStrictEqual(absent);
  });
});

describe('two states say the same', () => {
  it('when they are equal', () => {
    expect(sameState(STATE, structuredClone(STATE))).toBe(true);
    expect(sameState(undefined, undefined)).toBe(true);
  });

  it('when they differ in the last sighting only', () => {
    expect(sameState(STATE, { ...STATE, seenMs: 999 })).toBe(true);
  });

  it('not when one of them is nothing', () => {
    expect(sameState(STATE, undefined)).toBe(false);
    expect(sameState(undefined, STATE)).toBe(false);
  });

  it.each<[string, Partial<CheckState>]>([
    ['task', { taskArn: 'task-2' }],
    ['start of the task', { startedAtMs: 99 }],
    ['begin of the streak', { streak: { sinceMs: 99, countedFromMs: 3 } }],
    ['counted begin of the streak', { streak: { sinceMs: 2, countedFromMs: 99 } }],
    ['absence', { absentSinceMs: 99 }],
    ['freeze', { frozenSinceMs: 99 }],
    ['settling', { settleUntilMs: 99 }],
    ['patience', { unrunSinceMs: 99 }],
    ['gone task', { goneSinceMs: 99 }],
  ])('not when they differ in: %s', (_, difference) => {
    expect(sameState(STATE, { ...STATE, ...difference })).toBe(false);
  });

  it('not when one has no streak', () => {
    const { streak: _, ...without } = STATE;
    expect(sameState(STATE, without)).toBe(false);
  });

  it('C24: while a check stays bad, whatever else changes about it: one write', () => {
    const check = watchOne({ limit: 100 });
    let stored: CheckState | undefined;
    let writes = 0;
    for (let at = 0; at < 60; at += 1) {
      check.pass(at, 'critical');
      if (!sameState(stored, check.state)) {
        stored = check.state;
        writes += 1;
      }
    }
    expect(writes).toBe(1);
  });
});

describe('properties of stored state', () => {
  it('written on change and read again at any pass, it gives the verdicts that memory gives', () => {
    fc.assert(
      fc.property(settings, passes(true), (usual, timeline) => {
        const remembered = watchOne(usual);
        const reloaded = watchOne(usual);
        let table: string | undefined;
        let heartbeatMs: number | undefined;
        for (const { at, failed, seen, unrun, maintenance, reload } of timeline) {
          if (failed) continue;
          const verdict = reloaded.pass(at, seen, { unrun, maintenance });
          expect(verdict).toStrictEqual(remembered.pass(at, seen, { unrun, maintenance }));
          const stored: CheckState | undefined = table === undefined ? undefined : JSON.parse(table);
          if (!sameState(stored, reloaded.state)) table = reloaded.state && JSON.stringify(reloaded.state);
          heartbeatMs = at * 1000;
          if (reload) reloaded.state = table === undefined ? undefined : asOfLastPass(JSON.parse(table), heartbeatMs);
          expect(reloaded.state).toStrictEqual(remembered.state);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('a state has no holes, and is the same after a trip through JSON', () => {
    fc.assert(
      fc.property(anyState, settings, fc.nat(1000), fc.boolean(), (before, usual, at, maintenance) => {
        for (const seen of ['critical', 'absent']) {
          const { state } = evaluate(before, observation(seen), context(at, { ...usual, maintenance }));
          expect(state === undefined ? undefined : JSON.parse(JSON.stringify(state))).toStrictEqual(state);
        }
      }),
    );
  });
});
