/** Values for the brakes' tests: everything off and healthy unless a test says otherwise. */
import type { Candidate, ServiceFacts, UnhealthyInstance } from '../../lib/brakes/facts.ts';
import { NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { NO_BRAKE_STATE } from '../../lib/brakes/state.ts';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** A healthy service of ten. */
export function service(given: Partial<ServiceFacts> = {}): ServiceFacts {
  const instances = given.instances ?? 10;
  return {
    key: 'prod/service/web',
    cluster: 'prod',
    instances,
    runningCount: instances,
    graceMs: 10_000,
    unhealthy: [],
    openClaims: [],
    brakes: NO_SERVICE_BRAKES,
    state: NO_BRAKE_STATE,
    ...given,
  };
}

/** `count` unhealthy instances, out of grace, started long ago. */
export function sick(count: number, given: Partial<UnhealthyInstance> = {}): UnhealthyInstance[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `task-${index}`,
    startedAtMs: 0,
    inGrace: false,
    ...given,
  }));
}

/** A due stop. */
export function candidate(id: string, given: Partial<Candidate> = {}): Candidate {
  return { id, service: 'prod/service/web', action: 'stop-task', unhealthySinceMs: 0, ...given };
}
