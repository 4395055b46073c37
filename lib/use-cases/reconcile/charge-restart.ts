/**
 * What the restart of an unhealthy proxy costs: budget, slot, and a place among the cluster's restarts of the last minute.
 * It is charged right before the intent of the stop is stored. There is no claim beside it: from then on the stop is in
 * the proxy's own state until it is confirmed, and is neither forgotten nor charged twice.
 */
import { charge } from '../../brakes/charge.ts';
import { placesNeeded } from '../../brakes/rate.ts';
import { decideAlone } from '../brake-restarts.ts';
import { CLAIM_TRIES, type Refused } from '../claim.ts';
import type { Decision } from '../decide-pass.ts';
import type { PlannedRestart } from '../plan-restarts.ts';
import type { Watcher } from '../watcher.ts';

/** Charges one restart; what is returned stands against it, and then nothing was charged. Throws `ReadFailure`. */
export async function chargeRestart(
  { deps, memory }: Watcher,
  { nowMs, plan }: Decision,
  planned: PlannedRestart,
): Promise<Refused | undefined> {
  const facts = plan.facts.get(planned.ownerKey);
  const [task] = planned.tasks;
  if (facts === undefined || task === undefined) return { reason: 'ecs-error', why: 'nothing is known of its brakes' };
  const { perMinute } = plan.brakes;
  let hasPlace = perMinute === null;
  for (let attempt = 1; attempt <= CLAIM_TRIES; attempt += 1) {
    const [service, estate] = await Promise.all([deps.state.readService(planned.ownerKey), deps.state.readEstate()]);
    const decided = decideAlone(planned, service, estate.state, facts, plan.brakes, nowMs);
    if ('reasons' in decided) {
      const why = decided.reasons.map(({ brake }) => brake).join(', ');
      return { reason: decided.reasons[0]?.reason ?? 'held', why, untilMs: decided.nextMs, brakes: decided.reasons };
    }
    if (!hasPlace && perMinute !== null) {
      const places = placesNeeded(1, perMinute);
      const full = await deps.state.takeRestartSlot(planned.cluster, nowMs, perMinute, places);
      if (full) return { reason: 'rate-cap', why: 'per-minute', untilMs: full.freeAtMs };
      hasPlace = true;
    }
    const brakes = charge(decided.state, { id: task.taskArn, cost: 1 }, nowMs, facts.brakes);
    const charged = { ...service, brakes, graceMs: facts.graceMs };
    if ((await deps.state.saveService(charged)) === 'saved') {
      memory.services.set(service.key, { ...charged, version: service.version + 1 });
      return undefined;
    }
  }
  return { reason: 'restart-in-flight', why: 'others keep writing the same item' };
}
