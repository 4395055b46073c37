/** One check watched pass by pass, for tests of its evaluation: seconds in, verdicts out, the state kept in between. */
import {
  type CheckState,
  type EvaluationContext,
  evaluate,
  isBad,
  type Observation,
  type Verdict,
} from '../../lib/check-restart/evaluation.ts';

/** Everything that may differ from pass to pass. Seconds from the start; `gap: null` as in Nomad. */
export interface Circumstances {
  readonly limit: number;
  readonly interval: number;
  readonly grace: number;
  readonly ignoreWarnings: boolean;
  readonly gap: number | null;
  readonly settle: number;
  /** End of the settling of the whole deployment. */
  readonly settleUntil: number | undefined;
  readonly task: string;
  /** `undefined` = ECS says no start. */
  readonly startedAt: number | undefined;
  readonly maintenance: boolean;
  readonly unrun: boolean;
}

const USUAL: Circumstances = {
  limit: 3,
  interval: 10,
  grace: 0,
  ignoreWarnings: false,
  gap: 90,
  settle: 60,
  settleUntil: undefined,
  task: 'task-1',
  startedAt: 0,
  maintenance: false,
  unrun: false,
};

/** A status, or `absent`. */
export type Seen = 'critical' | 'warning' | 'passing' | 'absent' | (string & {});

/** A check under watch; `usual` holds for every pass that does not say otherwise. */
export function watchOne(usual: Partial<Circumstances> = {}) {
  let state: CheckState | undefined;
  return {
    /** One pass at `at` seconds. */
    pass(at: number, seen: Seen, special: Partial<Circumstances> = {}): Verdict {
      const circumstances = { ...USUAL, ...usual, ...special };
      const result = evaluate(state, observation(seen, circumstances), context(at, circumstances));
      state = result.state;
      return result.verdict;
    },
    /** What is remembered now. */
    get state(): CheckState | undefined {
      return state;
    },
    set state(replaced: CheckState | undefined) {
      state = replaced;
    },
  };
}

/** The observation of a status, or of an absence. */
export function observation(seen: Seen, { unrun }: Pick<Circumstances, 'unrun'> = USUAL): Observation {
  return seen === 'absent' ? { status: undefined, unrun: false } : { status: seen, unrun: unrun && isBad(seen, true) };
}

/** The context of a pass at `at` seconds. */
export function context(at: number, special: Partial<Circumstances> = {}): EvaluationContext {
  const { limit, interval, grace, ignoreWarnings, gap, settle, settleUntil, task, startedAt, maintenance } = {
    ...USUAL,
    ...special,
  };
  return {
    task: startedAt === undefined ? { arn: task } : { arn: task, startedAtMs: startedAt * 1000 },
    policy: {
      limit,
      graceMs: grace * 1000,
      ignoreWarnings,
      timeLimitMs: interval * Math.max(limit - 1, 0) * 1000,
    },
    nowMs: at * 1000,
    maxObservationGapMs: gap === null ? null : gap * 1000,
    settleMs: settle * 1000,
    maintenance,
    ...(settleUntil === undefined ? {} : { settleUntilMs: settleUntil * 1000 }),
  };
}

/** What most expectations are about. */
export const due = (since: number): Verdict => ({ kind: 'due', sinceMs: since * 1000 });
export const counting = (until: number): Verdict => waiting('counting', until);
export const withheld = (reason: 'maintenance' | 'not-observed', since: number, until?: number): Verdict => ({
  kind: 'withheld',
  reason,
  sinceMs: since * 1000,
  ...(until === undefined ? {} : { untilMs: until * 1000 }),
});
export function waiting(reason: Extract<Verdict, { kind: 'waiting' }>['reason'], until?: number): Verdict {
  return { kind: 'waiting', reason, ...(until === undefined ? {} : { untilMs: until * 1000 }) };
}
