/** The schedule of the deployment: a window every minute, the first one at once. */
import type { FunctionHost } from './function-host.ts';

/** As in `infra/schedule.yml`. */
export const SCHEDULE_MS = 60_000;

/** What becomes of the windows. */
export interface ScheduleListeners {
  readonly onResult: (result: unknown) => void;
  readonly onFailure: (problem: string) => void;
}

/** Starts it; returns what ends it. After that nobody hears of a window that was cut off. */
export function startSchedule(watchChecks: FunctionHost, { onResult, onFailure }: ScheduleListeners): () => void {
  let isOn = true;
  const open = () => {
    watchChecks.invoke({ action: 'window' }).then(
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
