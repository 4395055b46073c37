/**
 * Child process: the watcher's passes over the estate, with the real Consul adapter and telemetry; with ECS and table, or
 * without both. The first pass begins with nothing, as the first invocation of a deployment does; the next ones follow at
 * once, as in an open window.
 */
import { MemoryState } from '../../infra/local/memory-state.ts';
import { countsWarnings } from '../../lib/check-restart/policy.ts';
import type { DescribedTasks, UnhealthyWatch } from '../../lib/ports.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';
import { createTelemetry } from '../../lib/telemetry/telemetry.ts';
import { policyInForce } from '../../lib/use-cases/policy-in-force.ts';
import { runPass } from '../../lib/use-cases/run-pass.ts';
import { rememberedFrom } from '../../lib/use-cases/watch-memory.ts';
import type { WatchDeps } from '../../lib/use-cases/watch-types.ts';
import type { Watcher } from '../../lib/use-cases/watcher.ts';
import { SETTINGS, tableState, wire } from '../e2e/watch-stage.ts';
import { peakMb, taskOfChild, tell } from './estate-messages.ts';

/** A port that nobody listens on. */
const NOWHERE = 'http://127.0.0.1:9';
const RUNS_FOR_MS = 3_600_000;
const never = new AbortController().signal;
const telemetry = createTelemetry({ serviceName: 'bench', logLevel: 'info', redactor: createRedactor() });

void main();

async function main(): Promise<void> {
  const { consulUrl, ecsUrl, tableUrl, next } = taskOfChild();
  const state = tableUrl === undefined ? new MemoryState() : tableState(tableUrl);
  const wired = wire({ consulUrl, ecsUrl: ecsUrl ?? NOWHERE, state, telemetry });
  const ecs = { ...wired.deps.ecs, ...(ecsUrl === undefined ? { describeTasks: describeAtOnce } : {}) };
  const deps: WatchDeps = { ...wired.deps, ecs };
  const writes = spanOf((save) => {
    const { saveCheck } = state;
    state.saveCheck = (check) => save(saveCheck.call(state, check), 1);
  });
  const descriptions = spanOf((describe) => {
    const { describeTasks } = ecs;
    ecs.describeTasks = (cluster, tasks) => describe(describeTasks.call(ecs, cluster, tasks), tasks.length);
  });

  const startMs = performance.now();
  const memory = rememberedFrom(await deps.state.load());
  const policy = await policyInForce(deps, SETTINGS, memory, { save: true });
  const watcher: Watcher = { deps, settings: SETTINGS, memory, document: policy.document };
  const watch = deps.consul.watchUnhealthy({ warnings: countsWarnings(SETTINGS.defaults, policy.document.rules) });
  await pass(watcher, watch);
  const firstMs = performance.now() - startMs;

  const nextMs: number[] = [];
  for (let n = 0; n < next; n++) {
    const atMs = performance.now();
    await pass(watcher, watch);
    nextMs.push(performance.now() - atMs);
  }
  const loadStartMs = performance.now();
  await deps.state.load();
  const loadMs = performance.now() - loadStartMs;
  telemetry.flush();
  await watch.close();
  await wired.close();
  const tracked = [...memory.tracked.values()];
  tell({
    firstMs,
    nextMs,
    tracked: tracked.length,
    counting: tracked.filter(({ current }) => current?.streak).length,
    writes: writes().items,
    writesMs: writes().ms,
    described: descriptions().items,
    describeMs: descriptions().ms,
    loadMs,
    peakMb: await peakMb(),
  });
}

async function pass(watcher: Watcher, watch: UnhealthyWatch): Promise<void> {
  const report = await runPass(watcher, () => watch.read(never), { dryRun: false, mayClaim: async () => true });
  if (!report.ok || report.failures.length > 0 || report.restarts.length > 0) {
    throw new Error(`this was to be a pass that only counts: ${JSON.stringify(report.failures)}`);
  }
}

/** How long something was under way, from its first call to the end of its last, and for how many items. */
function spanOf(
  watch: (over: <Answer>(answer: Promise<Answer>, items: number) => Promise<Answer>) => void,
): () => { readonly ms: number; readonly items: number } {
  let firstAtMs: number | undefined;
  let lastAtMs = 0;
  let items = 0;
  watch(async (answer, count) => {
    firstAtMs ??= performance.now();
    const given = await answer;
    lastAtMs = performance.now();
    items += count;
    return given;
  });
  return () => ({ ms: lastAtMs - (firstAtMs ?? lastAtMs), items });
}

/** Everything that it is asked for runs, for an hour. */
async function describeAtOnce(cluster: string, tasks: readonly string[]): Promise<DescribedTasks> {
  const startedAtMs = Date.now() - RUNS_FOR_MS;
  const running = { lastStatus: 'RUNNING', desiredStatus: 'RUNNING', startedAtMs, awsvpc: false };
  const rest = { clusterArn: cluster, taskDefinitionArn: 'task-definition/web:1', addresses: [], hostPorts: [] };
  return { tasks: new Map(tasks.map((arn) => [arn, { arn, ...running, ...rest }])), missing: new Set() };
}
