/**
 * Starts a real Consul agent for tests, bench and `npm start`: dev mode, loopback, ports of our choosing. The agent
 * is the child of a small shell that kills it when our end of a pipe closes, so it never outlives this process.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';

const run = promisify(execFile);

/** What to switch on. */
export interface RealConsulOptions {
  /** Default-deny ACLs; `token` is then the management token. */
  readonly acl?: boolean;
  /** HTTPS only, with client certificates required. */
  readonly tls?: boolean;
  /** Name of the node. Default `local`. */
  readonly name?: string;
}

/** Certificates, as PEM. The server's is for `localhost`, `127.0.0.1` and `server.dc1.consul`. */
export interface ConsulTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A running agent. */
export interface RealConsul {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly processId: number;
  readonly token?: string;
  readonly tls?: ConsulTls;
  /** A token with these ACL rules (HCL). Only with ACLs. */
  createToken(rules: string): Promise<string>;
  /** Deletes a token that `createToken` made. */
  deleteToken(secret: string): Promise<void>;
  /** `PATH` below `/v1/`, with all rights. Throws for any answer but 200. */
  ask(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  close(): Promise<void>;
}

const START_MS = 30_000;
const TRIES = 3;

// Standard input is handed on as 3, since a shell gives its background commands an empty one. The shell says the
// agent's number first; `cat` ends when this process's end of the pipe is closed, by close() or by its death.
const KEEPER = `
exec 3<&0
"$@" </dev/null 3<&- & child=$!
echo "$child"
{ cat >/dev/null; kill -KILL "$child" 2>/dev/null; } <&3 &
exec 3<&-
wait "$child"
`;

/** Resolves when the agent has a leader and its own node in the catalog. Throws with the agent's last words. */
export async function startRealConsul(binary: string, options: RealConsulOptions = {}): Promise<RealConsul> {
  const version = /v(\d+\.\d+\.\d+)/.exec((await run(binary, ['version'])).stdout)?.[1] ?? 'unknown';
  const folder = options.tls ? await mkdtemp(join(tmpdir(), 'consul-')) : undefined;
  try {
    const tls = folder === undefined ? undefined : await makeCertificates(binary, folder);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await startOnce({ binary, version, folder, tls, options });
      } catch (error) {
        // Somebody may have taken one of the ports between our choosing and the agent's start.
        if (attempt === TRIES || !/address already in use/.test(String(error))) throw error;
      }
    }
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

interface Launch {
  readonly binary: string;
  readonly version: string;
  /** Of the certificates; only with TLS. */
  readonly folder: string | undefined;
  readonly tls: ConsulTls | undefined;
  readonly options: RealConsulOptions;
}

async function startOnce({ binary, version, folder, tls, options }: Launch): Promise<RealConsul> {
  const [http = 0, server = 0, serf = 0] = await freePorts(3);
  const name = options.name ?? 'local';
  const token = options.acl ? randomUUID() : undefined;
  const flags = flagsOf({ version, folder, name, token, ports: { http, server, serf } });
  const child = spawn('/bin/sh', ['-c', KEEPER, 'keeper', binary, ...flags], { stdio: ['pipe', 'pipe', 'pipe'] });
  const words = lastWords(child);
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${http}`;
  const dispatcher = new Agent(tls ? { connect: { ...tls, servername: 'localhost' } } : {});
  const ask = async (method: 'GET' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown> => {
    const headers = token === undefined ? {} : { 'x-consul-token': token };
    const payload = body === undefined ? null : JSON.stringify(body);
    const answer = await request(`${url}/v1/${path}`, { method, headers, body: payload, dispatcher });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`Consul answered ${answer.statusCode} to ${path}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const accessors = new Map<string, string>();
  const stop = async () => {
    child.stdin.destroy();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await dispatcher.destroy();
  };
  try {
    await ready(ask, name, child, words);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    port: http,
    version,
    processId: words.processId(),
    ...(token === undefined ? {} : { token }),
    ...(tls ? { tls } : {}),
    createToken: async (rules) => {
      const policy = await ask('PUT', 'acl/policy', { Name: randomUUID(), Rules: rules });
      const made = await ask('PUT', 'acl/token', { Policies: [{ ID: field(policy, 'ID') }] });
      accessors.set(field(made, 'SecretID'), field(made, 'AccessorID'));
      return field(made, 'SecretID');
    },
    deleteToken: async (secret) => {
      await ask('DELETE', `acl/token/${accessors.get(secret) ?? ''}`);
    },
    ask,
    close: async () => {
      await stop();
      await removeFolder(folder);
    },
  };
}

function flagsOf(launch: {
  readonly version: string;
  readonly folder: string | undefined;
  readonly name: string;
  readonly token: string | undefined;
  readonly ports: { readonly http: number; readonly server: number; readonly serf: number };
}): string[] {
  const { version, folder, name, token, ports } = launch;
  const tls = folder !== undefined;
  const [, minor = 0] = version.split('.').map(Number);
  const modern = minor >= 14 || !version.startsWith('1.');
  const flags = ['agent', '-dev', '-node', name, '-bind', '127.0.0.1', '-client', '127.0.0.1', '-log-level', 'warn'];
  // Port 0 would mean "off", as -1 does.
  flags.push('-http-port', String(tls ? -1 : ports.http), '-https-port', String(tls ? ports.http : -1));
  flags.push('-server-port', String(ports.server), '-serf-lan-port', String(ports.serf), '-serf-wan-port', '-1');
  flags.push('-dns-port', '-1', '-grpc-port', '-1', ...(modern ? ['-grpc-tls-port', '-1'] : []));
  flags.push('-hcl', 'connect { enabled = false }');
  if (token !== undefined) {
    const management = modern ? 'initial_management' : 'master';
    const tokens = `${management} = "${token}" agent = "${token}"`;
    flags.push('-hcl', `acl { enabled = true default_policy = "deny" tokens { ${tokens} } }`);
  }
  if (tls) {
    flags.push('-hcl', 'verify_incoming = true verify_outgoing = true verify_server_hostname = true');
    flags.push('-hcl', `ca_file = "${join(folder, 'consul-agent-ca.pem')}"`);
    flags.push('-hcl', `cert_file = "${join(folder, 'dc1-server-consul-0.pem')}"`);
    flags.push('-hcl', `key_file = "${join(folder, 'dc1-server-consul-0-key.pem')}"`);
  }
  return flags;
}

async function makeCertificates(binary: string, folder: string): Promise<ConsulTls> {
  for (const args of [
    ['ca', 'create'],
    ['cert', 'create', '-server', '-dc', 'dc1'],
    ['cert', 'create', '-client'],
  ]) {
    await run(binary, ['tls', ...args], { cwd: folder });
  }
  const read = (file: string) => readFile(join(folder, file), 'utf8');
  return {
    ca: await read('consul-agent-ca.pem'),
    cert: await read('dc1-client-consul-0.pem'),
    key: await read('dc1-client-consul-0-key.pem'),
  };
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  });
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** The keeper's first line is the agent's process; the rest is the agent's log, of which the end is kept. */
function lastWords(child: ChildProcess): { text: () => string; processId: () => number } {
  let log = '';
  let processId: number | undefined;
  child.stdout?.on('data', (chunk) => {
    log = (log + String(chunk)).slice(-4000);
    processId ??= Number.parseInt(log, 10);
  });
  child.stderr?.on('data', (chunk) => {
    log = (log + String(chunk)).slice(-4000);
  });
  return { text: () => log.trim(), processId: () => processId ?? Number.NaN };
}

async function ready(
  ask: (method: 'GET', path: string) => Promise<unknown>,
  name: string,
  child: ChildProcess,
  words: { text: () => string },
): Promise<void> {
  const deadline = performance.now() + START_MS;
  let problem = 'no answer';
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`Consul ended at once: ${words.text()}`);
    try {
      const leader = await ask('GET', 'status/leader');
      const checks = leader === '' ? [] : await ask('GET', `health/node/${encodeURIComponent(name)}`);
      const synced = await ask('GET', `catalog/node-services/${encodeURIComponent(name)}`);
      if (Array.isArray(checks) && checks.length > 0 && JSON.stringify(synced).includes('"lan"')) return;
      problem = 'its own node is not in the catalog';
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    await wait(50);
  }
  throw new Error(`Consul is not ready after ${START_MS / 1000} s (${problem}): ${words.text()}`);
}

function field(value: unknown, name: string): string {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  if (typeof found !== 'string') throw new Error(`Consul's answer has no ${name}`);
  return found;
}
