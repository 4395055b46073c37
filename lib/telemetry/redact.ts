/**
 * The last gate before a log line or an event leaves: whatever a caller hands in, no secret and no check output passes,
 * and nothing is large. Callers should not hand such things in; this is for the day on which one does.
 */
import { isDate } from 'node:util/types';
import type { LogLevel } from '../ports.ts';

const REDACTED = '[redacted]';
/** A shorter text is no secret, and replacing it would make every line unreadable. */
const SHORTEST_SECRET = 4;
const LONGEST_TEXT = 1024;
const LONGEST_OUTPUT = 256;
const MOST_ENTRIES = 200;
const DEEPEST = 6;
const SECRET_NAME = /token|secret|password|authorization|credential/i;
/** Of a check; may hold anything an application prints. */
const OUTPUT_NAME = /^(?:check)?output$/i;

/** Makes values fit to leave. */
export interface Redactor {
  /** Learns a secret; from now on it is replaced wherever it occurs, percent-encoded too. */
  add(secret: string): void;
  /** A copy: secrets replaced, check output dropped above debug level, texts, lists and depth bounded. */
  clean(value: unknown, level: LogLevel): unknown;
}

/** A redactor that knows some secrets already. */
export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Set<string>();
  const add = (secret: string) => {
    if (secret.length < SHORTEST_SECRET) return;
    known.add(secret);
    known.add(encodeURIComponent(secret.toWellFormed()));
  };
  for (const secret of secrets) add(secret);
  const text = (value: string, longest = LONGEST_TEXT) => {
    let safe = value;
    for (const secret of known) safe = safe.replaceAll(secret, REDACTED);
    return safe.length <= longest ? safe : `${safe.slice(0, longest)}…`.toWellFormed();
  };
  return { add, clean: (value, level) => clean(value, { level, text, depth: 0 }) };
}

interface Cleaning {
  readonly level: LogLevel;
  readonly text: (value: string, longest?: number) => string;
  readonly depth: number;
}

function clean(value: unknown, how: Cleaning): unknown {
  if (typeof value === 'string') return how.text(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (isDate(value)) return String(value);
  if (how.depth >= DEEPEST) return '[deeper]';
  const inner = { ...how, depth: how.depth + 1 };
  if (value instanceof Error) return cleanEntries(entriesOfError(value), inner);
  if (value instanceof Map)
    return cleanEntries(
      [...value].map(([name, one]) => [String(name), one]),
      inner,
    );
  if (Array.isArray(value) || value instanceof Set) return cleanList([...value], inner);
  return cleanEntries(Object.entries(value), inner);
}

function cleanList(values: readonly unknown[], how: Cleaning): unknown[] {
  const kept = values.slice(0, MOST_ENTRIES).map((one) => clean(one, how));
  return values.length > MOST_ENTRIES ? [...kept, `${values.length - MOST_ENTRIES} more`] : kept;
}

function cleanEntries(entries: readonly (readonly [string, unknown])[], how: Cleaning): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [name, value] of entries.slice(0, MOST_ENTRIES)) {
    if (OUTPUT_NAME.test(name)) {
      if (how.level === 'debug') kept.push([name, how.text(String(value), LONGEST_OUTPUT)]);
    } else {
      kept.push([how.text(name), SECRET_NAME.test(name) ? REDACTED : clean(value, how)]);
    }
  }
  if (entries.length > MOST_ENTRIES) kept.push(['…', `${entries.length - MOST_ENTRIES} more`]);
  return Object.fromEntries(kept);
}

/** An error with a code is understood; of any other the stack is wanted. */
function entriesOfError(error: Error): [string, unknown][] {
  const entries: [string, unknown][] = [
    ['name', error.name],
    ['message', error.message],
  ];
  if ('system' in error) entries.push(['system', error.system]);
  if ('code' in error) entries.push(['code', error.code]);
  else entries.push(['stack', error.stack]);
  if (error.cause !== undefined) entries.push(['cause', error.cause]);
  if (error instanceof AggregateError) entries.push(['errors', error.errors]);
  return entries;
}
