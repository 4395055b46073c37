/**
 * `status`: whether the thing works, and if not, what is wrong and how to mend it, so that nobody begins with the logs.
 * It asks every outside system once, touches nothing and writes nothing.
 */
import { formatDurationMs } from '../check-restart/duration.ts';
import { countsWarnings } from '../check-restart/policy.ts';
import type { ConsulPort, ReadFailure, StoredState } from '../ports.ts';
import { asFailure, isReadFailure } from './failure.ts';
import { policyInForce } from './policy-in-force.ts';
import { look } from './visibility.ts';
import { rememberedFrom } from './watch-memory.ts';
import type { FailureEntry, PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** What is wrong, and what to do about it. */
export interface StatusProblem {
  readonly problem: string;
  readonly remedy: string;
}

/** The state of the whole. */
export interface StatusReport {
  /** `OK`, or the number of problems. */
  readonly status: string;
  readonly problems: readonly StatusProblem[];
  /** What is as it should be, but good to know: dry run on, nothing opted in. */
  readonly notes: readonly string[];
  readonly consul: { readonly reachable: boolean; readonly unhealthyChecks?: number; readonly services?: number };
  readonly lastGoodPass: { readonly atMs?: number; readonly age?: string };
  readonly trackedChecks: number;
  readonly streaks: number;
  readonly openClaims: readonly {
    readonly owner: string;
    readonly task: string;
    readonly action: string;
    readonly outcome: string;
  }[];
  readonly policy: { readonly source: string; readonly rules: number };
}

/** The window opens every minute; an older heartbeat than this means that it does not. */
const HEARTBEAT_MS = 3 * 60_000;
/** No task has this ID: ECS answers MISSING, if it may be asked and knows the cluster. */
const NO_TASK = '0'.repeat(32);

interface Findings {
  readonly problems: StatusProblem[];
  readonly notes: string[];
}

/** Asks, and reports. Never throws for an outside system's failure. */
export async function statusOf(deps: WatchDeps, settings: WatchSettings): Promise<StatusReport> {
  const findings: Findings = { problems: [], notes: [] };
  const stored = await attempt(() => deps.state.load(), findings);
  const memory = rememberedFrom(stored ?? { checks: [], services: [], unreadable: [] });
  const policy = await attempt(() => policyInForce(deps, settings, memory, { save: false }), findings);
  // What could not be read is nothing to mend in the document.
  if (policy?.unread) note(policy.unread, findings);
  for (const problem of policy?.unread ? [] : (policy?.problems ?? [])) {
    findings.problems.push({ problem, remedy: 'mend the policy document; until then the last good one is in force' });
  }
  const warnings = countsWarnings(settings.defaults, policy?.document.rules ?? []);
  const consul = await askConsul(deps.consul, warnings, findings);
  await askEcs(deps, settings, findings);
  lookAtState(deps, stored, findings);
  lookAtSettings(settings, policy?.document, findings);
  const { problems, notes } = findings;
  const atMs = stored?.heartbeat?.atMs;
  return {
    status: problems.length === 0 ? 'OK' : `${problems.length} problem${problems.length === 1 ? '' : 's'}`,
    problems,
    notes,
    consul,
    lastGoodPass: atMs === undefined ? {} : { atMs, age: formatDurationMs(Math.max(0, deps.clock.nowMs() - atMs)) },
    trackedChecks: memory.tracked.size,
    streaks: [...memory.tracked.values()].filter(({ current }) => current?.streak).length,
    openClaims: [...memory.services.values()].flatMap(({ key, claims }) =>
      claims.map(({ taskArn, action, outcome }) => ({ owner: key, task: taskArn, action, outcome })),
    ),
    policy: { source: policy?.source ?? 'unknown', rules: policy?.document.rules.length ?? 0 },
  };
}

/** Consul may fail once for the policy document and once for the checks: it is one thing to mend. */
function note(failure: ReadFailure, findings: Findings): void {
  const problem = `${failure.system}: ${failure.message}`;
  if (findings.problems.some((one) => one.problem === problem)) return;
  findings.problems.push({ problem, remedy: remedyOf(asFailure(failure)) });
}

async function attempt<T>(ask: () => Promise<T>, findings: Findings): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    note(isReadFailure(error), findings);
    return undefined;
  }
}

async function askConsul(consul: ConsulPort, warnings: boolean, findings: Findings): Promise<StatusReport['consul']> {
  const watch = consul.watchUnhealthy({ warnings });
  const abort = new AbortController();
  const answer = await attempt(() => watch.read(abort.signal), findings);
  await watch.close();
  if (!answer) return { reachable: false };
  const sight = await attempt(() => look(consul), findings);
  if (sight?.problem !== undefined) {
    findings.problems.push({ problem: sight.problem, remedy: remedyOf({ system: 'consul', code: 'filtered' }) });
  }
  const seen = sight === undefined ? {} : { services: sight.services };
  return { reachable: true, unhealthyChecks: answer.checks.length, ...seen };
}

async function askEcs(deps: WatchDeps, settings: WatchSettings, findings: Findings): Promise<void> {
  for (const cluster of settings.mapping.allowedClusters.filter((glob) => !/[*?]/.test(glob))) {
    await attempt(() => deps.ecs.describeTasks(cluster, [NO_TASK]), findings);
  }
}

function lookAtState(deps: WatchDeps, stored: StoredState | undefined, findings: Findings): void {
  if (!stored) return;
  for (const { key, problem } of stored.unreadable) {
    findings.problems.push({
      problem: `the item ${key} of the table is not understood: ${problem}`,
      remedy: 'deploy the version that wrote it, or delete the item; what it held is rebuilt from Consul and ECS',
    });
  }
  const atMs = stored.heartbeat?.atMs;
  if (atMs === undefined) {
    findings.notes.push('there has been no good pass yet');
  } else if (deps.clock.nowMs() - atMs > HEARTBEAT_MS) {
    findings.problems.push({
      problem: `the last good pass was ${formatDurationMs(deps.clock.nowMs() - atMs)} ago`,
      remedy: 'see whether the schedule is enabled, and what the function logs under pass-failed',
    });
  }
}

function lookAtSettings(settings: WatchSettings, document: PolicyDocument | undefined, findings: Findings): void {
  const { allowedClusters } = settings.mapping;
  if (allowedClusters.length === 0 || settings.allowedServices.length === 0) {
    findings.problems.push({
      problem: `nothing may be restarted: ${allowedClusters.length === 0 ? 'ALLOWED_CLUSTERS' : 'ALLOWED_SERVICES'} is empty`,
      remedy: 'name clusters and services (globs) in the stage parameters allowedClusters and allowedServices',
    });
  }
  if (settings.dryRun) findings.notes.push('dry run is on: restarts are decided and reported, none is issued');
  const watches = settings.defaults.limit > 0 || document?.rules.some(({ set }) => (set.limit ?? 0) > 0);
  if (!watches)
    findings.notes.push(
      'no default and no rule opts a service in: only services that do so in their own Meta are watched',
    );
}

function remedyOf({ system, code }: Pick<FailureEntry, 'system' | 'code'>): string {
  const remedies: Readonly<Record<string, string>> = {
    'consul forbidden': 'check the ACL token and its policy (README, "Consul ACL policy")',
    'consul unreachable': 'check CONSUL_HTTP_ADDR, the security groups and the route from the function to Consul',
    'consul timeout': 'check the security groups and the route from the function to Consul',
    'consul no-leader': 'Consul has no leader: look at its servers',
    'consul filtered':
      'give the ACL token the policy of the README ("Consul ACL policy"): it sees nothing, or a part only',
    'ecs forbidden': "the function's role may not ask: name the cluster in allowedClusters and deploy again",
    'state forbidden': "the function's role may not use the table: deploy the stack again",
  };
  return remedies[`${system} ${code}`] ?? 'try again; if it stays, see the runbook';
}
