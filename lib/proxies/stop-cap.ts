/**
 * At most so many proxies are stopped for good in a minute, however many the declarations seem to have lost. Replacements
 * and restarts don't count (they come back), and `kill` is not capped (a person said "all").
 */
import type { StopWhy } from './proxy-state.ts';
import type { ProxySettings } from './settings.ts';

/** A stop that was charged. One proxy is charged once, however often its stop is tried within the window. */
export interface ChargedStop {
  readonly proxyId: string;
  readonly atMs: number;
}

/** Hands out the stops of one pass. */
export interface StopBudget {
  /** `undefined`: may be stopped, and is charged; else when the next place is free. */
  take(proxyId: string): { readonly freeAtMs: number } | undefined;
  /** What is charged after the pass; to be stored. */
  charged(): readonly ChargedStop[];
}

/** Whether a stop is one for good. */
export function isCapped(why: StopWhy): boolean {
  return why === 'removed';
}

/** The budget of one pass. `lift`: an operator's `sync` with `stops: N` allows that many in this pass, if the cap allows fewer. */
export function openStopBudget(
  before: readonly ChargedStop[],
  proxies: number,
  nowMs: number,
  settings: ProxySettings,
  lift: number,
): StopBudget {
  const cap = settings.stopCap;
  const windowMs = cap?.windowMs ?? 0;
  const charged = before.filter((stop) => stop.atMs <= nowMs && nowMs - stop.atMs < windowMs);
  const limit = cap === null ? Number.POSITIVE_INFINITY : Math.max(cap.atLeast, Math.floor(cap.share * proxies));
  let free = Math.max(limit - charged.length, lift);
  return {
    take(proxyId) {
      if (cap === null || charged.some((stop) => stop.proxyId === proxyId)) return undefined;
      if (free <= 0) return { freeAtMs: Math.min(...charged.map((stop) => stop.atMs), nowMs) + windowMs };
      free -= 1;
      charged.push({ proxyId, atMs: nowMs });
      return undefined;
    },
    charged: () => charged,
  };
}
