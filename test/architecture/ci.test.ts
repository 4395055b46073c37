/** What continuous integration counts, and what it runs on. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

async function counted(report: string | undefined, passed: number, failed: number): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'ci-')), 'report.json');
  if (report !== undefined) writeFileSync(file, report);
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(ROOT, '.ci/count.mjs'),
    file,
    String(passed),
    String(failed),
  ]);
  return stdout;
}

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((one) => ({ status: one })),
});

describe('the numbers of .ci/run', () => {
  it.each([
    ['passed and failed tests and steps', [file('passed', 'passed'), file('failed', 'passed', 'failed')], '5 2\n'],
    ['a file that could not be loaded as failed', [file('passed', 'passed'), file('failed')], '4 2\n'],
    ['a hook that failed around skipped tests as failed', [file('failed', 'skipped')], '3 2\n'],
    ['skipped tests as neither', [file('passed', 'passed', 'skipped', 'pending')], '4 1\n'],
    ['a report without tests as failed', [], '3 2\n'],
  ])('count %s', async (_what, testResults, numbers) => {
    expect(await counted(JSON.stringify({ testResults }), 3, 1)).toBe(numbers);
  });

  it.each([undefined, '', '{"testResults":['])('count a missing or broken report (%j) as failed', async (report) => {
    expect(await counted(report, 3, 0)).toBe('3 1\n');
  });

  it('come from a script that can be executed', () => {
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).toBe(0o111);
  });
});

describe('the toolchain', () => {
  it("is Lambda's major version of Node.js", () => {
    expect(process.version).toMatch(/^v24\./);
  });

  it("has a lock file that names nobody's registry", () => {
    const lock: unknown = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const { packages } = lock as { packages: Record<string, { resolved?: string }> };
    expect(Object.keys(packages).filter((name) => packages[name]?.resolved !== undefined)).toEqual([]);
  });
});
