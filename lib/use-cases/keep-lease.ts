/** A lease that is held: renewed while work goes on past its end, lost when somebody else has it, given back at the end. */
import type { Lease } from '../ports.ts';
import { isReadFailure } from './failure.ts';
import { say } from './say.ts';
import type { WatchDeps } from './watch-types.ts';

/** The lease outlives the window by this much, so that the last pass can come to its end. */
export const LEASE_MARGIN_MS = 5000;
/** A claim needs time to be acted upon and recorded. */
export const LAST_CLAIM_MS = 10_000;

type LeaseDeps = Pick<WatchDeps, 'clock' | 'state' | 'telemetry'>;

/** A lease in hand. */
export interface KeptLease {
  /** False: too late before the function's end, or the lease is lost; begin nothing more. */
  readonly mayClaim: () => Promise<boolean>;
  /** False: the lease is lost. */
  readonly mayGoOn: () => Promise<boolean>;
  readonly release: () => Promise<void>;
}

/** Keeps an acquired lease. `endsAtMs`: when the function itself is ended. */
export function keepLease(deps: LeaseDeps, acquired: Lease, endsAtMs: number): KeptLease {
  let lease = acquired;
  let isLost = false;
  const holds = async (): Promise<boolean> => {
    const nowMs = deps.clock.nowMs();
    if (isLost || nowMs + LEASE_MARGIN_MS <= lease.untilMs) return !isLost;
    const renewed = await unlessFailed(deps, () => deps.state.renewLease(lease, nowMs + 3 * LEASE_MARGIN_MS));
    // Without the table nothing can be claimed either; what was done is reported all the same.
    if (renewed === undefined) return false;
    if (renewed === 'conflict') {
      isLost = true;
      say(deps, 'lease-lost', { fence: lease.fence });
      return false;
    }
    lease = renewed.lease;
    return true;
  };
  return {
    mayClaim: async () => deps.clock.nowMs() < endsAtMs - LAST_CLAIM_MS && (await holds()),
    mayGoOn: holds,
    release: async () => {
      // One that cannot be given back runs out by itself.
      if (!isLost) await unlessFailed(deps, () => deps.state.releaseLease(lease));
    },
  };
}

/** What the table answers, or `undefined`; its failure is said. */
async function unlessFailed<T>(deps: LeaseDeps, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    say(deps, 'state-failed', { problem: isReadFailure(error).message });
    return undefined;
  }
}
