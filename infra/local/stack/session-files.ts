/**
 * Files of one `npm start`, below `.cache/local/PROCESS`: the functions' log, and the options that let
 * `osls invoke local` work on this stack. Several stacks do not meet; what dead ones left is removed.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';

/** They are there until the next start after this process has ended. */
export interface SessionFiles {
  /** Relative to the current folder. */
  readonly logPath: string;
  /** Relative to the current folder; written by `writeInvokeOptions`. */
  readonly invokePath: string;
  log(line: string): void;
  writeInvokeOptions(environment: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

const FOLDER = resolve(import.meta.dirname, '../../../.cache/local');

/** Makes this process's folder. */
export async function openSessionFiles(): Promise<SessionFiles> {
  await removeDeadOnes();
  const folder = join(FOLDER, String(process.pid));
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, 'functions.log');
  const invokeFile = join(folder, 'invoke');
  const log = createWriteStream(logFile);
  return {
    logPath: relative(process.cwd(), logFile),
    invokePath: relative(process.cwd(), invokeFile),
    log: (line) => log.write(`${line}\n`),
    writeInvokeOptions: (environment) => writeFile(invokeFile, invokeOptions(environment).join(' ')),
    async close() {
      await rm(invokeFile, { force: true });
      await new Promise<void>((done) => log.end(() => done()));
    },
  };
}

/**
 * `-e NAME=VALUE` for each variable: they go before the function's own ones of `serverless.yml`. osls takes no empty
 * ones; the others have no spaces, so that a shell may split them.
 */
export function invokeOptions(environment: Readonly<Record<string, string>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) => (value === '' ? [] : ['-e', `${name}=${value}`]));
}

async function removeDeadOnes(): Promise<void> {
  const names = await readdir(FOLDER).catch(() => []);
  for (const name of names.filter((one) => /^\d+$/.test(one) && !isAlive(Number(one)))) {
    await rm(join(FOLDER, name), { recursive: true, force: true });
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
