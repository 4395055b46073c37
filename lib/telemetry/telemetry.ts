/**
 * `TelemetryPort` on Powertools: one JSON line an event, metrics in the embedded metric format, both on stdout.
 *
 * A line is `{ level, message, code, detail: {…}, … }`. The caller's fields are below `detail`, since Powertools keeps
 * names such as `service` and `message` for itself. Counters are summed and leave in one line at `flush`.
 */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { EVENT_CODES, type EventCodeEntry, METRICS_NAMESPACE, type Metric } from '../event-codes.ts';
import type { LogLevel, TelemetryPort } from '../ports.ts';
import type { Redactor } from './redact.ts';

/** What is needed to make it. */
export interface TelemetryOptions {
  /** Name of the function: in each line, and the metrics' dimension. */
  readonly serviceName: string;
  /** Lines below it are not written. Lambda's own setting, where there is one, wins. */
  readonly logLevel: LogLevel;
  readonly redactor: Redactor;
}

/** The port, and what a handler does around an invocation. */
export interface Telemetry extends TelemetryPort {
  /** Added to every line until the next call, such as the request's ID. */
  setContext(context: Readonly<Record<string, string>>): void;
  /** Writes the counters since the last flush. Once an invocation, at its end, whatever happened. */
  flush(): void;
}

/** One for each process. */
export function createTelemetry({ serviceName, logLevel, redactor }: TelemetryOptions): Telemetry {
  const logger = new Logger({ serviceName, logLevel: UPPER_CASE[logLevel] });
  const metrics = new Metrics({ namespace: METRICS_NAMESPACE, serviceName });
  const counters = new Map<string, number>();
  const always: Metric = 'Invocations';
  return {
    log: (level, code, fields) => {
      logger[level]({ message: meaningOf(code), code, detail: redactor.clean(fields, level) });
    },
    count: (metric, value) => {
      counters.set(metric, (counters.get(metric) ?? 0) + value);
    },
    setContext: (context) => {
      logger.resetKeys();
      logger.appendKeys({ ...context });
    },
    flush: () => {
      // Without any metric Powertools writes a warning instead.
      metrics.addMetric(always, MetricUnit.Count, 1);
      for (const [metric, value] of counters) metrics.addMetric(metric, MetricUnit.Count, value);
      counters.clear();
      metrics.publishStoredMetrics();
    },
  };
}

const UPPER_CASE = { debug: 'DEBUG', info: 'INFO', warn: 'WARN', error: 'ERROR' } as const;

function meaningOf(code: string): string {
  const catalogue: Readonly<Record<string, EventCodeEntry>> = EVENT_CODES;
  return Object.hasOwn(catalogue, code) ? (catalogue[code]?.meaning ?? code) : code;
}
