/** What holds of every pass, whatever is due. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyBrakes } from '../../lib/brakes/apply.ts';
import { charge } from '../../lib/brakes/charge.ts';
import { type Candidate, costOf, type ServiceFacts } from '../../lib/brakes/facts.ts';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES, NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { candidate, service, sick } from './make.ts';

const NOW_MS = 10_000_000;
const ids = (candidates: readonly Candidate[]) => candidates.map(({ id }) => id);

/** Some services, some of their tasks due; ages are distinct. */
const passArbitrary = fc
  .record({
    services: fc.array(
      fc.record({
        instances: fc.integer({ min: 0, max: 12 }),
        bad: fc.integer({ min: 0, max: 6 }),
        used: fc.integer({ min: 0, max: 30 }),
        lastAgoMs: fc.integer({ min: 0, max: 30_000 }),
        off: fc.boolean(),
      }),
      { minLength: 1, maxLength: 8 },
    ),
    perMinute: fc.option(fc.integer({ min: 0, max: 6 })),
    recent: fc.array(fc.integer({ min: NOW_MS - 90_000, max: NOW_MS }), { maxLength: 5 }),
  })
  .map(({ services, perMinute, recent }) => {
    const candidates: Candidate[] = [];
    const facts = services.map((one, index): ServiceFacts => {
      const key = `s${index}`;
      const unhealthy = sick(one.bad).map((instance) => ({ ...instance, id: `${key}/${instance.id}` }));
      for (const [nth, { id }] of unhealthy.entries()) {
        candidates.push(
          candidate(id, { service: key, unhealthySinceMs: ((index + 3) * 7919 + nth * 104_729) % 1_000_003 }),
        );
      }
      return service({
        key,
        instances: one.instances,
        unhealthy,
        brakes: one.off ? NO_SERVICE_BRAKES : DEFAULT_SERVICE_BRAKES,
        state: {
          budget: { windowStartMs: NOW_MS - 5000, used: one.used },
          lastRestartMs: NOW_MS - one.lastAgoMs,
          inFlight: [],
        },
      });
    });
    const estate = { brakes: { ...DEFAULT_ESTATE_BRAKES, perMinute }, state: {}, considered: services.length };
    return { nowMs: NOW_MS, candidates, services: facts, estate, restarts: new Map([['prod', recent]]) };
  });

describe('properties', () => {
  it('every candidate is either allowed or withheld with a reason, an end in the future and a deadline in the future', () => {
    fc.assert(
      fc.property(passArbitrary, (input) => {
        const { allowed, withheld } = applyBrakes(input);
        expect([...ids(allowed), ...withheld.map(({ candidate: { id } }) => id)].toSorted()).toEqual(
          ids(input.candidates).toSorted(),
        );
        for (const { reasons, nextMs } of withheld) {
          expect(reasons.length).toBeGreaterThan(0);
          expect(nextMs).toBeGreaterThan(NOW_MS);
          for (const { untilMs } of reasons) expect(untilMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(NOW_MS);
        }
      }),
    );
  });

  it('the order of candidates and services does not change what is allowed', () => {
    const shuffled = passArbitrary.chain((input) =>
      fc.record({
        input: fc.constant(input),
        candidates: fc.shuffledSubarray(input.candidates, { minLength: input.candidates.length }),
        services: fc.shuffledSubarray(input.services, { minLength: input.services.length }),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ input, candidates, services }) => {
        const plain = applyBrakes(input);
        const other = applyBrakes({ ...input, candidates, services });
        expect(ids(other.allowed)).toEqual(ids(plain.allowed));
        expect(new Map([...other.services].toSorted())).toEqual(new Map([...plain.services].toSorted()));
      }),
    );
  });

  it('a pass decides as one candidate after the other would, each charged before the next', () => {
    fc.assert(
      fc.property(passArbitrary, (input) => {
        const together = applyBrakes(input);
        let services: readonly ServiceFacts[] = input.services;
        const recent = [...(input.restarts.get('prod') ?? [])];
        const single: string[] = [];
        for (const one of input.candidates.toSorted((a, b) => a.unhealthySinceMs - b.unhealthySinceMs)) {
          const { allowed } = applyBrakes({
            ...input,
            services,
            candidates: [one],
            restarts: new Map([['prod', recent]]),
          });
          if (allowed.length === 0) continue;
          single.push(one.id);
          recent.push(NOW_MS);
          services = services.map((facts) =>
            facts.key === one.service
              ? {
                  ...facts,
                  openClaims: [one.id],
                  state: charge(
                    facts.state,
                    { id: one.id, cost: costOf(one.action, facts.instances) },
                    NOW_MS,
                    facts.brakes,
                  ),
                }
              : facts,
          );
        }
        expect(single).toEqual(ids(together.allowed));
      }),
    );
  });

  it('asking twice with the states handed back changes and publishes nothing more', () => {
    fc.assert(
      fc.property(passArbitrary, (input) => {
        const first = applyBrakes({
          ...input,
          estate: { ...input.estate, brakes: { ...input.estate.brakes, perMinute: 0 } },
        });
        const services = input.services.map((facts) => ({
          ...facts,
          state: first.services.get(facts.key) ?? facts.state,
        }));
        const estate = { ...input.estate, brakes: { ...input.estate.brakes, perMinute: 0 }, state: first.estate };
        const second = applyBrakes({ ...input, services, estate });
        expect(second.services.size).toBe(0);
        expect(second.estate).toBe(first.estate);
        expect(second.events).toEqual([]);
      }),
    );
  });
});
