/**
 * A real Consul: found (`$CONSUL_BIN`, `PATH`, the cache folder), or fetched as Debian's package of the bullseye suite
 * (Consul 1.8) and unpacked into the cache folder. Nothing is installed, and no mirror is named here: apt says which
 * one this machine uses. Later Debian suites have no Consul. `real-consul-agent.ts` starts it.
 */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withFolderLock } from './folder-lock.ts';

export { type RealConsul, type RealConsulOptions, startRealConsul } from './real-consul-agent.ts';

const run = promisify(execFile);

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const PROJECT = resolve(import.meta.dirname, '../..');
const STEP_MS = 120_000;

/** A Consul binary that runs. `how` says where it comes from, for a line in a log. */
export interface FoundConsul {
  readonly path: string;
  /** Such as `1.8.7`. */
  readonly version: string;
  readonly how: '$CONSUL_BIN' | 'PATH' | 'cache' | 'fetched';
}

/** Where to look. */
export interface FindConsulOptions {
  /** Whether one may be downloaded. */
  readonly fetch: boolean;
  /** Default `$CONSUL_CACHE_DIR`, else `.cache/consul` of the project. */
  readonly cacheDir?: string;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets the reason when fetching fails. */
  readonly onProblem?: (problem: string) => void;
}

/** `undefined` where there is none. Throws when `$CONSUL_BIN` names something that is no Consul. */
export async function findConsul(options: FindConsulOptions): Promise<FoundConsul | undefined> {
  const { env = process.env } = options;
  if (env.CONSUL_BIN) {
    const version = await versionOf(env.CONSUL_BIN);
    if (version === undefined) throw new Error(`CONSUL_BIN=${env.CONSUL_BIN} is no Consul that runs here`);
    return { path: env.CONSUL_BIN, version, how: '$CONSUL_BIN' };
  }
  for (const folder of (env.PATH ?? '').split(delimiter).filter((name) => name !== '')) {
    const found = await tryBinary(join(folder, 'consul'), 'PATH');
    if (found) return found;
  }
  const cacheDir = resolve(options.cacheDir ?? (env.CONSUL_CACHE_DIR || join(PROJECT, '.cache/consul')));
  const binary = join(cacheDir, 'root/usr/bin/consul');
  const cached = await tryBinary(binary, 'cache');
  if (cached || !options.fetch) return cached;
  try {
    await mkdir(cacheDir, { recursive: true });
    return await withFolderLock(join(cacheDir, 'lock'), async () => {
      // Another process may have fetched it while this one waited for the lock.
      const meanwhile = await tryBinary(binary, 'cache');
      if (meanwhile) return meanwhile;
      await fetchDebianPackage(cacheDir);
      return await tryBinary(binary, 'fetched');
    });
  } catch (error) {
    options.onProblem?.(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

async function tryBinary(path: string, how: FoundConsul['how']): Promise<FoundConsul | undefined> {
  const version = await versionOf(path);
  return version === undefined ? undefined : { path, version, how };
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await run(path, ['version'], { timeout: STEP_MS });
    return /^Consul v(\d+\.\d+\.\d+)/m.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

/** Unpacks the package next to its place and renames it there, so that nobody sees half of it. */
async function fetchDebianPackage(cacheDir: string): Promise<void> {
  const work = await mkdtemp(join(cacheDir, 'fetch-'));
  try {
    const problems: string[] = [];
    for (const mirror of await debianMirrors()) {
      try {
        await downloadFrom(mirror, work);
        const archive = (await readdir(work)).find((name) => /^consul_.*\.deb$/.test(name));
        if (archive === undefined) throw new Error('apt-get download left no package');
        await run('dpkg', ['-x', join(work, archive), join(work, 'root')], { timeout: STEP_MS });
        await putInPlace(join(work, 'root'), join(cacheDir, 'root'));
        return;
      } catch (error) {
        problems.push(error instanceof Error ? error.message : String(error));
      }
    }
    throw new Error(`no Consul from Debian's bullseye suite: ${problems.join('; ') || 'apt names no mirror'}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Leaves a binary that is there already and runs: another process may have come first, and started it. */
async function putInPlace(unpacked: string, place: string): Promise<void> {
  if (await tryBinary(join(place, 'usr/bin/consul'), 'cache')) return;
  await rm(place, { recursive: true, force: true });
  await rename(unpacked, place);
}

/** Base addresses of the machine's own package sources. Known to apt before any update. */
async function debianMirrors(): Promise<readonly string[]> {
  const query = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', 'Component: main'];
  const { stdout } = await run('apt-get', query, { timeout: STEP_MS });
  return [...new Set(stdout.split('\n').filter((line) => line !== ''))];
}

/** With lists, cache and sources of its own, so that the machine's stay as they are, and no rights are needed. */
async function downloadFrom(mirror: string, work: string): Promise<void> {
  const sources = join(work, 'sources.list');
  const lists = join(work, 'lists');
  const archives = join(work, 'archives');
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(archives, 'partial'), { recursive: true });
  await writeFile(sources, `deb [signed-by=${KEYRING}] ${mirror} bullseye main\n`);
  const { stdout: user } = await run('id', ['-un']);
  const settings = {
    'Dir::Etc::sourcelist': sources,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': lists,
    'Dir::Cache': work,
    'Dir::Cache::archives': archives,
    'APT::Sandbox::User': user.trim(),
    // Only the package index is needed: no translations, no icons.
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const options = { cwd: work, timeout: STEP_MS, maxBuffer: 16_777_216 };
  await run('apt-get', ['-q', ...flags, '-o', 'APT::Update::Error-Mode=any', 'update'], options);
  await run('apt-get', ['-q', ...flags, 'download', 'consul'], options);
}
