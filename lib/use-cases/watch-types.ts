/** What a pass of the watcher is given and what it returns. */
import type { Withholding } from '../brakes/facts.ts';
import type { EstateBrakes, EstateBrakesPart, ServiceBrakes, ServiceBrakesPart } from '../brakes/settings.ts';
import type { MappingContext } from '../check-restart/mapping.ts';
import type { Policy, PolicyPart, PolicyRule } from '../check-restart/policy.ts';
import type { Reason } from '../check-restart/reason.ts';
import type { Clock, ConsulPort, EcsPort, EventPort, ReadFailureCode, StatePort, TelemetryPort } from '../ports.ts';
import type { WakeUpPort } from '../proxy-ports.ts';

/** The policy document, parsed and valid. */
export interface PolicyDocument {
  readonly rules: readonly DocumentRule[];
  /** Brakes of the whole deployment; what it does not state is the deployment's own. */
  readonly brakes: EstateBrakesPart;
}

/** One rule: a policy for checks, and brakes for the ECS services behind them. */
export interface DocumentRule extends PolicyRule {
  readonly brakes: ServiceBrakesPart;
}

/** A parser's answer: the value, or every problem with its place. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Everything outside, and the two parsers of untrusted text. */
export interface WatchDeps {
  readonly consul: ConsulPort;
  readonly ecs: EcsPort;
  readonly state: StatePort;
  readonly events: EventPort;
  readonly telemetry: TelemetryPort;
  readonly clock: Clock;
  /** Queue of reconcile-proxies, where that is deployed: it is woken when a check of one of its tasks turns bad. */
  readonly wakeUps?: WakeUpPort;
  readonly parsePolicy: (text: string) => Parsed<PolicyDocument>;
  readonly parseMeta: (meta: Readonly<Record<string, string>>) => Parsed<PolicyPart>;
}

/** Settings of the deployment that a pass needs. */
export interface WatchSettings {
  readonly defaults: Policy;
  /** Consul KV key of the policy document. */
  readonly policyKey: string;
  /** `null` = a streak ages through all blindness, as in Nomad. */
  readonly maxObservationGapMs: number | null;
  readonly settleMs: number;
  /** `notify` for all. */
  readonly dryRun: boolean;
  readonly mapping: MappingContext;
  /** Globs on `NAME` or `CLUSTER/NAME`; empty = none. */
  readonly allowedServices: readonly string[];
  readonly requireAddress: boolean;
  /** `startedBy` of our own proxies; `null` where they themselves are judged. */
  readonly proxyStartedBy: string | null;
  /** Brakes where the policy document says nothing. */
  readonly brakes: { readonly service: ServiceBrakes; readonly estate: EstateBrakes };
}

/** What one pass may do. */
export interface PassOptions {
  /** Decide and report, write nothing at all: no state, no claim, no event. */
  readonly dryRun: boolean;
  /** Consul service to which the pass is confined; such a pass is no sighting of the others. */
  readonly service?: string;
  /** Asked before each claim; false = too late or the lease is lost: claim nothing more. */
  readonly mayClaim: () => Promise<boolean>;
}

/** One restart of this pass. */
export interface RestartEntry {
  readonly task: string;
  readonly cluster: string;
  /** Consul service whose policy decided. */
  readonly service: string;
  /** ECS service or family. */
  readonly owner: string;
  readonly check: string;
  readonly atMs: number;
  readonly action: 'stop-task' | 'force-new-deployment';
  /** `unanswered`: carried out again after 30 s unless ECS shows that it took effect. */
  readonly outcome: 'accepted' | 'already-gone' | 'unanswered';
}

/** A check that was due, or bad with a task that cannot be told, and was not restarted. */
export interface SkippedEntry {
  readonly task?: string;
  readonly service: string;
  readonly check: string;
  readonly atMs: number;
  readonly reason: Reason;
  readonly why?: string;
  readonly untilMs?: number;
  /** All brakes that apply, the first one being the reason. */
  readonly brakes?: readonly Withholding[];
}

/** Any bad check that was seen, with the reason why nothing happened, or `restarted`. */
export interface CheckEntry {
  readonly node: string;
  readonly check: string;
  readonly service: string;
  readonly status: string;
  readonly task?: string;
  readonly reason: Reason | 'restarted' | 'absent';
  readonly untilMs?: number;
}

/** Why a pass, or a part of it, failed. */
export interface FailureEntry {
  readonly system: 'consul' | 'ecs' | 'state';
  readonly code: ReadFailureCode | string;
  readonly message: string;
}

/** One leftover registration. */
export interface Leftover {
  readonly service: string;
  readonly node: string;
  readonly serviceId: string;
  readonly task: string;
  /** For a shell, with CONSUL_HTTP_ADDR and CONSUL_HTTP_TOKEN set. */
  readonly remedy: string;
}

/** What one pass saw and did. */
export interface PassReport {
  readonly atMs: number;
  /** False: nothing could be concluded; no state changed. */
  readonly ok: boolean;
  readonly failures: readonly FailureEntry[];
  readonly restarts: readonly RestartEntry[];
  readonly skipped: readonly SkippedEntry[];
  readonly checks: readonly CheckEntry[];
  /** Problems of registrations and policy that a person has to mend. */
  readonly problems: readonly string[];
  /** Registrations of tasks that are gone, with the command that removes each. */
  readonly leftovers: readonly Leftover[];
  /** When something may change by itself. */
  readonly nextDeadlineMs?: number;
}
