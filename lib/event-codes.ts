/**
 * What we tell operators: codes of log lines and names of metrics. Log queries and alarms filter on them, so a code is
 * never renamed or given a second meaning. `alarm: true` = `infra/alarms.yml` filters on it and `infra/RUNBOOK.md` has
 * its entry; a test holds the three equal. Reason words (why a bad check was not restarted) are in
 * `check-restart/reason.ts`; they are fields of these lines.
 */
import type { LogLevel } from './ports.ts';

/** What is known of a code. */
export interface EventCodeEntry {
  /** How it is logged. */
  readonly level: LogLevel;
  /** One line; it is the log line's message. */
  readonly meaning: string;
  /** Whether an alarm filters on it. */
  readonly alarm: boolean;
}

/** The catalogue. */
export const EVENT_CODES = {
  'pass-done': { level: 'info', alarm: false, meaning: 'A pass came to its end' },
  'pass-failed': { level: 'error', alarm: true, meaning: 'A pass failed; logged once an outage, then counted' },
  'pass-recovered': { level: 'info', alarm: false, meaning: 'The first good pass after failed ones' },
  'window-done': { level: 'info', alarm: false, meaning: 'A window came to its end' },
  'verdict-changed': { level: 'info', alarm: false, meaning: 'What is decided about a bad check changed; see reason' },
  'absent-check': { level: 'warn', alarm: false, meaning: 'A watched check is missing from good answers' },
  'node-check': { level: 'warn', alarm: false, meaning: 'A node check is bad; it says nothing about tasks' },
  'leftover-registration': { level: 'warn', alarm: false, meaning: 'A registration whose task ECS says is gone' },
  'leftover-removable': { level: 'warn', alarm: false, meaning: 'One of consul-ecs, gone in two passes; see remedy' },
  'registration-problem': { level: 'warn', alarm: false, meaning: 'A registration in Consul is not understood' },
  'dry-run': { level: 'info', alarm: false, meaning: 'A restart was due and would have been issued' },

  'restart-withheld': { level: 'warn', alarm: false, meaning: 'A restart is due and held back; see reason' },
  'restart-issued': { level: 'info', alarm: false, meaning: 'A restart was claimed and ECS is asked for it' },
  'restart-accepted': { level: 'info', alarm: false, meaning: 'ECS took a restart' },
  'restart-confirmed': { level: 'info', alarm: false, meaning: 'ECS says that the task has stopped' },
  'restart-refused': { level: 'error', alarm: true, meaning: 'ECS refused a restart; tried again with backoff' },
  'restart-unanswered': { level: 'warn', alarm: false, meaning: 'ECS gave no answer to a restart; it is repeated' },
  'restart-unconfirmed': {
    level: 'error',
    alarm: true,
    meaning: 'A task has not stopped 10 min after it was asked to',
  },
  'restart-repeated': { level: 'warn', alarm: false, meaning: 'A restart that was never answered is issued again' },
  'deployment-failed': {
    level: 'error',
    alarm: true,
    meaning: 'A forced deployment failed or vanished; no further one until somebody else has deployed',
  },
  'deployment-forced': { level: 'info', alarm: false, meaning: 'ECS began a forced deployment' },

  'budget-spent': { level: 'error', alarm: true, meaning: 'A restart budget is spent; see mode and untilMs' },
  'replacement-overdue': { level: 'error', alarm: true, meaning: 'A restarted task has no proven replacement' },
  'breaker-opened': { level: 'error', alarm: true, meaning: 'Most instances of a service are unhealthy' },
  'breaker-probe-failed': { level: 'warn', alarm: false, meaning: 'The replacement of a probe is unhealthy, too' },
  'breaker-closed': { level: 'info', alarm: false, meaning: 'A service breaker has closed' },
  'estate-breaker-opened': { level: 'error', alarm: true, meaning: 'Most services are down; nothing is restarted' },
  'estate-breaker-closed': { level: 'info', alarm: false, meaning: 'The estate breaker has closed' },

  'hold-placed': { level: 'info', alarm: false, meaning: 'An operator holds restarts back' },
  'hold-released': { level: 'info', alarm: false, meaning: 'An operator lets restarts go on' },

  'lease-held': { level: 'info', alarm: false, meaning: 'Another window is open; this one does nothing' },
  'lease-lost': { level: 'warn', alarm: false, meaning: 'The lease was lost to another window; this one ends' },
  'state-conflict': {
    level: 'info',
    alarm: false,
    meaning: 'Another writer was first; decided again in the next pass',
  },
  'state-failed': { level: 'error', alarm: true, meaning: 'The table could not be read or written' },
  'unreadable-item': { level: 'error', alarm: true, meaning: 'An item of the table is not understood and set aside' },

  'policy-changed': { level: 'info', alarm: false, meaning: 'A new policy document is in force' },
  'policy-refused': { level: 'error', alarm: true, meaning: 'The policy document is invalid; the last good one stays' },
  'policy-missing': { level: 'error', alarm: true, meaning: 'The policy document is gone; the last good one stays' },
  'settings-invalid': { level: 'error', alarm: true, meaning: 'The settings are invalid; nothing runs' },

  'consul-tls-not-verified': { level: 'warn', alarm: false, meaning: 'Certificates of Consul are not verified' },
  'consul-login-failed': {
    level: 'warn',
    alarm: false,
    meaning: 'A Consul token could not be renewed; the old one is used',
  },
  'consul-login-unlimited': {
    level: 'warn',
    alarm: false,
    meaning: 'The auth method sets no MaxTokenTTL; tokens pile up',
  },
  'consul-logout-failed': {
    level: 'warn',
    alarm: false,
    meaning: 'A Consul token could not be logged out; it ends by itself',
  },
  'consul-failover': { level: 'warn', alarm: false, meaning: 'One Consul address failed and another was asked' },
  'ecs-failed': { level: 'error', alarm: true, meaning: 'ECS could not be asked' },
  'events-not-published': { level: 'error', alarm: true, meaning: 'Events did not reach EventBridge' },
  'message-dropped': { level: 'warn', alarm: false, meaning: 'Messages in the queue are not understood' },
  'wake-up-not-sent': { level: 'error', alarm: true, meaning: 'A message to reconcile-proxies could not be sent' },

  'reconcile-done': { level: 'info', alarm: false, meaning: 'A reconcile of proxies came to its end' },
  'reconcile-covered': { level: 'info', alarm: false, meaning: 'Messages that a reconcile begun later has seen to' },
  'run-state-changed': { level: 'info', alarm: false, meaning: 'Whether proxies are reconciled has changed' },
  'declarations-doubtful': {
    level: 'error',
    alarm: true,
    meaning: 'Declarations of proxies could not be read; the last good ones stay',
  },
  'declarations-empty': {
    level: 'warn',
    alarm: false,
    meaning: 'No proxy is declared any more; believed only if the next answer agrees',
  },
  'declaration-invalid': { level: 'error', alarm: true, meaning: 'A proxy is declared in a way that cannot be used' },
  'proxy-launched': { level: 'info', alarm: false, meaning: 'A task of a proxy was launched' },
  'proxy-launch-failed': { level: 'warn', alarm: false, meaning: 'A launch made no task; tried again with backoff' },
  'proxy-launch-refused': {
    level: 'error',
    alarm: true,
    meaning: 'A proxy cannot be launched before somebody changes something',
  },
  'proxy-launch-unanswered': {
    level: 'warn',
    alarm: false,
    meaning: 'RunTask gave no answer; asked again, same token',
  },
  'proxy-ended': { level: 'warn', alarm: false, meaning: 'A task of a proxy has ended that nobody stopped' },
  'proxy-stopped': { level: 'info', alarm: false, meaning: 'ECS took the stop of a task of a proxy' },
  'proxy-stop-failed': {
    level: 'error',
    alarm: true,
    meaning: 'A task of a proxy could not be stopped; tried again with backoff',
  },
  'proxy-redeployed': { level: 'info', alarm: false, meaning: 'A forced deployment of a proxy has begun' },
  'proxy-redeploy-failed': { level: 'error', alarm: true, meaning: 'A forced deployment of a proxy was refused' },
  'proxy-stops-capped': { level: 'warn', alarm: false, meaning: 'More proxies would be stopped than may be at once' },
  'proxy-unidentified': { level: 'warn', alarm: false, meaning: 'A task of ours does not say which proxy it is' },
} as const satisfies Readonly<Record<string, EventCodeEntry>>;

/** A code of the catalogue. */
export type EventCode = keyof typeof EVENT_CODES;

/** Metrics of the namespace `EcsCheckRestart`; all are counts, with the dimension `service` (the function). */
export const METRICS = {
  Invocations: 'Invocations that came to their end; there is one in every set of metrics',
  Passes: 'Passes that came to their end; missing = the heartbeat is missing',
  PassesFailed: 'Passes that failed or were degraded',
  Reconciles: 'Reconciles that came to a good end; missing = `reconcile-missing`',
  ChecksBad: 'Bad checks seen, a pass',
  ChecksWatched: 'Checks with a streak, a pass',
  ChecksAbsent: 'Watched checks that good answers lack',
  RestartsIssued: 'StopTask and UpdateService calls',
  RestartsAccepted: 'Of those, accepted by ECS',
  RestartsRefused: 'Of those, refused by ECS',
  RestartsWithheld: 'Due restarts that a brake, a mode or ECS held back',
  StateConflicts: 'Writes that another writer was ahead of',
  UnreadableItems: 'Items set aside, a load',
  EventsNotPublished: 'Events that did not reach EventBridge',
  ReconcilesFailed: 'Reconciles that could conclude or record nothing',
  ProxiesDeclared: 'Proxies declared, a reconcile',
  ProxiesRunning: 'Proxies whose task runs, a reconcile',
  ProxyLaunches: 'RunTask calls',
  ProxyLaunchesFailed: 'Of those, without a task',
  ProxyStops: 'StopTask calls for proxies',
  ProxyStopsFailed: 'Of those, refused or unanswered',
} as const satisfies Readonly<Record<string, string>>;

/** A metric of the catalogue. */
export type Metric = keyof typeof METRICS;

/** Namespace of the metrics, and source of the EventBridge events. */
export const METRICS_NAMESPACE = 'EcsCheckRestart';
export const EVENT_SOURCE = 'ecs-check-restart';
