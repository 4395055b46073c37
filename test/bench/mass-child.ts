/**
 * Child process: passes over an estate in which everything is unhealthy and due, with the real Consul adapter and
 * telemetry. ECS answers at once and stops what it is told to; the table takes every check and keeps the rest in memory.
 */
import { MemoryState } from '../../infra/local/memory-state.ts';
import { mergeEstateBrakes, NO_ESTATE_BRAKES, NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import type { EcsService, EcsTask } from '../../lib/check-restart/ecs-facts.ts';
import type { EcsPort, UnhealthyWatch } from '../../lib/ports.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';
import { createTelemetry } from '../../lib/telemetry/telemetry.ts';
import { policyInForce } from '../../lib/use-cases/policy-in-force.ts';
import { runPass } from '../../lib/use-cases/run-pass.ts';
import { rememberedFrom } from '../../lib/use-cases/watch-memory.ts';
import type { WatchSettings } from '../../lib/use-cases/watch-types.ts';
import type { Watcher } from '../../lib/use-cases/watcher.ts';
import { CLUSTER, SETTINGS, wire } from '../e2e/watch-stage.ts';
import { peakMb } from './estate-messages.ts';
import { type MassMeasured, type MassTask, serviceOf } from './mass-messages.ts';

const NOWHERE = 'http://127.0.0.1:9';
const RUNS_FOR_MS = 3_600_000;
const never = new AbortController().signal;

void main();

async function main(): Promise<void> {
  const { consulUrl, passes, perMinute }: MassTask = JSON.parse(process.argv[2] ?? '{}');
  const telemetry = createTelemetry({ serviceName: 'bench', logLevel: 'info', redactor: createRedactor() });
  const state = new MemoryState();
  // Ten thousand items are the table's to keep, not the function's.
  state.saveCheck = async () => 'saved';
  const wired = wire({ consulUrl, ecsUrl: NOWHERE, state, telemetry });
  const deps = { ...wired.deps, ecs: atOnce() };
  // Breakers off: the cap alone holds back.
  const estate = mergeEstateBrakes(NO_ESTATE_BRAKES, { perMinute });
  const settings: WatchSettings = { ...SETTINGS, brakes: { service: NO_SERVICE_BRAKES, estate } };
  const memory = rememberedFrom(await deps.state.load());
  const { document } = await policyInForce(deps, settings, memory, { save: true });
  const watcher: Watcher = { deps, settings, memory, document };
  const watch = deps.consul.watchUnhealthy({ warnings: true });
  const measured: { restarts: number; skipped: number; reasons: string[]; ms: number }[] = [];
  for (let n = 0; n < passes; n += 1) measured.push(await onePass(watcher, watch));
  telemetry.flush();
  await watch.close();
  await wired.close();
  const answer: MassMeasured = { passes: measured, peakMb: await peakMb() };
  process.send?.(answer);
  process.disconnect?.();
}

async function onePass(watcher: Watcher, watch: UnhealthyWatch) {
  const startMs = performance.now();
  const report = await runPass(watcher, () => watch.read(never), { dryRun: false, mayClaim: async () => true });
  if (!report.ok || report.failures.length > 0) throw new Error(`the pass failed: ${JSON.stringify(report.failures)}`);
  return {
    restarts: report.restarts.length,
    skipped: report.skipped.length,
    reasons: [...new Set(report.skipped.map(({ reason }) => reason))],
    ms: performance.now() - startMs,
  };
}

/** Everything runs, for an hour, in services of ten that are settled. */
function atOnce(): EcsPort {
  const startedAtMs = Date.now() - RUNS_FOR_MS;
  const clusterArn = `arn:aws:ecs:eu-west-1:123456789012:cluster/${CLUSTER}`;
  const task = (arn: string): EcsTask => ({
    arn,
    clusterArn,
    lastStatus: 'RUNNING',
    desiredStatus: 'RUNNING',
    startedAtMs,
    startedBy: 'ecs-svc/1',
    group: `service:${serviceOf(arn)}`,
    taskDefinitionArn: 'arn:aws:ecs:eu-west-1:123456789012:task-definition/web:1',
    awsvpc: false,
    addresses: [],
    hostPorts: [],
  });
  const service = (name: string): EcsService => ({
    arn: `arn:aws:ecs:eu-west-1:123456789012:service/${CLUSTER}/${name}`,
    name,
    clusterArn,
    status: 'ACTIVE',
    desiredCount: 10,
    runningCount: 10,
    deploymentController: 'ECS',
    deployments: [
      { id: 'ecs-svc/1', status: 'PRIMARY', rolloutState: 'COMPLETED', desiredCount: 10, runningCount: 10 },
    ],
    taskSets: 0,
    events: [],
  });
  return {
    describeTasks: async (_, tasks) => ({ tasks: new Map(tasks.map((arn) => [arn, task(arn)])), missing: new Set() }),
    describeServices: async (_, names) => new Map(names.map((name) => [name, service(name)])),
    taskProtection: async (_, tasks) => new Map(tasks.map((arn) => [arn, 'unprotected' as const])),
    listTasks: async () => [],
    listServices: async () => [],
    stopTask: async () => ({ outcome: 'accepted' }),
    forceNewDeployment: async () => ({ outcome: 'accepted' }),
  };
}
