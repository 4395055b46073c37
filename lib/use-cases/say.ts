/** Log lines and counters by the catalogue: a code that is not in it does not compile. */
import { EVENT_CODES, type EventCode, type Metric } from '../event-codes.ts';
import type { TelemetryPort } from '../ports.ts';

/** Logs a code at its level. */
export function say(
  { telemetry }: { readonly telemetry: TelemetryPort },
  code: EventCode,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  telemetry.log(EVENT_CODES[code].level, code, fields);
}

/** Adds to a metric; nothing is added for 0. */
export function count({ telemetry }: { readonly telemetry: TelemetryPort }, metric: Metric, value: number): void {
  if (value !== 0) telemetry.count(metric, value);
}
