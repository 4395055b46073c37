/**
 * Runs a file of the bench as Lambda runs a function: bundled as the package is (`infra/bundle-plugin.cjs`), in a process
 * of its own, with the heap limits that Lambda's Node runtime derives from the function's memory, and with what
 * `serverless.yml` tells the C library about its own. A machine with much memory lets V8 leave garbage lying about for
 * longer; what is then measured is the machine, not the product.
 */
import { type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { build } from 'esbuild';

const PROJECT = resolve(import.meta.dirname, '../..');

/** Bundled files. */
export interface Bundle {
  /** Memory of the function, as `serverless.yml` states it. */
  readonly memoryMb: number;
  /** Runs one to its end; it gets the task as JSON and answers with one message. `limits`: those of the function's memory. */
  run<Answer>(file: string, task: unknown, options?: { readonly limits?: boolean }): Promise<Answer>;
  remove(): Promise<void>;
}

/** Bundles files that lie beside this one. */
export async function bundle(files: readonly string[]): Promise<Bundle> {
  const outdir = await mkdtemp(join(tmpdir(), 'bench-'));
  await build({
    entryPoints: files.map((file) => join(import.meta.dirname, file)),
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    mainFields: ['module', 'main'],
    logLevel: 'warning',
  });
  const deployed = await readFile(join(PROJECT, 'serverless.yml'), 'utf8');
  const memoryMb = Number(stated(deployed, /^ {4}memorySize: (\d+)$/m));
  const env = { ...process.env, MALLOC_ARENA_MAX: stated(deployed, /^ {4}MALLOC_ARENA_MAX: "(\d+)"$/m) };
  return {
    memoryMb,
    run: (file, task, { limits = true } = {}) =>
      runToEnd(join(outdir, `${basename(file, '.ts')}.cjs`), task, limits ? { execArgv: limitsOf(memoryMb), env } : {}),
    remove: () => rm(outdir, { recursive: true, force: true }),
  };
}

/** As in the start script of Lambda's runtime: a tenth is new space, of which a semi-space is the half. */
function limitsOf(memoryMb: number): string[] {
  const newMb = Math.floor(memoryMb / 10);
  return [`--max-semi-space-size=${Math.floor(newMb / 2)}`, `--max-old-space-size=${memoryMb - newMb}`];
}

function stated(deployed: string, line: RegExp): string {
  const text = line.exec(deployed)?.[1];
  if (text === undefined) throw new Error(`serverless.yml has no line like ${line.source}`);
  return text;
}

/** Its log lines are written as in Lambda, and read by nobody. */
async function runToEnd<Answer>(
  path: string,
  task: unknown,
  limits: Pick<ForkOptions, 'execArgv' | 'env'>,
): Promise<Answer> {
  const child = fork(path, [JSON.stringify(task)], { ...limits, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let answer: Answer | undefined;
  child.on('message', (message) => {
    answer = message as Answer;
  });
  const [code] = await once(child, 'exit');
  if (answer === undefined) throw new Error(`${basename(path)} ended with ${code} and said nothing`);
  return answer;
}
