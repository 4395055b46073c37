/**
 * Carrying out a plan: stops, then redeployments, then launches, a few at a time. Every step is tried whatever becomes of
 * the others; a step that is not begun any more (too late, lease lost) is in the table as an intent and is taken up by
 * the next reconcile.
 */
import { inParallel } from '../../in-parallel.ts';
import type { ActOutcome } from '../../ports.ts';
import type { ProxyAction } from '../../proxies/action.ts';
import type { ActionOutcome } from '../../proxies/outcome.ts';
import type { DoneAction, ReconcileDeps } from './reconcile-types.ts';

/** A step that changes something in ECS. */
export type EcsAction = Extract<ProxyAction, { readonly kind: 'start' | 'stop' | 'redeploy' }>;

/** A step and how it ended. */
export interface CarriedOut {
  readonly action: EcsAction;
  readonly outcome: ActionOutcome;
}

/** Calls at one time: within the burst that ECS allows RunTask on Fargate. */
const PARALLEL_CALLS = 5;
const ORDER: readonly EcsAction['kind'][] = ['stop', 'redeploy', 'start'];

/** The steps of a plan that are calls to ECS. */
export function ecsActions(actions: readonly ProxyAction[]): readonly EcsAction[] {
  return actions.flatMap((action) => (isEcsAction(action) ? [action] : []));
}

function isEcsAction(action: ProxyAction): action is EcsAction {
  return action.kind === 'start' || action.kind === 'stop' || action.kind === 'redeploy';
}

/** Carries out all of them; `mayAct` is asked before each. */
export async function carryOut(
  deps: Pick<ReconcileDeps, 'proxyEcs'>,
  actions: readonly EcsAction[],
  mayAct: () => Promise<boolean>,
): Promise<readonly CarriedOut[]> {
  const done: CarriedOut[] = [];
  for (const kind of ORDER) {
    const ofKind = actions.filter((action) => action.kind === kind);
    const ended = await inParallel(ofKind, PARALLEL_CALLS, async (action) =>
      (await mayAct()) ? { action, outcome: await call(deps, action) } : undefined,
    );
    done.push(...ended.filter((one) => one !== undefined));
  }
  return done;
}

async function call({ proxyEcs }: Pick<ReconcileDeps, 'proxyEcs'>, action: EcsAction): Promise<ActionOutcome> {
  switch (action.kind) {
    case 'start': {
      const { proxyId, spec, fingerprint, generation, clientTokenText } = action;
      return proxyEcs.runTask({ proxyId, spec, fingerprint, generation, clientTokenText });
    }
    case 'stop': {
      const { proxyId, taskArn, cluster, text } = action;
      const who = { taskArn, ...(proxyId === undefined ? {} : { proxyId }) };
      const outcome = await proxyEcs.stopTask({ cluster, task: taskArn, reason: text });
      if (outcome.outcome === 'accepted') return { ...who, kind: 'stop-accepted' };
      if (outcome.outcome === 'gone') return { ...who, kind: 'stop-gone' };
      return { ...who, kind: outcome.outcome === 'refused' ? 'stop-failed' : 'stop-unknown', message: said(outcome) };
    }
    case 'redeploy': {
      const { proxyId, cluster, ecsService } = action;
      const outcome = await proxyEcs.forceNewDeployment({ cluster, service: ecsService });
      if (outcome.outcome === 'accepted') return { proxyId, kind: 'redeployed' };
      return { proxyId, kind: 'redeploy-failed', message: `UpdateService ${cluster}/${ecsService}: ${said(outcome)}` };
    }
  }
}

function said(outcome: ActOutcome): string {
  if (outcome.outcome === 'refused') return `${outcome.code}: ${outcome.message}`;
  return outcome.outcome === 'unknown' ? outcome.message : outcome.outcome;
}

/** A step as reports show it. */
export function reportOf({ action, outcome }: CarriedOut): DoneAction {
  const taskArn = 'taskArn' in outcome ? outcome.taskArn : undefined;
  return {
    ...plannedOf(action),
    ...(taskArn === undefined ? {} : { taskArn }),
    outcome: verdictOf(outcome),
    ...messageOf(outcome),
  };
}

/** A step that was only planned. */
export function plannedOf(action: EcsAction): DoneAction {
  const { kind, proxyId, reason } = action;
  return {
    kind,
    ...(proxyId === undefined ? {} : { proxyId }),
    reason,
    ...(action.kind === 'stop' ? { taskArn: action.taskArn } : {}),
    cluster: action.kind === 'start' ? action.spec.cluster : action.cluster,
    outcome: 'planned',
  };
}

function verdictOf({ kind }: ActionOutcome): DoneAction['outcome'] {
  if (kind === 'launch-unknown' || kind === 'stop-unknown') return 'unknown';
  return kind === 'launch-failed' || kind === 'launch-refused' || kind === 'stop-failed' || kind === 'redeploy-failed'
    ? 'failed'
    : 'done';
}

function messageOf(outcome: ActionOutcome): { readonly message?: string } {
  if (outcome.kind === 'launch-failed') return { message: outcome.reason };
  if (outcome.kind === 'launch-refused') return { message: `${outcome.code}: ${outcome.message}` };
  return 'message' in outcome ? { message: outcome.message } : {};
}
