/** What the bench of mass failure and its child process say to each other. */

/** To the child, on its command line as JSON. */
export interface MassTask {
  readonly consulUrl: string;
  readonly passes: number;
  readonly perMinute: number;
}

/** From the child. */
export interface MassMeasured {
  readonly passes: readonly {
    readonly restarts: number;
    readonly skipped: number;
    readonly reasons: readonly string[];
    readonly ms: number;
  }[];
  readonly peakMb: number;
}

/** ID of a task by its number; ten in a row belong to one service. */
export function taskId(number: number): string {
  return number.toString(16).padStart(32, '0');
}

/** The service of a task, by its ID or ARN. */
export function serviceOf(task: string): string {
  return `s${Math.floor(Number.parseInt(task.slice(-32), 16) / 10)}`;
}
