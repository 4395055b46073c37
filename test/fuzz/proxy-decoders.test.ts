/** What declares proxies and wakes their reconciler, whatever came: a decoder's own escape, or something of the right shape. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeKeysBelow, decodeTaggedInstances } from '../../lib/consul/decode.ts';
import { readDocument } from '../../lib/consul/document-text.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { readDeclarations } from '../../lib/proxies/declaration.ts';
import { parseWakeUp } from '../../lib/sqs/wake-up.ts';
import { damaged, jsonLike, RUNS } from './fuzz.ts';

const INSTANCE = {
  Node: 'n1',
  ServiceID: 'web-1',
  ServiceName: 'web',
  ServiceTags: ['managed-proxy'],
  ServiceMeta: { 'proxy-task-definition': 'envoy' },
};
const KEY = { Key: 'p/edge', Value: 'e30=', Flags: 0 };
const WAKE_UP = { why: 'wait-over', atMs: 7 };
const RULES = { allow: { clusters: ['*'], families: ['*'], services: ['*'], commands: ['*'] } };

const like = (valid: object) => {
  const keys = Object.keys(valid);
  return fc.oneof(jsonLike(keys), damaged(valid, keys), damaged([valid], keys));
};

function orReadFailure<T>(run: () => readonly T[]): readonly T[] {
  try {
    return run();
  } catch (error) {
    if (error instanceof ReadFailure) return [];
    throw error;
  }
}

test('instances with their tags can be handed on', () => {
  fc.assert(
    fc.property(like(INSTANCE), (body) => {
      const instances = orReadFailure(() => decodeTaggedInstances(body, 'GET x'));
      for (const { tags, serviceId } of instances) {
        expect(tags.every((tag) => typeof tag === 'string') && serviceId.isWellFormed()).toBe(true);
      }
      readDeclarations({ instances, documents: [] }, RULES, (text) => text);
    }),
    { numRuns: RUNS },
  );
});

test('keys have texts for key and value', () => {
  fc.assert(
    fc.property(like(KEY), (body) => {
      for (const { key, value } of orReadFailure(() => decodeKeysBelow(body, 'GET x'))) {
        expect([typeof key, typeof value]).toEqual(['string', 'string']);
      }
    }),
    { numRuns: RUNS },
  );
});

test('a value of KV is JSON or malformed, and a declaration either way', () => {
  const value = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    jsonLike(['service', 'taskDefinition', 'config']).map((json) =>
      Buffer.from(JSON.stringify(json)).toString('base64'),
    ),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(value, (base64) => {
      const source = readDocument(base64);
      expect(Object.keys(source)).toHaveLength(1);
      const declared = readDeclarations({ instances: [], documents: [{ id: 'edge', source }] }, RULES, (text) => text);
      expect(declared.map(({ proxyId }) => proxyId)).toEqual(['edge']);
    }),
    { numRuns: RUNS },
  );
});

test('a body is a wake-up or none', () => {
  const body = fc.oneof(
    fc.string({ unit: 'binary' }),
    like(WAKE_UP).map((json) => JSON.stringify(json)),
  );
  fc.assert(
    fc.property(body, (text) => {
      const wakeUp = parseWakeUp(text);
      if (wakeUp === undefined) return;
      expect(Object.keys(wakeUp).sort()).toEqual(['atMs', 'why']);
      expect(wakeUp.atMs).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: RUNS },
  );
});
