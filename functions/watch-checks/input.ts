/** What watch-checks may be invoked with. Unknown keys are refused: a misspelt `dryRun` must not restart anything. */
import * as z from 'zod/mini';
import { parseDurationMs } from '../../lib/check-restart/duration.ts';
import { schemaProblems } from '../../lib/config/schema-problems.ts';
import type { ExplainRequest } from '../../lib/use-cases/explain.ts';
import { type HoldRequest, type HoldTarget, targetKey } from '../../lib/use-cases/hold.ts';

/** An understood invocation. */
export type WatchInput =
  | { readonly action: 'window' }
  | { readonly action: 'pass'; readonly dryRun: boolean; readonly service?: string }
  | { readonly action: 'status' }
  | { readonly action: 'explain'; readonly of: ExplainRequest }
  | { readonly action: 'hold'; readonly hold: HoldRequest }
  | { readonly action: 'release'; readonly target: HoldTarget };

/** Thrown for an input that is not understood; lists every problem. Nothing has been done. */
export class InvalidInput extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`invalid input:\n${problems.join('\n')}`);
    this.name = 'InvalidInput';
    this.problems = problems;
  }
}

const LONGEST_HOLD_MS = 366 * 24 * 3_600_000;
const targetError = 'an ECS service as CLUSTER/NAME (stand-alone tasks: CLUSTER/family/FAMILY)';
const whyError = 'a text of 1 to 200 characters';
const forError = 'a duration with a unit such as "2h", 1s to 8784h; absent = until released';

/** A text that people write: not empty, on one line, not too long. */
function text(error: string, most: number) {
  return z
    .string({ error })
    .check(z.minLength(1, { error }), z.maxLength(most, { error }), z.regex(/^[^\p{Cc}]*$/u, { error }));
}

const service = text('the name of a Consul service', 255);
const target = z.pipe(
  text(targetError, 600).check(z.refine((name) => targetKey(name) !== undefined, { error: targetError })),
  z.transform((name) => targetKey(name) ?? name),
);
const all = z.literal(true, { error: 'true (everything), instead of service' });
const holdFor = z.pipe(
  z.string({ error: forError }).check(
    z.refine((written) => (parseDurationMs(written) ?? -1) >= 1000, { error: forError, abort: true }),
    z.refine((written) => (parseDurationMs(written) ?? 0) <= LONGEST_HOLD_MS, { error: forError }),
  ),
  z.transform((written) => parseDurationMs(written) ?? 0),
);

function action<const A extends string, T extends Record<string, z.core.SomeType>>(name: A, shape: T) {
  return z.strictObject({ action: z.literal(name), ...shape }, { error: ['action', ...Object.keys(shape)].join(', ') });
}

const window = action('window', {});
const pass = action('pass', {
  dryRun: z._default(z.boolean({ error: 'true or false (not a text)' }), false),
  service: z.exactOptional(service),
});
const status = action('status', {});
const explain = action('explain', {
  task: z.exactOptional(text('a task ID or ARN', 600)),
  service: z.exactOptional(service),
  check: z.exactOptional(text('a check ID or name', 600)),
});
const hold = action('hold', {
  service: z.exactOptional(target),
  all: z.exactOptional(all),
  for: z.exactOptional(holdFor),
  why: text(whyError, 200),
});
const release = action('release', { service: z.exactOptional(target), all: z.exactOptional(all) });

const ACTIONS = ['window', 'pass', 'status', 'explain', 'hold', 'release'];
const input = z.discriminatedUnion('action', [window, pass, status, explain, hold, release], {
  error: `an object whose action is one of ${ACTIONS.map((one) => `"${one}"`).join(', ')}`,
});

/** The event EventBridge sends when a schedule names no input of its own. */
const scheduled = z.looseObject({ source: z.enum(['aws.scheduler', 'aws.events']), 'detail-type': z.string() });

/**
 * Reads the function's event: ours, the schedule's (a window), or nothing at all (a pass, as `invoke local` without data).
 * Throws `InvalidInput`.
 */
export function parseInput(event: unknown): WatchInput {
  if (event === undefined || event === null || event === '' || isEmptyObject(event)) {
    return { action: 'pass', dryRun: false };
  }
  if (scheduled.safeParse(event).success) return { action: 'window' };
  const read = input.safeParse(event);
  if (!read.success) {
    throw new InvalidInput([...schemaProblems(read.error.issues, event, 'input'), ...targetProblems(event)]);
  }
  return understood(read.data);
}

function understood(read: z.infer<typeof input>): WatchInput {
  switch (read.action) {
    case 'explain': {
      const { action: _, ...of } = read;
      if (Object.keys(of).length === 0)
        throw new InvalidInput(['input: allowed: at least one of task, service, check']);
      return { action: 'explain', of };
    }
    case 'hold': {
      const { why } = read;
      const until = read.for === undefined ? {} : { forMs: read.for };
      return { action: 'hold', hold: { ...targetOf(read), ...until, why } };
    }
    case 'release':
      return { action: 'release', target: targetOf(read) };
    default:
      return read;
  }
}

/** One of both: to release everything by leaving the service out would be a slip away. */
function targetProblems(event: unknown): string[] {
  const { action, service, all }: { action?: unknown; service?: unknown; all?: unknown } = Object(event);
  if (action !== 'hold' && action !== 'release') return [];
  if ((service === undefined) !== (all === undefined)) return [];
  return [`input: allowed: either service (${targetError}) or all (true)`];
}

function targetOf(read: { readonly action: string; readonly service?: string; readonly all?: true }): HoldTarget {
  const problems = targetProblems(read);
  if (problems.length > 0) throw new InvalidInput(problems);
  return read.service === undefined ? { all: true } : { service: read.service };
}

function isEmptyObject(event: unknown): boolean {
  return typeof event === 'object' && !Array.isArray(event) && Object.keys(event ?? {}).length === 0;
}
