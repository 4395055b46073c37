/** The schedules of the deployment: a window and a reconcile every minute, the first ones at once. */
import type { FunctionHost } from './function-host.ts';

/** As in `infra/schedule.yml`. */
export const SCHEDULE_MS = 60_000;

/** What becomes of the invocations. */
export interface ScheduleListeners {
  readonly onResult: (result: unknown) => void;
  readonly onFailure: (problem: string) => void;
}

/** Starts one, for a function and its input; returns what ends it. After that nobody hears of what was cut off. */
export function startSchedule(
  host: FunctionHost,
  action: 'window' | 'sync',
  { onResult, onFailure }: ScheduleListeners,
): () => void {
  let isOn = true;
  const open = () => {
    host.invoke({ action }).then(
      (result) => isOn && onResult(result),
      (error: unknown) => isOn && onFailure(error instanceof Error ? error.message : String(error)),
    );
  };
  const timer = setInterval(open, SCHEDULE_MS);
  open();
  return () => {
    isOn = false;
    clearInterval(timer);
  };
}
