/** One call to ECS: its deadline, and what becomes of its errors. */
import type { ECSClient } from '@aws-sdk/client-ecs';
import { type Clock, ReadFailure } from '../ports.ts';
import { readFailure, safeText } from './failures.ts';

/** What every call needs. */
export interface Calls {
  readonly client: ECSClient;
  /** Tells whether a protection has ended. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Time of one call, all its tries and waits included. */
  readonly timeoutMs: number;
}

/** Options of one `send`: without them a call could wait for ever. */
export function abort(calls: Calls): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(calls.timeoutMs) };
}

/** The answer, or a `ReadFailure`. */
export async function reading<Answer>(operation: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw readFailure(operation, error);
  }
}

/** An answer that leaves open what was asked. */
export function notAnswered(message: string): ReadFailure {
  return new ReadFailure('ecs', 'incomplete', safeText(message));
}

/** Last part of an ARN, which alone is the same in its short and its long form. */
export function idOf(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}
