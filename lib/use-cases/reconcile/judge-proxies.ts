/**
 * Health of proxies: their checks are judged here, by the watcher's own code over `proxy-watcher.ts`. What is due and not
 * held back becomes a request to the plan; the stop itself is the plan's.
 *
 *   judge → requests → (plan) → charge → (intent stored, StopTask) → finish: remember, report, tell
 */
import { countsWarnings } from '../../check-restart/policy.ts';
import { stopReason } from '../../check-restart/stop-reason.ts';
import type { Heartbeat, StoredState, UnhealthyAnswer } from '../../ports.ts';
import type { RestartRequest } from '../../proxies/decide.ts';
import type { RestartResult } from '../act-and-record.ts';
import type { Refused } from '../claim.ts';
import { type Decision, decidePass } from '../decide-pass.ts';
import type { PlannedRestart, Refusal } from '../plan-restarts.ts';
import { policyInForce } from '../policy-in-force.ts';
import type { Outcome } from '../report-pass.ts';
import { say } from '../say.ts';
import { heartbeatOf, saveHeartbeat } from '../watch.ts';
import { rememberedFrom } from '../watch-memory.ts';
import { finishPass, plannedOnly } from '../watch-pass.ts';
import type { PassReport } from '../watch-types.ts';
import type { Watcher } from '../watcher.ts';
import type { CarriedOut } from './carry-out.ts';
import { chargeRestart } from './charge-restart.ts';
import { judgeServiceProxies } from './judge-service-proxies.ts';
import {
  type JudgedTask,
  type JudgeInput,
  judgedTasks,
  ofProxies,
  proxyDeps,
  serviceProxies,
} from './proxy-watcher.ts';
import type { ReconcileDeps, ReconcileSettings } from './reconcile-types.ts';

/** The judgement of one reconcile. */
export interface ProxyHealth {
  readonly requests: readonly RestartRequest[];
  /** Reports of the reconciler, kept with the heartbeat: key → what was last told. */
  readonly reported: Map<string, string>;
  /** Charges the restart of a proxy whose stop is about to begin; what is returned stands against it. */
  charge(proxyId: string): Promise<Refused | undefined>;
  /** Keeps heartbeat and reports; the last thing that is done. */
  keep(): Promise<void>;
  /** Remembers and tells, given what was carried out. The second report is of proxies that are ECS services. */
  finish(
    done: readonly CarriedOut[],
    charged: ReadonlyMap<string, Refused | undefined>,
  ): Promise<readonly PassReport[]>;
}

/** Judges all proxies' checks. Throws `ReadFailure`; then nothing has changed. */
export async function judgeProxies(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  input: JudgeInput,
): Promise<ProxyHealth> {
  const tasks = judgedTasks(input.states.values(), input.tasks.tasks, settings.watch);
  const pass = await openPass(deps, settings, input, tasks);
  const { watcher, answer, loaded, stored } = pass;
  const first = await decidePass(watcher, ofProxies(answer, new Set(tasks.keys())), { dryRun: input.dryRun });
  const decision = await withoutAmbiguous(deps, first, tasks);
  const services = await judgeServiceProxies(deps, settings, { ...input, answer, stored, document: watcher.document });
  const planned = new Map(decision.plan.restarts.map((one) => [one.ownerName, one]));
  return {
    requests: [...planned].flatMap(([proxyId, one]) => requestOf(proxyId, one, tasks) ?? []),
    reported: watcher.memory.reported,
    charge: async (proxyId) => {
      const one = planned.get(proxyId);
      return one && chargeRestart(watcher, decision, one);
    },
    keep: () => saveHeartbeat(watcher.deps, watcher.memory, loaded),
    finish: async (done, charged) => {
      const outcomes = input.dryRun
        ? plannedOnly(decision.plan)
        : decision.plan.restarts.map((one): Outcome => ({ planned: one, result: resultOf(one, done, charged) }));
      const report = await finishPass(watcher, decision, outcomes, { dryRun: input.dryRun, mayClaim: input.mayAct });
      for (const [key, word] of services?.reported ?? []) watcher.memory.reported.set(key, word);
      return services === undefined ? [report] : [report, services.report];
    },
  };
}

interface OpenPass {
  readonly watcher: Watcher;
  readonly answer: UnhealthyAnswer;
  readonly stored: StoredState;
  readonly loaded: Heartbeat | undefined;
}

async function openPass(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  input: JudgeInput,
  tasks: ReadonlyMap<string, JudgedTask>,
): Promise<OpenPass> {
  const own = proxyDeps(deps, settings.watch, tasks, input.tasks.doubtfulClusters);
  const watch = {
    ...settings.watch,
    // Our own tasks are what is judged here, wherever the allow-list let them be started.
    proxyStartedBy: null,
    mapping: { ...settings.watch.mapping, allowedClusters: ['*'] },
  };
  const stored = await own.state.load();
  for (const { key, problem } of stored.unreadable) say(deps, 'unreadable-item', { key, problem });
  const memory = rememberedFrom(stored);
  const loaded = heartbeatOf(memory);
  // What is remembered of a task that is no proxy's any more says nothing: the next one starts afresh.
  const current = new Set([...tasks.values()].map(({ longArn }) => longArn));
  const services = serviceProxies(input.states.values());
  for (const [key, tracked] of memory.tracked) {
    if (services.has(tracked.ref.serviceId)) memory.tracked.delete(key);
    else if (tracked.current && !current.has(tracked.current.taskArn)) tracked.current = undefined;
  }
  const { document } = await policyInForce(own, watch, memory, { save: !input.dryRun });
  const answer = await readUnhealthy(own.consul, countsWarnings(watch.defaults, document.rules));
  const watcher = { deps: own, settings: watch, document, memory, considered: input.states.size };
  return { watcher, answer, stored, loaded };
}

async function readUnhealthy(consul: ReconcileDeps['consul'], warnings: boolean): Promise<UnhealthyAnswer> {
  const watch = consul.watchUnhealthy({ warnings });
  const abort = new AbortController();
  try {
    return await watch.read(abort.signal);
  } finally {
    await watch.close();
  }
}

/**
 * Service IDs are unique per node only: where two nodes have one of the proxy's ID, one of them is left over or somebody
 * else's, and which of them is bad says nothing about the task. Asked only of what would be restarted.
 */
async function withoutAmbiguous(
  deps: ReconcileDeps,
  decision: Decision,
  tasks: ReadonlyMap<string, JudgedTask>,
): Promise<Decision> {
  const restarts: PlannedRestart[] = [];
  const refusals: Refusal[] = [...decision.plan.refusals];
  const refuse = (one: PlannedRestart, reason: Refusal['reason'], why: string) =>
    refusals.push(...one.tasks.map((task) => ({ task, reason, why })));
  for (const one of decision.plan.restarts) {
    const ref = one.tasks[0]?.due[0]?.subject.sighting.ref;
    const checks = ref === undefined ? [] : await deps.consul.listChecks(ref.serviceName);
    const nodes = new Set(checks.filter(({ serviceId }) => serviceId === one.ownerName).map(({ node }) => node));
    if (nodes.size > 1) refuse(one, 'ambiguous', `${nodes.size} nodes have an instance with the proxy's ID`);
    else if (tasks.get(one.ownerName)?.isStopping) refuse(one, 'restart-in-flight', 'a stop is under way already');
    else restarts.push(one);
  }
  return { ...decision, plan: { ...decision.plan, restarts, refusals } };
}

function requestOf(
  proxyId: string,
  planned: PlannedRestart,
  tasks: ReadonlyMap<string, JudgedTask>,
): RestartRequest | undefined {
  const task = tasks.get(proxyId);
  const check = planned.tasks[0]?.due[0]?.subject.sighting.ref.checkName ?? '';
  return task && { proxyId, why: 'unhealthy', taskArn: task.taskArn, detail: stopReason(check) };
}

/** How a planned restart ended, from the stop that the plan made of it. */
function resultOf(
  { ownerName }: PlannedRestart,
  done: readonly CarriedOut[],
  charged: ReadonlyMap<string, Refused | undefined>,
): RestartResult {
  const stop = done.find(({ action }) => action.kind === 'stop' && action.proxyId === ownerName);
  if (stop === undefined) {
    const refused = charged.get(ownerName);
    if (refused) return { kind: 'refused', ...refused };
    const why = 'the reconciler did not stop it: its declaration is doubtful, or its state was not saved';
    return { kind: 'refused', reason: 'not-observed', why };
  }
  const { outcome } = stop;
  if (outcome.kind === 'stop-failed') return { kind: 'refused', reason: 'ecs-error', why: outcome.message };
  const ended = { 'stop-gone': 'already-gone', 'stop-unknown': 'unanswered' } as const;
  const word = outcome.kind === 'stop-gone' || outcome.kind === 'stop-unknown' ? ended[outcome.kind] : 'accepted';
  return { kind: 'acted', action: 'stop-task', outcome: word };
}
