/** Plays a scenario through the real use cases: each pass is a cold start that knows only what the table holds. */
import { NO_ESTATE_BRAKES, NO_SERVICE_BRAKES } from '../../../lib/brakes/settings.ts';
import { formatDurationMs } from '../../../lib/check-restart/duration.ts';
import { DEFAULT_POLICY } from '../../../lib/check-restart/policy.ts';
import { parsePolicyDocument } from '../../../lib/config/policy-document.ts';
import { createEcsClient } from '../../../lib/ecs/client.ts';
import { createEcsPort } from '../../../lib/ecs/ecs-port.ts';
import { createProxyEcsPort } from '../../../lib/ecs/proxy-ecs-port.ts';
import { ReadFailure } from '../../../lib/ports.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../../lib/proxies/settings.ts';
import { reconcile } from '../../../lib/use-cases/reconcile/reconcile.ts';
import type {
  ReconcileDeps,
  ReconcileReport,
  ReconcileSettings,
} from '../../../lib/use-cases/reconcile/reconcile-types.ts';
import { passByHand } from '../../../lib/use-cases/watch.ts';
import type { PassReport, WatchSettings } from '../../../lib/use-cases/watch-types.ts';
import { requestHandler } from '../ecs-double/request-handler.ts';
import { MemoryProxyState } from '../memory-proxy-state.ts';
import { MemoryState } from '../memory-state.ts';
import { RecordingEvents, RecordingTelemetry } from '../recording-telemetry.ts';
import { sha256 } from './proxies.ts';
import type { Scenario } from './schema.ts';
import { EPOCH_MS, ScenarioWorld, STARTED_BY } from './world.ts';

/** A restart, told by role. Instants are durations since the beginning. */
export interface PlayedRestart {
  readonly task: string;
  readonly service: string;
  readonly check: string;
  readonly at: string;
  readonly action: string;
}

/** A due check that was not restarted. */
export interface PlayedSkip {
  readonly task: string;
  readonly check: string;
  readonly at: string;
  readonly reason: string;
}

/** What the product did. `met` is there when the scenario expects something. */
export interface PlayedScenario {
  readonly name: string;
  readonly restarts: readonly PlayedRestart[];
  readonly skipped: readonly PlayedSkip[];
  readonly proxies: Readonly<
    Record<string, { readonly launches: readonly string[]; readonly stops: readonly string[] }>
  >;
  readonly met?: boolean;
}

const PARTITION = 'aws';
const REGION = 'eu-west-1';
const ACCOUNT = '123456789012';

/** A pass of either function. */
type Report = Pick<PassReport, 'atMs' | 'restarts' | 'skipped'> & { readonly actions?: ReconcileReport['actions'] };

/** Plays one scenario from its beginning to its end. */
export async function playScenario(scenario: Scenario, fallbackName: string): Promise<PlayedScenario> {
  const world = new ScenarioWorld(scenario);
  const reports = await runPasses(world, depsOf(world), scenario);
  const played = {
    name: scenario.name ?? fallbackName,
    restarts: reports.flatMap(({ restarts, atMs }) =>
      restarts.map(({ task, service, check, action }) => ({
        task: world.roleOf(task),
        service,
        check,
        at: since(atMs),
        action,
      })),
    ),
    skipped: reports.flatMap(({ skipped, atMs }) =>
      skipped.map(({ task, check, reason }) => ({
        task: task ? world.roleOf(task) : '',
        check,
        at: since(atMs),
        reason,
      })),
    ),
    proxies: Object.fromEntries(world.proxies.ids.map((id) => [id, playedProxy(id, reports)])),
  };
  return scenario.expect === undefined ? played : { ...played, met: isMet(scenario.expect, played) };
}

/** The watcher passes at every poll; proxies are reconciled then, and whenever one of their tasks ends. */
async function runPasses(world: ScenarioWorld, deps: ReconcileDeps, scenario: Scenario): Promise<readonly Report[]> {
  const watch = settingsOf(scenario);
  const settings = reconcileSettingsOf(scenario, watch);
  const reports: Report[] = [];
  const endsAtMs = Number.POSITIVE_INFINITY;
  const pollMs = scenario.poll ?? 1000;
  const hasProxies = world.proxies.ids.length > 0;
  const isWatching = world.roles.size > 0 || (scenario.checks ?? []).length > 0;
  let pollAtMs = pollMs;
  while (pollAtMs <= scenario.duration) {
    const nextMs = Math.min(pollAtMs, hasProxies ? (world.nextAtMs ?? pollAtMs) : pollAtMs);
    world.advanceTo(nextMs);
    const isPoll = nextMs === pollAtMs;
    if (isPoll) {
      pollAtMs += pollMs;
      if (isWatching) reports.push(...(await watchOnce(deps, watch)));
    }
    let isDue = world.proxies.takeEvents() || isPoll;
    while (isDue && hasProxies) {
      const result = await reconcile(deps, settings, { holder: 'scenario', endsAtMs });
      if (result.outcome === 'done') reports.push(result);
      // A stop, or a launch that exits at once, is an event of this very instant.
      world.advanceTo(nextMs);
      isDue = world.proxies.takeEvents();
    }
  }
  return reports;
}

/** A pass that cannot even read its policy has not happened. */
async function watchOnce(deps: ReconcileDeps, watch: WatchSettings): Promise<readonly Report[]> {
  try {
    const report = await passByHand(deps, watch, { dryRun: false, endsAtMs: Number.POSITIVE_INFINITY });
    // What it leaves to the reconciler is decided there, in the next pass of the same instant.
    return [{ ...report, skipped: report.skipped.filter(({ reason }) => reason !== 'proxy') }];
  } catch (error) {
    if (error instanceof ReadFailure) return [];
    throw error;
  }
}

function playedProxy(id: string, reports: readonly Report[]): PlayedScenario['proxies'][string] {
  const instants = (kind: 'start' | 'stop') =>
    reports.flatMap(({ actions = [], atMs }) =>
      actions
        .filter((action) => action.kind === kind && action.proxyId === id && action.outcome === 'done')
        .map(() => since(atMs)),
    );
  return { launches: instants('start'), stops: instants('stop') };
}

function since(atMs: number): string {
  return formatDurationMs(atMs - EPOCH_MS);
}

function depsOf(world: ScenarioWorld): ReconcileDeps {
  const clock = { nowMs: () => world.nowMs(), sleepUntil: async () => {} };
  const client = createEcsClient({
    region: REGION,
    requestHandler: requestHandler(world.ecs),
    credentials: { accessKeyId: 'scenario', secretAccessKey: 'scenario' },
  });
  return {
    consul: world.consul(),
    ecs: createEcsPort({ client, clock }),
    state: new MemoryState(),
    events: new RecordingEvents(),
    telemetry: new RecordingTelemetry(),
    clock,
    declarations: world.declarations(),
    proxyEcs: createProxyEcsPort({ client, clock, startedBy: STARTED_BY }),
    proxies: new MemoryProxyState(),
    health: new MemoryState(),
    // A wait that ends between two passes is served by the next one.
    wakeUps: { wakeUp: async () => {} },
    hash: sha256,
    parsePolicy: (text) => {
      const parsed = parsePolicyDocument(text);
      return parsed.ok ? { ok: true, value: parsed.document } : parsed;
    },
    parseMeta: () => ({ ok: true, value: {} }),
  };
}

function reconcileSettingsOf({ removalDelay = 0 }: Scenario, watch: WatchSettings): ReconcileSettings {
  return {
    watch,
    proxies: { ...DEFAULT_PROXY_SETTINGS, removalDelayMs: removalDelay, stopCap: null },
    rules: { allow: { families: ['*'], clusters: ['*'], commands: ['*'], services: ['*'] } },
  };
}

/** Scenarios have open allow-lists, and no settling or gap unless they say so (scenario-format.md). */
function settingsOf(scenario: Scenario): WatchSettings {
  return {
    defaults: DEFAULT_POLICY,
    policyKey: 'ecs-check-restart/policy',
    maxObservationGapMs: scenario.maxObservationGap ?? null,
    settleMs: scenario.settle ?? 0,
    dryRun: false,
    mapping: {
      partition: PARTITION,
      region: REGION,
      account: ACCOUNT,
      metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
      allowedClusters: ['*'],
    },
    allowedServices: ['*'],
    requireAddress: false,
    proxyStartedBy: STARTED_BY,
    brakes: { service: NO_SERVICE_BRAKES, estate: NO_ESTATE_BRAKES },
  };
}

/** Compares instants by value: both sides have become milliseconds and back. */
function isMet(expect: NonNullable<Scenario['expect']>, played: Omit<PlayedScenario, 'met'>): boolean {
  const { restarts, restartCount, skipped, proxies } = expect;
  if (restartCount !== undefined && played.restarts.length !== restartCount) return false;
  if (
    restarts &&
    (restarts.length !== played.restarts.length || !restarts.every((one, at) => agrees(one, played.restarts[at])))
  ) {
    return false;
  }
  if (skipped && !skipped.every((one) => played.skipped.some((other) => agrees(one, other)))) return false;
  return Object.entries(proxies ?? {}).every(([id, { launches, stops }]) => {
    const own = played.proxies[id];
    return sameInstants(launches, own?.launches) && sameInstants(stops, own?.stops);
  });
}

function agrees(expected: { readonly at: number }, actual: { readonly at: string } | undefined): boolean {
  if (!actual) return false;
  return Object.entries(expected).every(([field, value]) => {
    const own: unknown = Reflect.get(actual, field);
    return own === (field === 'at' ? formatDurationMs(Number(value)) : value);
  });
}

function sameInstants(expected: readonly number[], actual: readonly string[] = []): boolean {
  return expected.length === actual.length && expected.every((atMs, at) => formatDurationMs(atMs) === actual[at]);
}
