/** Finding and starting a real Consul. What needs one is skipped where there is none; in CI the other suites fail then. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFolderLock } from '../../infra/local/folder-lock.ts';
import { findConsul, startRealConsul } from '../../infra/local/real-consul.ts';

const run = promisify(execFile);
const real = await findConsul({ fetch: true });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'find-consul-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function fakeConsul(name: string, version: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho "Consul v${version}"\n`);
  await chmod(path, 0o755);
  return path;
}

describe('finding Consul', () => {
  it('takes $CONSUL_BIN before PATH', async () => {
    const path = await fakeConsul('mine', '1.20.1');
    await fakeConsul('consul', '1.9.0');
    const found = await findConsul({ fetch: false, cacheDir: folder, env: { CONSUL_BIN: path, PATH: folder } });
    expect(found).toEqual({ path, version: '1.20.1', how: '$CONSUL_BIN' });
  });

  it('takes PATH before the cache folder', async () => {
    const path = await fakeConsul('consul', '1.9.0');
    const found = await findConsul({ fetch: false, env: { PATH: `/nowhere:${folder}` } });
    expect(found).toEqual({ path, version: '1.9.0', how: 'PATH' });
  });

  it('throws when $CONSUL_BIN is no Consul, rather than take another one', async () => {
    const env = { CONSUL_BIN: '/bin/true', PATH: '' };
    await expect(findConsul({ fetch: false, env })).rejects.toThrow('CONSUL_BIN=/bin/true is no Consul');
  });

  it('finds nothing in an empty cache folder when it may not fetch', async () => {
    expect(await findConsul({ fetch: false, cacheDir: folder, env: { PATH: '' } })).toBeUndefined();
  });

  it('says why it could not fetch', async () => {
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const blocked = join(folder, 'file');
    await writeFile(blocked, '');
    expect(await findConsul({ fetch: true, cacheDir: blocked, env: { PATH: '' }, onProblem })).toBeUndefined();
    expect(problems).toEqual([expect.stringContaining('EEXIST')]);
  });
});

describe('the lock on the cache folder', () => {
  it('lets one in after the other', async () => {
    const lock = join(folder, 'lock');
    let inside = 0;
    const visit = async () => {
      inside += 1;
      expect(inside).toBe(1);
      await wait(20);
      inside -= 1;
    };
    await Promise.all([1, 2, 3].map(() => withFolderLock(lock, visit)));
  });

  it('takes over the lock of a dead process', async () => {
    const lock = join(folder, 'lock');
    const abandon = `mkdir ${lock} && echo $$ > ${lock}/owner`;
    await run('/bin/sh', ['-c', abandon]);
    expect(await withFolderLock(lock, async () => 'in')).toBe('in');
  });

  it('is free again after a failure', async () => {
    const lock = join(folder, 'lock');
    await expect(withFolderLock(lock, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await withFolderLock(lock, async () => 'in')).toBe('in');
  });
});

describe.skipIf(!real)('a real Consul agent', () => {
  const binary = real?.path ?? '';

  it('speaks TLS to those who have a certificate', async () => {
    const consul = await startRealConsul(binary, { tls: true });
    const ca = consul.tls?.ca ?? '';
    const trusting = new Agent({ connect: { ...consul.tls, servername: 'localhost' } });
    const stranger = new Agent({ connect: { ca, servername: 'localhost' } });
    try {
      const { statusCode, body } = await request(`${consul.url}/v1/status/leader`, { dispatcher: trusting });
      await body.dump();
      expect(statusCode).toBe(200);
      await expect(request(`${consul.url}/v1/status/leader`, { dispatcher: stranger })).rejects.toThrow();
    } finally {
      await Promise.all([trusting.destroy(), stranger.destroy()]);
      await consul.close();
    }
  });

  it('ends with close, and several do not get into each other’s way', async () => {
    const agents = await Promise.all([1, 2].map(() => startRealConsul(binary, { name: 'same' })));
    const [first, second] = agents;
    expect(first?.url).not.toBe(second?.url);
    await Promise.all(agents.map((agent) => agent.close()));
    for (const { processId } of agents) expect(() => process.kill(processId, 0)).toThrow('ESRCH');
  });

  it('does not outlive the process that started it, however that one ends', async () => {
    const module = join(dirname(import.meta.dirname), '../infra/local/real-consul.ts');
    const script = `
      import { startRealConsul } from ${JSON.stringify(module)};
      const consul = await startRealConsul(${JSON.stringify(binary)});
      process.stdout.write(String(consul.processId), () => process.kill(process.pid, 'SIGKILL'));
    `;
    const outcome = run(process.execPath, ['--input-type=module-typescript', '-e', script]);
    const { stdout } = await outcome.catch((error: { stdout: string }) => error);
    const processId = Number(stdout);
    expect(processId).toBeGreaterThan(1);
    const lives = () => {
      try {
        return process.kill(processId, 0);
      } catch {
        return false;
      }
    };
    await expect.poll(lives, { timeout: 5000 }).toBe(false);
  });

  it('fails with the last words of an agent that does not start', async () => {
    const path = join(folder, 'broken');
    await writeFile(
      path,
      '#!/bin/sh\n[ "$1" = version ] && echo "Consul v1.8.7" && exit\necho "no luck today" >&2\nexit 1\n',
    );
    await chmod(path, 0o755);
    await expect(startRealConsul(path)).rejects.toThrow(/no luck today/);
  });
});
