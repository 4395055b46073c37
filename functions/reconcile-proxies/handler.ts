/** reconcile-proxies: a reconcile for a batch of messages or by the schedule, or an action by hand. See `input.ts`. */
import middy from '@middy/core';
import type { Context, SQSBatchResponse } from 'aws-lambda';
import { type Batch, type ProxyInput, parseInput } from './input.ts';
import { type Invocation, type Reconciler, wire } from './wiring.ts';

/** Before Lambda ends the function, so that what was done can still be recorded. */
const SPARE_MS = 2000;

async function reconcileProxies(event: unknown, context: Context): Promise<unknown> {
  const input = parseInput(event);
  const reconciler = await wire(context);
  reconciler.telemetry.setContext({ requestId: context.awsRequestId, action: input.action });
  try {
    return await run(input, reconciler, context);
  } catch (error) {
    reconciler.failed(error);
    throw error;
  } finally {
    reconciler.telemetry.flush();
  }
}

function run(input: ProxyInput, reconciler: Reconciler, context: Context): Promise<unknown> {
  const invocation = {
    holder: context.awsRequestId,
    remainingMs: context.getRemainingTimeInMillis() - SPARE_MS,
  };
  switch (input.action) {
    case 'batch':
      return seeTo(input.batch, reconciler, invocation);
    case 'sync': {
      const { action: _, ...options } = input;
      return reconciler.sync(invocation, options);
    }
    case 'status':
      return reconciler.status();
    case 'restart':
      return reconciler.restart(invocation, input.of);
    case 'close':
    case 'kill':
    case 'run':
      return reconciler.operate(invocation, input.action);
  }
}

/**
 * One reconcile for all messages. They come back, all of them, where it concluded nothing; what is not understood does not:
 * it would never get better.
 */
async function seeTo(batch: Batch, reconciler: Reconciler, invocation: Invocation): Promise<SQSBatchResponse> {
  const { messageIds, malformed, newestMs } = batch;
  if (malformed.length > 0) reconciler.dropped(malformed);
  if (messageIds.length === 0) return { batchItemFailures: [] };
  const isDone = await reconciler.seeTo(invocation, newestMs);
  return { batchItemFailures: isDone ? [] : messageIds.map((itemIdentifier) => ({ itemIdentifier })) };
}

/** The Lambda handler. */
export const handler = middy(reconcileProxies);
