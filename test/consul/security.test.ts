import { describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createConsulPort } from '../../lib/consul/consul-port.ts';
import { safeText } from '../../lib/consul/safe-text.ts';
import { deadAddress, json, portFor, rawCheck, readOnce, serve } from './scripted-server.ts';

const TOKEN = 'tok-SECRET-1';
const token = { current: async () => TOKEN, refetch: async () => TOKEN };
/** Everything that a logger could print of an error. */
const everything = (error: unknown): string =>
  JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error) + String((error as Error).cause ?? '');

describe('C43: the token travels in its header only', () => {
  test('C43a: Consul refuses the connection: no token in error or log', async () => {
    const lines: unknown[] = [];
    const port = portFor([await deadAddress(), await deadAddress()], { token, log: (...line) => lines.push(line) });
    const error = await readOnce(port).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(everything(error)).not.toContain('SECRET');
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(lines)).not.toContain('SECRET');
  });

  test('C43b: a 403 that repeats request and token is forbidden, and shows neither', async () => {
    const server = await serve(
      (request, response) =>
        void response
          .writeHead(403)
          .end(
            `Forbidden: ${request.url}?token=${TOKEN}\nX-Consul-Token: other-SECRET ${request.headers['x-consul-token']}`,
          ),
    );
    const error = await readOnce(portFor([server.address], { token })).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'forbidden', message: /Forbidden/ });
    expect(everything(error)).not.toContain('SECRET');
    expect(server.headers.map((headers) => headers['x-consul-token'])).toEqual([TOKEN, TOKEN]);
    expect(server.asked.join()).not.toContain('SECRET');
  });

  test('C43c: nothing that is logged at any level holds it', async () => {
    const lines: unknown[] = [];
    const server = await serve((_request, response) => void response.writeHead(500).end(TOKEN));
    await readOnce(portFor([server.address, server.address], { token, log: (...line) => lines.push(line) })).catch(
      () => undefined,
    );
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(lines)).not.toContain('SECRET');
  });

  test.each([
    `http://consul:8500?token=${TOKEN}`,
    `http://consul:8500/?`,
    `http://user:${TOKEN}@consul:8500`,
    `http://${TOKEN}@consul:8500`,
    `http://consul:8500/${TOKEN}`,
    `http://consul:8500#${TOKEN}`,
    `${TOKEN}`,
    `unix:///${TOKEN}`,
  ])('C43d: the address %s is refused at construction, without its value', (address) => {
    const construct = () => createConsulPort({ addresses: ['http://ok:8500', address], token, clock: systemClock });
    expect(construct).toThrow('Consul address 2 of 2');
    try {
      construct();
    } catch (error) {
      expect(everything(error)).not.toContain('SECRET');
    }
  });

  test('no address at all is refused', () => {
    expect(() => createConsulPort({ addresses: [], token, clock: systemClock })).toThrow('No Consul address');
  });

  test('an unverified TLS connection is a warning at every start', () => {
    const lines: unknown[] = [];
    portFor(['https://consul:8501'], { tls: { verify: false }, log: (...line) => lines.push(line) });
    expect(lines).toMatchObject([['warn', 'consul-tls-not-verified', {}]]);
  });
});

describe('403', () => {
  test('is asked again once with a refetched token, which stays in use', async () => {
    let refetched = 0;
    const source = {
      current: async () => 'old',
      refetch: async () => {
        refetched++;
        return 'new\n';
      },
    };
    const server = await serve((request, response) =>
      request.headers['x-consul-token'] === 'new'
        ? json(response, [rawCheck()])
        : void response.writeHead(403).end('ACL not found'),
    );
    const port = portFor([server.address], { token: source });
    await expect(readOnce(port)).resolves.toHaveLength(1);
    await expect(readOnce(port)).resolves.toHaveLength(1);
    expect(refetched).toBe(1);
    expect(server.headers.map((headers) => headers['x-consul-token'])).toEqual(['old', 'new', 'new']);
  });

  test('parallel refusals refetch once together', async () => {
    let refetched = 0;
    let current = 'old';
    const source = {
      current: async () => current,
      refetch: async () => {
        refetched++;
        current = 'new';
        return current;
      },
    };
    const server = await serve((request, response) =>
      request.headers['x-consul-token'] === 'new' ? json(response, []) : void response.writeHead(403).end(),
    );
    const refs = Array.from({ length: 8 }, (_, index) => ({
      node: 'n1',
      serviceId: 'x',
      serviceName: `s${index}`,
      namespace: '',
      partition: '',
    }));
    await portFor([server.address], { token: source }).describeInstances(refs);
    expect(refetched).toBe(1);
  });

  test('a token source that fails is forbidden, without its message', async () => {
    const failing = async () => Promise.reject(new Error('cannot decrypt SECRET'));
    const server = await serve((_request, response) => json(response, []));
    const error = await readOnce(portFor([server.address], { token: { current: failing, refetch: failing } })).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'forbidden' });
    expect(everything(error)).not.toContain('SECRET');
    expect(server.asked).toEqual([]);
  });

  test('a token that no header may hold is named as such, and not sent', async () => {
    const bad = async () => 'SECRET\u0000é';
    const server = await serve((_request, response) => json(response, []));
    const error = await readOnce(portFor([server.address], { token: { current: bad, refetch: bad } })).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'forbidden' });
    expect(everything(error)).not.toContain('SECRET');
    expect(server.asked).toEqual([]);
  });

  test('without a token no header is sent', async () => {
    const server = await serve((_request, response) => json(response, []));
    await readOnce(portFor([server.address]));
    expect(server.headers[0]).not.toHaveProperty('x-consul-token');
  });
});

describe('text from outside', () => {
  test.each([
    ['a\u0000b\r\nc\u001b[31m\u202e', [], 'a b c [31m'],
    [`x ${TOKEN} y`, [TOKEN], 'x [removed] y'],
    ['x a%2Fb y', ['a/b'], 'x [removed] y'],
    ['{"token": "abc"}', [], '{"token": "[removed]"}'],
    ['?token=abc&x=1', [], '?token=[removed]&x=1'],
  ])('%j becomes safe', (text, secrets, safe) => expect(safeText(text, secrets)).toBe(safe));

  test('a secret across the cut leaves no half behind', () => {
    const text = `${'x'.repeat(195)}${TOKEN}`;
    expect(safeText(text, [TOKEN])).not.toContain('tok');
    expect(safeText('x'.repeat(1000))).toHaveLength(200);
  });
});
