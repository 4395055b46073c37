/**
 * Credentials as a function has them, against a real Consul with default-deny ACLs, TLS and `verify_incoming`: settings and
 * stores of secrets in front, the adapter behind. In CI there must be one; without one elsewhere the suite says so.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findConsul, type RealConsul, startRealConsul } from '../../infra/local/real-consul.ts';
import { systemClock } from '../../lib/clock.ts';
import { consulCredentials, createSecretReader } from '../../lib/config/secrets.ts';
import { readSettings } from '../../lib/config/settings.ts';
import { createConsulClient } from '../../lib/consul/client.ts';
import { consulPortOn } from '../../lib/consul/consul-port.ts';
import { createDeclarationPort } from '../../lib/consul/declarations.ts';
import { look } from '../../lib/use-cases/visibility.ts';

const POLICY = readFileSync(new URL('../../infra/consul-policy.hcl', import.meta.url), 'utf8');
const STRANGE_CA = readFileSync(new URL('../consul/tls/ca.pem', import.meta.url), 'utf8');
const INSTANCE = { node: 'n1', serviceId: 'web-1', serviceName: 'web', namespace: '', partition: '' };

const problems: string[] = [];
const found = await findConsul({ fetch: true, onProblem: (problem) => problems.push(problem) });
if (!found && process.env.CI && process.env.CI !== 'false') throw new Error(`no real Consul: ${problems.join('; ')}`);

/** Rules of the policy, one block each. */
const blocks = (POLICY.replace(/^#.*$/gm, '').match(/\w+ "[^"]*" \{[^}]*\}/g) ?? []).map((text) => text.trim());

describe.runIf(found)(`credentials against real Consul ${found?.version ?? '(there is none)'}`, () => {
  let consul: RealConsul;
  let token: string;

  beforeAll(async () => {
    consul = await startRealConsul(found?.path ?? '', { acl: true, tls: true });
    await consul.ask('PUT', 'catalog/register', {
      Node: 'n1',
      Address: '10.0.0.1',
      Service: { ID: 'web-1', Service: 'web' },
      Checks: [
        { CheckID: 'bad', Name: 'bad', Status: 'critical', ServiceID: 'web-1' },
        { CheckID: 'warn', Name: 'warn', Status: 'warning', ServiceID: 'web-1' },
      ],
    });
    await consul.ask('PUT', 'kv/ecs-check-restart/policy', {});
    await consul.ask('PUT', 'kv/ecs-check-restart/proxies/p', {});
    token = await consul.createToken(POLICY);
  });
  afterAll(() => consul?.close());

  /** A port from the environment of a function; `/NAME` and `NAME` are in the stores. */
  function portFrom(env: Record<string, string> = {}, stored: Record<string, string | undefined> = {}) {
    const { ca, cert, key } = consul.tls ?? { ca: '', cert: '', key: '' };
    const secrets: Record<string, string | undefined> = { token, ca, cert, key, ...stored };
    const asked: string[] = [];
    const lines: unknown[][] = [];
    const read = async (name: string, { forceFetch }: { readonly forceFetch: boolean }) => {
      asked.push(forceFetch ? `${name} again` : name);
      const value = secrets[forceFetch ? `${name} again` : name] ?? secrets[name];
      if (value === undefined) throw Object.assign(new Error('SECRET'), { name: 'ParameterNotFound' });
      return value;
    };
    const stores = {
      ssm: (name: string, how: { forceFetch: boolean }) => read(name.slice(1), how),
      secretsManager: read,
    };
    const result = readSettings({
      AWS_REGION: 'eu-west-1',
      TABLE_NAME: 'table',
      CONSUL_HTTP_ADDR: consul.url,
      CONSUL_HTTP_TOKEN_SSM_PARAMETER: '/token',
      CONSUL_CACERT_SSM_PARAMETER: '/ca',
      CONSUL_CLIENT_CERT_SECRET: 'cert',
      CONSUL_CLIENT_KEY_SECRET: 'key',
      ...env,
    });
    if (!result.ok) throw new Error(result.problems.join('\n'));
    const { consul: settings } = result.settings;
    const credentials = consulCredentials(settings, createSecretReader(stores));
    const start = async () => {
      const tls = await credentials.tls();
      const log = (...line: unknown[]) => lines.push(line);
      const options = { addresses: settings.addresses, token: credentials.token, tls, clock: systemClock, log };
      const client = createConsulClient(options);
      onTestFinished(() => client.close());
      return { ...consulPortOn(client, options), ...createDeclarationPort({ client, clock: systemClock }) };
    };
    return { start, asked, lines };
  }

  async function readWith(env: Record<string, string> = {}, stored: Record<string, string | undefined> = {}) {
    const port = await portFrom(env, stored).start();
    return port.watchUnhealthy({ warnings: true }).read(new AbortController().signal);
  }

  const bad = { checks: [{ checkId: 'bad' }, { checkId: 'warn' }] };

  describe('TLS', () => {
    it('trusts the private CA, and shows the client certificate that Consul demands', async () => {
      await expect(readWith()).resolves.toMatchObject(bad);
    });

    it.each([
      [
        "the system's CAs only",
        { CONSUL_CACERT_SSM_PARAMETER: '' },
        {},
        /not signed by a CA that is trusted here: CONSUL_CACERT/,
      ],
      ['another CA', {}, { ca: STRANGE_CA }, /not signed by a CA that is trusted here: CONSUL_CACERT/],
      [
        'another server name',
        { CONSUL_TLS_SERVER_NAME: 'server.dc2.consul' },
        {},
        /bears another name: CONSUL_TLS_SERVER_NAME/,
      ],
      [
        'no client certificate',
        { CONSUL_CLIENT_CERT_SECRET: '', CONSUL_CLIENT_KEY_SECRET: '' },
        {},
        /demands a client certificate that it trusts: CONSUL_CLIENT_CERT, CONSUL_CLIENT_KEY/,
      ],
    ])('%s: no connection, and what to look at', async (_name, env, stored, message) => {
      await expect(readWith(env, stored)).rejects.toMatchObject({ system: 'consul', code: 'unreachable', message });
    });

    it('takes another name for the server than its address has', async () => {
      // The certificate is for 127.0.0.1, localhost and server.dc1.consul.
      const elsewhere = await relay('127.0.0.2', consul.port);
      await expect(readWith({ CONSUL_HTTP_ADDR: elsewhere })).rejects.toThrow('CONSUL_TLS_SERVER_NAME');
      const named = { CONSUL_HTTP_ADDR: elsewhere, CONSUL_TLS_SERVER_NAME: 'server.dc1.consul' };
      await expect(readWith(named)).resolves.toMatchObject(bad);
    });

    it('is not verified where the setting says so, and each start warns', async () => {
      const unverified = portFrom({ CONSUL_HTTP_SSL_VERIFY: 'false', CONSUL_CACERT_SSM_PARAMETER: '' });
      for (let starts = 1; starts <= 2; starts += 1) {
        const port = await unverified.start();
        await expect(port.readKey('ecs-check-restart/policy')).resolves.toMatchObject({ text: '{}' });
        expect(unverified.lines).toHaveLength(starts);
      }
      expect(unverified.lines[1]).toMatchObject(['warn', 'consul-tls-not-verified', {}]);
    });

    it('to a server that speaks none is said to be so', async () => {
      const plain = await startRealConsul(found?.path ?? '');
      onTestFinished(() => plain.close());
      await expect(readWith({ CONSUL_HTTP_ADDR: plain.url.replace('http:', 'https:') })).rejects.toThrow(
        'does not speak TLS',
      );
    });
  });

  describe('the documented ACL policy', () => {
    async function portWith(rules: string) {
      return portFrom({}, { token: await consul.createToken(rules) }).start();
    }

    it('is enough for everything that is read', async () => {
      const port = await portWith(POLICY);
      await expect(port.watchUnhealthy({ warnings: true }).read(new AbortController().signal)).resolves.toMatchObject(
        bad,
      );
      expect((await port.lookUpChecks([{ ...INSTANCE, checkId: 'bad' }])).size).toBe(1);
      expect((await port.describeInstances([INSTANCE])).found.size).toBe(1);
      expect(await port.readKey('ecs-check-restart/policy')).toMatchObject({ text: '{}' });
      expect(await look(port)).toEqual({ services: 2 });
      expect(await port.readDeclarations()).toMatchObject({ documents: [{ id: 'p' }] });
    });

    it('finds out that the policy document is not there', async () => {
      await consul.ask('DELETE', 'kv/ecs-check-restart/policy');
      try {
        expect(await (await portWith(POLICY)).readKey('ecs-check-restart/policy')).toBeUndefined();
      } finally {
        await consul.ask('PUT', 'kv/ecs-check-restart/policy', {});
      }
    });

    it('is made of five rules', () => {
      expect(blocks).toHaveLength(5);
    });

    it.each(blocks)('does not do without %s', async (block) => {
      const port = await portWith(blocks.filter((other) => other !== block).join('\n'));
      const [, resource, name] = /^(\w+) "([^"]*)"/.exec(block) ?? [];
      if (resource === 'key' && name === 'ecs-check-restart/policy') {
        return expect(port.readKey(name)).rejects.toMatchObject({ code: 'forbidden' });
      }
      if (resource === 'key' || resource === 'key_prefix') {
        return expect(port.readDeclarations()).rejects.toMatchObject({ code: 'forbidden' });
      }
      // Consul 1.8 says nothing at all of what it left out: a healthy estate, were it not for the proof.
      const { checks } = await port.watchUnhealthy({ warnings: true }).read(new AbortController().signal);
      expect(checks).toEqual([]);
      const right = resource === 'service_prefix' ? /service_prefix "" read/ : /node_prefix "" read/;
      expect(await look(port)).toMatchObject({ problem: expect.stringMatching(right) });
    });
  });

  describe('a token', () => {
    it('that sees nothing reads a healthy estate, and is found out', async () => {
      const port = await portFrom(
        {},
        { token: await consul.createToken('key_prefix "x/" { policy = "read" }') },
      ).start();
      await expect(port.watchUnhealthy({ warnings: true }).read(new AbortController().signal)).resolves.toEqual({
        checks: [],
      });
      expect(await look(port)).toMatchObject({ services: 0, problem: expect.stringContaining('ACL token') });
    });

    it('that is not given at all reads as little', async () => {
      const port = await portFrom({ CONSUL_HTTP_TOKEN_SSM_PARAMETER: '' }).start();
      expect(await look(port)).toMatchObject({ services: 0, problem: expect.stringContaining('ACL token') });
      await expect(port.readKey('ecs-check-restart/policy')).rejects.toMatchObject({ code: 'forbidden' });
    });

    it('that was rotated in its store is fetched once, and works from then on', async () => {
      const [old, fresh] = [await consul.createToken(POLICY), await consul.createToken(POLICY)];
      const rotated = portFrom({}, { token: old, 'token again': fresh });
      const port = await rotated.start();
      await expect(port.readKey('ecs-check-restart/policy')).resolves.toMatchObject({ text: '{}' });
      await consul.deleteToken(old);
      for (let reads = 0; reads < 2; reads += 1) {
        await expect(port.readKey('ecs-check-restart/policy')).resolves.toMatchObject({ text: '{}' });
      }
      expect(rotated.asked.filter((name) => name === 'token again')).toHaveLength(1);
    });

    it('C43: that Consul does not know stays forbidden, fetched once a read, and is in no error', async () => {
      const unknown = randomUUID();
      const wrong = portFrom({}, { token: unknown });
      const port = await wrong.start();
      const error = await port.readKey('ecs-check-restart/policy').catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'forbidden', message: /ACL not found/ });
      expect(String(error)).not.toContain(unknown);
      expect(wrong.asked.filter((name) => name.startsWith('token'))).toEqual(['token', 'token again', 'token']);
    });

    it('C43: that cannot be had is a clear failure, and nothing is sent', async () => {
      const port = await portFrom({}, { token: undefined }).start();
      const error = await port.readKey('ecs-check-restart/policy').catch((caught: unknown) => caught);
      expect(error).toMatchObject({ system: 'consul', code: 'forbidden' });
      expect(String(error)).toContain('cannot read SSM parameter /token: ParameterNotFound');
      expect(String(error)).not.toContain('SECRET');
    });
  });

  it('a CA or a client key that cannot be had: nothing starts, and the source is named', async () => {
    await expect(readWith({}, { ca: undefined })).rejects.toThrow('cannot read SSM parameter /ca: ParameterNotFound');
    await expect(readWith({}, { key: undefined })).rejects.toThrow('cannot read Secrets Manager secret key');
  });
});

/** Another address for a port of this machine. */
async function relay(host: string, port: number): Promise<string> {
  const server = createServer((socket) => {
    const onward = connect(port, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => end.destroy());
    socket.on('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `https://${host}:${typeof address === 'object' ? address?.port : ''}`;
}
