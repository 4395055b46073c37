import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EVENT_CODES } from '../../lib/event-codes.ts';
import type { LogLevel } from '../../lib/ports.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';
import { createTelemetry } from '../../lib/telemetry/telemetry.ts';

let written: string[];
beforeEach(() => {
  written = [];
  const keep = (chunk: unknown) => written.push(String(chunk)) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => vi.restoreAllMocks());

const lines = () => written.map((line): Record<string, unknown> => JSON.parse(line));
const telemetry = (logLevel: LogLevel, secrets: string[] = []) =>
  createTelemetry({ serviceName: 'watch-checks', logLevel, redactor: createRedactor(secrets) });

describe('lines', () => {
  test('one JSON line: level, code, the meaning of the code, the fields below detail', () => {
    telemetry('info').log('warn', 'restart-withheld', { service: 'web', message: 'x', level: 'y', atMs: 1 });
    expect(written).toHaveLength(1);
    expect(lines()[0]).toMatchObject({
      level: 'WARN',
      service: 'watch-checks',
      code: 'restart-withheld',
      message: EVENT_CODES['restart-withheld'].meaning,
      detail: { service: 'web', message: 'x', level: 'y', atMs: 1 },
    });
  });

  test('below the level nothing is written', () => {
    const quiet = telemetry('warn');
    quiet.log('info', 'pass-done', {});
    quiet.log('debug', 'pass-done', {});
    expect(written).toEqual([]);
  });

  test.each(['x-unknown', '__proto__', 'constructor'])(
    'a code outside the catalogue (%s) is written as it is',
    (code) => {
      telemetry('info').log('info', code, {});
      expect(lines()[0]).toMatchObject({ code, message: code });
    },
  );

  test('C43: at the most verbose level neither the token nor more than 256 characters of check output', () => {
    const verbose = telemetry('debug', ['tok-SECRET-1']);
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      verbose.log(level, 'pass-failed', { error: new Error('tok-SECRET-1'), output: 'OUTPUT'.repeat(100) });
    }
    expect(written.join('')).not.toContain('SECRET');
    expect(lines().filter((line) => JSON.stringify(line).includes('OUTPUT'))).toHaveLength(1);
  });

  test('the context is in every line until the next one', () => {
    const one = telemetry('info');
    one.setContext({ requestId: 'r1', tenant: 't' });
    one.log('info', 'pass-done', {});
    one.setContext({ requestId: 'r2' });
    one.log('info', 'pass-done', {});
    expect(lines()[0]).toMatchObject({ requestId: 'r1', tenant: 't' });
    expect(lines()[1]).toMatchObject({ requestId: 'r2' });
    expect(lines()[1]).not.toHaveProperty('tenant');
  });
});

describe('metrics', () => {
  test('counters leave once, summed, in the embedded metric format', () => {
    const one = telemetry('info');
    one.count('Passes', 1);
    one.count('Passes', 2);
    one.count('RestartsIssued', 0);
    expect(written).toEqual([]);
    one.flush();
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatchObject({
      service: 'watch-checks',
      Passes: 3,
      RestartsIssued: 0,
      Invocations: 1,
      _aws: { CloudWatchMetrics: [{ Namespace: 'EcsCheckRestart', Dimensions: [['service']] }] },
    });
  });

  test('a flush begins anew, and one without counters writes no warning', () => {
    const one = telemetry('info');
    one.count('Passes', 1);
    one.flush();
    one.flush();
    expect(lines()).toHaveLength(2);
    expect(lines()[1]).toMatchObject({ Invocations: 1 });
    expect(lines()[1]).not.toHaveProperty('Passes');
    expect(written.join('')).not.toContain('No application metrics');
  });
});
