/** Settings of the reconciler; durations in milliseconds, defaults of DESIGN section 4. */
import { type BackoffSettings, DEFAULT_BACKOFF } from './backoff.ts';

/** How many proxies may be stopped for good in a while. */
export interface StopCapSettings {
  /** Share of all known proxies. */
  readonly share: number;
  /** So many in any case. */
  readonly atLeast: number;
  readonly windowMs: number;
}

/** Settings of `planReconcile`. */
export interface ProxySettings {
  /** How long a proxy must be undeclared before it is stopped. */
  readonly removalDelayMs: number;
  /** How long ECS may not know a task that it has just made. */
  readonly startPatienceMs: number;
  /** An accepted stop that shows no effect is repeated after this. */
  readonly stopRepeatMs: number;
  /** `null`: not capped. */
  readonly stopCap: StopCapSettings | null;
  readonly backoff: BackoffSettings;
}

/** The defaults. */
export const DEFAULT_PROXY_SETTINGS: ProxySettings = {
  removalDelayMs: 30_000,
  startPatienceMs: 180_000,
  stopRepeatMs: 30_000,
  stopCap: { share: 0.2, atLeast: 3, windowMs: 60_000 },
  backoff: DEFAULT_BACKOFF,
};
