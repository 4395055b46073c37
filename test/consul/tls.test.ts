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

async function readOver(tls: ConsulTls | undefined) {
  const server = createServer(
    { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem'), requestCert: true, rejectUnauthorized: true },
    (_request, response) => json(response, [rawCheck()]),
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
});

test.each([
  ['no settings', undefined],
  ['no CA', { ...client, serverName: 'server.dc1.consul', verify: true }],
  ['no client certificate', { ca: whole.ca ?? '', serverName: 'server.dc1.consul', verify: true }],
  ['the wrong server name', { ca: whole.ca ?? '', ...client, verify: true }],
])('%s: no connection, and the error shows no key', async (_name, tls) => {
  const error = await readOver(tls).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'unreachable' });
  expect(String(error)).not.toContain('PRIVATE');
});

test('verification off accepts any server certificate', async () => {
  await expect(readOver({ ...client, verify: false })).resolves.toHaveLength(1);
});
