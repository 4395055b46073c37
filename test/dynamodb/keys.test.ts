import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { historyKey, leaseKey, serviceKey, slotKey, watchedCheckKey } from '../../lib/dynamodb/keys.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', minLength: 200, maxLength: 900 }),
  fc.constantFrom('', '/', '#', 'sha256:', '..', '%2F', '\ud83d', '__proto__'),
);
const check = fc.record({ partition: anyText, namespace: anyText, node: anyText, checkId: anyText });
const bytes = (text: string) => Buffer.byteLength(text);

describe('keys', () => {
  test('whatever the names are, a sort key has 1 to 1024 bytes', () => {
    fc.assert(
      fc.property(check, anyText, (names, name) => {
        const keys = [watchedCheckKey(names), serviceKey(name), leaseKey(name), slotKey(name)];
        for (const { pk, sk } of keys) {
          expect(bytes(pk)).toBeGreaterThan(0);
          expect(bytes(sk)).toBeGreaterThan(0);
          expect(bytes(sk)).toBeLessThanOrEqual(1024);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('checks that differ have different keys', () => {
    const wellFormed = (one: { [K in 'partition' | 'namespace' | 'node' | 'checkId']: string }) =>
      JSON.stringify([one.partition, one.namespace, one.node, one.checkId].map((part) => part.toWellFormed()));
    fc.assert(
      fc.property(check, check, (one, other) => {
        fc.pre(wellFormed(one) !== wellFormed(other));
        expect(watchedCheckKey(one).sk).not.toBe(watchedCheckKey(other).sk);
      }),
      { numRuns: 300 },
    );
  });

  test('a name that looks like a hash is hashed too, so it cannot stand for another', () => {
    const { sk } = leaseKey('x'.repeat(2000));
    expect(leaseKey(sk).sk).not.toBe(sk);
  });

  test('a name of up to 900 bytes stays readable', () => {
    expect(leaseKey('x'.repeat(900)).sk).toBe('x'.repeat(900));
    expect(leaseKey('x'.repeat(901)).sk).toMatch(/^sha256:/);
    expect(serviceKey('prod/service/web').sk).toBe('service#prod/service/web');
  });

  test('history sorts by time', () => {
    const keys = [5, 1_796_040_000_000, 999_999_999_999].map((atMs) => historyKey(atMs, 'u').sk);
    expect([...keys].sort()).toEqual([keys[0], keys[2], keys[1]]);
  });
});
