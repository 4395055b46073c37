/** Failures of outside systems, as reports show them. */
import { ReadFailure } from '../ports.ts';
import type { FailureEntry } from './watch-types.ts';

/** The failure, or the error itself thrown on: what is not an outside system's failure is a fault of ours. */
export function isReadFailure(error: unknown): ReadFailure {
  if (error instanceof ReadFailure) return error;
  throw error;
}

/** A failure's line in a report. */
export function asFailure({ system, code, message }: ReadFailure): FailureEntry {
  return { system, code, message };
}
