/** What reconciling proxies is given and what it returns. */

import type { StatePort } from '../../ports.ts';
import type { ProxyProblem, ProxyReason } from '../../proxies/action.ts';
import type { RestartRequest } from '../../proxies/decide.ts';
import type { DocumentRules } from '../../proxies/document-fields.ts';
import type { Hash } from '../../proxies/fingerprint.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { RunState } from '../../proxies/run-state.ts';
import type { ProxySettings } from '../../proxies/settings.ts';
import type { DeclarationPort, ProxyEcsPort, ProxyStatePort, WakeUpPort } from '../../proxy-ports.ts';
import type { CheckEntry, FailureEntry, RestartEntry, SkippedEntry, WatchDeps, WatchSettings } from '../watch-types.ts';

/** Everything outside. What is of `WatchDeps` is the same as the watcher's: `state` is the deployment's own partition. */
export interface ReconcileDeps extends WatchDeps {
  readonly declarations: DeclarationPort;
  readonly proxyEcs: ProxyEcsPort;
  readonly proxies: ProxyStatePort;
  /**
   * Checks of proxies and the brakes of each proxy: the same items as the watcher's, in a partition of their own, so that
   * neither function takes the other's checks for absent ones of its own.
   */
  readonly health: StatePort;
  /** Our own queue, for waits under a minute. */
  readonly wakeUps: WakeUpPort;
  /** Of a declaration's canonical text. */
  readonly hash: Hash;
}

/** Settings of the deployment. */
export interface ReconcileSettings {
  readonly proxies: ProxySettings;
  /** What proxies may be started from; clusters named without a glob are listed in every pass. */
  readonly rules: DocumentRules;
  /** How proxies' checks are judged; `dryRun` holds for all of a reconcile: it plans and tells, and does nothing. */
  readonly watch: WatchSettings;
  /** RunTask calls of one reconcile; the rest follows by a wake-up. Absent: 100. */
  readonly launchLimit?: number;
}

/** Why and how one reconcile is made. */
export interface ReconcileRequest {
  /** Names this invocation in the lease. */
  readonly holder: string;
  /** When the function itself is ended; nothing is begun in its last seconds. */
  readonly endsAtMs: number;
  /**
   * Of a batch of messages: when its newest was sent (of a wake-up: its `atMs`). One that is older than the last
   * reconcile's start has been seen to. Absent: the schedule, or a person.
   */
  readonly newestMessageMs?: number;
  /** Plan and report; nothing is written, called or sent. */
  readonly dryRun?: boolean;
  /** Lifts the cap on stops to so many, for this reconcile. */
  readonly stops?: number;
  /** A person waits for the lease for so long; absent: not at all. */
  readonly leasePatienceMs?: number;
  /** What a person wants changed, on the states as they are under the lease. */
  readonly order?: Order;
}

/** An operator's word. */
export interface Order {
  /** The run state from now on. */
  readonly runState?: (before: RunState) => RunState;
  /** Every proxy's state from now on. */
  readonly state?: (before: ProxyState) => ProxyState;
  readonly restarts?: (states: readonly ProxyState[]) => readonly RestartRequest[];
}

/** A step that was carried out, or tried. */
export interface DoneAction {
  readonly kind: 'start' | 'stop' | 'redeploy';
  readonly proxyId?: string;
  readonly reason: ProxyReason;
  readonly taskArn?: string;
  readonly cluster: string;
  /** `planned`: in a dry run. */
  readonly outcome: 'done' | 'failed' | 'unknown' | 'planned';
  readonly message?: string;
}

/** A proxy that waits, and for what. */
export interface WaitingProxy {
  readonly proxyId: string;
  readonly reason: ProxyReason;
  readonly untilMs?: number;
}

/** What one reconcile saw and did. */
export interface ReconcileReport {
  readonly outcome: 'done';
  readonly atMs: number;
  /** False: nothing could be concluded or recorded; whoever asked must ask again. */
  readonly ok: boolean;
  readonly dryRun: boolean;
  readonly runState: RunState;
  /** Proxies declared; absent where no answer could be had. */
  readonly declared?: number;
  /** Proxies whose task is known to run. */
  readonly running: number;
  readonly actions: readonly DoneAction[];
  readonly waiting: readonly WaitingProxy[];
  /** Everything that is wrong, together: none of it held up the others. */
  readonly problems: readonly ProxyProblem[];
  readonly failures: readonly FailureEntry[];
  /** Restarts of unhealthy proxies, due ones that were held back, and every bad check of a proxy. */
  readonly restarts: readonly RestartEntry[];
  readonly skipped: readonly SkippedEntry[];
  readonly checks: readonly CheckEntry[];
  readonly rounds: number;
  /** Launches left to the next reconcile. */
  readonly deferred: number;
  /** When there is something to do, were nothing to happen before. */
  readonly nextMs?: number;
}

/** What an invocation came to. */
export type ReconcileResult =
  | ReconcileReport
  /** Everything in this batch was seen to by a reconcile that began later. */
  | { readonly outcome: 'covered'; readonly sinceMs: number }
  /** Another reconcile is under way; a message comes back after it, so nothing is lost. */
  | { readonly outcome: 'lease-held'; readonly heldBy: string; readonly untilMs: number };
