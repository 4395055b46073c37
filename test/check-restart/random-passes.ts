/** Random timelines of one check, for properties of its evaluation. */
import fc from 'fast-check';
import type { CheckState } from '../../lib/check-restart/evaluation.ts';
import type { Circumstances, Seen } from './watch-one.ts';

/** What one pass sees; `failed` passes read nothing. */
export interface RandomPass {
  readonly at: number;
  readonly failed: boolean;
  readonly seen: Seen;
  readonly unrun: boolean;
  readonly maintenance: boolean;
  /** The invocation ends after this pass: memory is lost. */
  readonly reload: boolean;
}

const status = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Seen>('critical') },
  { weight: 2, arbitrary: fc.constant<Seen>('warning') },
  { weight: 1, arbitrary: fc.constantFrom<Seen>('passing', 'odd') },
  { weight: 3, arbitrary: fc.constant<Seen>('absent') },
);

/** Passes in order of time; with `special` also failures, maintenance and checks that have not run. */
export function passes(special: boolean): fc.Arbitrary<RandomPass[]> {
  const sometimes = (weight: number) =>
    fc.oneof({ weight: 10 - weight, arbitrary: fc.constant(false) }, { weight, arbitrary: fc.constant(true) });
  const step = fc.record({
    after: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 200 })),
    failed: special ? sometimes(1) : fc.constant(false),
    seen: status,
    unrun: special ? sometimes(1) : fc.constant(false),
    maintenance: special ? sometimes(4) : fc.constant(false),
    reload: sometimes(4),
  });
  return fc.array(step, { maxLength: 30 }).map((steps) => {
    let at = 0;
    return steps.map(({ after, ...rest }) => {
      at += after;
      return { at, ...rest };
    });
  });
}

/** Policies and settings whose bounds the timelines above often touch. */
export const settings: fc.Arbitrary<Partial<Circumstances>> = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  interval: fc.constantFrom(1, 5, 10, 40),
  grace: fc.constantFrom(0, 7, 30, 100),
  ignoreWarnings: fc.boolean(),
  gap: fc.oneof(fc.constant(null), fc.constantFrom(0, 3, 30, 90)),
  settle: fc.constantFrom(0, 20, 60),
});

const instant = fc.integer({ min: 0, max: 1000 }).map((seconds) => seconds * 1000);

/** Any state at all, also such as no run of passes would leave. */
export const anyState: fc.Arbitrary<CheckState> = fc.record(
  {
    taskArn: fc.constantFrom('task-1', 'task-2'),
    startedAtMs: instant,
    seenMs: instant,
    streak: fc.record({ sinceMs: instant, countedFromMs: instant }, { noNullPrototype: true }),
    absentSinceMs: instant,
    frozenSinceMs: instant,
    settleUntilMs: instant,
    unrunSinceMs: instant,
    goneSinceMs: instant,
  },
  { requiredKeys: ['taskArn', 'seenMs'], noNullPrototype: true },
);
