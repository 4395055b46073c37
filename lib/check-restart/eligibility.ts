/**
 * Whether ECS's own view allows a due restart. Every doubt has its own reason word; the order is from "it is not there"
 * over "it is not ours" to "not now", so that the reason given is the one to mend first.
 */
import type { EcsService, EcsTask, TaskProtection } from './ecs-facts.ts';
import { globMatches } from './glob.ts';
import type { Action, Policy } from './policy.ts';
import type { Reason } from './reason.ts';
import { clusterName } from './task-arn.ts';

/** What ECS said about one task in this pass. */
export interface TaskFacts {
  /** `undefined` = MISSING. */
  readonly task: EcsTask | undefined;
  /** Of a service task; `undefined` where DescribeServices does not know it. */
  readonly service: EcsService | undefined;
  readonly protection: TaskProtection;
}

/** What the deployment allows, and what the registration claims. */
export interface EligibilityContext {
  readonly policy: Pick<Policy, 'action' | 'standalone' | 'protection'>;
  /** The instance's registered address; empty where it has none. */
  readonly address: string;
  /** Refuse addresses that prove nothing: empty, loopback. */
  readonly requireAddress: boolean;
  /** Globs on `NAME`, or on `CLUSTER/NAME` where they have a slash; empty = none. */
  readonly allowedServices: readonly string[];
  /** `startedBy` of the proxies that reconcile-proxies runs; `null` where proxies themselves are judged. */
  readonly proxyStartedBy: string | null;
  readonly nowMs: number;
}

/** Eligible with the action that ECS can carry out, or the reason why not. */
export type Eligibility =
  | { readonly eligible: true; readonly action: Action }
  | { readonly eligible: false; readonly reason: Reason; readonly why: string };

/** The scheduler's message when it throttles a service whose tasks keep failing; younger than this it still counts. */
const IMPAIRED_FOR_MS = 15 * 60_000;
const IMPAIRED = /unable to consistently start tasks successfully/i;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost|0\.0\.0\.0|::)$/i;
const IPV6 = /^[0-9a-f:.]*:[0-9a-f:.]*$/i;

/** What a task belongs to; `proxy` where reconcile-proxies judges its own. */
export type OwnerKind = 'service' | 'family' | 'proxy';

/** Where claims and brakes of a task belong: its ECS service, or cluster and family of a stand-alone one. */
export function ownerOf(task: EcsTask): {
  readonly kind: OwnerKind;
  readonly cluster: string;
  readonly name: string;
} {
  const cluster = clusterName(task.clusterArn) ?? task.clusterArn;
  if (task.proxyId !== undefined) return { kind: 'proxy', cluster, name: task.proxyId };
  const group = task.group ?? '';
  // Anybody may set `group` in RunTask; only the service scheduler sets `startedBy` to ecs-svc/… (C31).
  if (group.startsWith('service:') && task.startedBy?.startsWith('ecs-svc/')) {
    return { kind: 'service', cluster, name: group.slice('service:'.length) };
  }
  const family = task.taskDefinitionArn.split('/').at(-1)?.split(':')[0] ?? '';
  return { kind: 'family', cluster, name: family };
}

/** The key of a service item: `CLUSTER/service/NAME`, `CLUSTER/family/NAME`, `CLUSTER/proxy/ID`. */
export function ownerKey(owner: { readonly kind: string; readonly cluster: string; readonly name: string }): string {
  return `${owner.cluster}/${owner.kind}/${owner.name}`;
}

/** Cluster and name of a service item's key, `CLUSTER/service/NAME` or `CLUSTER/family/NAME`. */
export function parseOwnerKey(key: string): {
  readonly cluster: string;
  readonly kind: OwnerKind;
  readonly ownerName: string;
} {
  const [cluster = '', kind, ...name] = key.split('/');
  return { cluster, kind: kind === 'service' || kind === 'proxy' ? kind : 'family', ownerName: name.join('/') };
}

/** Marks proxies of any deployment that leaves the setting as `serverless.yml` or the code has it. */
const ANY_STAGE = /^ecs-check-restart(?:\/|$)/;

/**
 * True for a proxy, which a reconciler judges and nobody else: of ours, or of another stage in the same cluster.
 * `null` sets nothing aside.
 */
export function isSetAside({ startedBy }: Pick<EcsTask, 'startedBy'>, proxyStartedBy: string | null): boolean {
  if (proxyStartedBy === null || startedBy === undefined) return false;
  return startedBy === proxyStartedBy || ANY_STAGE.test(startedBy);
}

/** Decides from fresh facts; reads nothing and changes nothing. */
export function eligibility(facts: TaskFacts, context: EligibilityContext): Eligibility {
  const { task } = facts;
  if (!task) return no('task-not-found', 'ECS does not know the task: a leftover registration');
  return (
    ofTask(task, context) ??
    ofOwner(task, facts.service, context) ??
    ofAgent(task) ??
    ofProtection(facts.protection, task, context) ?? {
      eligible: true,
      action: actionFor(context.policy.action, facts.service),
    }
  );
}

function ofTask(task: EcsTask, context: EligibilityContext): Eligibility | undefined {
  if (isSetAside(task, context.proxyStartedBy)) return no('proxy', 'a proxy task: reconcile-proxies judges it');
  if (task.lastStatus === 'STOPPED') return no('already-stopped', 'the task has stopped: a leftover registration');
  if (task.desiredStatus === 'STOPPED') return no('task-stopping', 'ECS is stopping the task already');
  if (task.lastStatus !== 'RUNNING' || task.desiredStatus !== 'RUNNING') {
    return no('not-running', `the task is ${task.lastStatus}, wanted ${task.desiredStatus}`);
  }
  const address = canonicalAddress(context.address);
  const provesNothing = address === '' || LOOPBACK.test(address);
  if (provesNothing && context.requireAddress) return no('ambiguous', 'the instance registered no address to verify');
  if (!provesNothing && task.awsvpc && !task.addresses.map(canonicalAddress).includes(address)) {
    return no('ambiguous', 'the task does not own the address that the instance registered');
  }
  return undefined;
}

/** IPv6 has many spellings of one address, and a registration may use any; everything else is itself. */
function canonicalAddress(text: string): string {
  const url = `http://[${text}]/`;
  return IPV6.test(text) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : text;
}

/**
 * A glob with a slash speaks of `CLUSTER/NAME`, one without of `NAME` only: since `*` is any text, `web*` would otherwise
 * allow every service of a cluster named `web-test`.
 */
function isAllowed(globs: readonly string[], owner: { readonly cluster: string; readonly name: string }): boolean {
  return globs.some((glob) => globMatches(glob, glob.includes('/') ? `${owner.cluster}/${owner.name}` : owner.name));
}

function ofOwner(task: EcsTask, service: EcsService | undefined, context: EligibilityContext): Eligibility | undefined {
  const owner = ownerOf(task);
  // Whoever started it has the allow-list of its own, and replaces it.
  if (owner.kind === 'proxy') return undefined;
  if (!isAllowed(context.allowedServices, owner)) {
    return no('foreign-task', `${owner.kind} "${owner.name}" is not on the list of allowed services`);
  }
  if (owner.kind === 'family') {
    return context.policy.standalone === 'skip'
      ? no('standalone', 'the task belongs to no service: nothing would replace it')
      : undefined;
  }
  if (!service) return no('service-impaired', 'ECS does not know the service of the task: nothing would replace it');
  if (service.status !== 'ACTIVE') return no('service-impaired', `the service is ${service.status}`);
  if (isDeploying(service)) return no('deploying', 'a deployment of the service is under way');
  const throttled = service.events.some(
    ({ atMs, message }) => context.nowMs - atMs < IMPAIRED_FOR_MS && IMPAIRED.test(message),
  );
  return throttled
    ? no('service-impaired', 'the scheduler reports that it cannot start tasks of the service')
    : undefined;
}

/** True while more than one deployment or task set exists, or the only one is in progress. */
export function isDeploying(service: Pick<EcsService, 'deployments' | 'taskSets'>): boolean {
  const primary = service.deployments.find(({ status }) => status === 'PRIMARY');
  const live = service.deployments.filter(({ status }) => status !== 'INACTIVE');
  return live.length > 1 || service.taskSets > 1 || primary?.rolloutState === 'IN_PROGRESS';
}

function ofAgent(task: EcsTask): Eligibility | undefined {
  return task.connectivity === 'DISCONNECTED'
    ? no('agent-disconnected', "the task's container agent is disconnected")
    : undefined;
}

function ofProtection(protection: TaskProtection, task: EcsTask, context: EligibilityContext): Eligibility | undefined {
  if (context.policy.protection === 'ignore' || ownerOf(task).kind !== 'service') return undefined;
  if (protection === 'missing') return no('task-not-found', 'ECS does not know the task');
  if (protection === 'unprotected') return undefined;
  return no('protected', protection === 'unknown' ? 'task protection could not be read' : 'the task is protected');
}

/** A forced deployment exists only with the ECS controller; the others get their task stopped (C30). */
function actionFor(action: Action, service: EcsService | undefined): Action {
  return service?.deploymentController === 'ECS' ? action : 'stop-task';
}

function no(reason: Reason, why: string): Eligibility {
  return { eligible: false, reason, why };
}
