import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from '../../lib/proxies/fingerprint.ts';
import { sameContent } from '../../lib/proxies/same-content.ts';

test.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, true],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: undefined, b: 1 }, { b: 1, c: undefined }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { a: 1 }, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: '1' }, false],
  [{ a: null }, {}, false],
  [{}, null, false],
  [[1, 2], [2, 1], false],
  [[1, 2], [1, 2, 3], false],
  [[1], { 0: 1 }, false],
  [{ 0: 1 }, [1], false],
  [[], {}, false],
  [0, -0, true],
  // A field that every object inherits is not its own.
  [{}, { constructor: 1 }, false],
])('%j and %j have the same content: %j', (one, other, expected) => {
  expect(sameContent(one, other)).toBe(expected);
});

test('it is as the canonical texts are', () => {
  const few = fc.jsonValue({ maxDepth: 3, depthSize: 'small' });
  const pairs = fc.oneof(
    fc.tuple(few, few),
    few.map((value): [unknown, unknown] => [value, JSON.parse(canonicalJson(value))]),
    fc.tuple(few, few, few).map(([a, b, c]): [unknown, unknown] => [
      { a, b },
      { b, a: c },
    ]),
  );
  fc.assert(
    fc.property(pairs, ([one, other]) => {
      expect(sameContent(one, other)).toBe(canonicalJson(one) === canonicalJson(other));
    }),
    { numRuns: 500 },
  );
});
