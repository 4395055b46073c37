/**
 * Adds the tests of Vitest's JSON report to the steps counted so far and prints `PASSED FAILED`. Everything that kept
 * tests from running counts as failed: no report, no tests in it, a file that could not be loaded. Skipped tests are
 * neither; they are named on stderr.
 *
 * node .ci/count.mjs REPORT PASSED FAILED
 */
import { readFileSync } from 'node:fs';

const [report = '', passed = '0', failed = '0'] = process.argv.slice(2);

function testsOf(file) {
  let parsed;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const files = parsed.testResults ?? [];
  const tests = files.flatMap(({ assertionResults = [] }) => assertionResults);
  const count = (wanted) => tests.filter(({ status }) => status === wanted).length;
  const unloaded = files.filter(
    ({ status, assertionResults = [] }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const noTests = tests.length === 0 && unloaded === 0 ? 1 : 0;
  const passedTests = count('passed');
  const failedTests = count('failed');
  return {
    passed: passedTests,
    failed: failedTests + unloaded + noTests,
    skipped: tests.length - passedTests - failedTests,
  };
}

const tests = testsOf(report);
if (tests.skipped > 0) process.stderr.write(`${tests.skipped} tests skipped\n`);
process.stdout.write(`${Number(passed) + tests.passed} ${Number(failed) + tests.failed}\n`);
