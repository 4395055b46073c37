/** watch-checks: a window of watching by the schedule, or one action by hand. See `input.ts` for what it takes. */
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { parseInput, type WatchInput } from './input.ts';
import { type Watch, wire } from './wiring.ts';

/** Before Lambda ends the function, so that a pass can still be recorded. */
const SPARE_MS = 2000;

async function watchChecks(event: unknown, context: Context): Promise<unknown> {
  const input = parseInput(event);
  const watch = await wire(context);
  watch.telemetry.setContext({ requestId: context.awsRequestId, action: input.action });
  try {
    return await run(input, watch, context);
  } catch (error) {
    watch.failed(error);
    throw error;
  } finally {
    watch.telemetry.flush();
  }
}

function run(input: WatchInput, watch: Watch, context: Context): Promise<unknown> {
  const remainingMs = context.getRemainingTimeInMillis() - SPARE_MS;
  switch (input.action) {
    case 'window':
      return watch.window({ holder: context.awsRequestId, remainingMs });
    case 'pass':
      return watch.pass({ ...input, remainingMs });
    case 'status':
      return watch.status();
    case 'explain':
      return watch.explain(input.of);
    case 'hold':
      return watch.hold(input.hold);
    case 'release':
      return watch.release(input.target);
  }
}

/** The Lambda handler. */
export const handler = middy(watchChecks);
