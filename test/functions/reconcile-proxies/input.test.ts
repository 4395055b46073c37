import { describe, expect, it } from 'vitest';
import { InvalidInput, parseInput } from '../../../functions/reconcile-proxies/input.ts';
import { wakeUpBody } from '../../../lib/sqs/wake-up.ts';

const SENT_MS = 1_767_225_600_000;

function record(messageId: string, body: string, sentMs: number | string = SENT_MS) {
  return { eventSource: 'aws:sqs', messageId, body, attributes: { SentTimestamp: String(sentMs) } };
}

/** As EventBridge sends it, short of all that decides nothing (C41). */
function change(detail: object = {}): string {
  return JSON.stringify({ source: 'aws.ecs', 'detail-type': 'ECS Task State Change', time: 'whatever', detail });
}

function batchOf(...records: readonly object[]) {
  const input = parseInput({ Records: records });
  if (input.action !== 'batch') throw new Error(`not a batch: ${input.action}`);
  return input.batch;
}

function problemsOf(event: unknown): readonly string[] {
  try {
    parseInput(event);
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.problems;
    throw error;
  }
}

describe('a batch of messages', () => {
  it('is as new as the newest of them, in whatever order they come', () => {
    const records = [record('a', change(), SENT_MS - 5), record('b', change(), SENT_MS), record('c', change(), 7)];
    expect(batchOf(...records)).toEqual({ messageIds: ['a', 'b', 'c'], malformed: [], newestMs: SENT_MS });
  });

  it('C41: an event without tags, group and startedBy, and with fields that nobody knows, is a message like others', () => {
    const { messageIds } = batchOf(record('a', change({ taskArn: 'arn', lastStatus: 'STOPPED', novelty: {} })));
    expect(messageIds).toEqual(['a']);
  });

  it('takes the instant of a wake-up from what it says: it may have been sent long before', () => {
    const { newestMs } = batchOf(record('a', wakeUpBody({ why: 'wait-over', atMs: SENT_MS + 60_000 }), SENT_MS));
    expect(newestMs).toBe(SENT_MS + 60_000);
  });

  it('is of no certain age when one of them does not say when it was sent', () => {
    expect(batchOf(record('a', change()), record('b', change(), 'yesterday'))).toEqual({
      messageIds: ['a', 'b'],
      malformed: [],
    });
    const without = { eventSource: 'aws:sqs', messageId: 'a', body: change(), attributes: {} };
    expect(batchOf(without)).not.toHaveProperty('newestMs');
  });

  it.each([
    '',
    'x',
    '{}',
    '[]',
    'null',
    '{"why":"bored","atMs":1}',
    '{"source":"aws.ec2","detail-type":"ECS Task State Change"}',
    '{"source":"aws.ecs","detail-type":"ECS Deployment State Change"}',
    '{"action":"kill"}',
  ])('holds messages that are none of ours, such as %j, which say nothing of the others', (body) => {
    expect(batchOf(record('bad', body, SENT_MS + 1), record('good', change()))).toEqual({
      messageIds: ['good'],
      malformed: ['bad'],
      newestMs: SENT_MS,
    });
  });

  it('may hold a thousand', () => {
    const records = Array.from({ length: 1000 }, (_, index) => record(String(index), change(), index));
    expect(batchOf(...records)).toMatchObject({ messageIds: { length: 1000 }, newestMs: 999 });
  });
});

describe('what is invoked by the schedule or by hand', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty text', ''],
    ['an empty object', {}],
    ['the schedule', { action: 'sync' }],
    ['a schedule without an input', { source: 'aws.scheduler', 'detail-type': 'Scheduled Event' }],
  ])('%s is a sync', (_what, event) => {
    expect(parseInput(event)).toEqual({ action: 'sync', dryRun: false });
  });

  it.each([
    [{ action: 'sync', dryRun: true }],
    [{ action: 'sync', dryRun: false, stops: 12 }],
    [{ action: 'status' }],
    [{ action: 'close' }],
    [{ action: 'kill' }],
    [{ action: 'run' }],
  ])('%j is taken as it is', (event) => expect(parseInput(event)).toEqual(event));

  it.each([
    [{ proxy: 'web-1-proxy' }, { proxyId: 'web-1-proxy' }],
    [{ taskDefinition: 'envoy' }, { taskDefinition: 'envoy' }],
    [{ taskDefinition: 'envoy:3' }, { taskDefinition: 'envoy:3' }],
  ])('a restart of %j', (keys, of) => {
    expect(parseInput({ action: 'restart', ...keys })).toEqual({ action: 'restart', of });
  });

  it.each([
    [{ action: 'restart' }, /^input: allowed: either proxy/],
    [{ action: 'restart', proxy: 'a', taskDefinition: 'b' }, /^input: allowed: either proxy/],
    [{ action: 'restart', taskDefinition: 'envoy:0' }, /^taskDefinition: "envoy:0" .*FAMILY or FAMILY:REVISION/],
    [{ action: 'restart', proxy: 'a\nb' }, /^proxy: /],
    [{ action: 'sync', dryrun: true }, /dryrun/],
    [{ action: 'sync', dryRun: 'yes' }, /^dryRun: "yes" .*true or false/],
    [{ action: 'sync', stops: 0 }, /^stops: 0 .*a whole number, 1 to 10000/],
    [{ action: 'sync', stops: '3' }, /^stops: "3" /],
    [{ action: 'sync', stops: 1.5 }, /^stops: 1.5 /],
    [{ action: 'kill', all: true }, /all/],
    [{ action: 'stop' }, /"sync", "status", "restart", "close", "kill", "run"/],
    [{ Records: [] }, /action/],
    [{ Records: [{ eventSource: 'aws:s3' }] }, /action/],
    ['kill', /an object whose action/],
    [['kill'], /an object whose action/],
  ])('%j is refused', (event, problem) => {
    const problems = problemsOf(event);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('is refused with all its problems at once', () => {
    expect(problemsOf({ action: 'sync', dryRun: 1, stops: 'all', service: 'web' })).toHaveLength(3);
  });
});
