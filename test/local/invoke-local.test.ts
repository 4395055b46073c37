import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { invokeOptions } from '../../infra/local/stack/session-files.ts';
import { type Stack, startStack } from '../../infra/local/stack/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OSLS = createRequire(import.meta.url).resolve('osls/bin/serverless.js');

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ consul: 'double', samples: [{ name: 'web', count: 1, check: 'http' }] });
});
afterAll(() => stack.close());

interface Invoked {
  readonly status: number;
  readonly output: string;
}

/** Runs it as the line that `npm start` prints does. */
function invokeLocal(functionKey: 'watchChecks' | 'reconcileProxies', ...data: readonly string[]): Promise<Invoked> {
  const args = [OSLS, 'invoke', 'local', '-f', functionKey, ...invokeOptions(stack.environment), ...data];
  const env = { PATH: process.env.PATH, AWS_EC2_METADATA_DISABLED: 'true', SLS_INTERACTIVE_SETUP_ENABLE: '' };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: ROOT, env }, (error, stdout, stderr) => {
      resolve({ status: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr });
    });
    child.stdin?.end();
  });
}

/** The function's result: the only JSON that is printed over several lines. */
function resultIn(output: string): unknown {
  const lines = output.split('\n');
  return JSON.parse(lines.slice(lines.indexOf('{')).join('\n'));
}

it('runs a pass of the deployed bundle on the local stack and prints its report', async () => {
  const { status, output } = await invokeLocal('watchChecks');

  expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('"code":"pass-done"') });
  expect(resultIn(output)).toMatchObject({ ok: true, failures: [], restarts: [], policy: { source: 'consul' } });
});

it('tells the status', async () => {
  const { status, output } = await invokeLocal('watchChecks', '--data', '{"action":"status"}');

  expect(status).toBe(0);
  expect(resultIn(output)).toMatchObject({ status: 'OK', problems: [], consul: { reachable: true } });
});

it('runs a dry sync of proxies, and tells their status', async () => {
  const sync = await invokeLocal('reconcileProxies', '--data', '{"action":"sync","dryRun":true}');
  const status = await invokeLocal('reconcileProxies', '--data', '{"action":"status"}');

  expect([sync.status, status.status]).toEqual([0, 0]);
  expect(resultIn(sync.output)).toMatchObject({ outcome: 'done', ok: true, dryRun: true, declared: 0, actions: [] });
  expect(resultIn(status.output)).toMatchObject({ status: 'OK', runState: { phase: 'running' }, proxies: [] });
});

it('refuses an input that it does not understand: names it, does nothing, and fails', async () => {
  const { status, output } = await invokeLocal('watchChecks', '--data', '{"action":"pass","dryRun":"yes"}');

  expect(status).toBe(1);
  expect(resultIn(output)).toMatchObject({
    errorMessage: 'invalid input:\ndryRun: "yes" is not allowed; allowed: true or false (not a text)',
  });
});
