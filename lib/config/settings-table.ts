/**
 * Every setting of both functions, once: this table reads the environment (`settings.ts`), prints the README's table
 * (`infra/settings-table.ts`) and is compared with `serverless.yml`. Defaults are written as they would be set, so that
 * they pass through the same reading as anything else.
 */
import { ACTIONS, MODES, PROTECTION, STANDALONE } from '../check-restart/policy.ts';
import type { Kind } from './setting-kinds.ts';
import {
  addresses,
  boolean,
  cluster,
  duration,
  globs,
  integer,
  jsonTexts,
  keyPath,
  literalSecret,
  oneOf,
  orOff,
  pattern,
  pem,
  percent,
  secretsManagerSecret,
  ssmParameter,
} from './setting-kinds.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;

/** Who sets a variable: `serverless.yml`, AWS Lambda itself, or a person at their own machine. */
export type SetBy = 'deployment' | 'lambda' | 'local';

/** Which functions read a setting; the others are deployed without it. */
export type UsedBy = 'both' | 'watch-checks' | 'reconcile-proxies';

/** One setting. `T` includes `undefined` where it may be left unset and has no default. */
export interface Setting<T> {
  readonly kind: Kind<T>;
  /** As it would be written; `undefined` = none. */
  readonly fallback: string | undefined;
  readonly required: boolean;
  readonly effect: string;
  readonly setBy: SetBy;
  readonly usedBy: UsedBy;
}

interface Row {
  readonly effect: string;
  readonly setBy?: SetBy;
}

const SET = { setBy: 'deployment', usedBy: 'both' } as const;

function required<T>(kind: Kind<T>, row: Row): Setting<T> {
  return { kind, fallback: undefined, required: true, ...SET, ...row };
}

function optional<T>(kind: Kind<T>, row: Row): Setting<T | undefined> {
  return { kind, fallback: undefined, required: false, ...SET, ...row };
}

function withDefault<T>(kind: Kind<T>, fallback: string, row: Row): Setting<T> {
  return { kind, fallback, required: false, ...SET, ...row };
}

/** Settings that one function alone reads. */
function only<const S extends Readonly<Record<string, Setting<unknown>>>>(usedBy: UsedBy, settings: S): S {
  return Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, { ...setting, usedBy }])) as S;
}

const consulName = pattern('name', /^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, `-` and `_`, at most 64');
const metaKey = pattern('name', /^[A-Za-z0-9_-]{1,128}$/, 'letters, digits, `-` and `_`, at most 128');

const clusterGlobs = globs(
  /^[A-Za-z0-9_*?-]{1,255}$/,
  'globs of cluster names (letters, digits, `-`, `_`, `*`, `?`), separated by commas',
);
const nameGlobs = globs(
  /^[A-Za-z0-9_*?-]{1,255}$/,
  'globs of names (letters, digits, `-`, `_`, `*`, `?`), separated by commas',
);

/** Where Consul is and how it is spoken to. The names are Consul's own where it has one. */
const CONSUL = {
  CONSUL_HTTP_ADDR: required(addresses, {
    effect: 'Consul servers or agents; later ones are asked when earlier ones fail',
  }),
  CONSUL_HTTP_TOKEN: optional(literalSecret, { effect: 'ACL token, literally: for local use only', setBy: 'local' }),
  CONSUL_HTTP_TOKEN_SSM_PARAMETER: optional(ssmParameter, { effect: 'ACL token, from a SecureString parameter' }),
  CONSUL_HTTP_TOKEN_SECRET: optional(secretsManagerSecret, { effect: 'ACL token, from Secrets Manager' }),
  CONSUL_LOGIN_AUTH_METHOD: optional(
    pattern('name', /^[A-Za-z0-9_-]{1,128}$/, 'letters, digits, `-` and `_`, at most 128'),
    {
      effect:
        "instead of a token: the auth method (type `aws-iam`, with `MaxTokenTTL`) that gives one to the function's role",
    },
  ),
  CONSUL_LOGIN_SERVER_ID: optional(
    pattern('text', /^[\x21-\x7e]{1,255}$/, 'printable characters without spaces, at most 255'),
    { effect: '`ServerIDHeaderValue` of that auth method, where it has one' },
  ),
  CONSUL_CACERT: optional(pem, { effect: 'CA that signed the certificates of Consul' }),
  CONSUL_CACERT_SSM_PARAMETER: optional(ssmParameter, { effect: 'the same, from a parameter' }),
  CONSUL_CACERT_SECRET: optional(secretsManagerSecret, { effect: 'the same, from Secrets Manager' }),
  CONSUL_CLIENT_CERT: optional(pem, { effect: 'client certificate, with `CONSUL_CLIENT_KEY`', setBy: 'local' }),
  CONSUL_CLIENT_CERT_SSM_PARAMETER: optional(ssmParameter, { effect: 'the same, from a parameter' }),
  CONSUL_CLIENT_CERT_SECRET: optional(secretsManagerSecret, { effect: 'the same, from Secrets Manager' }),
  CONSUL_CLIENT_KEY: optional(pem, { effect: 'private key of the client certificate', setBy: 'local' }),
  CONSUL_CLIENT_KEY_SSM_PARAMETER: optional(ssmParameter, { effect: 'the same, from a SecureString parameter' }),
  CONSUL_CLIENT_KEY_SECRET: optional(secretsManagerSecret, { effect: 'the same, from Secrets Manager' }),
  CONSUL_TLS_SERVER_NAME: optional(pattern('name', /^[A-Za-z0-9.-]{1,253}$/, 'a host name'), {
    effect: 'name that the certificate of Consul must have, where it is not the host of the address',
  }),
  CONSUL_HTTP_SSL_VERIFY: withDefault(boolean, 'true', {
    effect: '`false` accepts any certificate: the connection is then open to anyone in between, and each start warns',
  }),
  CONSUL_DATACENTER: optional(consulName, { effect: 'datacenter that is read; unset: that of the server asked' }),
  CONSUL_NAMESPACE: optional(consulName, { effect: 'namespace that is read (Enterprise)' }),
  CONSUL_PARTITION: optional(consulName, { effect: 'admin partition that is read (Enterprise)' }),
  POLICY_KEY: withDefault(keyPath, 'ecs-check-restart/policy', { effect: 'KV key of the policy document' }),
};

/** Which task a registration names, and which tasks may be touched at all. */
const TASKS = only('watch-checks', {
  META_TASK_ARN: withDefault(metaKey, 'task-arn', { effect: 'service Meta key that holds the task ARN' }),
  META_TASK_ID: withDefault(metaKey, 'task-id', { effect: 'service Meta key that holds the task ID' }),
  META_CLUSTER: withDefault(metaKey, 'ecs-cluster', {
    effect: 'service Meta key that holds the cluster of the task ID',
  }),
  ALLOWED_CLUSTERS: withDefault(clusterGlobs, '', { effect: 'clusters whose tasks may be restarted; empty = none' }),
  ALLOWED_SERVICES: withDefault(
    globs(
      /^(?:[A-Za-z0-9_*?-]{1,255}\/)?[A-Za-z0-9_*?-]{1,255}$/,
      'globs of `SERVICE` or `CLUSTER/SERVICE` (letters, digits, `-`, `_`, `*`, `?`), separated by commas',
    ),
    '',
    { effect: 'ECS services whose tasks may be restarted; empty = none' },
  ),
  DEFAULT_CLUSTER: optional(cluster, {
    effect: 'cluster of a task that its registration names by ID or short ARN only',
  }),
  REQUIRE_ADDRESS: withDefault(boolean, 'false', {
    effect: '`true`: an instance with an empty or loopback address is `ambiguous`',
  }),
});

/** Where it all is, and whether anything is done about it. */
const SCOPE = {
  DRY_RUN: withDefault(boolean, 'true', {
    effect: '`true`: decide and report, but restart, start and stop nothing',
  }),
  AWS_ACCOUNT_ID: optional(pattern('account', /^\d{12}$/, 'twelve digits'), {
    effect: "account whose tasks are ours; unset: the function's own",
    setBy: 'local',
  }),
  AWS_REGION: required(pattern('region', /^[a-z]{2,5}(?:-[a-z]+)+-\d+$/, 'a region such as `eu-west-1`'), {
    effect: 'region whose tasks are ours',
    setBy: 'lambda',
  }),
};

/** The defaults of every check's policy. */
const POLICY = {
  CHECK_RESTART_LIMIT: withDefault(integer(0, 1000), '0', { effect: 'default `limit`; 0 = not watched' }),
  CHECK_RESTART_INTERVAL: optional(
    duration({ minMs: 1, maxMs: WEEK_MS, allowed: 'a duration with a unit such as `10s`, `1ms` to `168h`' }),
    { effect: "default `interval`; unset: the check's own, else 30s" },
  ),
  CHECK_RESTART_GRACE: withDefault(
    duration({ minMs: 0, maxMs: WEEK_MS, allowed: 'a duration with a unit such as `90s`, `0s` to `168h`' }),
    '1s',
    { effect: "default `grace`, from the task's start" },
  ),
  CHECK_RESTART_IGNORE_WARNINGS: withDefault(boolean, 'false', { effect: 'default `ignoreWarnings`' }),
  CHECK_RESTART_MODE: withDefault(oneOf(MODES), 'restart', { effect: 'default `mode`' }),
  CHECK_RESTART_ACTION: withDefault(oneOf(ACTIONS), 'stop-task', { effect: 'default `action`' }),
  CHECK_RESTART_STANDALONE: withDefault(oneOf(STANDALONE), 'skip', { effect: 'default `standalone`' }),
  CHECK_RESTART_PROTECTION: withDefault(oneOf(PROTECTION), 'respect', { effect: 'default `protection`' }),
};

/** What proxies may be run, where they are declared, and how they are started and stopped. */
const PROXIES = {
  PROXY_STARTED_BY: withDefault(
    pattern('name', /^[A-Za-z0-9_/-]{1,128}$/, 'letters, digits, `-`, `_` and `/`, at most 128'),
    'ecs-check-restart',
    {
      effect:
        '`startedBy` of the tasks that reconcile-proxies runs: one for each deployment, and what runs under another is no longer its own',
    },
  ),
  ...only('reconcile-proxies', {
    PROXY_FAMILIES: withDefault(nameGlobs, '', {
      effect: 'families of task definitions that proxies may be run from; empty = none',
    }),
    PROXY_CLUSTERS: withDefault(clusterGlobs, '', { effect: 'clusters that proxies may be run in; empty = none' }),
    PROXY_COMMANDS: withDefault(
      jsonTexts(
        /^[^\p{Cc}]{1,4096}$/u,
        'a JSON list of globs of whole commands, their words joined by single spaces, such as `["envoy *"]`',
      ),
      '',
      { effect: "commands that proxies may be run with; empty = none but the task definition's own" },
    ),
    PROXY_SERVICES: withDefault(nameGlobs, '', {
      effect: 'ECS services that proxies with `execMode: service` may be; empty = none',
    }),
    PROXY_KEY_PREFIX: withDefault(keyPath, 'ecs-check-restart/proxies', {
      effect: 'KV path below which the documents of proxies are, each under its ID',
    }),
    PROXY_DEFAULTS_KEY: withDefault(keyPath, 'ecs-check-restart/proxy-defaults', {
      effect: 'KV key of the defaults of all proxies',
    }),
    PROXY_REMOVAL_DELAY: withDefault(
      duration({ minMs: 0, maxMs: 24 * HOUR_MS, allowed: 'a duration with a unit such as `30s`, `0s` to `24h`' }),
      '30s',
      { effect: 'for how long a proxy must be undeclared before it is stopped' },
    ),
    PROXY_START_PATIENCE: withDefault(
      duration({ minMs: 30_000, maxMs: HOUR_MS, allowed: 'a duration with a unit such as `3m`, `30s` to `1h`' }),
      '3m',
      { effect: 'for how long ECS may not know a task that it has just made' },
    ),
    PROXY_STOP_SHARE: withDefault(orOff(percent(0, 100), 'off'), '20%', {
      effect: 'share of all proxies that may be stopped for good in a minute; `off`: as many as it takes',
    }),
    PROXY_STOP_MINIMUM: withDefault(integer(0, 1000), '3', { effect: 'so many may be, where the share is less' }),
    PROXY_HEALTHY_UPTIME: withDefault(
      duration({ minMs: 1, maxMs: HOUR_MS, allowed: 'a duration with a unit such as `10s`, `1ms` to `1h`' }),
      '10s',
      { effect: 'a proxy that ran for longer, from RUNNING, is restarted without a wait' },
    ),
  }),
};

/** How it watches, and where it keeps and says things. */
const RUNNING = {
  MAX_OBSERVATION_GAP: withDefault(
    orOff(
      duration({ minMs: 1, maxMs: 24 * HOUR_MS, allowed: 'a duration with a unit such as `90s`, `1ms` to `24h`' }),
      'null',
    ),
    '90s',
    {
      effect:
        'by how much a streak ages at most between two sightings of its check; `null`: by all of the time, as in Nomad',
    },
  ),
  SETTLE: withDefault(
    duration({ minMs: 0, maxMs: HOUR_MS, allowed: 'a duration with a unit such as `60s`, `0s` to `1h`' }),
    '60s',
    {
      effect: 'for how long nothing is restarted after a longer gap',
    },
  ),
  ...only('watch-checks', {
    WINDOW: withDefault(
      duration({ minMs: 0, maxMs: 60_000, allowed: 'a duration with a unit such as `50s`, `0s` to `60s`' }),
      '50s',
      { effect: 'for how long of each minute Consul is watched without a break; `0s`: one pass' },
    ),
  }),
  RESTARTS_PER_MINUTE: withDefault(orOff(integer(1, 1000), 'off'), '10', {
    effect: "restarts a minute and cluster at most; the policy document's `brakes.perMinute` goes before",
  }),
  TABLE_NAME: required(
    pattern('name', /^[A-Za-z0-9_.-]{3,255}$/, 'a DynamoDB table name: 3 to 255 letters, digits, `-`, `_`, `.`'),
    { effect: 'DynamoDB table' },
  ),
  EVENT_BUS_NAME: withDefault(
    orOff(pattern('name', /^[A-Za-z0-9/_.-]{1,256}$/, 'an event bus name'), 'off'),
    'default',
    { effect: 'EventBridge bus for events; `off`: none are published' },
  ),
  WAKE_UP_QUEUE_URL: optional(
    pattern('URL', /^https?:\/\/[\w.:[\]-]+\/\d{12}\/[\w-]{1,80}$/, 'the URL of an SQS queue'),
    {
      effect: 'queue that wakes reconcile-proxies; unset: it is woken by its schedule alone',
    },
  ),
  LOG_LEVEL: withDefault(oneOf(['debug', 'info', 'warn', 'error']), 'info', { effect: 'least level that is logged' }),
};

/** All settings by variable name, in the order of the README's table. */
export const SETTINGS = { ...CONSUL, ...TASKS, ...SCOPE, ...POLICY, ...PROXIES, ...RUNNING };

/** The value of each setting. */
export type SettingValues = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};
