import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createConsulClient } from '../../lib/consul/client.ts';
import { createDeclarationPort, type DeclarationPortOptions } from '../../lib/consul/declarations.ts';
import { readDeclarations } from '../../lib/proxies/declaration.ts';
import { json, SOUND, serve } from './scripted-server.ts';

/** Answers by path, without the query; a missing one is a 404 of Consul's. */
type Answers = Readonly<Record<string, (response: ServerResponse, request: IncomingMessage) => void>>;

const SERVICES = '/v1/catalog/services';
const FOLDER = '/v1/kv/ecs-check-restart/proxies/';
const RECURSE = `${FOLDER}?recurse=true`;
const DEFAULTS = '/v1/kv/ecs-check-restart/proxy-defaults';
const KEY = 'ecs-check-restart/proxies/';

const body =
  (value: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    json(response, value, headers);
const status =
  (code: number, text = '') =>
  (response: ServerResponse) =>
    void response.writeHead(code, SOUND).end(text);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const entry = (key: string, text: string | null) => ({
  Key: key,
  Value: text === null ? null : base64(text),
  Flags: 0,
});
const document = (id: string, value: unknown) => entry(KEY + id, JSON.stringify(value));
const instance = (id: string, fields: Record<string, unknown> = {}) => ({
  Node: 'n1',
  ServiceID: id,
  ServiceName: 'web',
  ServiceTags: ['managed-proxy'],
  ServiceMeta: { 'proxy-task-definition': 'envoy' },
  ...fields,
});

const CATALOG: Answers = { [SERVICES]: body({ consul: [], web: ['v1', 'managed-proxy'], api: ['v1'] }) };
const WEB: Answers = { ...CATALOG, '/v1/catalog/service/web': body([instance('web-1')]) };

async function port(answers: Answers, options: Partial<DeclarationPortOptions> = {}) {
  const server = await serve((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://consul');
    const answer = answers[searchParams.has('recurse') ? `${pathname}?recurse=true` : pathname];
    if (answer) answer(response, request);
    else response.writeHead(404, SOUND).end();
  });
  const { namespace, partition, clock = systemClock } = options;
  const client = createConsulClient({
    addresses: [server.address],
    token: { current: async () => undefined, refetch: async () => undefined },
    clock,
    random: () => 0,
    ...(namespace === undefined ? {} : { namespace }),
    ...(partition === undefined ? {} : { partition }),
  });
  onTestFinished(() => client.close());
  return { server, ...createDeclarationPort({ client, clock, ...options }) };
}

describe('what declares proxies', () => {
  test('instances of the services with the tag, documents and defaults, each asked for once', async () => {
    const { server, readDeclarations: read } = await port({
      ...WEB,
      [DEFAULTS]: body([entry('ecs-check-restart/proxy-defaults', '{"cluster":"prod"}')]),
      [RECURSE]: body([document('edge', { service: 'edge' }), document('north', { service: 'größe' })]),
    });
    expect(await read()).toEqual({
      instances: [
        {
          node: 'n1',
          serviceId: 'web-1',
          serviceName: 'web',
          tags: ['managed-proxy'],
          meta: { 'proxy-task-definition': 'envoy' },
        },
      ],
      documents: [
        { id: 'edge', source: { value: { service: 'edge' } } },
        { id: 'north', source: { value: { service: 'größe' } } },
      ],
      defaults: { value: { cluster: 'prod' } },
    });
    expect([...server.asked].sort()).toEqual([SERVICES, '/v1/catalog/service/web', DEFAULTS, FOLDER, RECURSE].sort());
  });

  test('nothing is declared, and no defaults: a good answer all the same', async () => {
    const { readDeclarations: read } = await port({ [SERVICES]: body({ consul: [] }) });
    expect(await read()).toEqual({ instances: [], documents: [] });
  });

  test('of a service with the tag only the instances that have it themselves', async () => {
    const web = body([
      instance('web-1'),
      instance('web-2', { ServiceTags: ['v1'] }),
      instance('web-3', { ServiceTags: null }),
    ]);
    const { readDeclarations: read } = await port({ ...CATALOG, '/v1/catalog/service/web': web });
    expect((await read()).instances.map(({ serviceId }) => serviceId)).toEqual(['web-1']);
  });

  test('of however many services, within the time of two requests', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `web-${n}`);
    const slow = { answerMs: 400 };
    let lateMs = 0;
    const ofOne = (response: ServerResponse) => {
      lateMs += slow.answerMs;
      json(response, [instance('web-1')]);
    };
    const { server, readDeclarations: read } = await port(
      {
        [SERVICES]: body(Object.fromEntries(names.map((name) => [name, ['managed-proxy']]))),
        ...Object.fromEntries(names.map((name) => [`/v1/catalog/service/${name}`, ofOne])),
      },
      { clock: { ...systemClock, nowMs: () => systemClock.nowMs() + lateMs } },
    );
    expect((await read()).instances).toHaveLength(40);

    slow.answerMs = 3000;
    const before = server.asked.length;
    await expect(read()).rejects.toMatchObject({
      system: 'consul',
      code: 'timeout',
      message: expect.stringMatching(/for all of GET/),
    });
    expect(server.asked.length - before).toBeLessThan(30);
  });

  test('a name is encoded once', async () => {
    const { readDeclarations: read } = await port({
      [SERVICES]: body({ 'team/web 1': ['managed-proxy'] }),
      '/v1/catalog/service/team%2Fweb%201': body([instance('w', { ServiceName: 'team/web 1' })]),
    });
    expect((await read()).instances).toMatchObject([{ serviceName: 'team/web 1' }]);
  });

  test('keys of the deployment, with or without a slash at the end', async () => {
    for (const proxiesPrefix of ['my own/proxies', 'my own/proxies/']) {
      const { readDeclarations: read } = await port(
        {
          ...WEB,
          '/v1/kv/my%20own/proxies/?recurse=true': body([entry('my own/proxies/edge', '{}')]),
          '/v1/kv/my%20own/proxies/': status(404),
          '/v1/kv/defaults': body([entry('defaults', '{"cluster":"x"}')]),
        },
        { proxiesPrefix, defaultsKey: 'defaults' },
      );
      expect(await read()).toMatchObject({ documents: [{ id: 'edge' }], defaults: { value: { cluster: 'x' } } });
    }
  });

  test.each(['', '/', 'a//b', 'a/../b', './a'])('the folder %j cannot be one', async (proxiesPrefix) => {
    await expect(port({}, { proxiesPrefix })).rejects.toThrow(/cannot be sent/);
  });

  test('500 services are asked at most 8 at a time', async () => {
    const names = Array.from({ length: 500 }, (_, number) => `s${number}`);
    let open = 0;
    let most = 0;
    const slow = (name: string) => async (response: ServerResponse) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      json(response, [instance(name, { ServiceName: name })]);
    };
    const { readDeclarations: read } = await port({
      [SERVICES]: body(Object.fromEntries(names.map((name) => [name, ['managed-proxy']]))),
      ...Object.fromEntries(names.map((name) => [`/v1/catalog/service/${name}`, slow(name)])),
    });
    expect((await read()).instances).toHaveLength(500);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
  });
});

describe('a bad declaration is an entry of its own', () => {
  async function sourceOf(value: unknown) {
    const { readDeclarations: read } = await port({ ...WEB, [RECURSE]: body([{ Key: `${KEY}edge`, Value: value }]) });
    const { documents } = await read();
    expect(documents).toHaveLength(1);
    return documents[0]?.source;
  }

  test.each([
    ['no JSON', base64('{"service": '), 'a value that is not JSON'],
    ['no value', null, 'an empty value'],
    ['an empty value', '', 'an empty value'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64'), 'a value that is not UTF-8'],
    ['too large', base64(`"${'x'.repeat(65_536)}"`), '65538 bytes; at most 65536 are read'],
    ['too deep', base64('['.repeat(30_000) + ']'.repeat(30_000)), 'deeper than 32 levels'],
  ])('%s', async (_, value, malformed) => {
    expect(await sourceOf(value)).toEqual({ malformed });
  });

  test.each([
    ['a byte order mark', base64('\uFEFF{"a":1}'), { a: 1 }],
    ['JSON that is no object, for who checks documents', base64('7'), 7],
    ['32 levels', base64(`${'['.repeat(32)}7${']'.repeat(32)}`), JSON.parse(`${'['.repeat(32)}7${']'.repeat(32)}`)],
  ])('not so: %s', async (_, value, read) => {
    expect(await sourceOf(value)).toEqual({ value: read });
  });

  test.each([
    ['an ID with a slash', 'team/edge', '{}', /folder of its own/],
    ['a folder below', 'team/', null, /folder of its own/],
    ['no ID', '', '{}', /without an ID/],
    ['the ID "."', '.', '{}', /cannot be asked for/],
    ['the ID ".."', '..', '{}', /cannot be asked for/],
  ])('%s', async (_, id, value, why) => {
    const keys = [entry(KEY + id, value), document('edge', {})];
    const { readDeclarations: read } = await port({ ...WEB, [RECURSE]: body(keys) });
    const { documents } = await read();
    expect(documents).toEqual([
      { id, source: { malformed: expect.stringMatching(why) } },
      { id: 'edge', source: { value: {} } },
    ]);
  });

  test('the key of the folder itself, as the UI makes it, is none', async () => {
    const { readDeclarations: read } = await port({
      ...WEB,
      [FOLDER]: body([entry(KEY, null)]),
      [RECURSE]: body([entry(KEY, null), document('edge', {})]),
    });
    expect((await read()).documents.map(({ id }) => id)).toEqual(['edge']);
  });

  test.each(['.', '..', ''])('a service named %j cannot be asked for, and is told', async (name) => {
    const { server, readDeclarations: read } = await port({
      ...WEB,
      [SERVICES]: body({ web: ['managed-proxy'], [name]: ['managed-proxy'] }),
    });
    const sources = await read();
    expect(sources.instances.map(({ serviceId }) => serviceId)).toEqual(['web-1']);
    expect(sources.documents).toEqual([
      { id: name, source: { malformed: expect.stringMatching(/name of a service/) } },
    ]);
    expect(server.asked.filter((path) => path.startsWith('/v1/catalog/service/'))).toHaveLength(1);
  });

  test('defaults that are no JSON', async () => {
    const { readDeclarations: read } = await port({ ...WEB, [DEFAULTS]: body([entry('k', 'nope')]) });
    expect((await read()).defaults).toEqual({ malformed: 'a value that is not JSON' });
  });

  test('what is read can be handed on, whatever it is', async () => {
    const keys = [
      entry(KEY, '{}'),
      entry(`${KEY}a/b`, ''),
      entry(`${KEY}..`, 'x'),
      document('n', { network: [[[7]]] }),
    ];
    const { readDeclarations: read } = await port({
      [SERVICES]: body({ '..': ['managed-proxy'] }),
      [RECURSE]: body(keys),
    });
    const allow = { clusters: ['*'], families: ['*'], services: ['*'], commands: ['*'] };
    const declared = readDeclarations(await read(), { allow }, (text) => text);
    expect(declared.map(({ proxyId, usable }) => [proxyId, usable])).toEqual([
      ['', false],
      ['..', false],
      ['a/b', false],
      ['n', false],
    ]);
  });
});

describe('half an answer is none', () => {
  const GOOD: Answers = { ...WEB, [RECURSE]: body([document('edge', {})]) };
  const FILTERED = { 'x-consul-results-filtered-by-acls': 'true' };

  test.each<[string, Answers, string]>([
    ['the defaults may not be read, whatever the listing says', { ...GOOD, [DEFAULTS]: status(403) }, 'forbidden'],
    ['the folder may not be read, and the listing says "no keys"', { ...WEB, [FOLDER]: status(403) }, 'forbidden'],
    ['the folder may not be read, and the listing has some keys', { ...GOOD, [FOLDER]: status(403) }, 'forbidden'],
    ['the listing of keys fails', { ...GOOD, [RECURSE]: status(500) }, 'server-error'],
    ['the listing of keys is filtered', { ...GOOD, [RECURSE]: body([document('edge', {})], FILTERED) }, 'filtered'],
    [
      'the listing of keys is filtered to nothing',
      { ...GOOD, [RECURSE]: (response) => void response.writeHead(404, { ...SOUND, ...FILTERED }).end() },
      'filtered',
    ],
    [
      '"no keys" comes from something else',
      { ...GOOD, [RECURSE]: (response) => void response.writeHead(404).end('no') },
      'server-error',
    ],
    ['the listing of keys has another shape', { ...GOOD, [RECURSE]: body([{ Key: 7 }]) }, 'malformed'],
    ['a key lies elsewhere', { ...GOOD, [RECURSE]: body([entry('ecs-check-restart/policy', '{}')]) }, 'malformed'],
    [
      'there are more keys than anybody declares',
      { ...GOOD, [RECURSE]: body(Array.from({ length: 10_001 }, (_, number) => document(`p${number}`, {}))) },
      'malformed',
    ],
    ['the defaults are two keys', { ...GOOD, [DEFAULTS]: body([entry('a', '{}'), entry('b', '{}')]) }, 'malformed'],
    ['the catalog has no service at all', { ...GOOD, [SERVICES]: body({}) }, 'filtered'],
    ['the catalog is filtered', { ...GOOD, [SERVICES]: body({ web: ['managed-proxy'] }, FILTERED) }, 'filtered'],
    [
      'the catalog has no leader',
      { ...GOOD, [SERVICES]: body({ web: [] }, { 'x-consul-knownleader': 'false' }) },
      'no-leader',
    ],
    ['the catalog is stale', { ...GOOD, [SERVICES]: body({ web: [] }, { 'x-consul-lastcontact': '6000' }) }, 'stale'],
    ['a service may not be read', { ...GOOD, '/v1/catalog/service/web': status(403) }, 'forbidden'],
    ['a service is filtered', { ...GOOD, '/v1/catalog/service/web': body([instance('web-1')], FILTERED) }, 'filtered'],
    ['a service has another shape', { ...GOOD, '/v1/catalog/service/web': body([{ Node: 'n1' }]) }, 'malformed'],
    ['a service is listed and never has an instance', { ...GOOD, '/v1/catalog/service/web': body([]) }, 'incomplete'],
    ['a service is listed and is null', { ...GOOD, '/v1/catalog/service/web': body(null) }, 'incomplete'],
    [
      'a service is listed with the tag and no instance has it',
      { ...GOOD, '/v1/catalog/service/web': body([instance('web-1', { ServiceTags: [] })]) },
      'incomplete',
    ],
  ])('%s', async (_, answers, code) => {
    const { readDeclarations: read } = await port(answers);
    await expect(read()).rejects.toMatchObject({ name: 'ReadFailure', system: 'consul', code });
  });

  test('a namespace of its own may have no service', async () => {
    const { readDeclarations: read } = await port({ ...GOOD, [SERVICES]: body({}) }, { namespace: 'edge' });
    expect(await read()).toMatchObject({ instances: [], documents: [{ id: 'edge' }] });
    const inDefault = await port({ ...GOOD, [SERVICES]: body({}) }, { namespace: 'default', partition: 'default' });
    await expect(inDefault.readDeclarations()).rejects.toMatchObject({ code: 'filtered' });
  });

  test('a service that goes between the two answers is gone', async () => {
    let listed = 0;
    const { server, readDeclarations: read } = await port({
      ...GOOD,
      [SERVICES]: (response) => {
        listed += 1;
        json(
          response,
          listed === 1
            ? { consul: [], web: ['managed-proxy'], api: ['managed-proxy'] }
            : { consul: [], api: ['managed-proxy'] },
        );
      },
      '/v1/catalog/service/web': body([]),
      '/v1/catalog/service/api': body([instance('api-1', { ServiceName: 'api' })]),
    });
    expect((await read()).instances.map(({ serviceId }) => serviceId)).toEqual(['api-1']);
    expect(server.asked.filter((path) => path === '/v1/catalog/service/web')).toHaveLength(1);
  });

  test('a service whose instance is replaced between the two answers is read again', async () => {
    let asked = 0;
    const { readDeclarations: read } = await port({
      ...GOOD,
      '/v1/catalog/service/web': (response) => {
        asked += 1;
        json(response, asked === 1 ? [] : [instance('web-2')]);
      },
    });
    expect((await read()).instances.map(({ serviceId }) => serviceId)).toEqual(['web-2']);
  });

  test('no message holds what a document says', async () => {
    const secret = 'hunter2-hunter2';
    const answers = { ...GOOD, [RECURSE]: body([entry(`${KEY}edge`, `{"password":"${secret}"`)]) };
    const { readDeclarations: read } = await port(answers);
    expect(JSON.stringify(await read())).not.toContain(secret);
  });
});
