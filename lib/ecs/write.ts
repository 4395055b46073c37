/**
 * Writes whose fate is known. The SDK repeats a call up to three times and throws the last error only: a first try that
 * got no answer may have taken effect though the third one was throttled. So every try is watched, inside the SDK's
 * retries: `refused` means that each of them was refused.
 */
import { type ECSClient, StopTaskCommand, UpdateServiceCommand } from '@aws-sdk/client-ecs';
import type { ActOutcome } from '../ports.ts';
import { abort, type Calls } from './calls.ts';
import { primaryDeploymentId } from './decode.ts';
import { hadNoEffect, refusal, safeText, saysControllerMismatch, saysTaskIsGone } from './failures.ts';

/** StopTask, which may be repeated: a task that is stopping already stays as it is. */
export async function stopTask(
  calls: Calls,
  request: { cluster: string; task: string; reason: string },
): Promise<ActOutcome> {
  const command = new StopTaskCommand(request);
  const tries = watchTries(command, { repeatUnanswered: true });
  try {
    await calls.client.send(command, abort(calls));
    return { outcome: 'accepted' };
  } catch (error) {
    if (saysTaskIsGone(error)) return { outcome: 'gone' };
    return tries.mayHaveTakenEffect ? unknownOutcome(error) : { outcome: 'refused', ...refusal(error) };
  }
}

/** UpdateService with a forced deployment. Each call starts one more, so a try without an answer is not repeated blindly. */
export async function forceNewDeployment(
  calls: Calls,
  request: { cluster: string; service: string },
): Promise<ActOutcome> {
  const command = new UpdateServiceCommand({ ...request, forceNewDeployment: true });
  const tries = watchTries(command, { repeatUnanswered: false });
  try {
    const { service } = await calls.client.send(command, abort(calls));
    const deploymentId = primaryDeploymentId(service);
    return { outcome: 'accepted', ...(deploymentId === undefined ? {} : { deploymentId }) };
  } catch (thrown) {
    const error = originalError(thrown);
    if (tries.mayHaveTakenEffect) return unknownOutcome(error);
    const mismatch = saysControllerMismatch(error) ? { controllerMismatch: true } : {};
    return { outcome: 'refused', ...refusal(error), ...mismatch };
  }
}

function unknownOutcome(error: unknown): ActOutcome {
  const { code, message } = refusal(error);
  return { outcome: 'unknown', message: safeText(`${code}: ${message}`) };
}

/** Not one of the errors that the SDK repeats, by name and by shape; so it ends the retries. */
class Unanswered extends Error {
  override readonly name = 'Unanswered';
  readonly original: unknown;

  constructor(original: unknown) {
    super('no answer; the call may have taken effect');
    this.original = original;
  }
}

/** Watches the tries of one command; tells whether any of them may have taken effect. `repeatUnanswered: false` ends the retries at the first try without an answer. */
export function watchTries(
  command: { readonly middlewareStack: unknown },
  options: { readonly repeatUnanswered: boolean },
): { mayHaveTakenEffect: boolean } {
  const seen = { mayHaveTakenEffect: false };
  const stack = command.middlewareStack as ECSClient['middlewareStack'];
  stack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        if (hadNoEffect(error)) throw error;
        seen.mayHaveTakenEffect = true;
        throw options.repeatUnanswered ? error : new Unanswered(error);
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'watchTries' },
  );
  return seen;
}

/** The SDK's own error behind an `Unanswered`. */
function originalError(error: unknown): unknown {
  return error instanceof Unanswered ? error.original : error;
}
