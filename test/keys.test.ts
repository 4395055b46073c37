import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkKey, instanceKey } from '../lib/ports.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('a', 'Z', '0', '_', '.', '-', '/', ':', '%', 'é') }),
);

test('a key is its parts, each percent-encoded, whatever is in them: no two checks have the same', () => {
  fc.assert(
    fc.property(text, text, text, text, (partition, namespace, node, id) => {
      const encoded = [partition, namespace, node, id].map((part) => encodeURIComponent(part.toWellFormed())).join('/');
      expect(checkKey({ partition, namespace, node, checkId: id })).toBe(encoded);
      expect(instanceKey({ partition, namespace, node, serviceId: id })).toBe(encoded);
    }),
  );
});
