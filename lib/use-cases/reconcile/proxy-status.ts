/**
 * `status` of proxies: what each does and why, and what is wrong and how to mend it. Everything outside is asked once;
 * nothing is touched or written.
 */
import { formatDurationMs } from '../../check-restart/duration.ts';
import type { ReadFailure } from '../../ports.ts';
import { isTemporaryFailure } from '../../proxies/backoff.ts';
import { type DeclaredProxy, readDeclarations } from '../../proxies/declaration.ts';
import type { OwnTask } from '../../proxies/own-task.ts';
import { isLive } from '../../proxies/own-task.ts';
import type { ProxyState } from '../../proxies/proxy-state.ts';
import type { RunState } from '../../proxies/run-state.ts';
import { describeProblem } from '../../proxies/shape.ts';
import type { StoredProxies } from '../../proxy-ports.ts';
import { asFailure, isReadFailure } from '../failure.ts';
import type { StatusProblem } from '../status.ts';
import { readTasks } from './read-world.ts';
import type { ReconcileDeps, ReconcileSettings } from './reconcile-types.ts';

/** One proxy. */
export interface ProxyRow {
  readonly proxyId: string;
  readonly phase: string;
  readonly reason: string;
  /** Absent where what is declared could not be read. */
  readonly declared?: 'yes' | 'no' | 'invalid';
  readonly launches: number;
  readonly exits: number;
  readonly nextAttemptMs?: number;
  readonly lastEnd?: ProxyState['lastEnd'];
  readonly task?: {
    readonly taskArn: string;
    readonly cluster: string;
    readonly startedAtMs?: number;
    /** As ECS says now; absent where it was not asked, or does not know it. */
    readonly lastStatus?: string;
  };
  readonly taskDefinition?: string;
}

/** The state of the whole. */
export interface ProxyStatus {
  /** `OK`, or the number of problems. */
  readonly status: string;
  readonly runState: RunState;
  readonly lastReconcile: { readonly atMs?: number; readonly age?: string };
  readonly proxies: readonly ProxyRow[];
  readonly problems: readonly StatusProblem[];
  readonly notes: readonly string[];
}

/** The schedule reconciles every minute; an older one means that it does not. */
const OVERDUE_MS = 3 * 60_000;

interface Findings {
  readonly problems: StatusProblem[];
  readonly notes: string[];
}

/** Asks, and reports. Never throws for an outside system's failure. */
export async function proxyStatus(deps: ReconcileDeps, settings: ReconcileSettings): Promise<ProxyStatus> {
  const findings: Findings = { problems: [], notes: [] };
  const stored = await attempt(() => deps.proxies.loadProxies(), findings);
  const sources = await attempt(() => deps.declarations.readDeclarations(), findings);
  const declared = sources && readDeclarations(sources, settings.rules, deps.hash);
  const states = new Map((stored?.proxies ?? []).map(({ state }) => [state.proxyId, state]));
  const read = declared
    ? ({ read: 'good', proxies: declared } as const)
    : ({ read: 'doubtful', why: 'not read' } as const);
  const { tasks, failures } = await readTasks(deps, settings, states, read);
  for (const failure of failures) note(findings, failure);
  lookAtState(deps, stored, findings);
  lookAtSettings(settings, declared, findings);
  const isUnused = stored?.proxies.length === 0 && declared?.length === 0 && !tasks.tasks.some(isLive);
  lookAtAllowList(settings, isUnused, findings);
  lookAtProxies([...states.values()], declared ?? [], tasks.tasks, findings);
  const { problems, notes } = findings;
  const atMs = stored?.control.lastStartMs;
  return {
    status: problems.length === 0 ? 'OK' : `${problems.length} problem${problems.length === 1 ? '' : 's'}`,
    runState: stored?.control.runState ?? { phase: 'running', kill: false },
    lastReconcile: atMs === undefined ? {} : { atMs, age: formatDurationMs(Math.max(0, deps.clock.nowMs() - atMs)) },
    proxies: rowsOf(states, declared, tasks.tasks),
    problems,
    notes,
  };
}

async function attempt<T>(ask: () => Promise<T>, findings: Findings): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    note(findings, isReadFailure(error));
    return undefined;
  }
}

function note({ problems }: Findings, failure: ReadFailure): void {
  const { system, code, message } = asFailure(failure);
  const remedies: Readonly<Record<string, string>> = {
    'consul forbidden': "check the ACL token: it needs key_prefix read on the proxies' documents (README)",
    'consul unreachable': 'check CONSUL_HTTP_ADDR, the security groups and the route from the function to Consul',
    'consul filtered': 'the ACL token sees a part only: give it node_prefix, service_prefix and key_prefix read',
    'ecs forbidden': "the function's role may not ask: name the cluster in the allow-list and deploy again",
    'state forbidden': "the function's role may not use the table: deploy the stack again",
  };
  const problem = `${system}: ${message}`;
  if (problems.some((one) => one.problem === problem)) return;
  problems.push({ problem, remedy: remedies[`${system} ${code}`] ?? 'try again; if it stays, see the runbook' });
}

function lookAtState(deps: ReconcileDeps, stored: StoredProxies | undefined, { problems, notes }: Findings): void {
  if (stored === undefined) return;
  for (const { key, problem } of stored.unreadable) {
    const remedy = 'deploy the version that wrote it, or delete the item; what it held is rebuilt from ECS and Consul';
    problems.push({ problem: `the item ${key} of the table is not understood: ${problem}`, remedy });
  }
  const { runState, lastStartMs } = stored.control;
  if (runState.phase !== 'running') {
    const what = runState.kill ? 'proxies are killed' : 'proxies are left as they are';
    problems.push({ problem: `the run state is ${runState.phase}: ${what}`, remedy: '{"action":"run"} begins anew' });
  }
  if (lastStartMs === undefined) notes.push('there has been no reconcile yet');
  else if (deps.clock.nowMs() - lastStartMs > OVERDUE_MS) {
    problems.push({
      problem: `the last reconcile was ${formatDurationMs(deps.clock.nowMs() - lastStartMs)} ago`,
      remedy: 'see whether the schedule is enabled, and what the function logs under pass-failed',
    });
  }
}

function lookAtSettings(
  { watch }: ReconcileSettings,
  declared: readonly DeclaredProxy[] | undefined,
  { notes }: Findings,
): void {
  if (declared?.length === 0)
    notes.push('nothing is declared: no service has the tag managed-proxy, and KV holds no document');
  if (watch.dryRun) notes.push('dry run is on: reconciles are planned and reported, nothing is started or stopped');
}

/** Empty is the default, and right for a deployment that has no proxies; what cannot be read may be anything. */
function lookAtAllowList(
  { rules: { allow } }: ReconcileSettings,
  isUnused: boolean,
  { problems, notes }: Findings,
): void {
  if (allow.clusters.length > 0 && allow.families.length + allow.services.length > 0) return;
  if (isUnused) {
    notes.push('no proxies are declared; allow-lists are empty');
    return;
  }
  const what = allow.clusters.length === 0 ? 'clusters' : 'task definition families';
  problems.push({
    problem: `no proxy may be started: the allow-list of ${what} is empty`,
    remedy: 'name clusters, families and commands (globs) in the stage parameters of the proxies',
  });
}

function lookAtProxies(
  states: readonly ProxyState[],
  declared: readonly DeclaredProxy[],
  tasks: readonly OwnTask[],
  { problems }: Findings,
): void {
  for (const entry of declared) {
    if (entry.usable) continue;
    const problem = `${entry.proxyId}: ${entry.origin}: ${entry.problems.map(describeProblem).join('; ')}`;
    problems.push({ problem, remedy: 'mend the declaration; what runs under its ID is kept until then' });
  }
  for (const { proxyId, stop, reason, lastEnd } of states) {
    if (stop?.outcome === 'failed') {
      const problem = `${proxyId}: its task ${stop.taskArn} could not be stopped (${stop.tries} tries): ${stop.problem ?? ''}`;
      problems.push({ problem, remedy: 'it is tried again; see the runbook, "proxy-stop-failed"' });
    }
    if (reason === 'launch-failed') {
      const isTemporary = isTemporaryFailure(lastEnd?.reason ?? '');
      const remedy = isTemporary ? 'it is tried again with backoff' : 'see the runbook, "proxy-launch-refused"';
      problems.push({ problem: `${proxyId}: the last launch failed: ${lastEnd?.reason ?? 'no reason'}`, remedy });
    }
  }
  const known = new Set(states.flatMap(({ task }) => (task ? [task.taskArn] : [])));
  for (const task of tasks) {
    if (task.proxyId !== undefined || known.has(task.taskArn) || !isLive(task)) continue;
    const problem = `${task.taskArn} was started by us, but does not say for which proxy`;
    problems.push({ problem, remedy: 'stop it by hand, if nobody needs it' });
  }
}

function rowsOf(
  states: ReadonlyMap<string, ProxyState>,
  declared: readonly DeclaredProxy[] | undefined,
  tasks: readonly OwnTask[],
): readonly ProxyRow[] {
  const entries = new Map((declared ?? []).map((entry) => [entry.proxyId, entry]));
  const seen = new Map(tasks.map((task) => [task.taskArn, task]));
  const ids = [...new Set([...states.keys(), ...entries.keys()])].sort();
  return ids.map((proxyId) => {
    const entry = entries.get(proxyId);
    const word = entry === undefined ? 'no' : entry.usable ? 'yes' : 'invalid';
    return { proxyId, ...(declared ? { declared: word } : {}), ...rowOf(states.get(proxyId), seen) };
  });
}

function rowOf(state: ProxyState | undefined, seen: ReadonlyMap<string, OwnTask>): Omit<ProxyRow, 'proxyId'> {
  if (state === undefined) return { phase: 'idle', reason: 'not-seen-yet', launches: 0, exits: 0 };
  const { phase, reason, launches, exits, nextAttemptMs, lastEnd, task, spec } = state;
  const lastStatus = task && seen.get(task.taskArn)?.lastStatus;
  return {
    phase,
    reason,
    launches,
    exits,
    ...(nextAttemptMs === undefined ? {} : { nextAttemptMs }),
    ...(lastEnd === undefined ? {} : { lastEnd }),
    ...(spec?.taskDefinition === undefined ? {} : { taskDefinition: spec.taskDefinition }),
    ...(task === undefined ? {} : { task: taskOf(task, lastStatus) }),
  };
}

function taskOf(task: NonNullable<ProxyState['task']>, lastStatus: string | undefined): NonNullable<ProxyRow['task']> {
  const { taskArn, cluster, startedAtMs } = task;
  return {
    taskArn,
    cluster,
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...(lastStatus === undefined ? {} : { lastStatus }),
  };
}
