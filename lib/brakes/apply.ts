/**
 * The brakes' one entry: which of the restarts that are due may happen now, and what holds back each other one.
 *
 * Nothing is charged here. Within the pass each allowed restart is charged on a copy, so that the next one sees it; the
 * states handed back hold only what looking at the services changed (slots freed, breakers, reports). The use case
 * charges that state (`services`, else the one it gave) with `charge`, in the conditional write of the claim; when that
 * write is lost it reads again and calls `applyBrakes` with that one candidate.
 */
import { budgetBrake, budgetSpent, delayBrake } from './budget.ts';
import { charge } from './charge.ts';
import { estateBrake, observeEstate } from './estate-breaker.ts';
import { type BrakeEvent, type Candidate, costOf, type ServiceFacts, type Withholding, withholding } from './facts.ts';
import { holdBrake } from './hold.ts';
import { inFlightBrake, observeInFlight } from './in-flight.ts';
import { placesNeeded, rateBrake, recentRestarts } from './rate.ts';
import { announceBreaker, breakerBrake, observeBreaker } from './service-breaker.ts';
import type { EstateBrakes } from './settings.ts';
import type { BrakeState, EstateState } from './state.ts';

/** A brake of which nobody knows the end is tried again after this. */
export const RETRY_MS = 10_000;

/** One pass's question. */
export interface BrakeInput<C extends Candidate> {
  readonly nowMs: number;
  /** Due restarts, in the order that decides between equally old ones. One a task; one a service for forced deployments. */
  readonly candidates: readonly C[];
  /** See `ServiceFacts` for which belong in. A candidate of a service that is not here is withheld: its cap is unknown. */
  readonly services: readonly ServiceFacts[];
  readonly estate: {
    readonly brakes: EstateBrakes;
    readonly state: EstateState;
    /** Number of all services that count for the estate breaker; needed only where `needsConsidered` says so. */
    readonly considered?: number;
  };
  /** Cluster → instants of its restarts; those older than 60 s are ignored. */
  readonly restarts: ReadonlyMap<string, readonly number[]>;
}

/** A due restart that is held back. */
export interface WithheldCandidate<C extends Candidate> {
  readonly candidate: C;
  /** All brakes that apply, never empty: holds, breakers, budget, delay, caps. */
  readonly reasons: readonly Withholding[];
  /**
   * The deadline to wake for: when all of its brakes are over, at least 10 s from now where an end is not known. Brakes
   * may end earlier (a release, a recovery), so every pass before it decides again.
   */
  readonly nextMs: number;
}

/** One pass's answer; candidates oldest first. */
export interface BrakeResult<C extends Candidate> {
  readonly allowed: readonly C[];
  readonly withheld: readonly WithheldCandidate<C>[];
  /** New states, of those services only whose state changed. */
  readonly services: ReadonlyMap<string, BrakeState>;
  /** The same object as in the input where nothing changed. */
  readonly estate: EstateState;
  readonly events: readonly BrakeEvent[];
}

/** One service within a pass. */
interface Draft {
  readonly facts: ServiceFacts;
  /** To be stored. */
  observed: BrakeState;
  /** `observed` with this pass's restarts charged. */
  projected: BrakeState;
  allowed: number;
  /** A forced deployment was allowed. */
  forced: boolean;
  /** The budget refused a due restart. */
  spent: boolean;
}

interface Pass {
  readonly nowMs: number;
  readonly brakes: EstateBrakes;
  readonly estate: EstateState;
  readonly estateOpen: boolean;
  readonly drafts: ReadonlyMap<string, Draft>;
  /** Cluster → instants that count, this pass's included. */
  readonly minutes: Map<string, number[]>;
}

/** Decides over all due restarts of a pass. Pure and total. */
export function applyBrakes<C extends Candidate>(input: BrakeInput<C>): BrakeResult<C> {
  const { nowMs, estate, candidates } = input;
  const verdict = observeEstate(input.services, estate, candidates.length > 0, nowMs);
  const events: BrakeEvent[] = [...verdict.events];
  const drafts = observeServices(input, verdict.open, events);
  const minutes = new Map<string, number[]>();
  for (const [cluster, instants] of input.restarts) minutes.set(cluster, recentRestarts(instants, nowMs));
  const pass: Pass = { nowMs, brakes: estate.brakes, estate: verdict.state, estateOpen: verdict.open, drafts, minutes };

  const allowed: C[] = [];
  const withheld: WithheldCandidate<C>[] = [];
  for (const candidate of candidates.toSorted((one, other) => one.unhealthySinceMs - other.unhealthySinceMs)) {
    const reasons = decide(pass, candidate);
    if (reasons.length === 0) allowed.push(candidate);
    else withheld.push({ candidate, reasons, nextMs: nextMs(reasons, nowMs) });
  }
  const services = new Map<string, BrakeState>();
  for (const [key, draft] of drafts) {
    const state = settleBudget(draft, nowMs, events);
    if (state !== draft.facts.state) services.set(key, state);
  }
  return { allowed, withheld, services, estate: verdict.state, events };
}

function observeServices<C extends Candidate>(
  input: BrakeInput<C>,
  estateOpen: boolean,
  events: BrakeEvent[],
): ReadonlyMap<string, Draft> {
  const { nowMs } = input;
  const settings = input.estate.brakes.serviceBreaker;
  const due = new Set(input.candidates.map((candidate) => candidate.service));
  const drafts = new Map<string, Draft>();
  for (const facts of input.services) {
    const slots = observeInFlight(facts, nowMs);
    const breaker = observeBreaker(facts, slots.state, settings, due.has(facts.key), nowMs);
    // The estate breaker's one alarm speaks for all services; theirs follow if they outlast it.
    const announced = estateOpen
      ? { state: breaker.state, events: [] }
      : announceBreaker(facts, breaker.state, settings);
    events.push(...slots.events, ...breaker.events, ...announced.events);
    const { state } = announced;
    drafts.set(facts.key, { facts, observed: state, projected: state, allowed: 0, forced: false, spent: false });
  }
  return drafts;
}

/** All brakes that hold the candidate back; where none does, it is charged on the pass's copy. */
function decide(pass: Pass, candidate: Candidate): readonly Withholding[] {
  const { nowMs, brakes } = pass;
  const draft = pass.drafts.get(candidate.service);
  if (draft === undefined) return [withholding('in-flight', 'concurrency-cap', undefined)];
  const { facts, projected } = draft;
  const { restart } = facts.brakes;
  const forced = candidate.action === 'force-new-deployment';
  const cost = costOf(candidate.action, facts.instances);
  const minute = pass.minutes.get(facts.cluster) ?? [];
  const reasons = [
    holdBrake('hold-all', pass.estate.hold, nowMs),
    holdBrake('hold', projected.hold, nowMs),
    estateBrake(pass.estateOpen),
    breakerBrake(projected, brakes.serviceBreaker, nowMs),
    budgetBrake(projected, restart, facts.instances, cost, nowMs),
    delayBrake(projected, restart, nowMs),
    inFlightBrake(facts, projected, { forced, alone: draft.forced || (forced && draft.allowed > 0) }, nowMs),
    rateBrake(minute, brakes.perMinute, cost),
  ].filter((reason) => reason !== undefined);
  if (reasons.some(({ brake }) => brake === 'restart-budget')) draft.spent = true;
  if (reasons.length > 0) return reasons;

  draft.projected = charge(projected, { id: candidate.id, cost }, nowMs, facts.brakes);
  draft.allowed += 1;
  draft.forced = forced;
  const places = brakes.perMinute === null ? 0 : placesNeeded(cost, brakes.perMinute);
  pass.minutes.set(facts.cluster, recentRestarts([...minute, ...Array.from({ length: places }, () => nowMs)], nowMs));
  return [];
}

/**
 * Reports a spent budget and, in `fail` mode, holds the service. Only where none of its restarts was allowed in this pass: a cheaper
 * one may be, and its claim must not meet a hold that the same pass made.
 */
function settleBudget(draft: Draft, nowMs: number, events: BrakeEvent[]): BrakeState {
  const { facts, observed } = draft;
  if (!draft.spent || draft.allowed > 0 || facts.brakes.restart === null) return observed;
  const spent = budgetSpent(observed, facts.brakes.restart, facts, nowMs);
  events.push(...spent.events);
  return spent.state;
}

function nextMs(reasons: readonly Withholding[], nowMs: number): number {
  return Math.max(...reasons.map((reason) => reason.untilMs ?? nowMs + RETRY_MS));
}
