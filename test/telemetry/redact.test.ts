import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReadFailure } from '../../lib/ports.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';

const SECRET = 'tok-SECRET-1';
const levels = ['debug', 'info', 'warn', 'error'] as const;

describe('redactor', () => {
  test.each(levels)('C43: a known secret is nowhere in a %s line, wherever it was', (level) => {
    const redactor = createRedactor([SECRET, 'a SECRET/2']);
    const error = new Error(`GET /?token=${SECRET}`, { cause: new ReadFailure('consul', 'forbidden', SECRET) });
    const value = {
      text: `x${SECRET}y`,
      encoded: encodeURIComponent('a SECRET/2'),
      [SECRET]: 1,
      list: [new Set([SECRET]), new Map([[SECRET, { deep: [SECRET] }]])],
      error,
      errors: new AggregateError([error], SECRET),
    };
    expect(JSON.stringify(redactor.clean(value, level))).not.toContain('SECRET');
  });

  test('a secret that is learned later is replaced from then on', () => {
    const redactor = createRedactor();
    expect(redactor.clean(SECRET, 'info')).toBe(SECRET);
    redactor.add(SECRET);
    expect(redactor.clean(SECRET, 'info')).toBe('[redacted]');
  });

  test('an empty or tiny secret does not spoil every line', () => {
    expect(createRedactor(['', 'e']).clean('hello', 'info')).toBe('hello');
  });

  test.each(['token', 'consulToken', 'X-Consul-Token', 'password', 'Authorization', 'credentials', 'client_secret'])(
    'a field named %s is replaced, whatever it holds',
    (name) => {
      expect(createRedactor().clean({ [name]: { value: 'abc' } }, 'debug')).toEqual({ [name]: '[redacted]' });
    },
  );

  test.each(levels)('check output in a %s line', (level) => {
    const cleaned = createRedactor().clean({ check: { Output: 'o'.repeat(300), id: 'c' }, checkOutput: 'x' }, level);
    expect(cleaned).toEqual(
      level === 'debug'
        ? { check: { Output: `${'o'.repeat(256)}…`, id: 'c' }, checkOutput: 'x' }
        : { check: { id: 'c' } },
    );
  });

  test('an error with a code keeps it and shows no stack; another one shows its stack', () => {
    const redactor = createRedactor();
    const failure = new ReadFailure('ecs', 'timeout', 'no answer');
    const known = { name: 'ReadFailure', message: 'no answer', system: 'ecs', code: 'timeout' };
    expect(redactor.clean(failure, 'error')).toEqual(known);
    expect(redactor.clean(new TypeError('bug'), 'error')).toMatchObject({
      name: 'TypeError',
      stack: expect.stringContaining('redact.test.ts'),
    });
  });

  test('texts, lists and depth are bounded', () => {
    const redactor = createRedactor();
    expect(redactor.clean('x'.repeat(5000), 'info')).toHaveLength(1025);
    const list = redactor.clean(Array(10_000).fill(1), 'info');
    expect(list).toHaveLength(201);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(JSON.stringify(redactor.clean(circular, 'info'))).toContain('[deeper]');
  });

  test('whatever comes in, JSON comes out', () => {
    const redactor = createRedactor([SECRET]);
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withDate: true }), (value) => {
        expect(() => JSON.stringify(redactor.clean(value, 'info'))).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
