/** What can be set about the brakes (DESIGN section 2), their defaults, and how parts of settings are put together. */

/** Nomad's `restart` stanza, kept per ECS service because a replacement has a new identity. */
export interface RestartBudget {
  /** Restarts in a window for each instance; the service has `attempts` × instances. 0 = none ever. */
  readonly attempts: number;
  /** Length of a window, which begins with its first restart. */
  readonly intervalMs: number;
  /** Least time between two restarts of the service. 0 = none. */
  readonly delayMs: number;
  /** Once spent: `delay` waits for the window's end, `fail` holds the service until an operator releases it. */
  readonly mode: 'fail' | 'delay';
}

/** Restarts of a service at one time: a number, or a share (0.1 = 10 %) of its instances rounded down. At least 1 either way. */
export type InFlightLimit = { readonly count: number } | { readonly share: number };

/** Brakes of one ECS service. `null` switches a brake off. */
export interface ServiceBrakes {
  readonly restart: RestartBudget | null;
  readonly inFlight: InFlightLimit | null;
}

/** When a service has so many unhealthy instances that restarting is not the answer. */
export interface ServiceBreaker {
  /** Opens above this share of unhealthy instances (exactly the share is not above). */
  readonly share: number;
  /** Services with fewer instances have no breaker of their own. */
  readonly minInstances: number;
  /** Wait until a first probe; `null` = until an operator releases it. */
  readonly retryMs: number | null;
}

/** When so many services are down that the fault is ours or the network's. */
export interface EstateBreaker {
  /** Opens above this share of all services considered. */
  readonly share: number;
  /** Never opens with fewer services down. */
  readonly minServices: number;
}

/** Brakes of the whole deployment. `null` switches a brake off. */
export interface EstateBrakes {
  /** Restarts in any 60 s, per cluster. */
  readonly perMinute: number | null;
  readonly serviceBreaker: ServiceBreaker | null;
  readonly estateBreaker: EstateBreaker | null;
}

type Part<T> = { readonly [K in keyof T]?: T[K] };

/** Some brakes of a service, as one rule states them. Absent says nothing, `null` switches off. */
export interface ServiceBrakesPart {
  readonly restart?: Part<RestartBudget> | null;
  readonly inFlight?: InFlightLimit | null;
}

/** Some brakes of the deployment, as a policy document states them. Absent says nothing, `null` switches off. */
export interface EstateBrakesPart {
  readonly perMinute?: number | null;
  readonly serviceBreaker?: Part<ServiceBreaker> | null;
  readonly estateBreaker?: Part<EstateBreaker> | null;
}

const DEFAULT_RESTART: RestartBudget = { attempts: 2, intervalMs: 1_800_000, delayMs: 15_000, mode: 'delay' };
const DEFAULT_SERVICE_BREAKER: ServiceBreaker = { share: 0.5, minInstances: 4, retryMs: 600_000 };
const DEFAULT_ESTATE_BREAKER: EstateBreaker = { share: 0.5, minServices: 5 };

/** 2 restarts an instance in 30 min, then delay; 15 s between two; 10 % of the instances at one time. */
export const DEFAULT_SERVICE_BRAKES: ServiceBrakes = { restart: DEFAULT_RESTART, inFlight: { share: 0.1 } };

/** 10 restarts a minute and cluster; breakers above half of 4 and more instances, and above half of 5 and more services. */
export const DEFAULT_ESTATE_BRAKES: EstateBrakes = {
  perMinute: 10,
  serviceBreaker: DEFAULT_SERVICE_BREAKER,
  estateBreaker: DEFAULT_ESTATE_BREAKER,
};

/** Everything off, where a scenario starts from. */
export const NO_SERVICE_BRAKES: ServiceBrakes = { restart: null, inFlight: null };
/** Everything off, where a scenario starts from. */
export const NO_ESTATE_BRAKES: EstateBrakes = { perMinute: null, serviceBreaker: null, estateBreaker: null };

/**
 * Later parts win, field by field. A part that states fields of a brake which is off switches it on again; the fields
 * it does not state are then the defaults'.
 */
export function mergeServiceBrakes(base: ServiceBrakes, ...parts: readonly ServiceBrakesPart[]): ServiceBrakes {
  return parts.reduce<ServiceBrakes>(
    (sum, part) => ({
      restart: mergeBrake(sum.restart, part.restart, DEFAULT_RESTART),
      inFlight: part.inFlight === undefined ? sum.inFlight : part.inFlight,
    }),
    base,
  );
}

/** As `mergeServiceBrakes`, for the deployment's brakes. */
export function mergeEstateBrakes(base: EstateBrakes, ...parts: readonly EstateBrakesPart[]): EstateBrakes {
  return parts.reduce<EstateBrakes>(
    (sum, part) => ({
      perMinute: part.perMinute === undefined ? sum.perMinute : part.perMinute,
      serviceBreaker: mergeBrake(sum.serviceBreaker, part.serviceBreaker, DEFAULT_SERVICE_BREAKER),
      estateBreaker: mergeBrake(sum.estateBreaker, part.estateBreaker, DEFAULT_ESTATE_BREAKER),
    }),
    base,
  );
}

function mergeBrake<T extends object>(base: T | null, part: Part<T> | null | undefined, defaults: T): T | null {
  if (part === undefined) return base;
  if (part === null) return null;
  const stated = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
  return { ...(base ?? defaults), ...stated };
}
