/**
 * `explain`: why a task, a service or a check was or was not restarted, and what would happen now. It decides like a
 * pass and then acts on nothing: the same code gives the same answer. Nothing is written.
 */

import { budgetLimit } from '../brakes/budget.ts';
import type { ServiceFacts, Withholding } from '../brakes/facts.ts';
import { isHeld } from '../brakes/hold.ts';
import { ownerKey, ownerOf } from '../check-restart/eligibility.ts';
import { effectiveIntervalMs, timeLimitMs } from '../check-restart/policy.ts';
import { checkKey, type HistoryEntry, type ServiceState, type UnhealthyCheck } from '../ports.ts';
import { shortTask } from './act-and-record.ts';
import { type Decision, decidePass } from './decide-pass.ts';
import { asFailure } from './failure.ts';
import type { Judged } from './judge.ts';
import type { PlannedRestart, Refusal } from './plan-restarts.ts';
import type { FailureEntry } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** What to explain; at least one. */
export interface ExplainRequest {
  /** Task ID or ARN. */
  readonly task?: string;
  /** Consul service. */
  readonly service?: string;
  /** Check ID or name. */
  readonly check?: string;
}

/** One check, with everything that decides over it. */
export interface ExplainedCheck {
  readonly check: string;
  readonly checkId: string;
  readonly node: string;
  readonly service: string;
  readonly status: string;
  readonly task: {
    readonly id?: string;
    readonly cluster?: string;
    /** How it was found, or why it was not. */
    readonly how: string;
    readonly lastStatus?: string;
    readonly desiredStatus?: string;
    readonly startedAtMs?: number;
    readonly owner?: string;
  };
  /** Value and origin of each field. */
  readonly policy: Readonly<Record<string, { readonly value: unknown; readonly from: string }>>;
  readonly timer: {
    readonly intervalMs: number;
    /** `interval * (limit - 1)`. */
    readonly timeLimitMs: number;
    readonly graceUntilMs?: number;
    readonly unhealthySinceMs?: number;
    readonly dueAtMs?: number;
  };
  /** Reason word, or `restart` where it would be restarted now. */
  readonly verdict: string;
  readonly why?: string;
  /** When the verdict may change by itself. */
  readonly untilMs?: number;
  /** All brakes that apply. */
  readonly brakes?: readonly Withholding[];
}

/** Brakes of one ECS service. */
export interface ExplainedBrakes {
  readonly owner: string;
  readonly instances: number;
  readonly unhealthy: number;
  readonly budget?: { readonly used: number; readonly limit: number; readonly windowStartMs?: number };
  readonly inFlight: number;
  readonly lastRestartMs?: number;
  readonly hold?: { readonly why: string; readonly untilMs?: number };
  readonly breaker?: unknown;
}

/** The explanation. */
export interface Explanation {
  readonly atMs: number;
  readonly checks: readonly ExplainedCheck[];
  readonly brakes: readonly ExplainedBrakes[];
  readonly openClaims: readonly {
    readonly task: string;
    readonly action: string;
    readonly outcome: string;
    readonly claimedAtMs: number;
  }[];
  readonly history: readonly HistoryEntry[];
  readonly failures: readonly FailureEntry[];
  /** Said where nothing fits the question. */
  readonly note?: string;
}

const HISTORY_LINES = 500;

/** Explains. Throws `ReadFailure` when Consul or the table cannot be read. */
export async function explain(
  watcher: Watcher,
  bad: readonly UnhealthyCheck[],
  request: ExplainRequest,
): Promise<Explanation> {
  const { deps, memory } = watcher;
  const named = request.service === undefined ? [] : await deps.consul.listChecks(request.service);
  const known = new Set(bad.map(checkKey));
  // Healthy checks take part only where their service is named: all others would be the whole estate.
  const answer = { checks: [...bad, ...named.filter((check) => !known.has(checkKey(check)))] };
  const decision = await decidePass(watcher, answer, { dryRun: true });
  const judged = decision.judged.filter((one) => isAsked(one, request));
  const checks = judged.map((one) => explained(one, decision, watcher));
  const owners = new Set(checks.flatMap(({ task }) => task.owner ?? []));
  const tasks = new Set(checks.flatMap(({ task }) => task.id ?? []));
  if (request.task !== undefined) tasks.add(shortTask(request.task));
  const claims = [...memory.services.values()].flatMap((service) => service.claims);
  const history = await deps.state.recentHistory(HISTORY_LINES);
  return {
    atMs: decision.nowMs,
    checks,
    brakes: [...owners].flatMap((owner) => brakesOf(owner, decision, watcher)),
    openClaims: claims
      .filter(({ taskArn }) => tasks.has(shortTask(taskArn)))
      .map(({ taskArn, action, outcome, claimedAtMs }) => ({ task: shortTask(taskArn), action, outcome, claimedAtMs })),
    history: history.filter(({ detail }) => isOfHistory(detail, tasks, owners, request)),
    failures: decision.failures.map(asFailure),
    ...(checks.length > 0 ? {} : { note: NOTHING }),
  };
}

const NOTHING =
  'no unhealthy or watched check fits; name the Consul service to see its healthy ones, too, or look at the history';

function isAsked({ subject }: Judged, { task, service, check }: ExplainRequest): boolean {
  const { ref } = subject.sighting;
  const arn = subject.mapping.kind === 'mapped' ? subject.mapping.taskArn : '';
  return (
    (task === undefined || arn === task || (arn !== '' && shortTask(arn) === shortTask(task))) &&
    (service === undefined || subject.service === service || ref.serviceName === service) &&
    (check === undefined || ref.checkId === check || ref.checkName === check)
  );
}

function explained(one: Judged, decision: Decision, { memory, settings }: Watcher): ExplainedCheck {
  const { subject, state } = one;
  const { mapping, sighting, resolved } = subject;
  const policy = resolved?.policy ?? settings.defaults;
  const facts = mapping.kind === 'mapped' ? memory.tasks.get(mapping.taskArn)?.task : undefined;
  const startedAtMs = facts?.startedAtMs ?? state?.startedAtMs;
  const limitMs = timeLimitMs(policy, sighting.intervalMs);
  const countedFromMs = state?.streak?.countedFromMs;
  const refusal = refusalOf(one, decision.plan.refusals);
  return {
    check: sighting.ref.checkName,
    checkId: sighting.ref.checkId,
    node: sighting.ref.node,
    service: subject.service,
    status: sighting.status ?? 'absent',
    task: {
      how: mapping.kind === 'mapped' ? mapping.how : `${mapping.kind}: ${mapping.why}`,
      ...(mapping.kind === 'mapped' ? { id: shortTask(mapping.taskArn), cluster: mapping.cluster } : {}),
      ...(facts
        ? { lastStatus: facts.lastStatus, desiredStatus: facts.desiredStatus, owner: ownerKey(ownerOf(facts)) }
        : {}),
      ...(startedAtMs === undefined ? {} : { startedAtMs }),
    },
    policy: policyTable(one, settings.defaults),
    timer: {
      intervalMs: effectiveIntervalMs(policy, sighting.intervalMs),
      timeLimitMs: limitMs,
      ...(startedAtMs === undefined ? {} : { graceUntilMs: startedAtMs + policy.graceMs }),
      ...(state?.streak ? { unhealthySinceMs: state.streak.sinceMs } : {}),
      ...(countedFromMs === undefined ? {} : { dueAtMs: countedFromMs + limitMs }),
    },
    ...verdictOf(one, refusal, decision.plan.restarts),
    ...(refusal?.brakes ? { brakes: refusal.brakes } : {}),
  };
}

function policyTable({ subject }: Judged, defaults: object): ExplainedCheck['policy'] {
  const { resolved, problems } = subject;
  if (!resolved) return { invalid: { value: problems.join('; '), from: 'meta' } };
  const origins: Readonly<Record<string, string | undefined>> = resolved.origins;
  return Object.fromEntries(
    Object.entries({ ...defaults, ...resolved.policy }).map(([field, value]) => [
      field,
      { value, from: origins[field] ?? 'default' },
    ]),
  );
}

function refusalOf(one: Judged, refusals: readonly Refusal[]): Refusal | undefined {
  return refusals.find(({ task }) => task.due.includes(one));
}

function verdictOf(one: Judged, refusal: Refusal | undefined, restarts: readonly PlannedRestart[]) {
  const { finding } = one;
  const reason = refusal ?? finding;
  const untilMs = 'untilMs' in reason ? reason.untilMs : undefined;
  const why = 'why' in reason ? reason.why : undefined;
  const more = { ...(why === undefined ? {} : { why }), ...(untilMs === undefined ? {} : { untilMs }) };
  if (refusal) return { verdict: refusal.reason, ...more };
  if (finding.kind === 'due') {
    const planned = restarts.find(({ tasks }) => tasks.some(({ due }) => due.includes(one)));
    return { verdict: planned ? 'restart' : 'ecs-error', ...(planned ? { why: planned.action } : {}) };
  }
  return { verdict: 'reason' in finding ? finding.reason : finding.kind, ...more };
}

function brakesOf(owner: string, { plan, nowMs }: Decision, { memory }: Watcher): ExplainedBrakes[] {
  const facts = plan.facts.get(owner);
  const state: ServiceState['brakes'] | undefined = facts?.state ?? memory.services.get(owner)?.brakes;
  if (!state && !facts) return [];
  const estateHold = memory.estate.state.hold;
  const hold = isHeld(estateHold, nowMs) ? estateHold : isHeld(state?.hold, nowMs) ? state?.hold : undefined;
  return [
    {
      owner,
      instances: facts?.instances ?? 0,
      unhealthy: facts?.unhealthy.filter(({ inGrace }) => !inGrace).length ?? 0,
      ...budgetOf(facts, state),
      inFlight: state?.inFlight.length ?? 0,
      ...(state?.lastRestartMs === undefined ? {} : { lastRestartMs: state.lastRestartMs }),
      ...(hold ? { hold } : {}),
      ...(state?.breaker ? { breaker: state.breaker } : {}),
    },
  ];
}

function budgetOf(facts: ServiceFacts | undefined, state: ServiceState['brakes'] | undefined) {
  if (!facts?.brakes.restart) return {};
  const { budget } = state ?? {};
  return {
    budget: {
      used: budget?.used ?? 0,
      limit: budgetLimit(facts.brakes.restart, facts.instances),
      ...(budget ? { windowStartMs: budget.windowStartMs } : {}),
    },
  };
}

function isOfHistory(
  detail: HistoryEntry['detail'],
  tasks: ReadonlySet<string>,
  owners: ReadonlySet<string>,
  request: ExplainRequest,
): boolean {
  if (tasks.has(String(detail.task)) || owners.has(String(detail.target))) return true;
  return request.service !== undefined && detail.service === request.service;
}
