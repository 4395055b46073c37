/**
 * What a check's restart policy is and where it comes from (DESIGN section 1, "Where a policy comes from"):
 * defaults of the deployment, rules that match the service, the instance's own Consul Meta, rules that match the check.
 * Later ones win field by field; every field keeps its origin, so that `explain` can say who decided it.
 */
import { anyGlobMatches } from './glob.ts';

/** `restart` acts; `notify` decides and reports but touches nothing; `off` does not watch. */
export type Mode = 'restart' | 'notify' | 'off';
/** `stop-task` stops the one task; `force-new-deployment` replaces all tasks of its service, as Nomad's group restart. */
export type Action = 'stop-task' | 'force-new-deployment';
/** What to do with a task that belongs to no service, which nothing would replace. */
export type Standalone = 'skip' | 'stop';
/** Whether ECS task protection holds a restart back. */
export type Protection = 'respect' | 'ignore';

/** Allowed values, most cautious first where an order matters. */
export const MODES: readonly Mode[] = ['off', 'notify', 'restart'];
export const ACTIONS: readonly Action[] = ['stop-task', 'force-new-deployment'];
export const STANDALONE: readonly Standalone[] = ['skip', 'stop'];
export const PROTECTION: readonly Protection[] = ['respect', 'ignore'];

/** Policy of one check, all fields settled. */
export interface Policy {
  /** Bad observations until a restart; 0 = not watched (the default). The time limit is `interval * (limit - 1)`. */
  readonly limit: number;
  /** Time between two counted observations; absent = the check's own interval, else 30 s. */
  readonly intervalMs?: number;
  /** Time after the task's `startedAt` in which nothing counts. */
  readonly graceMs: number;
  /** True: a `warning` is as good as `passing`. */
  readonly ignoreWarnings: boolean;
  readonly mode: Mode;
  readonly action: Action;
  readonly standalone: Standalone;
  readonly protection: Protection;
}

/** Some fields of a policy, as one source states them. */
export type PolicyPart = { readonly [K in keyof Policy]?: Policy[K] };

/** One rule of the policy document. All globs given must match; a rule without any matches everything. */
export interface PolicyRule {
  readonly match: {
    readonly service?: string;
    readonly cluster?: string;
    readonly namespace?: string;
    /** Glob on the check's ID or name; such a rule is applied last. */
    readonly check?: string;
  };
  readonly set: PolicyPart;
}

/** Which check of which instance a policy is asked for. */
export interface PolicySubject {
  /** Consul service name; for a sidecar its destination's. */
  readonly service: string;
  readonly namespace: string;
  /** ECS cluster's name; empty while it is not known. */
  readonly cluster: string;
  readonly checkId: string;
  readonly checkName: string;
}

/** Who decided a field: `default`, `rule N` (counted from 1), `meta`. */
export type Origin = 'default' | 'meta' | `rule ${number}`;

/** A settled policy, the origin of each of its fields, and the rules that matched, in the order in which they applied. */
export interface ResolvedPolicy {
  readonly policy: Policy;
  readonly origins: { readonly [K in keyof Policy]?: Origin };
  /** Indices into the rules. */
  readonly matched: readonly number[];
}

/** Nomad's defaults, with watching off until somebody opts in. */
export const DEFAULT_POLICY: Policy = {
  limit: 0,
  graceMs: 1000,
  ignoreWarnings: false,
  mode: 'restart',
  action: 'stop-task',
  standalone: 'skip',
  protection: 'respect',
};

/** Interval where neither the policy nor Consul states one. */
export const FALLBACK_INTERVAL_MS = 30_000;

/**
 * The policy of one check. Of all modes that apply the most cautious wins, whoever set it; the owner's Meta `limit: 0`
 * is final, no rule of the operator's can switch such a check on again.
 */
export function resolvePolicy(
  defaults: Policy,
  rules: readonly PolicyRule[],
  meta: PolicyPart,
  subject: PolicySubject,
): ResolvedPolicy {
  const matching = rules.map((rule, index) => ({ rule, index })).filter(({ rule }) => ruleMatches(rule, subject));
  const ofService = matching.filter(({ rule }) => rule.match.check === undefined);
  const ofCheck = matching.filter(({ rule }) => rule.match.check !== undefined);
  const layers: { part: PolicyPart; origin: Origin }[] = [
    { part: defaults, origin: 'default' },
    ...ofService.map(({ rule, index }) => ({ part: rule.set, origin: originOfRule(index) })),
    { part: meta, origin: 'meta' },
    ...ofCheck.map(({ rule, index }) => ({ part: rule.set, origin: originOfRule(index) })),
  ];
  let policy: Policy = defaults;
  let origins: ResolvedPolicy['origins'] = {};
  for (const { part, origin } of layers) {
    const stated = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as PolicyPart;
    const mode = stated.mode === undefined ? policy.mode : moreCautious(policy.mode, stated.mode);
    const decided = Object.keys(stated).filter((field) => field !== 'mode' || stated.mode === mode);
    origins = { ...origins, ...Object.fromEntries(decided.map((field) => [field, origin])) };
    policy = { ...policy, ...stated, mode };
  }
  if (meta.limit === 0) {
    policy = { ...policy, limit: 0 };
    origins = { ...origins, limit: 'meta' };
  }
  return { policy, origins, matched: [...ofService, ...ofCheck].map(({ index }) => index) };
}

/** True when warnings count for some check that a default or a rule may switch on: only then must they be read. */
export function countsWarnings(defaults: Policy, rules: readonly PolicyRule[]): boolean {
  return !defaults.ignoreWarnings || rules.some((rule) => rule.set.ignoreWarnings === false);
}

/** The interval that applies: the larger of the policy's and the check's own, 30 s where neither is stated. */
export function effectiveIntervalMs(policy: Pick<Policy, 'intervalMs'>, checkIntervalMs: number | undefined): number {
  if (policy.intervalMs === undefined && checkIntervalMs === undefined) return FALLBACK_INTERVAL_MS;
  return Math.max(policy.intervalMs ?? 0, checkIntervalMs ?? 0);
}

/** How old a streak must be for a restart: `interval * (limit - 1)`, as Nomad's code has it (its documentation says otherwise). */
export function timeLimitMs(policy: Pick<Policy, 'limit' | 'intervalMs'>, checkIntervalMs: number | undefined): number {
  return effectiveIntervalMs(policy, checkIntervalMs) * Math.max(policy.limit - 1, 0);
}

function ruleMatches(rule: PolicyRule, subject: PolicySubject): boolean {
  const { service, cluster, namespace, check } = rule.match;
  return (
    (service === undefined || anyGlobMatches([service], subject.service)) &&
    (cluster === undefined || anyGlobMatches([cluster], subject.cluster)) &&
    (namespace === undefined || anyGlobMatches([namespace], subject.namespace)) &&
    (check === undefined || anyGlobMatches([check], subject.checkId) || anyGlobMatches([check], subject.checkName))
  );
}

function originOfRule(index: number): Origin {
  return `rule ${index + 1}`;
}

function moreCautious(one: Mode, other: Mode): Mode {
  return MODES.indexOf(one) <= MODES.indexOf(other) ? one : other;
}
