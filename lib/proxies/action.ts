/** What a pass wants done, and what it has to say. Reason words are stable: results, logs and alarms use them. */
import type { StopWhy } from './proxy-state.ts';
import type { ProxySpec } from './spec.ts';

/** Why something is done, waited for or reported. */
export type ProxyReason =
  | StopWhy // of stops
  | 'declared' // a start: never launched before
  | 'restarted' // a start: its task has ended
  | 'running'
  | 'starting' // launched, not RUNNING yet
  | 'service' // execMode service: runs as its deployer made it
  | 'not-running' // a restart was asked for, and there is nothing to restart
  | 'not-declared' // a task of ours that nobody declares
  | 'backoff'
  | 'launch-failed' // failures[], or a refusal that proves that nothing was made
  | 'launch-unknown' // a launch without a known outcome
  | 'removal-delay'
  | 'task-stopping' // on its way to STOPPED
  | 'stop-unconfirmed' // accepted, no effect seen yet
  | 'stop-failed'
  | 'stop-cap'
  | 'declaration-invalid'
  | 'declaration-doubtful' // the read failed, or was doubtful
  | 'empty-declarations' // the first surprising empty answer
  | 'state-rebuilt' // the stored item could not be read
  | 'unidentified-task' // started by us, but for no proxy that can be named
  | 'ecs-error' // ECS could not be read
  | 'redeploy-failed'
  | 'state-conflict' // somebody else wrote its item first; decided again in the next pass
  | 'state-unreadable' // its item is not understood, and left alone
  | 'not-known' // an operator named a proxy that is not there
  | 'closed'; // the run state says: reconcile nothing

/** One step. Stops come first, then redeployments and starts; the rest says why nothing is done. */
export type ProxyAction =
  | {
      readonly kind: 'start';
      readonly proxyId: string;
      readonly reason: ProxyReason;
      readonly spec: ProxySpec;
      readonly fingerprint: string;
      readonly generation: number;
      /** Hashed by the caller into RunTask's `clientToken`. */
      readonly clientTokenText: string;
    }
  | {
      readonly kind: 'stop';
      /** Absent for a task of ours whose proxy is not known (kill only). */
      readonly proxyId?: string;
      readonly taskArn: string;
      readonly cluster: string;
      readonly reason: StopWhy;
      /** For StopTask; at most 255 characters. */
      readonly text: string;
    }
  | {
      /** UpdateService with a forced deployment, of `execMode: service`. */
      readonly kind: 'redeploy';
      readonly proxyId: string;
      readonly cluster: string;
      readonly ecsService: string;
      readonly reason: ProxyReason;
    }
  | { readonly kind: 'wait'; readonly proxyId: string; readonly reason: ProxyReason; readonly untilMs?: number }
  | { readonly kind: 'keep'; readonly proxyId: string; readonly reason: ProxyReason }
  | { readonly kind: 'forget'; readonly proxyId: string; readonly reason: ProxyReason }
  | {
      readonly kind: 'report';
      readonly proxyId?: string;
      readonly reason: ProxyReason;
      readonly message: string;
    };

/** Something that is wrong. All of a pass are returned together; none of them stops the others. */
export interface ProxyProblem {
  readonly proxyId?: string;
  readonly reason: ProxyReason;
  /** Safe to log. */
  readonly message: string;
  /** False where it will not get better by itself. */
  readonly temporary: boolean;
}

const ORDER: readonly ProxyAction['kind'][] = ['stop', 'redeploy', 'start', 'forget', 'wait', 'keep', 'report'];

/** Actions in the order in which they are carried out; equal kinds stay in the order given. */
export function inOrder(actions: readonly ProxyAction[]): readonly ProxyAction[] {
  return [...actions].sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind));
}

/** The earliest end of a wait, or `undefined`. */
export function earliestWaitMs(actions: readonly ProxyAction[]): number | undefined {
  const ends = actions.flatMap((action) =>
    action.kind === 'wait' ? [action.untilMs ?? Number.POSITIVE_INFINITY] : [],
  );
  const earliest = ends.reduce((least, end) => Math.min(least, end), Number.POSITIVE_INFINITY);
  return Number.isFinite(earliest) ? earliest : undefined;
}
