/**
 * TLS to a server whose certificate bears `server.dc1.consul` and which demands a client certificate, as Consul does with
 * `verify_incoming`. The keys in `tls/` are made for these tests only; their CA's key was thrown away.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { ConsulTls } from '../../lib/consul/consul-port.ts';
import { json, jumpingClock, portFor, rawCheck, readOnce } from './scripted-server.ts';

const pem = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
const client = { cert: pem('client.pem'), key: pem('client.key') };
const whole: ConsulTls = { ca: pem('ca.pem'), ...client, serverName: 'server.dc1.consul', verify: true };

/** Requests that reached the server. */
let reached = 0;

async function readOver(tls: ConsulTls | undefined) {
  reached = 0;
  const server = createServer(
    { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem'), requestCert: true, rejectUnauthorized: true },
    (_request, response) => {
      reached += 1;
      json(response, [rawCheck()]);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return readOnce(portFor([`https://127.0.0.1:${port}`], { clock: jumpingClock(), ...(tls ? { tls } : {}) }));
}

test('a private CA, a client certificate and another server name', async () => {
  await expect(readOver(whole)).resolves.toHaveLength(1);
  expect(reached).toBe(1);
});

test.each([
  ['no settings', undefined, 'CONSUL_CACERT'],
  ['no CA', { ...client, serverName: 'server.dc1.consul', verify: true }, 'CONSUL_CACERT'],
  ['a CA that is none', { ...whole, ca: 'no PEM' }, 'CONSUL_CACERT'],
  [
    'no client certificate',
    { ca: whole.ca ?? '', serverName: 'server.dc1.consul', verify: true },
    // Node's server ends the connection without a word; Consul's alert is in the contract suite.
    'cannot be reached',
  ],
  ['a key of another certificate', { ...whole, key: pem('server.key') }, 'do not belong together'],
  ['a key that is none', { ...whole, key: 'no PEM' }, 'CONSUL_CLIENT_KEY'],
  ['the wrong server name', { ca: whole.ca ?? '', ...client, verify: true }, 'CONSUL_TLS_SERVER_NAME'],
])('%s: no connection, and the error says what it is and shows no key', async (_name, tls, hint) => {
  const error = await readOver(tls).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining(hint) });
  expect(reached).toBe(0);
  expect(String(error)).not.toContain('PRIVATE');
});

test('verification off accepts any server certificate', async () => {
  await expect(readOver({ ...client, verify: false })).resolves.toHaveLength(1);
});
