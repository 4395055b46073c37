/** Consul login against the double's auth method, and against servers that answer it wrongly. */
import { describe, expect, test } from 'vitest';
import { awsBearerToken } from '../../lib/consul/aws-bearer-token.ts';
import { safeText } from '../../lib/consul/safe-text.ts';
import { CREDENTIALS, loginWorld, METHOD, ROLE, SERVER_ID, START_MS } from './login-world.ts';
import { deadAddress, json, portFor, readOnce, type Script, serve } from './scripted-server.ts';

const MINUTE_MS = 60_000;

describe('login', () => {
  test('gives a token that reads; one login serves many reads', async () => {
    const world = await loginWorld();
    await expect(world.read()).resolves.toHaveLength(1);
    await world.read();
    const [token, ...others] = world.consul.loginTokens.keys();
    expect(others).toEqual([]);
    expect(world.used()).toEqual([token, token]);
    expect(world.logins()).toBe(1);
    expect(world.lines).toEqual([]);
  });

  test('is one, for all reads that begin together', async () => {
    const world = await loginWorld();
    await Promise.all([world.read(), world.read(), world.read()]);
    expect(world.logins()).toBe(1);
  });

  test('sends no token of ours, and the bearer token in the body only', async () => {
    const world = await loginWorld({ port: { datacenter: 'dc1' } });
    await world.read();
    const [login] = world.consul.requests;
    expect(login).toMatchObject({ method: 'POST', path: '/v1/acl/login', query: { dc: 'dc1' } });
    expect(login?.headers).not.toHaveProperty('x-consul-token');
  });

  test('C43: teaches the bearer token, its parts, and the token, before they are used', async () => {
    const world = await loginWorld();
    await world.read();
    const [token = ''] = world.consul.loginTokens.keys();
    expect([...world.learned]).toContain(token);
    expect([...world.learned]).toContain(CREDENTIALS.sessionToken);
    expect([...world.learned].some((secret) => secret.startsWith('{"iam_http_request_method"'))).toBe(true);
  });

  test('goes to the next address when one fails, together with the reads', async () => {
    const world = await loginWorld({ addresses: [await deadAddress()] });
    await expect(world.read()).resolves.toHaveLength(1);
    expect(world.codes()).toEqual(['consul-failover']);
  });

  test('leaves a read that has to log in first some time, when a server accepts and never answers', async () => {
    const silent = await serve(() => undefined);
    const world = await loginWorld({ addresses: [silent.address], port: { requestTimeoutMs: 1000 } });
    const beganMs = Date.now();
    await expect(world.read()).resolves.toHaveLength(1);
    expect(Date.now() - beganMs).toBeLessThan(1000);
  });
});

describe('a token', () => {
  test('is renewed two minutes before its end, and the old one is logged out', async () => {
    const world = await loginWorld();
    await world.read();
    const [first] = world.consul.loginTokens.keys();
    world.clock.now = START_MS + 58 * MINUTE_MS - 1;
    await world.read();
    expect(world.logins()).toBe(1);
    world.clock.now += 1;
    await world.read();
    expect(world.logins()).toBe(2);
    expect(world.logouts()).toEqual([first]);
    const [second, ...others] = world.consul.loginTokens.keys();
    expect(others).toEqual([]);
    expect(world.used()).toEqual([first, first, second]);
  });

  test('of a short life is renewed after half of it', async () => {
    const world = await loginWorld({ method: { maxTokenTtlMs: MINUTE_MS } });
    await world.read();
    world.clock.now += 29_999;
    await world.read();
    expect(world.logins()).toBe(1);
    world.clock.now += 1;
    await world.read();
    expect(world.logins()).toBe(2);
  });

  test('lives as long as the server says, whatever the time is there', async () => {
    const server = await serve((request, response) => {
      if (request.url !== '/v1/acl/login') return json(response, []);
      json(response, {
        SecretID: 'tok',
        CreateTime: '2031-01-01T00:00:00.123456789Z',
        ExpirationTime: '2031-01-01T02:10:00.123456789+01:00',
      });
    });
    const world = await loginWorld();
    const port = portFor([server.address], { clock: world.clock, token: bearer() });
    await readOnce(port);
    world.clock.now += 68 * MINUTE_MS - 1;
    await readOnce(port);
    expect(server.asked.filter((path) => path === '/v1/acl/login')).toHaveLength(1);
    world.clock.now += 1;
    await readOnce(port);
    expect(server.asked.filter((path) => path === '/v1/acl/login')).toHaveLength(2);
  });

  test('without an end is used for ever, and said to pile up, once', async () => {
    const world = await loginWorld({ method: { maxTokenTtlMs: Number.POSITIVE_INFINITY } });
    await world.read();
    world.clock.now += 1000 * MINUTE_MS;
    await world.read();
    expect(world.logins()).toBe(1);
    expect(world.lines).toEqual([['warn', 'consul-login-unlimited', { authMethod: METHOD }]]);
  });

  test('that cannot be renewed is used until its end; it is tried again every 30 s, and then reads fail', async () => {
    const world = await loginWorld();
    await world.read();
    world.consul.fault({ match: /acl.login/, answer: 'forbidden' });
    world.clock.now = START_MS + 58 * MINUTE_MS;
    for (const laterMs of [0, 29_999, 1]) {
      world.clock.now += laterMs;
      await expect(world.read()).resolves.toHaveLength(1);
    }
    expect(world.logins()).toBe(3);
    expect(world.codes()).toEqual(['consul-login-failed', 'consul-login-failed']);
    world.clock.now = START_MS + 60 * MINUTE_MS;
    await expect(world.read()).rejects.toMatchObject({
      code: 'forbidden',
      message: /^Consul login by ecs-check-restart/,
    });
    world.consul.clearFaults();
    await expect(world.read()).resolves.toHaveLength(1);
  });

  test('that Consul no longer knows is replaced by one login, and the read succeeds', async () => {
    const world = await loginWorld();
    await world.read();
    world.consul.loginTokens.clear();
    world.clock.now += MINUTE_MS;
    await expect(world.read()).resolves.toHaveLength(1);
    expect(world.logins()).toBe(2);
    // Consul has forgotten the old one: that its logout is refused is no news.
    expect(world.logouts()).toHaveLength(1);
    expect(world.lines).toEqual([]);
  });

  test('that is fresh and refused all the same lacks rights: no login mends that', async () => {
    const world = await loginWorld({ method: { rights: 'none' } });
    for (let count = 0; count < 5; count++) {
      await expect(world.port.readKey('ecs-check-restart/policy')).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect(world.logins()).toBe(1);
    world.clock.now += MINUTE_MS;
    await expect(world.port.readKey('ecs-check-restart/policy')).rejects.toMatchObject({ code: 'forbidden' });
    expect(world.logins()).toBe(2);
    expect(world.consul.loginTokens.size).toBe(1);
  });

  test('is logged out when the port is closed; closing one that never logged in asks nothing', async () => {
    const world = await loginWorld();
    await world.read();
    await world.port.close();
    expect(world.consul.loginTokens.size).toBe(0);
    const idle = await loginWorld();
    await idle.port.close();
    expect(idle.consul.requests).toEqual([]);
  });

  test('that cannot be logged out keeps nobody, and is said', async () => {
    const world = await loginWorld();
    await world.read();
    world.consul.fault({ match: /acl.logout/, answer: 'no-leader' });
    world.clock.now = START_MS + 59 * MINUTE_MS;
    await expect(world.read()).resolves.toHaveLength(1);
    expect(world.lines).toEqual([['warn', 'consul-logout-failed', { reason: 'no-leader' }]]);
  });
});

describe('a login that Consul refuses', () => {
  test.each([
    [
      'an auth method that is not there',
      { login: { authMethod: 'other' } },
      'forbidden',
      /auth method "other" not found/,
    ],
    [
      'another server ID',
      { signed: { serverId: 'stage.example.com' } },
      'server-error',
      /expected "consul.example.com"/,
    ],
    [
      'a role that is not bound',
      { method: { principals: ['arn:x'] } },
      'server-error',
      new RegExp(`${ROLE} is not trusted`),
    ],
    [
      'another secret key',
      { signed: { credentials: { ...CREDENTIALS, secretAccessKey: 'other' } } },
      'server-error',
      /SignatureDoesNotMatch/,
    ],
    [
      'STS of China, which Consul does not know',
      { signed: { region: 'cn-north-1' } },
      'server-error',
      /invalid STS hostname/,
    ],
  ])('%s: the read fails and says so, without a secret', async (_name, options, code, message) => {
    const world = await loginWorld(options);
    const error = await world.read().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ system: 'consul', code, message });
    expect(String(error)).toMatch(/Consul login by \S+: /);
    expect(String(error)).not.toContain('SECRET');
    expect(world.used()).toEqual([]);
  });

  test('STS of China works where the auth method names it', async () => {
    const stsEndpoint = 'https://sts.cn-north-1.amazonaws.com.cn';
    const world = await loginWorld({ signed: { region: 'cn-north-1' }, method: { stsEndpoint } });
    await expect(world.read()).resolves.toHaveLength(1);
  });

  test('a signature that is older than 15 minutes', async () => {
    const world = await loginWorld();
    const stale = { authMethod: METHOD, bearerToken: bearerAt(world.clock.now - 16 * MINUTE_MS) };
    const port = portFor([world.consul.url], { clock: world.clock, token: stale });
    await expect(readOnce(port)).rejects.toThrow('SignatureDoesNotMatch');
  });

  test('credentials that cannot be had: nothing is sent, and only the name of the error is shown', async () => {
    const failing = Object.assign(new Error('SECRET'), { name: 'CredentialsProviderError' });
    const world = await loginWorld({ login: { bearerToken: () => Promise.reject(failing) } });
    const error = await world.read().catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'forbidden',
      message: /no bearer token could be made \(CredentialsProviderError\)/,
    });
    expect(String(error)).not.toContain('SECRET');
    expect(world.consul.requests).toEqual([]);
  });

  test('C43: a server that repeats the bearer token and its parts: none of it is in the error', async () => {
    const server = await serve(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk));
      const sent: { BearerToken: string } = JSON.parse(Buffer.concat(chunks).toString());
      const { iam_request_headers: headers } = JSON.parse(sent.BearerToken);
      const decoded = Buffer.from(headers, 'base64').toString();
      response.writeHead(500).end(`${decoded} ${sent.BearerToken} ${headers} ${decoded}`);
    });
    const world = await loginWorld();
    const token = { authMethod: METHOD, bearerToken: bearerAt(START_MS) };
    const error = await readOnce(portFor([server.address], { clock: world.clock, token })).catch(String);
    expect(error).toContain('[removed]');
    expect(error).not.toMatch(/SECRET|Signature=[0-9a-f]|eyJ/);
  });
});

describe('an answer to a login that cannot be used', () => {
  test.each([
    ['no token', { AccessorID: 'x' }, 'malformed', []],
    ['a token that no header may hold', { SecretID: 'tok\r\nX: y' }, 'malformed', []],
    ['no instant', { SecretID: 'tok', ExpirationTime: 'tomorrow' }, 'malformed', ['tok']],
    [
      'an end before its beginning',
      { SecretID: 'tok', CreateTime: '2026-01-01T01:00:00Z', ExpirationTime: '2026-01-01T00:00:00Z' },
      'forbidden',
      ['tok'],
    ],
  ])('%s: the read fails, and what was obtained is logged out', async (_name, answer, code, loggedOut) => {
    const script: Script = (request, response) => json(response, request.url === '/v1/acl/login' ? answer : true);
    const server = await serve(script);
    const world = await loginWorld();
    await expect(readOnce(portFor([server.address], { clock: world.clock, token: bearer() }))).rejects.toMatchObject({
      code,
    });
    const logouts = server.asked.flatMap((path, index) =>
      path === '/v1/acl/logout' ? [server.headers[index]?.['x-consul-token']] : [],
    );
    expect(logouts).toEqual(loggedOut);
  });
});

test('C43: a secret across the end of what is looked at leaves nothing behind, however much before it was removed', () => {
  const secret = `tok-${'SECRET'.repeat(300)}`;
  const text = `${secret} ${secret} ${secret} ${secret} ${secret}`;
  expect(safeText(text, [secret])).toBe('[removed] [removed] [removed] [removed]');
});

function bearer() {
  return { authMethod: METHOD, bearerToken: async () => ({ text: 'bearer', secrets: [] }) };
}

function bearerAt(nowMs: number) {
  return () => {
    const clock = { nowMs: () => nowMs, sleepUntil: async () => {} };
    return awsBearerToken({ region: 'eu-west-1', serverId: SERVER_ID, clock, credentials: async () => CREDENTIALS });
  };
}
