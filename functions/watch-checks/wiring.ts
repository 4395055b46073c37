/**
 * The only place that makes clients and binds them to use cases. Nothing happens at import; the first invocation of a
 * process wires, later ones reuse what is wired (connections, cached secrets). What failed to wire is tried again.
 */
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { Context } from 'aws-lambda';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { type ConsulCredentials, consulCredentials, createSecretReader } from '../../lib/config/secrets.ts';
import { InvalidSettings, type Settings, settingsOfProcess } from '../../lib/config/settings.ts';
import { awsBearerToken } from '../../lib/consul/aws-bearer-token.ts';
import { type ConsulOptions, createConsulPort } from '../../lib/consul/consul-port.ts';
import { createDocumentClient } from '../../lib/dynamodb/client.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';
import { type EventPort, ReadFailure } from '../../lib/ports.ts';
import { createEventBridgeClient, createEventPublisher } from '../../lib/telemetry/event-bridge.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';
import { createTelemetry, type Telemetry } from '../../lib/telemetry/telemetry.ts';
import type { ExplainRequest, Explanation } from '../../lib/use-cases/explain.ts';
import { type HoldReport, type HoldRequest, type HoldTarget, hold, release } from '../../lib/use-cases/hold.ts';
import { say } from '../../lib/use-cases/say.ts';
import { type StatusReport, statusOf } from '../../lib/use-cases/status.ts';
import { explainByHand, passByHand, type WindowResult, watchWindow } from '../../lib/use-cases/watch.ts';
import type { WatchDeps, WatchSettings } from '../../lib/use-cases/watch-types.ts';

/** What the handler can do, bound to the real world. */
export interface Watch {
  readonly telemetry: Telemetry;
  window(request: { readonly holder: string; readonly remainingMs: number }): Promise<WindowResult>;
  pass(request: {
    readonly dryRun: boolean;
    readonly service?: string;
    readonly remainingMs: number;
  }): ReturnType<typeof passByHand>;
  status(): Promise<StatusReport>;
  explain(request: ExplainRequest): Promise<Explanation>;
  hold(request: HoldRequest): Promise<HoldReport>;
  release(target: HoldTarget): Promise<HoldReport>;
  /** Says what ended an invocation: the table, or a fault of ours. */
  failed(error: unknown): void;
}

/** `startedBy` of the tasks that reconcile-proxies runs; the watcher leaves them alone. */
export const PROXY_STARTED_BY = 'ecs-check-restart';

let wired: Promise<Watch> | undefined;

/** Wires once a process. Throws `InvalidSettings` or `SecretUnavailable`; neither holds a secret. */
export function wire(context: Pick<Context, 'functionName' | 'invokedFunctionArn'>): Promise<Watch> {
  wired ??= wireNow(context).catch((error: unknown) => {
    wired = undefined;
    // Nothing is wired that could say so, and the alarm filters on the code.
    const problems = error instanceof InvalidSettings ? error.problems : [String(error)];
    const telemetry = createTelemetry({
      serviceName: context.functionName,
      logLevel: 'info',
      redactor: createRedactor(),
    });
    say({ telemetry }, 'settings-invalid', { problems });
    telemetry.flush();
    throw error;
  });
  return wired;
}

async function wireNow(context: Pick<Context, 'functionName' | 'invokedFunctionArn'>): Promise<Watch> {
  const settings = settingsOfProcess();
  const where = whereabouts(settings, context.invokedFunctionArn);
  const redactor = createRedactor();
  const telemetry = createTelemetry({ serviceName: context.functionName, logLevel: settings.logLevel, redactor });
  const credentials = consulCredentials(settings.consul, createSecretReader());
  const token = tokenOf(settings, credentials, redactor.add);
  const { datacenter, namespace, partition } = settings.consul;
  const consul = createConsulPort({
    addresses: settings.consul.addresses,
    token,
    tls: await credentials.tls(),
    clock: systemClock,
    log: telemetry.log,
    ...(datacenter === undefined ? {} : { datacenter }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(partition === undefined ? {} : { partition }),
  });
  const { region, tableName } = settings;
  const deps = {
    consul,
    telemetry,
    clock: systemClock,
    ecs: createEcsPort({ client: createEcsClient({ region }), clock: systemClock }),
    state: createDynamoState({ client: createDocumentClient({ region }), table: tableName, clock: systemClock }),
    events: eventPort(settings, telemetry, redactor),
    parsePolicy: (text: string) => {
      const parsed = parsePolicyDocument(text);
      return parsed.ok ? ({ ok: true, value: parsed.document } as const) : parsed;
    },
    parseMeta: (meta: Readonly<Record<string, string>>) => {
      const parsed = parseMetaPolicy(meta);
      return parsed.ok ? ({ ok: true, value: parsed.part } as const) : parsed;
    },
  };
  return bind(deps, telemetry, watchSettings(settings, where), settings.windowMs);
}

function bind(deps: WatchDeps, telemetry: Telemetry, settings: WatchSettings, windowMs: number): Watch {
  const endsAtMs = (remainingMs: number) => systemClock.nowMs() + remainingMs;
  return {
    telemetry,
    window: ({ holder, remainingMs }) =>
      watchWindow(deps, settings, { holder, windowMs, endsAtMs: endsAtMs(remainingMs) }),
    pass: ({ dryRun, service, remainingMs }) =>
      passByHand(deps, settings, {
        dryRun,
        endsAtMs: endsAtMs(remainingMs),
        ...(service === undefined ? {} : { service }),
      }),
    status: () => statusOf(deps, settings),
    explain: (request) => explainByHand(deps, settings, request),
    hold: (request) => hold(deps, request),
    release: (target) => release(deps, target),
    failed: (error) => say(deps, error instanceof ReadFailure ? 'state-failed' : 'pass-failed', { error }),
  };
}

/** By login with the function's own credentials, or a token from where the settings say; the redactor knows it in time. */
function tokenOf(
  { consul: { login }, region }: Settings,
  credentials: ConsulCredentials,
  learn: (secret: string) => void,
): ConsulOptions['token'] {
  if (!login) return remembering(credentials, learn);
  const { authMethod, ...server } = login;
  const signer = { region, credentials: defaultProvider(), clock: systemClock, ...server };
  return { authMethod, learn, bearerToken: () => awsBearerToken(signer) };
}

/** Every token that is ever used is known to the redactor before it is sent. */
function remembering(credentials: ConsulCredentials, learn: (secret: string) => void): ConsulCredentials['token'] {
  const learned = async (token: Promise<string | undefined>) => {
    const text = await token;
    if (text !== undefined) learn(text);
    return text;
  };
  return {
    current: () => learned(credentials.token.current()),
    refetch: () => learned(credentials.token.refetch()),
  };
}

function eventPort(settings: Settings, telemetry: Telemetry, redactor: ReturnType<typeof createRedactor>): EventPort {
  if (settings.eventBusName === null) return { publish: async () => {} };
  const client = createEventBridgeClient({ region: settings.region });
  return createEventPublisher({ client, bus: settings.eventBusName, telemetry, redactor });
}

interface Whereabouts {
  readonly partition: string;
  readonly account: string;
}

/** Partition and account: the function's own ARN knows them; a local invocation has none. */
function whereabouts(settings: Settings, functionArn: string | undefined): Whereabouts {
  const [, partition = '', , , account = ''] = (functionArn ?? '').split(':');
  const own = /^\d{12}$/.test(account) ? account : undefined;
  const accountId = settings.accountId ?? own;
  if (accountId === undefined) {
    throw new InvalidSettings([
      'AWS_ACCOUNT_ID: not set, and this invocation has no function ARN; allowed: twelve digits',
    ]);
  }
  return { account: accountId, partition: own ? partition : partitionOf(settings.region) };
}

/** The partition of a region, by the prefixes that AWS documents. */
function partitionOf(region: string): string {
  const prefixes = { 'cn-': 'aws-cn', 'us-gov-': 'aws-us-gov', 'us-iso-': 'aws-iso', 'us-isob-': 'aws-iso-b' };
  const more = { 'eu-isoe-': 'aws-iso-e', 'us-isof-': 'aws-iso-f', 'eusc-': 'aws-eusc' };
  const found = Object.entries({ ...prefixes, ...more }).find(([prefix]) => region.startsWith(prefix));
  return found?.[1] ?? 'aws';
}

function watchSettings(settings: Settings, where: Whereabouts): WatchSettings {
  const { defaultCluster, metaKeys, allowed } = settings;
  return {
    defaults: settings.defaultPolicy,
    policyKey: settings.policyKey,
    maxObservationGapMs: settings.maxObservationGapMs,
    settleMs: settings.settleMs,
    dryRun: settings.dryRun,
    mapping: {
      ...where,
      region: settings.region,
      metaKeys,
      allowedClusters: allowed.clusters,
      ...(defaultCluster === undefined ? {} : { defaultCluster }),
    },
    allowedServices: allowed.services,
    requireAddress: settings.requireAddress,
    proxyStartedBy: PROXY_STARTED_BY,
    brakes: {
      service: DEFAULT_SERVICE_BRAKES,
      estate: { ...DEFAULT_ESTATE_BRAKES, perMinute: settings.restartsPerMinute },
    },
  };
}
