/** What is remembered of one check between two observations. Instants are epoch milliseconds. */
export interface CheckState {
  /** Long ARN of the task the check was last seen with. Another one starts afresh. */
  readonly taskArn: string;
  /** When ECS says the task became RUNNING; grace runs from here, so that a changed `grace` applies at once. */
  readonly startedAtMs?: number;
  /** Last sighting of the check. Stored on change only: while the check is present every good pass is a sighting. */
  readonly seenMs: number;
  readonly streak?: Streak;
  /** Since when the check is absent from good answers. */
  readonly absentSinceMs?: number;
  /** Since when maintenance freezes the streak. */
  readonly frozenSinceMs?: number;
  /** Not restarted before, since this check was not observed for longer than the gap allows. */
  readonly settleUntilMs?: number;
  /** Since when the check looks as if it had not run yet. */
  readonly unrunSinceMs?: number;
  /** When ECS first said STOPPED or MISSING of the task. */
  readonly goneSinceMs?: number;
}

/** An unbroken run of bad observations. Its age at a sighting is `seenMs - countedFromMs`. */
export interface Streak {
  /** When the first bad observation was made; for people. */
  readonly sinceMs: number;
  /** `sinceMs`, moved on by all time that does not count (blindness beyond the gap, maintenance). */
  readonly countedFromMs: number;
}
