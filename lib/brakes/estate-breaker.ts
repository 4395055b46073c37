/**
 * Estate breaker (DESIGN section 2): a fault that hits most services at once is ours or the network's. It has no
 * half-open: it closes when fewer services are down. Its state is only there to publish its opening once.
 */
import { type BrakeEvent, isMoreThanShare, type ServiceFacts, type Withholding, withholding } from './facts.ts';
import { isAboveShare } from './service-breaker.ts';
import { DEFAULT_ESTATE_BRAKES, type EstateBrakes } from './settings.ts';
import type { EstateState } from './state.ts';

const NAMED_SERVICES = 20;
/** Share that makes a service "down" where the service breaker, whose share it is, is off. */
const FALLBACK_SHARE = DEFAULT_ESTATE_BRAKES.serviceBreaker?.share ?? 0.5;

/** The estate's verdict on a pass. */
export interface ObservedEstate {
  readonly state: EstateState;
  readonly events: readonly BrakeEvent[];
  /** Whether nothing may be restarted. */
  readonly open: boolean;
}

/** Services of which more than the service breaker's share of the instances, whatever their number, is unhealthy. */
export function servicesDown(services: readonly ServiceFacts[], brakes: EstateBrakes): readonly string[] {
  const share = brakes.serviceBreaker?.share ?? FALLBACK_SHARE;
  return services.filter((facts) => isAboveShare(facts, share)).map((facts) => facts.key);
}

/** Whether the number of all services matters, so that it must be read: only when enough of them are down. */
export function needsConsidered(services: readonly ServiceFacts[], brakes: EstateBrakes): boolean {
  return brakes.estateBreaker !== null && servicesDown(services, brakes).length >= brakes.estateBreaker.minServices;
}

/**
 * Opens when at least `minServices` are down and they are more than `share` of `considered`. Where that number matters
 * and is not known, nothing may be restarted, but it is no alarm and changes no state. Opens only when something is due.
 */
export function observeEstate(
  services: readonly ServiceFacts[],
  estate: { readonly brakes: EstateBrakes; readonly state: EstateState; readonly considered?: number },
  due: boolean,
  nowMs: number,
): ObservedEstate {
  const { brakes, state, considered } = estate;
  const { openSinceMs, ...closed } = state;
  const wasOpen = openSinceMs !== undefined;
  const settings = brakes.estateBreaker;
  const down = servicesDown(services, brakes);
  const enough = settings !== null && down.length >= settings.minServices;
  if (enough && considered === undefined) return { state, events: [], open: true };

  const above = enough && isMoreThanShare(down.length, settings.share, considered ?? 0);
  if (!above)
    return { state: wasOpen ? closed : state, events: wasOpen ? [{ type: 'estate-breaker-closed' }] : [], open: false };
  if (wasOpen || !due) return { state, events: [], open: true };
  const event: BrakeEvent = {
    type: 'estate-breaker-opened',
    down: down.length,
    considered: considered ?? 0,
    services: down.slice(0, NAMED_SERVICES),
  };
  return { state: { ...state, openSinceMs: nowMs }, events: [event], open: true };
}

/** Applies while the estate breaker is open. */
export function estateBrake(open: boolean): Withholding | undefined {
  return open ? withholding('estate-breaker', 'breaker-open', undefined) : undefined;
}
