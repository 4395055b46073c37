import { describe, expect, test } from 'vitest';
import { anyOfFilters, quoteForFilter } from '../../lib/consul/filter.ts';
import { keyPath, pathSegment } from '../../lib/consul/path.ts';
import { checkKey, instanceKey } from '../../lib/ports.ts';
import { json, portFor, rawCheck, SOUND, serve } from './scripted-server.ts';

/** List C08. */
const SEGMENTS = [
  ['team/orders', 'team%2Forders'],
  ['two words', 'two%20words'],
  ['50%off', '50%25off'],
  ['a%2Fb', 'a%252Fb'],
  ['größe+neu', 'gr%C3%B6%C3%9Fe%2Bneu'],
  ['注文?x=1#y', '%E6%B3%A8%E6%96%87%3Fx%3D1%23y'],
] as const;

const ref = (serviceName: string, serviceId = 'id-1', node = 'n1') => ({
  node,
  serviceId,
  serviceName,
  namespace: '',
  partition: '',
});
const rawInstance = (serviceName: string, serviceId = 'id-1', fields = {}) => ({
  Node: 'n1',
  ServiceID: serviceId,
  ServiceName: serviceName,
  ServiceAddress: '10.0.0.1',
  ServicePort: 80,
  ServiceMeta: { 'task-id': 't' },
  ...fields,
});
/** The service name in a path `/v1/x/y/NAME?…`, as a server decodes it. */
const nameIn = (url: string) => decodeURIComponent(url.split('?')[0]?.split('/')[4] ?? '');
const filterIn = (url: string) => new URL(url, 'http://x').searchParams.get('filter') ?? '';

describe('C08: names in paths', () => {
  test.each(SEGMENTS)('C08: %s is sent as %s', async (name, segment) => {
    const server = await serve((_request, response) => json(response, [rawInstance(name)]));
    const { found } = await portFor([server.address]).describeInstances([ref(name)]);
    expect(server.asked.map((url) => url.split('?')[0])).toEqual([`/v1/catalog/service/${segment}`]);
    expect(found.get(instanceKey(ref(name)))).toMatchObject({ serviceName: name, meta: { 'task-id': 't' } });
  });

  test('C08: ".." is never sent; the others are handled in the same pass', async () => {
    const server = await serve((request, response) => {
      const name = nameIn(request.url ?? '');
      json(response, [rawInstance(name, `id of ${name}`)]);
    });
    const refs = ['..', ...SEGMENTS.map(([name]) => name), '.', '', '\ud800'].map((name) => ref(name, `id of ${name}`));
    const { found, refused } = await portFor([server.address]).describeInstances(refs);
    expect(refused.map((each) => each.serviceName)).toEqual(['..', '.', '', '\ud800']);
    expect(found.size).toBe(SEGMENTS.length);
    expect(server.asked.map((url) => nameIn(url)).sort()).toEqual(SEGMENTS.map(([name]) => name).sort());
  });

  test('C08: a look-up encodes alike and sends nothing for ".."', async () => {
    const server = await serve((_request, response) => json(response, [rawCheck()]));
    const checks = ['team/orders', '..'].map((name) => ({ ...ref(name), checkId: 'c1' }));
    const found = await portFor([server.address]).lookUpChecks(checks);
    expect(server.asked.map((url) => url.split('?')[0])).toEqual(['/v1/health/checks/team%2Forders']);
    expect(found.size).toBe(1);
  });

  test.each([
    ['', undefined],
    ['.', undefined],
    ['...', '...'],
    ['\ud800', undefined],
  ])('segment of %j is %j', (name, segment) => expect(pathSegment(name)).toBe(segment));

  test.each([
    ['ecs-check-restart/policy', 'ecs-check-restart/policy'],
    ['a b/c%2F', 'a%20b/c%252F'],
    ['a/../b', undefined],
    ['/a', undefined],
    ['a//b', undefined],
  ])('KV key %s is the path %s', (key, path) => expect(keyPath(key)).toBe(path));

  test('a KV key that cannot be sent is an error and no request', async () => {
    const server = await serve((_request, response) => json(response, []));
    await expect(portFor([server.address]).readKey('a/../b')).rejects.toMatchObject({ name: 'ReadFailure' });
    expect(server.asked).toEqual([]);
  });
});

describe('filters around names that anybody may choose', () => {
  test.each([
    ['orders-1', '"orders-1"'],
    ['a"b', String.raw`"a\x22b"`],
    ['a\\b', String.raw`"a\x5cb"`],
    ['/a/b', String.raw`"\x2fa\x2fb"`],
    ['line\nbreak', String.raw`"line\x0abreak"`],
    ['größe', String.raw`"gr\u00f6\u00dfe"`],
    ['😀', String.raw`"\U0001f600"`],
    ['\ud800', undefined],
    ['" or ServiceID != "', String.raw`"\x22 or ServiceID \x21\x3d \x22"`],
  ])('%j is written %s', (text, literal) => expect(quoteForFilter(text)).toBe(literal));

  test('values are asked once, and unsendable ones left out', () => {
    expect(anyOfFilters('ServiceID', ['a', 'b', 'a', '\ud800'])).toEqual(['ServiceID == "a" or ServiceID == "b"']);
    expect(anyOfFilters('ServiceID', [])).toEqual([]);
  });

  test('an expression stays below the length that a URL may have, whatever the values', () => {
    const values = Array.from({ length: 500 }, (_, index) => `注文-${index}-${'0'.repeat(32)}`);
    const filters = anyOfFilters('ServiceID', values, 1000);
    expect(Math.max(...filters.map((filter) => encodeURIComponent(filter).length))).toBeLessThanOrEqual(1000);
    expect(filters.flatMap((filter) => filter.split(' or '))).toHaveLength(500);
  });

  test('one value longer than that is still asked, alone', () => {
    expect(anyOfFilters('CheckID', ['a', 'x'.repeat(50), 'b'], 40)).toHaveLength(3);
  });
});

describe('details and look-ups', () => {
  test('one request a service name, filtered to what is asked for', async () => {
    const server = await serve((request, response) => json(response, [rawInstance(nameIn(request.url ?? ''))]));
    const port = portFor([server.address], { datacenter: 'dc2' });
    await port.describeInstances([ref('orders', 'o-1'), ref('orders', 'o-2'), ref('web', 'w-1'), ref('orders', 'o-1')]);
    expect(server.asked.map(filterIn).sort()).toEqual([
      'ServiceID == "o-1" or ServiceID == "o-2"',
      'ServiceID == "w-1"',
    ]);
    expect(server.asked.every((url) => url.includes('dc=dc2'))).toBe(true);
  });

  test('an ID is unique per node only: the same one on another node is another instance', async () => {
    const server = await serve((_request, response) =>
      json(response, [rawInstance('orders', 'x'), rawInstance('orders', 'x', { Node: 'n2', ServicePort: 81 })]),
    );
    const asked = [ref('orders', 'x', 'n1'), ref('orders', 'x', 'n2'), ref('orders', 'x', 'n3')];
    const { found } = await portFor([server.address]).describeInstances(asked);
    expect(asked.map((each) => found.get(instanceKey(each))?.port)).toEqual([80, 81, undefined]);
  });

  test('more than fits into one request is asked in several, at most eight at a time', async () => {
    let underWay = 0;
    let most = 0;
    const server = await serve(async (_request, response) => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
      json(response, []);
    });
    const refs = Array.from({ length: 2000 }, (_, index) => ref('orders', `orders-${index}-${'0'.repeat(32)}`));
    const { found } = await portFor([server.address]).describeInstances(refs);
    expect(found.size).toBe(0);
    expect(server.asked.length).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(8);
    expect(Math.max(...server.asked.map((url) => url.length))).toBeLessThan(6200);
  });

  test('a failed request fails the whole: a part is no answer', async () => {
    const server = await serve((request, response) =>
      nameIn(request.url ?? '') === 'bad'
        ? void response.writeHead(400).end()
        : json(response, [rawInstance(nameIn(request.url ?? ''))]),
    );
    const refs = ['a', 'b', 'bad', 'c'].map((name) => ref(name));
    await expect(portFor([server.address]).describeInstances(refs)).rejects.toMatchObject({ code: 'server-error' });
  });

  test('nothing asked for is no request', async () => {
    const server = await serve((_request, response) => json(response, []));
    const port = portFor([server.address]);
    expect((await port.describeInstances([])).found.size).toBe(0);
    expect((await port.lookUpChecks([])).size).toBe(0);
    expect(server.asked).toEqual([]);
  });

  test('C11: no Meta and null Meta are empty, and do not hide the proper instance beside them', async () => {
    const server = await serve((_request, response) =>
      json(response, [
        rawInstance('orders', 'a', { ServiceMeta: undefined }),
        rawInstance('orders', 'b', { ServiceMeta: null, NodeMeta: null, ServiceProxy: null }),
        rawInstance('orders', 'c'),
      ]),
    );
    const asked = ['a', 'b', 'c'].map((id) => ref('orders', id));
    const { found } = await portFor([server.address]).describeInstances(asked);
    expect(asked.map((each) => found.get(instanceKey(each))?.meta)).toEqual([{}, {}, { 'task-id': 't' }]);
  });

  test.each(['null', '[]'])('C11: the empty form %s means "not there" and fails nothing', async (body) => {
    const server = await serve((_request, response) => void response.writeHead(200, SOUND).end(body));
    const port = portFor([server.address]);
    expect((await port.describeInstances([ref('orders')])).found.size).toBe(0);
    expect((await port.lookUpChecks([{ ...ref('orders'), checkId: 'c1' }])).size).toBe(0);
  });

  test('a sidecar names its destination', async () => {
    const proxy = { DestinationServiceName: 'orders', DestinationServiceID: 'o-1' };
    const server = await serve((_request, response) =>
      json(response, [rawInstance('orders-proxy', 'p', { ServiceKind: 'connect-proxy', ServiceProxy: proxy })]),
    );
    const { found } = await portFor([server.address]).describeInstances([ref('orders-proxy', 'p')]);
    expect(found.get(instanceKey(ref('orders-proxy', 'p')))).toMatchObject({
      kind: 'connect-proxy',
      destinationServiceName: 'orders',
      destinationServiceId: 'o-1',
    });
  });

  test('a look-up gives the status as Consul says it; a check that is not listed is absent', async () => {
    const server = await serve((_request, response) => json(response, [rawCheck({ Status: 'passing' })]));
    const checks = ['c1', 'c2'].map((checkId) => ({ ...ref('orders'), checkId }));
    const found = await portFor([server.address]).lookUpChecks(checks);
    expect(server.asked.map(filterIn)).toEqual(['CheckID == "c1" or CheckID == "c2"']);
    expect(checks.map((check) => found.get(checkKey(check))?.status)).toEqual(['passing', undefined]);
  });

  test('the namespace and partition that Consul stated are asked in, others in the configured ones', async () => {
    const server = await serve((_request, response) => json(response, []));
    const port = portFor([server.address], { namespace: 'team-a', partition: 'p1' });
    await port.describeInstances([{ ...ref('orders'), namespace: 'team-b' }, ref('orders')]);
    expect(server.asked.map((url) => new URL(url, 'http://x').searchParams.get('ns')).sort()).toEqual([
      'team-a',
      'team-b',
    ]);
    expect(server.asked.every((url) => url.includes('partition=p1'))).toBe(true);
  });
});
