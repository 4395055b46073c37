/**
 * Child process: the real handler of reconcile-proxies, invoked as Lambda invokes it. The first invocation of a process
 * makes all clients and connections, as after a cold start; the next ones follow in the same process.
 */
import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse } from 'aws-lambda';
import { handler } from '../../functions/reconcile-proxies/handler.ts';
import { listenToQueue } from '../../infra/local/sqs-double/http.ts';
import { LambdaQueue } from '../../infra/local/sqs-double/lambda-queue.ts';
import { systemClock } from '../../lib/clock.ts';
import { inParallel } from '../../lib/in-parallel.ts';
import type { ReconcileResult } from '../../lib/use-cases/reconcile/reconcile-types.ts';
import { peakMb } from './estate-messages.ts';
import type { ProxiesMeasured, ProxiesTask } from './proxies-messages.ts';

const TIMEOUT_MS = 90_000;
const EVENTS = 1000;
const IN_A_BATCH = 5;
const AT_A_TIME = 5;
const SETTLE_ROUNDS = 100;
const LOOK_MS = 200;

const invoke = handler as (event: unknown, context: Context) => Promise<unknown>;

void main(JSON.parse(process.argv[2] ?? '{}'));

async function main(task: ProxiesTask): Promise<void> {
  Object.assign(process.env, task.environment);
  const tookMs: number[] = [];
  if (task.kind === 'settle') await settle(task.proxies);
  if (task.kind === 'burst') await burst();
  if (task.kind === 'idle') {
    for (let n = 0; n < task.syncs; n += 1) {
      const startMs = performance.now();
      const result = await sync();
      tookMs.push(performance.now() - startMs);
      if (!isSettled(result, task.proxies)) throw new Error(`there was something to do: ${JSON.stringify(result)}`);
    }
  }
  const measured: ProxiesMeasured = { tookMs, peakMb: await peakMb() };
  process.send?.(measured);
  process.disconnect?.();
  // Connections that are kept alive would hold the process up.
  setTimeout(() => process.exit(0), 1000).unref();
}

async function sync(): Promise<ReconcileResult> {
  return (await invoke({ action: 'sync' }, context())) as ReconcileResult;
}

/** Until all proxies run. */
async function settle(proxies: number): Promise<void> {
  for (let round = 0; round < SETTLE_ROUNDS; round += 1) {
    if (isSettled(await sync(), proxies)) return;
    await systemClock.sleepUntil(systemClock.nowMs() + LOOK_MS);
  }
  throw new Error('the proxies did not come to run');
}

function isSettled(result: ReconcileResult, proxies: number): boolean {
  if (result.outcome !== 'done') return false;
  const { ok, declared, running, actions, waiting, problems, failures } = result;
  const isQuiet = [actions, waiting, problems, failures].every((list) => list.length === 0);
  return ok && isQuiet && declared === proxies && running === proxies;
}

/** Events sent at one instant, in batches; what meets another reconcile comes back by a queue of this process. */
async function burst(): Promise<void> {
  const queue = new LambdaQueue({
    clock: systemClock,
    handler: async (event) => (await invoke(event, context())) as SQSBatchResponse,
  });
  const server = await listenToQueue(queue);
  Object.assign(process.env, { AWS_ENDPOINT_URL_SQS: server.url, WAKE_UP_QUEUE_URL: server.queueUrl });
  const attributes = { SentTimestamp: String(systemClock.nowMs()) };
  const body = JSON.stringify({ source: 'aws.ecs', 'detail-type': 'ECS Task State Change', detail: {} });
  const batches = Array.from({ length: EVENTS / IN_A_BATCH }, (_, batch) => ({
    Records: Array.from({ length: IN_A_BATCH }, (_, n) => {
      return { eventSource: 'aws:sqs', messageId: `${batch}-${n}`, body, attributes };
    }),
  }));
  await inParallel(batches, AT_A_TIME, async (batch) => {
    const answer = (await invoke(batch, context())) as SQSBatchResponse;
    if (answer.batchItemFailures.length > 0) throw new Error('a batch failed');
  });
  while (queue.waiting + queue.running > 0) await systemClock.sleepUntil(systemClock.nowMs() + LOOK_MS);
  await queue.close();
  await server.close();
}

function context(): Context {
  const endsAtMs = systemClock.nowMs() + TIMEOUT_MS;
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName: 'reconcile-proxies',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:reconcile-proxies',
    memoryLimitInMB: '512',
    awsRequestId: randomUUID(),
    logGroupName: '/aws/lambda/reconcile-proxies',
    logStreamName: 'bench',
    getRemainingTimeInMillis: () => Math.max(0, endsAtMs - systemClock.nowMs()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}
