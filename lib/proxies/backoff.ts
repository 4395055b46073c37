/**
 * How soon a proxy is launched again: as Consul's daemon manager did it. Three launches at once, then 2, 4, 8 … 60 s
 * after the exit; a run of more than 10 s, counted from RUNNING, starts the count anew (also once waiting has begun).
 * Exit code 0 is a crash too: a proxy has no reason to end.
 */

/** Settings of the backoff; durations in milliseconds. */
export interface BackoffSettings {
  /** An uptime of more than this, from RUNNING, starts the count anew. */
  readonly healthyUptimeMs: number;
  /** Launches that need no wait. */
  readonly freeLaunches: number;
  /** First wait; doubled from one launch to the next. */
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
}

/** The daemon's numbers. */
export const DEFAULT_BACKOFF: BackoffSettings = {
  healthyUptimeMs: 10_000,
  freeLaunches: 3,
  firstWaitMs: 2000,
  maxWaitMs: 60_000,
};

/** How a task ended. */
export interface TaskEnd {
  /** From RUNNING; absent where it never got there, or nobody saw it. */
  readonly uptimeMs?: number;
  readonly stopCode?: string;
  readonly stoppedReason?: string;
}

const NOT_THE_PROXYS_FAULT = new Set(['SpotInterruption', 'TerminationNotice', 'InfrastructureHealth']);
const HOST_GONE = /^Host EC2 \(instance /;

/** Wait before the next launch, when `counted` launches count already. */
export function launchDelayMs(counted: number, settings: BackoffSettings): number {
  if (counted < settings.freeLaunches) return 0;
  return Math.min(settings.firstWaitMs * 2 ** Math.min(counted - settings.freeLaunches, 30), settings.maxWaitMs);
}

/** Wait before an unanswered or refused call is repeated, after `tries` of them: 2, 4, 8 … 60 s. */
export function retryDelayMs(tries: number, settings: BackoffSettings): number {
  return launchDelayMs(settings.freeLaunches + Math.max(tries - 1, 0), settings);
}

/** Launches that still count after an end. The launch of the task that ended is in `counted`. */
export function countAfterEnd(counted: number, end: TaskEnd, settings: BackoffSettings): number {
  if (end.uptimeMs !== undefined && end.uptimeMs > settings.healthyUptimeMs) return 0;
  return isNobodysFault(end) ? Math.max(counted - 1, 0) : counted;
}

/** Spot interruptions and lost hosts are free. A task that failed to start is not, whatever else is said of it. */
export function isNobodysFault(end: TaskEnd): boolean {
  if (end.stopCode === 'TaskFailedToStart') return false;
  return NOT_THE_PROXYS_FAULT.has(end.stopCode ?? '') || HOST_GONE.test(end.stoppedReason ?? '');
}

const TEMPORARY = [
  /^AGENT$/,
  /^RESOURCE:/,
  /^EMPTY CAPACITY PROVIDER$/,
  /^NO ACTIVE INSTANCES$/,
  /capacity is unavailable/i,
  /Throttl|TooManyRequests|RequestLimitExceeded|ServerException|LimitExceeded|UpdateInProgress/,
  // No connection (ECONNREFUSED, EAI_AGAIN, …), or no answer in time.
  /^E[A-Z]+(?:_[A-Z]+)*$|^(?:Abort|Timeout)Error$/,
];

/** Whether a refused launch can succeed without anybody changing anything (C37: `ATTRIBUTE` cannot). It only decides what is said. */
export function isTemporaryFailure(reason: string): boolean {
  return TEMPORARY.some((pattern) => pattern.test(reason));
}
