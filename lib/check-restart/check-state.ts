/** What is remembered of a check from one observation to the next, and how that is stored. */

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
  /** `sinceMs`, moved on by all time that does not count. */
  readonly countedFromMs: number;
}

/** A state under construction: a field that no longer applies is set to `undefined`. */
export type Draft = Pick<CheckState, 'taskArn' | 'seenMs'> & {
  readonly [K in Exclude<keyof CheckState, 'taskArn' | 'seenMs'>]?: CheckState[K] | undefined;
};

/** Drops the fields that are undefined: what is stored has no holes. */
export function settled(draft: Draft): CheckState {
  const entries = Object.entries(draft).filter(([, value]) => value !== undefined);
  return { taskArn: draft.taskArn, seenMs: draft.seenMs, ...Object.fromEntries(entries) };
}

/** True when both states say the same, apart from a sighting that the next good pass implies anyway. */
export function sameState(one: CheckState | undefined, other: CheckState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.taskArn === other.taskArn &&
    one.startedAtMs === other.startedAtMs &&
    one.streak?.sinceMs === other.streak?.sinceMs &&
    one.streak?.countedFromMs === other.streak?.countedFromMs &&
    one.absentSinceMs === other.absentSinceMs &&
    one.frozenSinceMs === other.frozenSinceMs &&
    one.settleUntilMs === other.settleUntilMs &&
    one.unrunSinceMs === other.unrunSinceMs &&
    one.goneSinceMs === other.goneSinceMs
  );
}

/** A stored state as of the last good pass: every pass since the write saw the check, unless it was absent. */
export function asOfLastPass(stored: CheckState, lastGoodPassMs: number | undefined): CheckState {
  if (stored.absentSinceMs !== undefined || lastGoodPassMs === undefined) return stored;
  return { ...stored, seenMs: Math.max(stored.seenMs, lastGoodPassMs) };
}
