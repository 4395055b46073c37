/**
 * Restarts in flight per service (DESIGN section 2).
 *
 *   claim ──► stop confirmed ──► runningCount ≥ desiredCount ──── grace ────► slot free
 *             (no open claim)     fullSinceMs begins; a fall ends it
 *
 * `fullSinceMs` is of the service, not of one restart: ECS does not say which task replaced which. While a claim is open
 * the service is not "full", because a task that was told to stop is counted as running until it has stopped.
 * Restarts are tracked even where the cap is off, for the breaker's probe and for refunds.
 */
import { type BrakeEvent, type Observed, type ServiceFacts, type Withholding, withholding } from './facts.ts';
import type { InFlightLimit } from './settings.ts';
import type { BrakeState, InFlightRestart } from './state.ts';

/** A slot still taken this long after grace could have ended at the earliest is reported, once. */
export const OVERDUE_MS = 600_000;

/** Frees the slots whose replacement runs and is out of grace (inclusive), and reports those that are overdue. */
export function observeInFlight(facts: ServiceFacts, nowMs: number): Observed {
  const { state } = facts;
  const { fullSinceMs: knownFullSinceMs, ...rest } = state;
  if (state.inFlight.length === 0) return { state: knownFullSinceMs === undefined ? state : rest, events: [] };

  const full = facts.openClaims.length === 0 && facts.runningCount >= facts.instances;
  const fullSinceMs = full ? (knownFullSinceMs ?? nowMs) : undefined;
  const { kept, events } = reportOverdue(keptRestarts(facts, fullSinceMs, nowMs), facts, nowMs);
  const changed =
    fullSinceMs !== knownFullSinceMs ||
    kept.length !== state.inFlight.length ||
    kept.some((restart, index) => restart !== state.inFlight[index]);
  if (!changed) return { state, events };
  const next = { ...rest, inFlight: kept };
  return { state: kept.length > 0 && fullSinceMs !== undefined ? { ...next, fullSinceMs } : next, events };
}

/** Places that may be taken at one time, at least 1; a share is rounded down. */
export function inFlightCap(limit: InFlightLimit, instances: number): number {
  // The tiny addition undoes binary fractions: 0.29 × 100 is 28.999999999999996.
  return Math.max(1, Math.floor('count' in limit ? limit.count : limit.share * instances + 1e-9));
}

/** Places taken. */
export function placesInFlight(state: BrakeState): number {
  return state.inFlight.reduce((sum, restart) => sum + restart.places, 0);
}

/**
 * Applies when the cap leaves no place. A forced deployment touches every instance, so it needs the service to itself
 * and then has it to itself; `alone` says so within one pass, even where the cap is off.
 */
export function inFlightBrake(
  facts: ServiceFacts,
  state: BrakeState,
  request: { readonly forced: boolean; readonly alone: boolean },
  nowMs: number,
): Withholding | undefined {
  if (request.alone) return withholding('in-flight', 'concurrency-cap', undefined);
  const limit = facts.brakes.inFlight;
  if (limit === null) return undefined;
  const most = request.forced ? 0 : inFlightCap(limit, facts.instances) - 1;
  const over = placesInFlight(state) - most;
  return over > 0 ? withholding('in-flight', 'concurrency-cap', freeAtMs(facts, state, over, nowMs)) : undefined;
}

/** Restarts that keep their slot: no grace has passed since the service is full, or a replacement is known to be in grace. */
function keptRestarts(facts: ServiceFacts, fullSinceMs: number | undefined, nowMs: number): readonly InFlightRestart[] {
  const restarts = facts.state.inFlight;
  // No more can be in flight than there are instances: bounds the item where the cap is off and one task never runs.
  const possible = restarts.slice(-Math.max(1, facts.instances));
  if (fullSinceMs === undefined) return possible.length === restarts.length ? restarts : possible;
  const over = possible.filter((restart) => nowMs >= Math.max(fullSinceMs, restart.sinceMs) + facts.graceMs);
  const freed = new Set(over.slice(0, Math.max(0, possible.length - replacementsInGrace(facts))));
  return possible.filter((restart) => !freed.has(restart));
}

/** Unhealthy instances in grace that started since the oldest restart in flight. */
function replacementsInGrace(facts: ServiceFacts): number {
  const oldestMs = facts.state.inFlight[0]?.sinceMs ?? Number.POSITIVE_INFINITY;
  return facts.unhealthy.filter(
    (instance) => instance.inGrace && (instance.startedAtMs === undefined || instance.startedAtMs >= oldestMs),
  ).length;
}

function reportOverdue(
  restarts: readonly InFlightRestart[],
  facts: ServiceFacts,
  nowMs: number,
): { readonly kept: readonly InFlightRestart[]; readonly events: readonly BrakeEvent[] } {
  const events: BrakeEvent[] = [];
  const kept = restarts.map((restart) => {
    if (restart.reported || nowMs < restart.sinceMs + facts.graceMs + OVERDUE_MS) return restart;
    events.push({ type: 'replacement-overdue', service: facts.key, id: restart.id, sinceMs: restart.sinceMs });
    return { ...restart, reported: true as const };
  });
  return { kept, events };
}

/** When `places` are free again, if everything goes on running; unknown while something is still to be replaced. */
function freeAtMs(facts: ServiceFacts, state: BrakeState, places: number, nowMs: number): number | undefined {
  const { fullSinceMs } = state;
  if (fullSinceMs === undefined) return undefined;
  let free = 0;
  for (const restart of state.inFlight) {
    free += restart.places;
    if (restart.sinceMs >= nowMs) return undefined;
    const endMs = Math.max(fullSinceMs, restart.sinceMs) + facts.graceMs;
    if (free >= places) return endMs > nowMs ? endMs : undefined;
  }
  return undefined;
}
