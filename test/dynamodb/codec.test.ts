import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import {
  decode,
  heartbeatData,
  historyData,
  isExpired,
  leaseData,
  policyData,
  serviceData,
  slotsData,
  watchedCheckData,
} from '../../lib/dynamodb/codec.ts';
import { service, watchedCheck } from '../contracts/state-samples.ts';

const shapes: readonly z.ZodMiniType<object>[] = [
  heartbeatData,
  historyData,
  leaseData,
  policyData,
  serviceData,
  slotsData,
  watchedCheckData,
];

describe('decode', () => {
  test('whatever an item is: an answer, never an exception, and expiry likewise', () => {
    const item = fc.oneof(fc.anything(), fc.record({ schema: fc.constant(1), version: fc.nat(), data: fc.anything() }));
    fc.assert(
      fc.property(item, (one) => {
        for (const shape of shapes) {
          const read = decode(one, shape);
          expect('problem' in read || 'data' in read).toBe(true);
        }
        expect(typeof isExpired(one, 0)).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });

  test.each(
    Object.keys(watchedCheck())
      .filter((name) => name !== 'version')
      .map((name) => [name]),
  )('a check without %s is not understood', (name) => {
    const data = Object.fromEntries(Object.entries(watchedCheck()).filter(([one]) => one !== name));
    const item = { pk: 'state', sk: 'check#x', schema: 1, version: 1, data };
    expect(decode(item, watchedCheckData)).toHaveProperty('problem', `data: ${name} is not as expected`);
  });

  test('a claim with a word that is not known is not understood', () => {
    const claims = service().claims.map((claim) => ({ ...claim, outcome: 'done' }));
    const item = { pk: 'state', sk: 'service#x', schema: 1, version: 1, data: { ...service(), claims } };
    expect(decode(item, serviceData)).toHaveProperty('problem', 'data: claims.0.outcome is not as expected');
  });

  test('a problem holds no value, names three places at most', () => {
    const data = { node: 7, checkId: 7, checkName: 7, serviceId: 7, serviceName: 'SECRET', state: {} };
    const read = decode({ pk: 'a', sk: 'b', schema: 1, version: 1, data }, watchedCheckData);
    expect(JSON.stringify(read)).not.toMatch(/SECRET|7/);
    expect(JSON.stringify(read)).toContain('…');
  });
});
