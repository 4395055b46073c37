/** What watch-checks may be invoked with: understood as written, or every problem at once. */
import { describe, expect, test } from 'vitest';
import { InvalidInput, parseInput } from '../../../functions/watch-checks/input.ts';

const HOUR_MS = 3_600_000;

function problemsOf(event: unknown): readonly string[] {
  try {
    parseInput(event);
  } catch (error) {
    if (error instanceof InvalidInput) return error.problems;
    throw error;
  }
  return [];
}

describe('understood', () => {
  test.each<[string, unknown, unknown]>([
    ['nothing', undefined, { action: 'pass', dryRun: false }],
    ['an empty object', {}, { action: 'pass', dryRun: false }],
    ['an empty text, as `invoke local` without data', '', { action: 'pass', dryRun: false }],
    ['the schedule’s input', { action: 'window' }, { action: 'window' }],
    [
      'a schedule’s own event',
      { source: 'aws.scheduler', 'detail-type': 'Scheduled Event', id: 'x' },
      { action: 'window' },
    ],
    ['a pass', { action: 'pass', dryRun: true, service: 'web' }, { action: 'pass', dryRun: true, service: 'web' }],
    ['status', { action: 'status' }, { action: 'status' }],
    ['explain', { action: 'explain', task: 't' }, { action: 'explain', of: { task: 't' } }],
    [
      'a hold',
      { action: 'hold', service: 'prod/web', for: '1h', why: 'x' },
      { action: 'hold', hold: { service: 'prod/service/web', forMs: HOUR_MS, why: 'x' } },
    ],
    [
      'a hold for all, without an end',
      { action: 'hold', all: true, why: 'x' },
      { action: 'hold', hold: { all: true, why: 'x' } },
    ],
    [
      'a release of a stand-alone family',
      { action: 'release', service: 'prod/family/report' },
      { action: 'release', target: { service: 'prod/family/report' } },
    ],
    ['a release of all', { action: 'release', all: true }, { action: 'release', target: { all: true } }],
  ])('%s', (_, event, input) => {
    expect(parseInput(event)).toEqual(input);
  });
});

describe('refused, with the field, the value and what is allowed', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['an unknown action', { action: 'stop' }, ['"stop"', '"pass"']],
    ['a misspelt key', { action: 'pass', dryrun: true }, ['dryrun: unknown key', 'dryRun']],
    ['a text for true', { action: 'pass', dryRun: 'false' }, ['dryRun: "false"', 'true or false']],
    ['an empty service', { action: 'pass', service: '' }, ['service: ""', 'Consul service']],
    ['explain of nothing', { action: 'explain' }, ['at least one of task, service, check']],
    ['a hold without a unit', { action: 'hold', all: true, for: '2', why: 'x' }, ['for: "2"', '2h']],
    ['a hold of no time', { action: 'hold', all: true, for: '0s', why: 'x' }, ['for: "0s"', '1s to 8784h']],
    [
      'a hold of a service without its cluster',
      { action: 'hold', service: 'web', why: 'x' },
      ['service: "web"', 'CLUSTER/NAME'],
    ],
    ['a reason on two lines', { action: 'hold', all: true, why: 'a\nb' }, ['why: ', '1 to 200 characters']],
    ['a release of nothing', { action: 'release' }, ['either service']],
    ['a release of both', { action: 'release', service: 'prod/web', all: true }, ['either service']],
    ['a number', 7, ['input: 7', '"window"']],
    ['a list', [{ action: 'pass' }], ['input: a list']],
  ])('%s', (_, event, texts) => {
    const problems = problemsOf(event).join('\n');
    for (const text of texts) expect(problems).toContain(text);
  });

  test('all problems at once', () => {
    expect(problemsOf({ action: 'hold', for: 'soon', because: 'x' })).toHaveLength(4);
  });
});
