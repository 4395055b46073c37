/**
 * `hold` and `release`: an operator's stop for one ECS service or for all, and the word to go on. A hold is read strongly
 * before each claim, so it holds from its write on, whatever pass is under way.
 */
import { placeHold, releaseService } from '../brakes/hold.ts';
import type { EstateState, Hold } from '../brakes/state.ts';
import { ownerKey } from '../check-restart/eligibility.ts';
import type { ServiceState, StatePort } from '../ports.ts';
import { say } from './say.ts';
import type { WatchDeps } from './watch-types.ts';

/** `all`, or the key of a service item. */
export type HoldTarget = { readonly all: true } | { readonly service: string };

/** What to hold, until when and why. */
export type HoldRequest = HoldTarget & {
  /** Absent = until released. */
  readonly forMs?: number;
  readonly why: string;
};

/** What is in force now. */
export interface HoldReport {
  readonly target: string;
  readonly hold: Hold | null;
  /** What was lifted or replaced. */
  readonly before: Hold | null;
  /** Of a release: what else it let go. */
  readonly released?: readonly string[];
}

const TRIES = 5;

/**
 * The key of the service item behind what an operator writes: `CLUSTER/NAME`, `CLUSTER/service/NAME` or
 * `CLUSTER/family/NAME`; `undefined` for anything else.
 */
export function targetKey(text: string): string | undefined {
  const parts = text.split('/');
  const [cluster = '', kind = '', name = ''] = parts.length === 2 ? [parts[0], 'service', parts[1]] : parts;
  const isKind = kind === 'service' || kind === 'family';
  if (!isKind || cluster === '' || name === '' || parts.length > 3) return undefined;
  return ownerKey({ cluster, kind, name });
}

/** Places a hold; replaces one that is there. Throws `ReadFailure` when the table cannot be reached. */
export async function hold(deps: WatchDeps, request: HoldRequest): Promise<HoldReport> {
  const nowMs = deps.clock.nowMs();
  const { why, forMs } = request;
  const placed: Hold = { why, ...(forMs === undefined ? {} : { untilMs: nowMs + forMs }) };
  const before =
    'all' in request
      ? (await changeEstate(deps.state, (state) => ({ ...state, hold: placed }))).hold
      : (await changeService(deps.state, request.service, (service) => withHold(service, placed))).brakes.hold;
  const target = nameOf(request);
  await keep(deps, 'hold-placed', 'Hold Placed', {
    target,
    why,
    ...(placed.untilMs ? { untilMs: placed.untilMs } : {}),
  });
  return { target, hold: placed, before: before ?? null };
}

/**
 * Lifts a hold. For one service it also begins a new budget where the old one made the hold, lets an open breaker probe,
 * forgets a failed forced deployment and the backoff of refused calls. For all it lifts the hold for all and no other.
 */
export async function release(deps: WatchDeps, target: HoldTarget): Promise<HoldReport> {
  const released: string[] = [];
  let before: Hold | undefined;
  if ('all' in target) {
    before = (await changeEstate(deps.state, ({ hold: _, ...state }) => state)).hold;
  } else {
    const was = await changeService(deps.state, target.service, releasedService);
    before = was.brakes.hold;
    if (was.brakes.breaker) released.push('breaker: the next probe need not wait');
    if (was.brakes.hold?.byBudget) released.push('budget: a new one begins');
    if (was.failedDeployment !== undefined) released.push('failed deployment: another may be forced');
    if (was.refused.length > 0) released.push('refused calls: tried again at once');
  }
  const name = nameOf(target);
  await keep(deps, 'hold-released', 'Hold Released', { target: name });
  return { target: name, hold: null, before: before ?? null, released };
}

function withHold(service: ServiceState, placed: Hold): ServiceState {
  return { ...service, brakes: placeHold(service.brakes, placed) };
}

function releasedService({ failedDeployment: _, ...service }: ServiceState): ServiceState {
  return { ...service, refused: [], brakes: releaseService(service.brakes) };
}

function nameOf(target: HoldTarget): string {
  return 'all' in target ? 'all' : target.service;
}

async function changeService(
  state: StatePort,
  key: string,
  change: (service: ServiceState) => ServiceState,
): Promise<ServiceState> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const service = await state.readService(key);
    if ((await state.saveService(change(service))) === 'saved') return service;
  }
  throw new Error(`${key} is written by others all the time; nothing was changed, try again`);
}

async function changeEstate(state: StatePort, change: (estate: EstateState) => EstateState): Promise<EstateState> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const estate = await state.readEstate();
    if ((await state.saveEstate({ ...estate, state: change(estate.state) })) === 'saved') return estate.state;
  }
  throw new Error('the brakes of the deployment are written by others all the time; nothing was changed, try again');
}

async function keep(
  deps: WatchDeps,
  code: 'hold-placed' | 'hold-released',
  type: string,
  detail: Readonly<Record<string, string | number>>,
): Promise<void> {
  say(deps, code, detail);
  await deps.events.publish([{ type, detail }]);
  await deps.state.appendHistory({ atMs: deps.clock.nowMs(), kind: code, detail });
}
