/**
 * What an invocation remembers between its passes. It starts from one strong read of the table; every write goes
 * through here, so that only what changed is written and only over the version that was read.
 */

import type { EcsTask } from '../check-restart/ecs-facts.ts';
import { asOfLastPass, type CheckState, sameState } from '../check-restart/evaluation.ts';
import type { Mapping } from '../check-restart/mapping.ts';
import type { ResolvedPolicy } from '../check-restart/policy.ts';
import { inParallel } from '../in-parallel.ts';
import type {
  CheckRef,
  InstanceDetails,
  ServiceState,
  StatePort,
  StoredEstate,
  StoredPolicy,
  StoredState,
  WatchedCheck,
} from '../ports.ts';
import { checkKey, ReadFailure } from '../ports.ts';

/** One tracked check: as the table has it, and as the last pass left it. */
export interface TrackedCheck {
  readonly ref: CheckRef & { readonly checkName: string };
  /** Version in the table; 0 = not there. */
  version: number;
  stored: CheckState | undefined;
  current: CheckState | undefined;
}

/** An instance's details and when they were read; `details` absent = not registered. */
export interface CachedInstance {
  readonly details: InstanceDetails | undefined;
  readonly createIndex: number;
  readonly readAtMs: number;
}

/** A task as ECS described it, and when; `task` absent = MISSING. */
export interface CachedTask {
  readonly task: EcsTask | undefined;
  readonly readAtMs: number;
}

/**
 * What follows for a check from its registration and the policy document alone. Settled once: with a thousand bad checks
 * it is half the work of a pass. `inputs` are what it was settled from; it holds while they are the very same.
 */
export interface SettledCheck {
  readonly inputs: readonly unknown[];
  /** Consul service whose policy applies: a sidecar's destination. */
  readonly service: string;
  readonly mapping: Mapping;
  readonly resolved: ResolvedPolicy | undefined;
  /** Why no policy could be settled: Meta that is not understood. */
  readonly problems: readonly string[];
  readonly address: string;
}

/** Everything that outlives a pass. */
export interface WatchMemory {
  readonly tracked: Map<string, TrackedCheck>;
  readonly services: Map<string, ServiceState>;
  readonly instances: Map<string, CachedInstance>;
  readonly tasks: Map<string, CachedTask>;
  /** By check key. */
  readonly settled: Map<string, SettledCheck>;
  /** When an absent check was last looked up. */
  readonly lookedUpMs: Map<string, number>;
  /** When an accepted claim was last compared with ECS. */
  readonly confirmedMs: Map<string, number>;
  /** Check key → reason word last reported. */
  readonly reported: Map<string, string>;
  readonly policy: StoredPolicy | undefined;
  estate: StoredEstate;
  lastGoodPassMs: number | undefined;
  settleUntilMs: number | undefined;
  /** When it was last proved that the token sees something. */
  provedMs: number | undefined;
  /** Checks that another pass wrote while this one knew better or worse; of the table's state of them nothing is believed. */
  readonly distrusted: Set<string>;
  /** Consecutive failed passes; one line is logged for the first. */
  failedPasses: number;
}

/** How many reports are remembered; beyond that a line may be logged again by a later invocation. */
const MAX_REPORTED = 4000;

/** More checks than this that could not be written: the heartbeat stays what it was, and all of it counts as a gap. */
const MAX_UNSAVED = 500;

/** Memory from a read of the table. */
export function rememberedFrom(stored: StoredState): WatchMemory {
  const lastGoodPassMs = stored.heartbeat?.atMs;
  const unsaved = new Set(stored.heartbeat?.unsaved);
  return {
    tracked: new Map(
      stored.checks.map((check) => {
        const { state, version, ...ref } = check;
        // A good sighting may be among what could not be written: such a streak begins anew, at worst too late.
        const current = unsaved.has(checkKey(check)) ? undefined : asOfLastPass(state, lastGoodPassMs);
        return [checkKey(check), { ref, version, stored: state, current }];
      }),
    ),
    services: new Map(stored.services.map((service) => [service.key, service])),
    instances: new Map(),
    tasks: new Map(),
    settled: new Map(),
    lookedUpMs: new Map(),
    confirmedMs: new Map(),
    reported: new Map(Object.entries(stored.heartbeat?.reported ?? {})),
    policy: stored.policy,
    estate: stored.estate ?? { version: 0, state: {} },
    lastGoodPassMs,
    settleUntilMs: stored.heartbeat?.settleUntilMs,
    provedMs: stored.heartbeat?.provedMs,
    distrusted: new Set(),
    failedPasses: 0,
  };
}

/** Sets the state of a check; nothing is written yet. */
export function remember(memory: WatchMemory, ref: TrackedCheck['ref'], state: CheckState | undefined): void {
  const key = checkKey(ref);
  const tracked = memory.tracked.get(key);
  if (tracked) tracked.current = state;
  else if (state) memory.tracked.set(key, { ref, version: 0, stored: undefined, current: state });
}

/** Tasks with a claim that is not confirmed yet. */
export function claimedTasks(memory: WatchMemory): ReadonlySet<string> {
  return new Set([...memory.services.values()].flatMap(({ claims }) => claims.map(({ taskArn }) => taskArn)));
}

/** What writing came to. */
export interface WrittenChanges {
  readonly failures: readonly ReadFailure[];
  /** Checks that another pass wrote since we read them. */
  readonly conflicts: number;
}

/**
 * Writes what changed. A conflict means that another pass wrote the same check: its version is unknown to us, so the
 * check is forgotten here and read again by the next invocation. What failed is tried again by the next pass, since
 * `stored` still differs.
 */
export async function writeChanges(memory: WatchMemory, state: StatePort): Promise<WrittenChanges> {
  const changed = [...memory.tracked].filter(([, { stored, current }]) => !sameState(stored, current));
  const failures: ReadFailure[] = [];
  let conflicts = 0;
  await inParallel(changed, 16, async ([key, tracked]) => {
    if (failures.length > 0) return; // the table is out of reach: the others would only wait for it, too
    try {
      const result = await writeOne(tracked, state);
      if (result === 'conflict') {
        conflicts += 1;
        memory.distrusted.add(key);
      }
      if (result === 'conflict' || tracked.current === undefined) memory.tracked.delete(key);
    } catch (error) {
      if (!(error instanceof ReadFailure)) throw error;
      failures.push(error);
    }
  });
  return { failures, conflicts };
}

async function writeOne(tracked: TrackedCheck, state: StatePort): Promise<'saved' | 'conflict'> {
  const { ref, version, current, stored } = tracked;
  if (current === undefined) {
    return stored === undefined ? 'saved' : state.deleteCheck({ ...ref, version, state: stored });
  }
  const check: WatchedCheck = { ...ref, version, state: current };
  const result = await state.saveCheck(check);
  if (result === 'saved') {
    tracked.version = version + 1;
    tracked.stored = current;
  }
  return result;
}

/** Checks of which the table does not have what the last pass left; `undefined` = more than a heartbeat can name. */
export function unsavedChecks(memory: WatchMemory): readonly string[] | undefined {
  const pending = [...memory.tracked].filter(([, { stored, current }]) => !sameState(stored, current));
  const keys = new Set([...memory.distrusted, ...pending.map(([key]) => key)]);
  return keys.size > MAX_UNSAVED ? undefined : [...keys];
}

/** The heartbeat's reports, bounded; the newest stay. */
export function boundedReports(memory: WatchMemory): Record<string, string> {
  return Object.fromEntries([...memory.reported].slice(-MAX_REPORTED));
}
