/**
 * Go durations (`"90s"`, `"1h30m"`, `"1.5s"`, `"100ms"`), the notation that Nomad and Consul use.
 * Everything inside the code is milliseconds; this file is the edge.
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ns: 1e-6,
};

const WHOLE = /^(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|μs|ns)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|μs|ns))*$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)/g;

/** Go keeps a duration as nanoseconds in 63 bits, which is 292 years; what Consul and Nomad cannot hold is none here. */
const LONGEST_MS = 2 ** 63 / 1e6;

/**
 * Milliseconds of a Go duration, or `undefined` where the text is not one. Negative durations, numbers without a
 * unit (but `"0"`, as in Go) and empty texts are not durations here; nothing that we configure can be negative.
 */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!WHOLE.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  return totalMs < LONGEST_MS ? toWholeNanoseconds(totalMs) : undefined;
}

/** The shortest Go duration of an amount of milliseconds: `90000` → `"1m30s"`, `500` → `"500ms"`. */
export function formatDurationMs(durationMs: number): string {
  if (durationMs < 1000) {
    const shortMs = toWholeNanoseconds(durationMs);
    return shortMs === 0 ? '0s' : `${shortMs}ms`;
  }
  const wholeMs = Math.round(durationMs);
  const hours = Math.floor(wholeMs / 3_600_000);
  const minutes = Math.floor((wholeMs % 3_600_000) / 60_000);
  const seconds = (wholeMs % 60_000) / 1000;
  return `${hours ? `${hours}h` : ''}${minutes ? `${minutes}m` : ''}${seconds ? `${seconds}s` : ''}`;
}

/** `1.005 * 1000` is 1004.9999999999999; a duration is whole nanoseconds. */
function toWholeNanoseconds(durationMs: number): number {
  return Number.isInteger(durationMs) ? durationMs : Math.round(durationMs * 1e6) / 1e6;
}
