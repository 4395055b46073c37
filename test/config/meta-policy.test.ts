import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';

describe('policy in the Meta of an instance', () => {
  it('is read field by field; other keys are left alone', () => {
    const meta = {
      'check-restart-limit': '3',
      'check-restart-grace': '90s',
      'check-restart-interval': '10s',
      'check-restart-ignore-warnings': 'true',
      'check-restart-mode': 'notify',
      'check-restart-action': 'force-new-deployment',
      'task-arn': 'x',
      limit: '7',
    };
    expect(parseMetaPolicy(meta)).toEqual({
      ok: true,
      part: {
        limit: 3,
        graceMs: 90_000,
        intervalMs: 10_000,
        ignoreWarnings: true,
        mode: 'notify',
        action: 'force-new-deployment',
      },
    });
  });

  it('states nothing where there is none', () => {
    expect(parseMetaPolicy({})).toEqual({ ok: true, part: {} });
  });

  it('keeps an explicit limit of 0, which is final', () => {
    expect(parseMetaPolicy({ 'check-restart-limit': '0' })).toEqual({ ok: true, part: { limit: 0 } });
  });

  it.each([
    ['check-restart-limit', ''],
    ['check-restart-limit', '-1'],
    ['check-restart-limit', '1001'],
    ['check-restart-limit', '1e2'],
    ['check-restart-limit', ' 3'],
    ['check-restart-grace', '90'],
    ['check-restart-grace', '0'],
    ['check-restart-grace', '169h'],
    ['check-restart-interval', '0s'],
    ['check-restart-ignore-warnings', 'yes'],
    ['check-restart-ignore-warnings', 'False'],
    ['check-restart-mode', 'on'],
    ['check-restart-action', 'stop'],
    ['check-restart-limt', '3'],
    ['check-restart-__proto__', '3'],
    ['check-restart-standalone', 'stop'],
  ])('%s=%j is a problem, never a guess', (key, text) => {
    const result = parseMetaPolicy({ 'check-restart-mode': 'restart', [key]: text });
    expect(result.ok ? [] : result.problems).toEqual([expect.stringContaining(key)]);
  });

  it('names all problems, each on one short line whatever was registered', () => {
    const hostile = `x\n\u001b[31m${'y'.repeat(1000)}`;
    const result = parseMetaPolicy({ 'check-restart-limit': hostile, [`check-restart-${hostile}`]: '1' });
    const problems = result.ok ? [] : result.problems;
    expect(problems).toHaveLength(2);
    for (const problem of problems) expect(problem).toMatch(/^[\x20-\x7e…]{1,400}$/);
  });

  it('never throws', () => {
    const keys = fc.oneof(
      fc.string(),
      fc.string().map((text) => `check-restart-${text}`),
      fc.constant('check-restart-limit'),
    );
    fc.assert(fc.property(fc.dictionary(keys, fc.string()), (meta) => parseMetaPolicy(meta) !== undefined));
  });
});
