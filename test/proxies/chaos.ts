/**
 * A caller of the reconciler that is killed at any point: it stores before it acts, acts, folds and stores, exactly as
 * the use case does. Everything that survives a crash is in `states`, `memory` and `runState`, as JSON.
 */
import { questionsFor } from '../../lib/proxies/ask.ts';
import type { RestartRequest } from '../../lib/proxies/decide.ts';
import type { DeclaredProxy } from '../../lib/proxies/declaration.ts';
import { type ActionOutcome, foldOutcomes } from '../../lib/proxies/outcome.ts';
import { planReconcile, type ReconcilePlan } from '../../lib/proxies/plan.ts';
import type { ProxyState } from '../../lib/proxies/proxy-state.ts';
import { RUNNING, type RunState } from '../../lib/proxies/run-state.ts';
import { DEFAULT_PROXY_SETTINGS, type ProxySettings } from '../../lib/proxies/settings.ts';
import { type Declared, NO_MEMORY, type ReconcileMemory } from '../../lib/proxies/trust.ts';
import { type CallFate, ModelEcs } from './model-ecs.ts';

/** Where a pass dies. `saving` and `acting`: after so many writes or calls. */
export type Crash =
  | { readonly at: 'never' }
  | { readonly at: 'saving' | 'acting'; readonly after: number }
  | { readonly at: 'recording' };

/** What happens in one pass. Fates are used one after the other, then all calls succeed. */
export interface PassCircumstances {
  readonly crash: Crash;
  readonly fates: readonly CallFate[];
  readonly lagMs: number;
  readonly restarts?: readonly RestartRequest[];
}

/** A pass on which nothing goes wrong. */
export const CALM: PassCircumstances = { crash: { at: 'never' }, fates: [], lagMs: 0 };

/** A usable declaration; another `variant` is another fingerprint. */
export function declare(proxyId: string, variant: string): DeclaredProxy {
  const spec = { execMode: 'task', cluster: 'prod', taskDefinition: 'envoy:1', command: [variant] } as const;
  return { proxyId, origin: 'test', usable: true, spec, config: {}, fingerprint: variant };
}

/** A declaration that cannot be used. */
export function invalid(proxyId: string): DeclaredProxy {
  return { proxyId, origin: 'test', usable: false, problems: [{ field: 'execMode', value: '"x"', allowed: '"task"' }] };
}

function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

export class Deployment {
  readonly ecs = new ModelEcs();
  readonly settings: ProxySettings;
  states = new Map<string, ProxyState>();
  memory: ReconcileMemory = NO_MEMORY;
  runState: RunState = RUNNING;
  nowMs = 1_000_000;

  constructor(settings: Partial<ProxySettings> = {}) {
    this.settings = { ...DEFAULT_PROXY_SETTINGS, ...settings };
  }

  /** One pass, up to where it dies. */
  pass(declared: Declared, circumstances: PassCircumstances = CALM): ReconcilePlan {
    const { nowMs, settings } = this;
    const asked = [...questionsFor(this.states.values(), declared).tasks.values()].flat();
    const tasks = {
      read: 'good' as const,
      doubtfulClusters: new Map<string, string>(),
      ...this.ecs.answer(nowMs, asked),
    };
    const { states, memory, runState } = this;
    const restarts = circumstances.restarts ?? [];
    const plan = planReconcile({ nowMs, declared, states, tasks, settings, runState, memory, restarts });
    const { crash } = circumstances;
    if (!this.#save(plan, crash.at === 'saving' ? crash.after : Number.POSITIVE_INFINITY)) return plan;
    const outcomes = this.#act(plan, circumstances);
    if (outcomes === 'crashed' || crash.at === 'recording') return plan;
    const folded = foldOutcomes(plan, outcomes, settings, nowMs);
    for (const state of folded.changed) this.states.set(state.proxyId, stored(state));
    this.memory = stored(folded.memory);
    return { ...plan, problems: [...plan.problems, ...folded.problems] };
  }

  #save(plan: ReconcilePlan, writes: number): boolean {
    let left = writes;
    for (const state of plan.changed) {
      if (left-- <= 0) return false;
      this.states.set(state.proxyId, stored(state));
    }
    for (const proxyId of plan.forgotten) {
      if (left-- <= 0) return false;
      this.states.delete(proxyId);
    }
    this.memory = stored(plan.memory);
    this.runState = plan.runState;
    return true;
  }

  #act(plan: ReconcilePlan, { crash, fates, lagMs }: PassCircumstances): ActionOutcome[] | 'crashed' {
    const outcomes: ActionOutcome[] = [];
    let left = crash.at === 'acting' ? crash.after : Number.POSITIVE_INFINITY;
    const queue = [...fates];
    for (const action of plan.actions) {
      if (action.kind !== 'start' && action.kind !== 'stop') continue;
      if (left-- <= 0) return 'crashed';
      const fate = queue.shift() ?? 'ok';
      const message = fate;
      if (action.kind === 'stop') {
        const { taskArn, proxyId } = action;
        const who = proxyId === undefined ? { taskArn } : { taskArn, proxyId };
        const result = this.ecs.stopTask(taskArn, fate);
        outcomes.push(
          result === 'accepted' ? { ...who, kind: 'stop-accepted' } : { ...who, kind: `stop-${result}`, message },
        );
      } else {
        const { proxyId, generation } = action;
        const result = this.ecs.runTask(action, fate, this.nowMs, lagMs);
        const who = { proxyId, generation };
        if (result.kind === 'launched') outcomes.push({ ...who, kind: 'launched', taskArn: result.taskArn });
        if (result.kind === 'unknown') outcomes.push({ ...who, kind: 'launch-unknown', message });
        if (result.kind === 'refused')
          outcomes.push({ ...who, kind: 'launch-refused', code: 'ClientException', message });
        if (result.kind === 'failures') outcomes.push({ ...who, kind: 'launch-failed', reason: 'AGENT' });
      }
    }
    return outcomes;
  }

  /** Passes every 20 s for a while, on which nothing goes wrong. */
  settleDown(declared: Declared, forMs: number): void {
    for (const untilMs = this.nowMs + forMs; this.nowMs < untilMs; this.nowMs += 20_000) {
      this.ecs.finishStops(this.nowMs);
      this.pass(declared);
    }
  }
}
