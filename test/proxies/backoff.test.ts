import { describe, expect, it } from 'vitest';
import {
  countAfterEnd,
  DEFAULT_BACKOFF,
  isTemporaryFailure,
  launchDelayMs,
  retryDelayMs,
} from '../../lib/proxies/backoff.ts';

describe('the wait before a launch', () => {
  it('is 0 0 0 2 4 8 16 32 60 60 … s', () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5000].map((counted) => launchDelayMs(counted, DEFAULT_BACKOFF) / 1000);
    expect(waits).toEqual([0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('of a call that is repeated is 2 4 8 … 60 s', () => {
    expect([1, 2, 3, 6, 99].map((tries) => retryDelayMs(tries, DEFAULT_BACKOFF) / 1000)).toEqual([2, 4, 8, 60, 60]);
  });
});

describe('launches that count after an end', () => {
  it.each([
    ['exit code 0 after 10 s', { uptimeMs: 10_000, stopCode: 'EssentialContainerExited' }, 5],
    ['up for more than 10 s', { uptimeMs: 10_001, stopCode: 'EssentialContainerExited' }, 0],
    ['never RUNNING', {}, 5],
    ['failed to start', { stopCode: 'TaskFailedToStart' }, 5],
    [
      'failed to start because its host went',
      { stopCode: 'TaskFailedToStart', stoppedReason: 'Host EC2 (instance i-1) terminated.' },
      5,
    ],
    ['Spot took it', { uptimeMs: 5, stopCode: 'SpotInterruption' }, 4],
    ['maintenance', { uptimeMs: 5, stopCode: 'TerminationNotice' }, 4],
    ['unhealthy host', { stopCode: 'InfrastructureHealth' }, 4],
    ['its host went', { uptimeMs: 5, stopCode: '', stoppedReason: 'Host EC2 (instance i-1) terminated.' }, 4],
  ])('%s', (_name, end, expected) => expect(countAfterEnd(5, end, DEFAULT_BACKOFF)).toBe(expected));

  it('are never fewer than none', () => {
    expect(countAfterEnd(0, { stopCode: 'SpotInterruption' }, DEFAULT_BACKOFF)).toBe(0);
  });

  it('follow the setting of a healthy run', () => {
    expect(countAfterEnd(5, { uptimeMs: 20_000 }, { ...DEFAULT_BACKOFF, healthyUptimeMs: 20_000 })).toBe(5);
  });
});

describe('a failed launch', () => {
  const codes = ['ThrottlingException', 'ECONNREFUSED', 'EAI_AGAIN', 'AbortError', 'TimeoutError'];
  it.each(['AGENT', 'RESOURCE:MEMORY', 'RESOURCE:ENI', 'Capacity is unavailable at this time.', ...codes])(
    '%s is temporary',
    (reason) => expect(isTemporaryFailure(reason)).toBe(true),
  );
  it.each([
    'ATTRIBUTE',
    'E',
    'OverridesTooLarge',
    'LOCATION',
    'MISSING',
    'AccessDeniedException',
    'ClientException',
    '',
  ])('%j is not', (reason) => expect(isTemporaryFailure(reason)).toBe(false));
});
