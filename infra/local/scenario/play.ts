/** Plays a scenario through the real use cases: each pass is a cold start that knows only what the table holds. */
import { NO_ESTATE_BRAKES, NO_SERVICE_BRAKES } from '../../../lib/brakes/settings.ts';
import { formatDurationMs } from '../../../lib/check-restart/duration.ts';
import { DEFAULT_POLICY } from '../../../lib/check-restart/policy.ts';
import { parsePolicyDocument } from '../../../lib/config/policy-document.ts';
import { createEcsClient } from '../../../lib/ecs/client.ts';
import { createEcsPort } from '../../../lib/ecs/ecs-port.ts';
import { passByHand } from '../../../lib/use-cases/watch.ts';
import type { PassReport, WatchDeps, WatchSettings } from '../../../lib/use-cases/watch-types.ts';
import { requestHandler } from '../ecs-double/request-handler.ts';
import { MemoryState } from '../memory-state.ts';
import { RecordingEvents, RecordingTelemetry } from '../recording-telemetry.ts';
import type { Scenario } from './schema.ts';
import { EPOCH_MS, ScenarioWorld } from './world.ts';

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

/** Plays one scenario from its beginning to its end. */
export async function playScenario(scenario: Scenario, fallbackName: string): Promise<PlayedScenario> {
  const world = new ScenarioWorld(scenario);
  const deps = depsOf(world);
  const settings = settingsOf(scenario);
  const reports: PassReport[] = [];
  const pollMs = scenario.poll ?? 1000;
  for (let atMs = pollMs; atMs <= scenario.duration; atMs += pollMs) {
    world.advanceTo(atMs);
    reports.push(await passByHand(deps, settings, { dryRun: false, endsAtMs: Number.POSITIVE_INFINITY }));
  }
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
    proxies: {},
  };
  return scenario.expect === undefined ? played : { ...played, met: isMet(scenario.expect, played) };
}

function since(atMs: number): string {
  return formatDurationMs(atMs - EPOCH_MS);
}

function depsOf(world: ScenarioWorld): WatchDeps {
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
    parsePolicy: (text) => {
      const parsed = parsePolicyDocument(text);
      return parsed.ok ? { ok: true, value: parsed.document } : parsed;
    },
    parseMeta: () => ({ ok: true, value: {} }),
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
    proxyStartedBy: 'ecs-check-restart',
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
