import { describe, expect, it } from 'vitest';
import { applyBrakes, type BrakeInput, type BrakeResult } from '../../lib/brakes/apply.ts';
import type { Candidate } from '../../lib/brakes/facts.ts';
import {
  DEFAULT_ESTATE_BRAKES,
  DEFAULT_SERVICE_BRAKES,
  NO_ESTATE_BRAKES,
  NO_SERVICE_BRAKES,
} from '../../lib/brakes/settings.ts';
import { NO_BRAKE_STATE } from '../../lib/brakes/state.ts';
import { candidate, MINUTE_MS, service, sick } from './make.ts';

const NOW_MS = 10_000_000;

function ask<C extends Candidate>(given: Partial<BrakeInput<C>> & { candidates: readonly C[] }): BrakeResult<C> {
  return applyBrakes({
    nowMs: NOW_MS,
    services: [service()],
    estate: { brakes: NO_ESTATE_BRAKES, state: {} },
    restarts: new Map(),
    ...given,
  });
}
const ids = (candidates: readonly Candidate[]) => candidates.map(({ id }) => id);

describe('applyBrakes', () => {
  it('with everything off allows all, and changes and publishes nothing', () => {
    const result = ask({ candidates: [candidate('a'), candidate('b')] });
    expect(ids(result.allowed)).toEqual(['a', 'b']);
    expect(result.withheld).toEqual([]);
    expect(result.services.size).toBe(0);
    expect(result.events).toEqual([]);
  });

  it('goes oldest first, and by the order given where equally old', () => {
    const candidates = [
      candidate('young', { unhealthySinceMs: 9 }),
      candidate('tie-1', { unhealthySinceMs: 5 }),
      candidate('old', { unhealthySinceMs: 1 }),
      candidate('tie-2', { unhealthySinceMs: 5 }),
    ];
    expect(ids(ask({ candidates }).allowed)).toEqual(['old', 'tie-1', 'tie-2', 'young']);
    const oneAMinute = { brakes: { ...NO_ESTATE_BRAKES, perMinute: 1 }, state: {} };
    expect(ids(ask({ candidates, estate: oneAMinute }).allowed)).toEqual(['old']);
  });

  it('names all brakes that apply with their ends, and looks again when the last is over', () => {
    const state = {
      budget: { windowStartMs: NOW_MS - 5, used: 8, eventSent: true as const },
      lastRestartMs: NOW_MS - 5,
      hold: { why: 'night', untilMs: NOW_MS + 7 },
      breaker: { openedMs: NOW_MS, waitFromMs: NOW_MS, failedProbes: 0, announced: true as const },
      inFlight: [{ id: 'x', sinceMs: NOW_MS - 5, places: 1 }],
    };
    const facts = service({ instances: 4, runningCount: 3, unhealthy: sick(4), brakes: DEFAULT_SERVICE_BRAKES, state });
    const estate = {
      brakes: { ...DEFAULT_ESTATE_BRAKES, estateBreaker: { share: 0.5, minServices: 1 } },
      state: { openSinceMs: 1, hold: { why: 'all' } },
      considered: 1,
    };
    const restarts = new Map([['prod', Array.from({ length: 10 }, (_, n) => NOW_MS - 10_000 + n)]]);
    const { allowed, withheld, services } = ask({ candidates: [candidate('a')], services: [facts], estate, restarts });
    expect(allowed).toEqual([]);
    expect(services.size).toBe(0);
    expect(withheld[0]?.reasons).toEqual([
      { brake: 'hold-all', reason: 'held' },
      { brake: 'hold', reason: 'held', untilMs: NOW_MS + 7 },
      { brake: 'estate-breaker', reason: 'breaker-open' },
      { brake: 'service-breaker', reason: 'breaker-open', untilMs: NOW_MS + 10 * MINUTE_MS },
      { brake: 'restart-budget', reason: 'budget-spent', untilMs: NOW_MS - 5 + 30 * MINUTE_MS },
      { brake: 'restart-delay', reason: 'restart-delay', untilMs: NOW_MS - 5 + 15_000 },
      { brake: 'in-flight', reason: 'concurrency-cap' },
      { brake: 'per-minute', reason: 'rate-cap', untilMs: NOW_MS + 50_000 },
    ]);
    expect(withheld[0]?.nextMs).toBe(NOW_MS - 5 + 30 * MINUTE_MS);
  });

  it.each([
    ['a known end', { why: 'x', untilMs: NOW_MS + 3 }, NOW_MS + 3],
    ['no known end: in 10 s', { why: 'x' }, NOW_MS + 10_000],
  ])('looks again: %s', (_, hold, nextMs) => {
    const services = [service({ state: { ...NO_BRAKE_STATE, hold } })];
    expect(ask({ candidates: [candidate('a')], services }).withheld[0]?.nextMs).toBe(nextMs);
  });

  it('lets the second of a service see the first of the same pass', () => {
    const services = [service({ brakes: DEFAULT_SERVICE_BRAKES })];
    const { allowed, withheld } = ask({ candidates: [candidate('a'), candidate('b')], services });
    expect(ids(allowed)).toEqual(['a']);
    expect(withheld[0]?.reasons).toEqual([
      { brake: 'restart-delay', reason: 'restart-delay', untilMs: NOW_MS + 15_000 },
      { brake: 'in-flight', reason: 'concurrency-cap' },
    ]);
  });

  it('keeps clusters and services apart', () => {
    const services = ['a', 'b', 'c'].map((key) =>
      service({ key, cluster: key === 'c' ? 'stage' : 'prod', brakes: DEFAULT_SERVICE_BRAKES }),
    );
    const estate = { brakes: { ...NO_ESTATE_BRAKES, perMinute: 1 }, state: {} };
    const candidates = ['a', 'b', 'c'].map((key) => candidate(`task-${key}`, { service: key }));
    const { allowed, withheld } = ask({ candidates, services, estate });
    expect(ids(allowed)).toEqual(['task-a', 'task-c']);
    expect(withheld[0]?.reasons).toEqual([{ brake: 'per-minute', reason: 'rate-cap', untilMs: NOW_MS + MINUTE_MS }]);
  });

  it('withholds a candidate of a service that it was told nothing of', () => {
    const { withheld } = ask({ candidates: [candidate('a', { service: 'unheard-of' })] });
    expect(withheld[0]?.reasons).toEqual([{ brake: 'in-flight', reason: 'concurrency-cap' }]);
  });

  it('hands back freed slots without charging what it allows', () => {
    const state = { inFlight: [{ id: 'x', sinceMs: 0, places: 1 }], fullSinceMs: 0, lastRestartMs: 0 };
    const services = [service({ state, brakes: DEFAULT_SERVICE_BRAKES })];
    const result = ask({ candidates: [candidate('a')], services });
    expect(ids(result.allowed)).toEqual(['a']);
    expect(result.services.get('prod/service/web')).toEqual({ inFlight: [], lastRestartMs: 0 });
  });
});

describe('a forced deployment', () => {
  const deploy = (id: string) => candidate(id, { action: 'force-new-deployment' });

  it('costs as many restarts as the service has instances', () => {
    const services = (used: number) => [
      service({
        instances: 3,
        brakes: DEFAULT_SERVICE_BRAKES,
        state: { ...NO_BRAKE_STATE, budget: { windowStartMs: NOW_MS, used } },
      }),
    ];
    expect(ask({ candidates: [deploy('a')], services: services(3) }).allowed).toHaveLength(1);
    expect(ask({ candidates: [deploy('a')], services: services(4) }).withheld[0]?.reasons[0]?.reason).toBe(
      'budget-spent',
    );
  });

  it.each([
    ['a second one', deploy('a'), deploy('b')],
    ['a stop after it', deploy('a'), candidate('b')],
    ['one after a stop', candidate('a'), deploy('b')],
  ])('is alone in its service and pass even with all brakes off: %s', (_, first, second) => {
    const { allowed, withheld } = ask({ candidates: [first, second] });
    expect(ids(allowed)).toEqual(['a']);
    expect(withheld[0]?.reasons).toEqual([{ brake: 'in-flight', reason: 'concurrency-cap' }]);
  });

  it('takes as many places of the minute', () => {
    const services = ['a', 'b'].map((key) => service({ key, instances: 6 }));
    const estate = { brakes: { ...NO_ESTATE_BRAKES, perMinute: 10 }, state: {} };
    const candidates = ['a', 'b'].map((key) => ({ ...deploy(key), service: key }));
    expect(ids(ask({ candidates, services, estate }).allowed)).toEqual(['a']);
  });
});

describe('a spent budget in fail mode', () => {
  const brakes = {
    ...NO_SERVICE_BRAKES,
    restart: { attempts: 1, intervalMs: MINUTE_MS, delayMs: 0, mode: 'fail' as const },
  };
  const budget = { windowStartMs: NOW_MS - 1, used: 1 };

  it('holds the service until released, also after the window', () => {
    const facts = service({ instances: 1, brakes, state: { ...NO_BRAKE_STATE, budget } });
    const first = ask({ candidates: [candidate('a')], services: [facts] });
    const state = first.services.get(facts.key) ?? NO_BRAKE_STATE;
    expect(state.hold?.byBudget).toBe(true);
    expect(first.events.map(({ type }) => type)).toEqual(['budget-spent']);
    const later = ask({ nowMs: NOW_MS + MINUTE_MS, candidates: [candidate('a')], services: [{ ...facts, state }] });
    expect(later.withheld[0]?.reasons).toEqual([{ brake: 'hold', reason: 'held' }]);
    expect(later.events).toEqual([]);
  });

  it('is not concluded from restarts that this very pass allows', () => {
    const facts = service({ instances: 1, brakes });
    const result = ask({ candidates: [candidate('a'), candidate('b')], services: [facts] });
    expect(ids(result.allowed)).toEqual(['a']);
    expect(result.withheld[0]?.reasons).toEqual([{ brake: 'restart-budget', reason: 'budget-spent' }]);
    expect(result.services.size).toBe(0);
    expect(result.events).toEqual([]);
  });

  it('does not hold back a stop that the rest of the budget can pay where a deployment was refused', () => {
    const facts = service({ instances: 4, brakes, state: { ...NO_BRAKE_STATE, budget } });
    const candidates = [candidate('all', { action: 'force-new-deployment' }), candidate('one')];
    const result = ask({ candidates, services: [facts] });
    expect(ids(result.allowed)).toEqual(['one']);
    expect(result.services.size).toBe(0);
  });
});
