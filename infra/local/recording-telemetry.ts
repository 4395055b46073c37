/** Telemetry and events kept in memory, for `simulate` and tests. */
import type { EventPort, LogLevel, OutgoingEvent, TelemetryPort } from '../../lib/ports.ts';

/** One recorded line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly code: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Keeps lines in order, and sums counters. */
export class RecordingTelemetry implements TelemetryPort {
  readonly lines: RecordedLine[] = [];
  readonly counters = new Map<string, number>();

  log(level: LogLevel, code: string, fields: Readonly<Record<string, unknown>>): void {
    this.lines.push({ level, code, fields });
  }

  count(metric: string, value: number): void {
    this.counters.set(metric, (this.counters.get(metric) ?? 0) + value);
  }

  /** Fields of all lines with a code. */
  of(code: string): readonly Readonly<Record<string, unknown>>[] {
    return this.lines.filter((line) => line.code === code).map(({ fields }) => fields);
  }
}

/** Keeps events in order. */
export class RecordingEvents implements EventPort {
  readonly events: OutgoingEvent[] = [];

  async publish(events: readonly OutgoingEvent[]): Promise<void> {
    this.events.push(...events);
  }
}
