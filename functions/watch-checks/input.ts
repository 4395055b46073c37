/** What watch-checks may be invoked with. Unknown keys are refused: a misspelt `dryRun` must not restart anything. */
import * as z from 'zod/mini';
import { schemaProblems } from '../../lib/config/schema-problems.ts';

/** An understood invocation. */
export type WatchInput =
  | { readonly action: 'window' }
  | { readonly action: 'pass'; readonly dryRun: boolean; readonly service?: string }
  | { readonly action: 'status' };

/** Thrown for an input that is not understood; lists every problem. Nothing has been done. */
export class InvalidInput extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`invalid input:\n${problems.join('\n')}`);
    this.name = 'InvalidInput';
    this.problems = problems;
  }
}

const ACTIONS = ['window', 'pass', 'status'] as const;
const serviceError = 'the name of a Consul service';
const dryRunError = 'true or false (not a text)';

const window = z.strictObject({ action: z.literal('window') }, { error: 'only action' });
const pass = z.strictObject(
  {
    action: z.literal('pass'),
    dryRun: z._default(z.boolean({ error: dryRunError }), false),
    service: z.exactOptional(
      z
        .string({ error: serviceError })
        .check(z.minLength(1, { error: serviceError }), z.maxLength(255, { error: serviceError })),
    ),
  },
  { error: 'action, dryRun, service' },
);
const status = z.strictObject({ action: z.literal('status') }, { error: 'only action' });
const input = z.discriminatedUnion('action', [window, pass, status], {
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
  if (!read.success) throw new InvalidInput(schemaProblems(read.error.issues, event, 'input'));
  return read.data;
}

function isEmptyObject(event: unknown): boolean {
  return typeof event === 'object' && !Array.isArray(event) && Object.keys(event ?? {}).length === 0;
}
