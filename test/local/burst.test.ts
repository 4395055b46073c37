/** A burst of events is few reconciles: with the real handler, its queue, its lease and its table. */
import { afterEach, expect, it } from 'vitest';
import { putToConsul } from '../../infra/local/stack/consul-api.ts';
import { GATEWAY } from '../../infra/local/stack/samples.ts';
import { PROXY_STARTED_BY, type Stack, startStack } from '../../infra/local/stack/stack.ts';
import { systemClock } from '../../lib/clock.ts';
import { inParallel } from '../../lib/in-parallel.ts';

let stack: Stack | undefined;
afterEach(() => stack?.close());

const EVENTS = 1000;
const IN_A_BATCH = 5;
const AT_A_TIME = 5;

/** As SQS hands them over; all were sent at the same instant. */
function batches(sentMs: number): object[] {
  const body = JSON.stringify({
    source: 'aws.ecs',
    'detail-type': 'ECS Task State Change',
    detail: { startedBy: PROXY_STARTED_BY, lastStatus: 'RUNNING' },
  });
  const records = Array.from({ length: EVENTS }, (_, n) => {
    return { eventSource: 'aws:sqs', messageId: String(n), body, attributes: { SentTimestamp: String(sentMs) } };
  });
  return Array.from({ length: EVENTS / IN_A_BATCH }, (_, n) => {
    return { Records: records.slice(n * IN_A_BATCH, (n + 1) * IN_A_BATCH) };
  });
}

it('1,000 events in batches, five at a time, are at most ten reconciles, and every batch is done', async () => {
  const codes: string[] = [];
  stack = await startStack({
    consul: 'double',
    samples: [],
    onLine: (line) => codes.push(/"code":"(reconcile-[a-z]+)"/.exec(line)?.[1] ?? ''),
  });
  const { reconcileProxies, queue, consul } = stack;
  await putToConsul(consul.url, `kv/ecs-check-restart/proxies/${GATEWAY.id}`, GATEWAY.document);
  const made = () => codes.filter((code) => code === 'reconcile-done').length;

  const answers: unknown[] = [];
  await inParallel(batches(systemClock.nowMs()), AT_A_TIME, async (batch) => {
    answers.push(await reconcileProxies.invoke(batch));
  });
  // What met another reconcile comes back by the queue.
  await expect.poll(() => queue.waiting + queue.running, { timeout: 20_000 }).toBe(0);

  expect(answers).toEqual(Array.from({ length: EVENTS / IN_A_BATCH }, () => ({ batchItemFailures: [] })));
  expect(made()).toBeGreaterThan(0);
  expect(made()).toBeLessThanOrEqual(10);
  expect(stack.ecs.callsOf('RunTask')).toHaveLength(1);
  expect(queue.deadLetters).toEqual([]);
}, 60_000);
