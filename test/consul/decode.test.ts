import { expect, test } from 'vitest';
import { decodeStateChecks, OUTPUT_LENGTH } from '../../lib/consul/decode.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { json, portFor, rawCheck, SOUND, serve } from './scripted-server.ts';

const decode = (fields: Record<string, unknown>) => decodeStateChecks([rawCheck(fields)], 'GET x')[0];

test('a check is taken over field by field, and unknown fields are ignored', () => {
  expect(decode({ Namespace: 'ns', Partition: 'p', ExposedPort: 0, PeerName: '', Future: { a: 1 } })).toEqual({
    node: 'n1',
    checkId: 'c1',
    name: 'HTTP',
    status: 'critical',
    serviceId: 'orders-1',
    serviceName: 'orders',
    namespace: 'ns',
    partition: 'p',
    type: 'http',
    output: 'refused',
    createIndex: 7,
  });
});

test('what is null or missing and decides nothing is empty', () => {
  const bare = { Name: null, Output: null, ServiceID: undefined, ServiceName: null, Type: undefined, Definition: null };
  expect(decode(bare)).toMatchObject({ name: '', output: '', serviceId: '', serviceName: '', type: '' });
});

test.each([
  ['Node', 1],
  ['CheckID', null],
  ['Status', undefined],
  ['Status', 3],
  ['ServiceID', {}],
  ['CreateIndex', 'x'],
  ['CreateIndex', -1],
  ['CreateIndex', 1.5],
])('%s = %j is malformed, and the error names the field', (field, value) => {
  expect(() => decode({ [field]: value })).toThrow(ReadFailure);
  expect(() => decode({ [field]: value })).toThrow(field);
});

test('output is cut', () => {
  expect(decode({ Output: 'x'.repeat(5000) })?.output).toHaveLength(OUTPUT_LENGTH);
});

test.each([
  [{ Interval: '10s' }, 10_000],
  [{ Interval: '', Definition: { Interval: '1m30s' } }, 90_000],
  [{ Definition: { Interval: 5_000_000_000 } }, 5000],
  [{ Interval: '20s', Definition: { Interval: '10s' } }, 20_000],
  [{ Interval: '0s' }, undefined],
  [{ Interval: 'soon' }, undefined],
  [{}, undefined],
])('interval of %j is %s ms', (fields, intervalMs) => expect(decode(fields)?.intervalMs).toBe(intervalMs));

test('a name with half a surrogate pair does not break the keys', () => {
  expect(decode({ CheckID: 'a\ud800' })?.checkId).toBe('a\ufffd');
});

test('a KV value is text, with its ModifyIndex', async () => {
  const value = Buffer.from('{"größe": 1}').toString('base64');
  const server = await serve((_request, response) => json(response, [{ Key: 'k', Value: value, ModifyIndex: 42 }]));
  expect(await portFor([server.address]).readKey('ecs-check-restart/policy')).toEqual({
    text: '{"größe": 1}',
    modifyIndex: '42',
  });
  expect(server.asked).toEqual(['/v1/kv/ecs-check-restart/policy']);
});

test('an empty KV value is an empty text', async () => {
  const server = await serve((_request, response) => json(response, [{ Key: 'k', Value: null, ModifyIndex: 1 }]));
  expect(await portFor([server.address]).readKey('k')).toEqual({ text: '', modifyIndex: '1' });
});

test("Consul's 404 means that the key does not exist", async () => {
  const server = await serve((_request, response) => void response.writeHead(404, SOUND).end());
  expect(await portFor([server.address]).readKey('k')).toBeUndefined();
});

test.each(['[]', '[{},{}]', '[{"Value":"eA=="}]', 'null'])('%s is no KV answer', async (body) => {
  const server = await serve((_request, response) => void response.writeHead(200, SOUND).end(body));
  await expect(portFor([server.address]).readKey('k')).rejects.toMatchObject({ code: 'malformed' });
});

test('services come with their tags; null tags are none', async () => {
  const server = await serve((_request, response) => json(response, { consul: [], web: ['managed-proxy'], old: null }));
  expect([...(await portFor([server.address]).listServices())]).toEqual([
    ['consul', []],
    ['web', ['managed-proxy']],
    ['old', []],
  ]);
});

test('all instances of a service are listed unfiltered', async () => {
  const server = await serve((_request, response) =>
    json(response, [{ Node: 'n1', ServiceID: 'a', ServiceName: 'web', ServiceMeta: null }]),
  );
  expect(await portFor([server.address]).listInstances('web')).toMatchObject([{ serviceId: 'a', meta: {} }]);
  expect(server.asked).toEqual(['/v1/catalog/service/web']);
});

test('a thousand checks are decoded in a few milliseconds', () => {
  const body = Array.from({ length: 1000 }, (_, index) => rawCheck({ CheckID: `c${index}` }));
  decodeStateChecks(body, 'GET x');
  const beganMs = performance.now();
  for (let round = 0; round < 10; round++) decodeStateChecks(body, 'GET x');
  expect((performance.now() - beganMs) / 10).toBeLessThan(50);
});
