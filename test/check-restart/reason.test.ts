import { describe, expect, it } from 'vitest';
import { REASONS } from '../../lib/check-restart/reason.ts';

describe('the reason words', () => {
  // Alarms, dashboards and people's queries filter on them: add words, but never rename or drop one.
  it('are those that were promised', () => {
    expect([...REASONS].sort()).toStrictEqual(
      `in-grace counting not-watched not-observed node-check proxy unmapped ambiguous foreign-task task-not-found
      not-running task-stopping already-stopped standalone protected agent-disconnected deploying deployment-failed
      service-impaired maintenance budget-spent restart-delay concurrency-cap rate-cap stop-cap breaker-open held
      restart-in-flight notify-only dry-run ecs-error`
        .split(/\s+/)
        .sort(),
    );
  });

  it('are one word each', () => {
    expect(new Set(REASONS).size).toBe(REASONS.length);
    for (const reason of REASONS) expect(reason).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });
});
