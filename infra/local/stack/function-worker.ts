/**
 * The inside of `function-host.ts`: a thread that stands for one Lambda execution environment. It has the function's
 * environment variables and no others, imports the function's handler once, and calls it for each message.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import { systemClock } from '../../../lib/clock.ts';
import type { InvocationAnswer, InvocationMessage, WorkerSetup } from './function-host.ts';

const { handlerUrl, functionName, functionArn }: WorkerSetup = workerData;
const { handler }: { handler: (event: unknown, context: Context) => Promise<unknown> } = await import(handlerUrl);

parentPort?.on('message', (message: InvocationMessage) => {
  void invoke(message).then((answer) => parentPort?.postMessage(answer));
});

async function invoke({ requestId, event, endsAtMs }: InvocationMessage): Promise<InvocationAnswer> {
  try {
    const result = await handler(event, contextOf(requestId, endsAtMs));
    // As through Lambda: what comes back has been JSON.
    return { requestId, ok: true, result: JSON.stringify(result) };
  } catch (error) {
    return { requestId, ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

function contextOf(requestId: string, endsAtMs: number): Context {
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: functionArn,
    memoryLimitInMB: '512',
    awsRequestId: requestId,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, endsAtMs - systemClock.nowMs()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}
