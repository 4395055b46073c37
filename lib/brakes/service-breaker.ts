/**
 * Service breaker (DESIGN section 2): a service most of whose instances are unhealthy is not healed by restarting.
 *
 *   closed ──share > limit and one is due──► open ──retry──► half-open ──one restart──► probing
 *     ▲                                        ▲                 ▲                         │
 *     │                                        └── wait doubled ─┼──── replacement bad ────┤
 *     └── share ≤ limit, nothing probing                         └──── replacement good ───┘
 *
 * It opens only when something is due: before that it would hold nothing back, and every blip would be an alarm. While
 * a probe is out it neither closes nor lets another go, although its task is missing from the share: else a failed probe
 * of a small service would close the breaker, open a new one, and never double the wait.
 */
import {
  type BrakeEvent,
  isMoreThanShare,
  type Observed,
  type ServiceFacts,
  unhealthyCount,
  type Withholding,
  withholding,
} from './facts.ts';
import type { ServiceBreaker } from './settings.ts';
import type { BrakeState, BreakerState } from './state.ts';

/** Failed probes lengthen the wait up to this; a longer `retry` stays what it is. */
export const LONGEST_WAIT_MS = 7_200_000;

/** True when more than `share` of the instances is unhealthy; a service without instances counts as one. */
export function isAboveShare(facts: Pick<ServiceFacts, 'instances' | 'unhealthy'>, share: number): boolean {
  return isMoreThanShare(unhealthyCount(facts), share, Math.max(1, facts.instances));
}

/** Judges a probe, closes, or opens. `state` has its slots freed already (`observeInFlight`). */
export function observeBreaker(
  facts: ServiceFacts,
  state: BrakeState,
  settings: ServiceBreaker | null,
  due: boolean,
  nowMs: number,
): Observed {
  const { breaker, ...closed } = state;
  const above = settings !== null && facts.instances >= settings.minInstances && isAboveShare(facts, settings.share);
  if (breaker === undefined) {
    if (!above || !due) return { state, events: [] };
    return { state: { ...state, breaker: { openedMs: nowMs, waitFromMs: nowMs, failedProbes: 0 } }, events: [] };
  }
  if (settings === null) return { state: closed, events: closedEvents(facts, breaker) };

  const judged = judgeProbe(facts, state, breaker, nowMs);
  if (judged.probe === undefined && !above) return { state: closed, events: closedEvents(facts, breaker) };
  if (judged === breaker) return { state, events: [] };
  const events: BrakeEvent[] = [];
  if (judged.failedProbes > breaker.failedProbes) {
    const { failedProbes } = judged;
    events.push({ type: 'breaker-probe-failed', service: facts.key, failedProbes, ...retryAt(judged, settings) });
  }
  return { state: { ...closed, breaker: judged }, events };
}

/** Marks the opening as published. The caller leaves that out while the estate breaker's one alarm speaks for all. */
export function announceBreaker(facts: ServiceFacts, state: BrakeState, settings: ServiceBreaker | null): Observed {
  const { breaker } = state;
  if (breaker === undefined || breaker.announced || settings === null) return { state, events: [] };
  const event: BrakeEvent = {
    type: 'breaker-opened',
    service: facts.key,
    unhealthy: unhealthyCount(facts),
    instances: facts.instances,
    ...retryAt(breaker, settings),
  };
  return { state: { ...state, breaker: { ...breaker, announced: true } }, events: [event] };
}

/** Applies while open, and while a probe is out. Half-open lets one restart through: its charge makes it the probe. */
export function breakerBrake(
  state: BrakeState,
  settings: ServiceBreaker | null,
  nowMs: number,
): Withholding | undefined {
  const { breaker } = state;
  if (breaker === undefined || settings === null) return undefined;
  if (breaker.probe !== undefined) return withholding('service-breaker', 'breaker-open', undefined);
  const endMs = probeAtMs(breaker, settings);
  if (endMs !== undefined && nowMs >= endMs) return undefined;
  return withholding('service-breaker', 'breaker-open', endMs);
}

/** When the next probe may go: `-Infinity` = at once, `undefined` = when released. A changed `retry` counts from the next pass on. */
export function probeAtMs(breaker: BreakerState, settings: ServiceBreaker): number | undefined {
  if (breaker.ready) return Number.NEGATIVE_INFINITY;
  if (settings.retryMs === null) return undefined;
  const doubledMs = Math.min(settings.retryMs * 2 ** breaker.failedProbes, LONGEST_WAIT_MS);
  return breaker.waitFromMs + Math.max(settings.retryMs, doubledMs);
}

/**
 * Failed: an instance that started since the probe is unhealthy. Passed: the probe's slot is free, so its replacement
 * runs and is out of grace, and none is unhealthy.
 */
function judgeProbe(facts: ServiceFacts, state: BrakeState, breaker: BreakerState, nowMs: number): BreakerState {
  const { probe, ready: _, ...rest } = breaker;
  if (probe === undefined) return breaker;
  const failed = facts.unhealthy.some(
    ({ inGrace, startedAtMs }) => !inGrace && startedAtMs !== undefined && startedAtMs >= probe.atMs,
  );
  if (failed) return { ...rest, waitFromMs: nowMs, failedProbes: breaker.failedProbes + 1 };
  const inFlight = state.inFlight.some((restart) => restart.id === probe.id && restart.sinceMs === probe.atMs);
  return inFlight ? breaker : { ...rest, failedProbes: 0, ready: true };
}

/** For events: absent where the next probe waits for a release, or for nothing. */
function retryAt(breaker: BreakerState, settings: ServiceBreaker): { readonly retryAtMs?: number } {
  const retryAtMs = probeAtMs(breaker, settings);
  return retryAtMs === undefined || breaker.ready ? {} : { retryAtMs };
}

function closedEvents(facts: ServiceFacts, breaker: BreakerState): readonly BrakeEvent[] {
  return breaker.announced ? [{ type: 'breaker-closed', service: facts.key }] : [];
}
