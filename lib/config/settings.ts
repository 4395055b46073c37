/**
 * Settings from the environment. Either all of them are right, or there is a list of everything that is wrong: no pass
 * runs on a half-valid configuration (C42). A variable that is set to the empty text counts as not set.
 */
import type { Policy } from '../check-restart/policy.ts';
import type { AllowList } from '../proxies/allow-list.ts';
import { DEFAULT_PROXY_SETTINGS, type ProxySettings } from '../proxies/settings.ts';
import { notAllowed, notAllowedHidden } from './problem.ts';
import type { SecretSource } from './secret-source.ts';
import type { Setting, SettingValues } from './settings-table.ts';
import { SETTINGS } from './settings-table.ts';

/** Everything that the functions are told from outside. Durations in milliseconds. */
export interface Settings {
  readonly consul: ConsulSettings;
  /** KV key of the policy document. */
  readonly policyKey: string;
  /** Service Meta keys that name an instance's task. */
  readonly metaKeys: { readonly taskArn: string; readonly taskId: string; readonly cluster: string };
  /** Globs of what may be restarted; an empty list allows nothing. Services: `NAME` or `CLUSTER/NAME`. */
  readonly allowed: { readonly clusters: readonly string[]; readonly services: readonly string[] };
  readonly dryRun: boolean;
  /** Name of the cluster of tasks that are named without one. */
  readonly defaultCluster?: string;
  readonly requireAddress: boolean;
  readonly defaultPolicy: Policy;
  /** `null`: a streak ages by all of the time between two sightings. */
  readonly maxObservationGapMs: number | null;
  readonly settleMs: number;
  /** 0 = one pass. */
  readonly windowMs: number;
  /** Per cluster; `null` = no cap. */
  readonly restartsPerMinute: number | null;
  /** Absent: the function's own account. */
  readonly accountId?: string;
  readonly region: string;
  readonly tableName: string;
  /** `null` = nothing is published. */
  readonly eventBusName: string | null;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly proxies: ProxyPart;
  /** Absent: nobody can be woken; the schedule comes every minute. */
  readonly wakeUpQueueUrl?: string;
}

/** What reconcile-proxies is told; watch-checks knows its tasks by the same `startedBy`. */
export interface ProxyPart {
  readonly startedBy: string;
  readonly allow: AllowList;
  /** KV path below which the documents are. */
  readonly keyPrefix: string;
  /** KV key of the defaults. */
  readonly defaultsKey: string;
  readonly settings: ProxySettings;
}

/** How Consul is reached. */
export interface ConsulSettings {
  /** At least one, as `scheme://host[:port]`. */
  readonly addresses: readonly string[];
  readonly token?: SecretSource;
  /** Instead of a token: Consul login with the AWS IAM auth method. */
  readonly login?: { readonly authMethod: string; readonly serverId?: string };
  readonly tls: {
    readonly ca?: SecretSource;
    /** Always both or neither. */
    readonly client?: { readonly cert: SecretSource; readonly key: SecretSource };
    readonly serverName?: string;
    /** False: any certificate is accepted. */
    readonly verify: boolean;
  };
  readonly datacenter?: string;
  readonly namespace?: string;
  readonly partition?: string;
}

/** Environment variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings, or everything that is wrong with them. */
export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Thrown by whoever cannot go on without settings; lists every problem. Safe to log. */
export class InvalidSettings extends Error {
  readonly code = 'invalid-settings';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`${problems.length} invalid setting${problems.length === 1 ? '' : 's'}:\n${problems.join('\n')}`);
    this.name = 'InvalidSettings';
    this.problems = problems;
  }
}

/** Reads and checks all settings; names every problem at once, never the value of a secret. */
export function readSettings(env: Environment): SettingsResult {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) => {
    const read = readOne(name, setting, env[name]);
    if ('problem' in read) problems.push(read.problem);
    return [name, 'problem' in read ? undefined : read.value] as const;
  });
  problems.push(...conflicts(env), ...misspelt(env));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, settings: compose(Object.fromEntries(entries) as SettingValues) };
}

/** The settings of this very process. Throws `InvalidSettings`. */
export function settingsOfProcess(): Settings {
  const result = readSettings(process.env);
  if (!result.ok) throw new InvalidSettings(result.problems);
  return result.settings;
}

function readOne(
  name: string,
  setting: Setting<unknown>,
  given: string | undefined,
): { readonly value: unknown } | { readonly problem: string } {
  const { kind, fallback } = setting;
  const text = given === undefined || given === '' ? fallback : given;
  if (text === undefined) {
    return setting.required ? { problem: `${name}: not set; allowed: ${kind.allowed}` } : { value: undefined };
  }
  // Only lists have an empty default; it is not something that could be written.
  if (text === '') return { value: [] };
  const read = kind.read(text);
  if (read) return read;
  return { problem: kind.hidden(text) ? notAllowedHidden(name, kind.allowed) : notAllowed(name, text, kind.allowed) };
}

/** Each of these can be given literally, as a parameter or as a secret; twice is a contradiction. */
const SECRETS = ['CONSUL_HTTP_TOKEN', 'CONSUL_CACERT', 'CONSUL_CLIENT_CERT', 'CONSUL_CLIENT_KEY'] as const;

const LOGIN = 'CONSUL_LOGIN_AUTH_METHOD';
const LOGIN_SERVER_ID = 'CONSUL_LOGIN_SERVER_ID';

function sourcesGiven(env: Environment, name: string): string[] {
  return [name, `${name}_SSM_PARAMETER`, `${name}_SECRET`].filter((variable) => isSet(env, variable));
}

/** What contradicts itself, or is half of something. */
function conflicts(env: Environment): string[] {
  const twice = SECRETS.map((name) => sourcesGiven(env, name))
    .filter((given) => given.length > 1)
    .map((given) => `${given.join(', ')}: more than one of them is set; allowed: one of them`);
  return [...twice, ...loginConflicts(env), ...clientConflicts(env)];
}

function loginConflicts(env: Environment): string[] {
  if (!isSet(env, LOGIN)) {
    const isHalf = isSet(env, LOGIN_SERVER_ID);
    return isHalf ? [`${LOGIN}: not set, but ${LOGIN_SERVER_ID} is; allowed: both, or the auth method alone`] : [];
  }
  const token = sourcesGiven(env, 'CONSUL_HTTP_TOKEN');
  return token.length > 0 ? [`${[LOGIN, ...token].join(', ')}: a login and a token are set; allowed: one of them`] : [];
}

function clientConflicts(env: Environment): string[] {
  const cert = sourcesGiven(env, 'CONSUL_CLIENT_CERT');
  const key = sourcesGiven(env, 'CONSUL_CLIENT_KEY');
  if (cert.length > 0 === key.length > 0) return [];
  const [present, absent] = cert.length > 0 ? [cert, 'CONSUL_CLIENT_KEY'] : [key, 'CONSUL_CLIENT_CERT'];
  return [`${absent}: not set, but ${present.join(', ')} is; allowed: both or neither`];
}

/** A misspelt default would silently leave every check unwatched, so the prefix is ours alone. */
function misspelt(env: Environment): string[] {
  const allowed = Object.keys(SETTINGS).filter((name) => name.startsWith('CHECK_RESTART_'));
  return Object.keys(env)
    .filter((name) => name.startsWith('CHECK_RESTART_') && isSet(env, name) && !allowed.includes(name))
    .map((name) => `${name}: no such setting; allowed: ${allowed.join(', ')}`);
}

function isSet(env: Environment, name: string): boolean {
  return env[name] !== undefined && env[name] !== '';
}

function compose(v: SettingValues): Settings {
  return {
    consul: composeConsul(v),
    policyKey: v.POLICY_KEY,
    metaKeys: { taskArn: v.META_TASK_ARN, taskId: v.META_TASK_ID, cluster: v.META_CLUSTER },
    allowed: { clusters: v.ALLOWED_CLUSTERS, services: v.ALLOWED_SERVICES },
    dryRun: v.DRY_RUN,
    requireAddress: v.REQUIRE_ADDRESS,
    defaultPolicy: {
      limit: v.CHECK_RESTART_LIMIT,
      graceMs: v.CHECK_RESTART_GRACE,
      ignoreWarnings: v.CHECK_RESTART_IGNORE_WARNINGS,
      mode: v.CHECK_RESTART_MODE,
      action: v.CHECK_RESTART_ACTION,
      standalone: v.CHECK_RESTART_STANDALONE,
      protection: v.CHECK_RESTART_PROTECTION,
      ...given('intervalMs', v.CHECK_RESTART_INTERVAL),
    },
    maxObservationGapMs: v.MAX_OBSERVATION_GAP,
    settleMs: v.SETTLE,
    windowMs: v.WINDOW,
    restartsPerMinute: v.RESTARTS_PER_MINUTE,
    region: v.AWS_REGION,
    tableName: v.TABLE_NAME,
    eventBusName: v.EVENT_BUS_NAME,
    logLevel: v.LOG_LEVEL,
    proxies: composeProxies(v),
    ...given('wakeUpQueueUrl', v.WAKE_UP_QUEUE_URL),
    ...given('defaultCluster', v.DEFAULT_CLUSTER),
    ...given('accountId', v.AWS_ACCOUNT_ID),
  };
}

function composeProxies(v: SettingValues): ProxyPart {
  const { stopCap, backoff } = DEFAULT_PROXY_SETTINGS;
  const { PROXY_STOP_SHARE: share, PROXY_STOP_MINIMUM: atLeast } = v;
  return {
    startedBy: v.PROXY_STARTED_BY,
    allow: {
      families: v.PROXY_FAMILIES,
      clusters: v.PROXY_CLUSTERS,
      commands: v.PROXY_COMMANDS,
      services: v.PROXY_SERVICES,
    },
    keyPrefix: v.PROXY_KEY_PREFIX,
    defaultsKey: v.PROXY_DEFAULTS_KEY,
    settings: {
      ...DEFAULT_PROXY_SETTINGS,
      removalDelayMs: v.PROXY_REMOVAL_DELAY,
      startPatienceMs: v.PROXY_START_PATIENCE,
      stopCap: share === null ? null : { windowMs: stopCap?.windowMs ?? 60_000, share, atLeast },
      backoff: { ...backoff, healthyUptimeMs: v.PROXY_HEALTHY_UPTIME },
    },
  };
}

function composeConsul(v: SettingValues): ConsulSettings {
  const cert = v.CONSUL_CLIENT_CERT ?? v.CONSUL_CLIENT_CERT_SSM_PARAMETER ?? v.CONSUL_CLIENT_CERT_SECRET;
  const authMethod = v.CONSUL_LOGIN_AUTH_METHOD;
  const key = v.CONSUL_CLIENT_KEY ?? v.CONSUL_CLIENT_KEY_SSM_PARAMETER ?? v.CONSUL_CLIENT_KEY_SECRET;
  return {
    addresses: v.CONSUL_HTTP_ADDR,
    ...given('token', v.CONSUL_HTTP_TOKEN ?? v.CONSUL_HTTP_TOKEN_SSM_PARAMETER ?? v.CONSUL_HTTP_TOKEN_SECRET),
    ...(authMethod === undefined ? {} : { login: { authMethod, ...given('serverId', v.CONSUL_LOGIN_SERVER_ID) } }),
    tls: {
      verify: v.CONSUL_HTTP_SSL_VERIFY,
      ...given('ca', v.CONSUL_CACERT ?? v.CONSUL_CACERT_SSM_PARAMETER ?? v.CONSUL_CACERT_SECRET),
      ...given('client', cert && key ? { cert, key } : undefined),
      ...given('serverName', v.CONSUL_TLS_SERVER_NAME),
    },
    ...given('datacenter', v.CONSUL_DATACENTER),
    ...given('namespace', v.CONSUL_NAMESPACE),
    ...given('partition', v.CONSUL_PARTITION),
  };
}

function given<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: T });
}
