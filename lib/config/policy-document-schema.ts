/**
 * What a policy document may look like: the one source of its validation (`policy-document.ts`) and of its published
 * JSON Schema (`policy-json-schema.ts`). Every message is what is allowed at that place, and completes "allowed: …".
 *
 * Durations are Go strings outside and milliseconds inside; `null` switches a brake off.
 */
import * as z from 'zod/mini';
import type { InFlightLimit } from '../brakes/settings.ts';
import { parseDurationMs } from '../check-restart/duration.ts';
import { ACTIONS, MODES, PROTECTION, STANDALONE } from '../check-restart/policy.ts';

const WEEK_MS = 604_800_000;
const DURATION_SHAPE = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|μs|ns))+$/;

function duration(minMs: number, allowed: string) {
  const error = `a duration with a unit such as "90s", ${allowed}`;
  const inBounds = (text: string) => {
    const valueMs = parseDurationMs(text) ?? -1;
    return valueMs >= minMs && valueMs <= WEEK_MS;
  };
  return z.pipe(
    z.string({ error }).check(z.regex(DURATION_SHAPE, { error, abort: true }), z.refine(inBounds, { error })),
    z.transform((text) => parseDurationMs(text) ?? Number.NaN),
  );
}

const positive = duration(1, '"1ms" to "168h"');
const notNegative = duration(0, '"0s" to "168h"');

function integer(min: number, max: number) {
  const error = `a whole number, ${min} to ${max}`;
  return z.int({ error }).check(z.gte(min, { error }), z.lte(max, { error }));
}

const shareError = 'a number from 0 to 1';
const share = z.number({ error: shareError }).check(z.gte(0, { error: shareError }), z.lte(1, { error: shareError }));

const flag = z.boolean({ error: 'true or false' });

function word<const T extends string>(words: readonly T[]) {
  return z.enum(words, { error: words.map((one) => `"${one}"`).join(', ') });
}

const globError = 'a glob of 1 to 255 characters (`*` any text, `?` one character)';
const glob = z
  .string({ error: globError })
  .check(z.minLength(1, { error: globError }), z.maxLength(255, { error: globError }));

/** An object with these keys and no others. */
function part<T extends Record<string, z.core.SomeType>>(shape: T) {
  return z.strictObject(shape, { error: `an object with any of ${Object.keys(shape).join(', ')}` });
}

/** The same, or `null`: a brake that is switched off. */
function brake<T extends Record<string, z.core.SomeType>>(shape: T) {
  const error = `an object with any of ${Object.keys(shape).join(', ')}, or null`;
  return z.nullable(z.strictObject(shape, { error }));
}

const inFlightError = 'a whole number of at least 1, a percentage above "0%" and up to "100%", or null';
const inFlight = z.union(
  [
    z.pipe(
      z.int().check(z.gte(1), z.lte(10_000)),
      z.transform((count): InFlightLimit => ({ count })),
    ),
    z.pipe(
      z.string().check(
        z.regex(/^(?:100|\d{1,2}(?:\.\d{1,3})?)%$/),
        z.refine((text) => Number.parseFloat(text) > 0),
      ),
      z.transform((text): InFlightLimit => ({ share: Number.parseFloat(text) / 100 })),
    ),
    z.null(),
  ],
  { error: inFlightError },
);

const restartBudget = brake({
  attempts: z.exactOptional(integer(0, 1000)),
  interval: z.exactOptional(positive),
  delay: z.exactOptional(notNegative),
  mode: z.exactOptional(word(['fail', 'delay'])),
});

const rule = part({
  match: part({
    service: z.exactOptional(glob),
    cluster: z.exactOptional(glob),
    namespace: z.exactOptional(glob),
    check: z.exactOptional(glob),
  }),
  checkRestart: z.exactOptional(
    part({
      limit: z.exactOptional(integer(0, 1000)),
      interval: z.exactOptional(positive),
      grace: z.exactOptional(notNegative),
      ignoreWarnings: z.exactOptional(flag),
    }),
  ),
  mode: z.exactOptional(word(MODES)),
  action: z.exactOptional(word(ACTIONS)),
  standalone: z.exactOptional(word(STANDALONE)),
  protection: z.exactOptional(word(PROTECTION)),
  brakes: z.exactOptional(part({ restart: z.exactOptional(restartBudget), inFlight: z.exactOptional(inFlight) })),
});

const documentBrakes = part({
  perMinute: z.exactOptional(z.nullable(integer(1, 1000))),
  serviceBreaker: z.exactOptional(
    brake({
      share: z.exactOptional(share),
      minInstances: z.exactOptional(integer(1, 10_000)),
      retry: z.exactOptional(z.nullable(positive)),
    }),
  ),
  estateBreaker: z.exactOptional(
    brake({ share: z.exactOptional(share), minServices: z.exactOptional(integer(1, 10_000)) }),
  ),
});

/** The document as it is written. */
export const PolicyDocumentSchema = part({
  $schema: z.exactOptional(z.string({ error: 'a text' })),
  rules: z.exactOptional(
    z.array(rule, { error: 'a list of rules' }).check(z.maxLength(1000, { error: 'at most 1000 rules' })),
  ),
  brakes: z.exactOptional(documentBrakes),
});
