/** A lock between processes of one machine: a folder, since making one either succeeds or says that it is there. */
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const RETRY_MS = 100;
/** Two starts of the same lock are further apart than mkdir and writing the owner's number into it. */
const OWNERLESS_MS = 10_000;

/** Runs with the lock held; waits while a living process has it, and takes over that of a dead one. */
export async function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  while (!(await tryLock(folder))) {
    if (await isAbandoned(folder)) await removeOnce(folder);
    else await wait(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function tryLock(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  await writeFile(join(folder, 'owner'), String(process.pid));
  return true;
}

async function isAbandoned(folder: string): Promise<boolean> {
  try {
    const owner = Number(await readFile(join(folder, 'owner'), 'utf8'));
    if (owner > 0) return !isAlive(owner);
  } catch {
    // No owner yet, or no lock any more.
  }
  try {
    const { ctimeMs } = await stat(folder);
    const ageMs = performance.timeOrigin + performance.now() - ctimeMs;
    return ageMs > OWNERLESS_MS;
  } catch {
    return false;
  }
}

/**
 * Of several that found it abandoned only one may remove it: renaming succeeds once. (A late one could still catch the
 * lock of the next owner. What is done under this lock must bear that: it is there to save work.)
 */
async function removeOnce(folder: string): Promise<void> {
  const grave = `${folder}-abandoned-${process.pid}`;
  try {
    await rename(folder, grave);
  } catch {
    return;
  }
  await rm(grave, { recursive: true, force: true });
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
