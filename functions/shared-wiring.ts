/**
 * What the wirings of both functions have in common: settings, telemetry, Consul, the table, ECS and events, and how a
 * function is wired once a process. Here and in the wirings alone clients are made.
 */
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { Context } from 'aws-lambda';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../lib/brakes/settings.ts';
import { systemClock } from '../lib/clock.ts';
import { parseMetaPolicy } from '../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../lib/config/policy-document.ts';
import { type ConsulCredentials, consulCredentials, createSecretReader } from '../lib/config/secrets.ts';
import { InvalidSettings, type Settings, settingsOfProcess } from '../lib/config/settings.ts';
import { awsBearerToken } from '../lib/consul/aws-bearer-token.ts';
import { type ConsulClient, createConsulClient } from '../lib/consul/client.ts';
import { type ConsulOptions, consulPortOn } from '../lib/consul/consul-port.ts';
import { createDocumentClient } from '../lib/dynamodb/client.ts';
import { createDynamoState } from '../lib/dynamodb/state.ts';
import type { TableOptions } from '../lib/dynamodb/table.ts';
import { createEcsClient } from '../lib/ecs/client.ts';
import { createEcsPort } from '../lib/ecs/ecs-port.ts';
import type { EventPort } from '../lib/ports.ts';
import type { WakeUpPort } from '../lib/proxy-ports.ts';
import { createSqsClient, createWakeUpPort } from '../lib/sqs/wake-up-port.ts';
import { createEventBridgeClient, createEventPublisher } from '../lib/telemetry/event-bridge.ts';
import { createRedactor, type Redactor } from '../lib/telemetry/redact.ts';
import { createTelemetry, type Telemetry } from '../lib/telemetry/telemetry.ts';
import { say } from '../lib/use-cases/say.ts';
import type { WatchDeps, WatchSettings } from '../lib/use-cases/watch-types.ts';

/** What of its context a function is wired by. */
export type Invoked = Pick<Context, 'functionName' | 'invokedFunctionArn'>;

/** What both functions are made of. */
export interface Shared {
  readonly settings: Settings;
  readonly where: Whereabouts;
  readonly telemetry: Telemetry;
  readonly deps: WatchDeps & { readonly wakeUps: WakeUpPort };
  readonly watchSettings: WatchSettings;
  /** For further adapters of the same systems. */
  readonly consulClient: ConsulClient;
  readonly ecsClient: ReturnType<typeof createEcsClient>;
  readonly tableOptions: TableOptions;
}

/**
 * A function's wiring. Nothing happens at import; the first invocation of a process wires, later ones reuse what is wired
 * (connections, cached secrets). What failed to wire is tried again. Throws `InvalidSettings` or `SecretUnavailable`;
 * neither holds a secret.
 */
export function wiredOnce<T>(bind: (shared: Shared) => T): (context: Invoked) => Promise<T> {
  let wired: Promise<T> | undefined;
  return (context) => {
    wired ??= wireShared(context)
      .then(bind)
      .catch((error: unknown) => {
        wired = undefined;
        tellSettings(context, error);
        throw error;
      });
    return wired;
  };
}

/** Nothing is wired that could say so, and the alarm filters on the code. */
function tellSettings({ functionName }: Invoked, error: unknown): void {
  const problems = error instanceof InvalidSettings ? error.problems : [String(error)];
  const telemetry = createTelemetry({ serviceName: functionName, logLevel: 'info', redactor: createRedactor() });
  say({ telemetry }, 'settings-invalid', { problems });
  telemetry.flush();
}

async function wireShared(context: Invoked): Promise<Shared> {
  const settings = settingsOfProcess();
  const where = whereabouts(settings, context.invokedFunctionArn);
  const redactor = createRedactor();
  const telemetry = createTelemetry({ serviceName: context.functionName, logLevel: settings.logLevel, redactor });
  const consulOptions = await consulOptionsOf(settings, telemetry, redactor);
  const consulClient = createConsulClient(consulOptions);
  const { region, tableName } = settings;
  const ecsClient = createEcsClient({ region });
  const tableOptions = { client: createDocumentClient({ region }), table: tableName, clock: systemClock };
  const deps = {
    consul: consulPortOn(consulClient, consulOptions),
    telemetry,
    clock: systemClock,
    ecs: createEcsPort({ client: ecsClient, clock: systemClock }),
    state: createDynamoState(tableOptions),
    events: eventPort(settings, telemetry, redactor),
    wakeUps: wakeUpPort(settings, telemetry),
    parsePolicy: (text: string) => {
      const parsed = parsePolicyDocument(text);
      return parsed.ok ? ({ ok: true, value: parsed.document } as const) : parsed;
    },
    parseMeta: (meta: Readonly<Record<string, string>>) => {
      const parsed = parseMetaPolicy(meta);
      return parsed.ok ? ({ ok: true, value: parsed.part } as const) : parsed;
    },
  };
  return {
    settings,
    where,
    telemetry,
    deps,
    watchSettings: watchSettings(settings, where),
    consulClient,
    ecsClient,
    tableOptions,
  };
}

async function consulOptionsOf(settings: Settings, telemetry: Telemetry, redactor: Redactor): Promise<ConsulOptions> {
  const { addresses, datacenter, namespace, partition } = settings.consul;
  const credentials = consulCredentials(settings.consul, createSecretReader());
  return {
    addresses,
    token: tokenOf(settings, credentials, redactor.add),
    tls: await credentials.tls(),
    clock: systemClock,
    log: telemetry.log,
    ...(datacenter === undefined ? {} : { datacenter }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(partition === undefined ? {} : { partition }),
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

function eventPort(settings: Settings, telemetry: Telemetry, redactor: Redactor): EventPort {
  if (settings.eventBusName === null) return { publish: async () => {} };
  const client = createEventBridgeClient({ region: settings.region });
  return createEventPublisher({ client, bus: settings.eventBusName, telemetry, redactor });
}

function wakeUpPort({ wakeUpQueueUrl: queueUrl, region }: Settings, telemetry: Telemetry): WakeUpPort {
  if (queueUrl === undefined) return { wakeUp: async () => {} };
  return createWakeUpPort({ client: createSqsClient({ region }), queueUrl, telemetry });
}

/** Where the function runs. */
export interface Whereabouts {
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
    proxyStartedBy: settings.proxies.startedBy,
    brakes: {
      service: DEFAULT_SERVICE_BRAKES,
      estate: { ...DEFAULT_ESTATE_BRAKES, perMinute: settings.restartsPerMinute },
    },
  };
}
