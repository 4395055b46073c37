/**
 * The stable words for why a bad check did not lead to a restart (DESIGN section 2). They appear in results, logs and
 * metrics, and alarms filter on them: a word is never renamed or given a second meaning.
 */
export const REASONS = [
  'in-grace',
  'counting',
  'not-watched',
  'not-observed',
  'node-check',
  'proxy',
  'unmapped',
  'ambiguous',
  'foreign-task',
  'task-not-found',
  'not-running',
  'task-stopping',
  'already-stopped',
  'standalone',
  'protected',
  'agent-disconnected',
  'deploying',
  'deployment-failed',
  'service-impaired',
  'maintenance',
  'budget-spent',
  'restart-delay',
  'concurrency-cap',
  'rate-cap',
  'stop-cap',
  'breaker-open',
  'held',
  'restart-in-flight',
  'notify-only',
  'dry-run',
  'ecs-error',
] as const;

/** One of the stable reason words. */
export type Reason = (typeof REASONS)[number];
