/**
 * The rules of Consul's blocking queries (DESIGN section 3): what may be sent as `index`, how long to `wait`, and when
 * we stop believing that an answer will come. An index is a text: it outgrows what a JavaScript number holds exactly.
 */

/** Consul's own default and a sane upper bound; it allows 10 minutes. */
export const MAX_WAIT_MS = 300_000;
/** `wait=0s` would mean Consul's default of five minutes, so a wait is never shorter than this. */
export const MIN_WAIT_MS = 1000;

/** An index as it may be sent: digits, not zero; else `undefined`, which asks without one. */
export function usableIndex(header: string | undefined): string | undefined {
  return header !== undefined && /^\d{1,20}$/.test(header) && BigInt(header) > 0n ? header : undefined;
}

/** The index of the next query after one that was sent with `sent`: none (start afresh) when it is unusable or went backwards. */
export function nextIndex(sent: string | undefined, received: string | undefined): string | undefined {
  const index = usableIndex(received);
  if (index === undefined || (sent !== undefined && isBefore(index, sent))) return undefined;
  return index;
}

/** True when the first index is the older one. */
export function isBefore(first: string, second: string): boolean {
  return BigInt(first) < BigInt(second);
}

/** How long Consul is asked to wait for an answer wanted until then. */
export function waitMsUntil(untilMs: number, nowMs: number): number {
  return Math.min(Math.max(Math.ceil(untilMs - nowMs), MIN_WAIT_MS), MAX_WAIT_MS);
}

/** Our own limit on such a query: Consul adds up to a sixteenth of the wait to spread its load. */
export function blockingBudgetMs(waitMs: number, marginMs: number): number {
  return waitMs + Math.ceil(waitMs / 16) + marginMs;
}
