/**
 * Fuzzing: `FUZZ_RUNS` cases a property, a few in the test-suite and 100,000 in `npm run fuzz`. Inputs are both arbitrary
 * JSON and documents of the right shape with something wrong in them, since pure noise never gets past the first field.
 */
import fc from 'fast-check';

export const RUNS = Number(process.env.FUZZ_RUNS ?? 300);

/** Any JSON, with the keys that our decoders look at among the arbitrary ones. */
export function jsonLike(keys: readonly string[]): fc.Arbitrary<unknown> {
  const key = fc.oneof(fc.constantFrom(...keys), fc.string({ unit: 'binary' }));
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('critical', 'warning', 'passing', '', '10s', '-5s', '__proto__', 'true', '0', '🔥', '\ud800'),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  return fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 6 }),
    ),
  })).value;
}

/** A valid value in which one part, at a random place, is replaced by anything. */
export function damaged(valid: unknown, keys: readonly string[]): fc.Arbitrary<unknown> {
  const places = placesOf(valid, []);
  return fc
    .tuple(fc.constantFrom(...places), jsonLike(keys), fc.boolean())
    .map(([place, anything, isRemoved]) => replaced(valid, place, anything, isRemoved));
}

function placesOf(value: unknown, path: readonly string[]): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown, isRemoved: boolean): unknown {
  if (key === undefined) return by;
  const copy: Record<string, unknown> = { ...(value as Record<string, unknown>) };
  if (rest.length === 0 && isRemoved) delete copy[key];
  else copy[key] = replaced(copy[key], rest, by, isRemoved);
  return Array.isArray(value) ? Object.values(copy) : copy;
}
