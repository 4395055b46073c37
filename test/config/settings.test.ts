import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../lib/check-restart/policy.ts';
import { InvalidSettings, readSettings, settingsOfProcess } from '../../lib/config/settings.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import { DEFAULT_PROXY_SETTINGS } from '../../lib/proxies/settings.ts';

const MINIMUM = { CONSUL_HTTP_ADDR: 'http://consul.local:8500', AWS_REGION: 'eu-west-1', TABLE_NAME: 'watch-table' };

function settingsOf(env: Record<string, string | undefined>) {
  const result = readSettings({ ...MINIMUM, ...env });
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.settings;
}

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  const result = readSettings({ ...MINIMUM, ...env });
  return result.ok ? [] : result.problems;
}

describe('settings from the environment', () => {
  it('takes the documented defaults where nothing is set', () => {
    expect(settingsOf({})).toEqual({
      consul: { addresses: ['http://consul.local:8500'], tls: { verify: true } },
      policyKey: 'ecs-check-restart/policy',
      metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
      allowed: { clusters: [], services: [] },
      dryRun: true,
      requireAddress: false,
      defaultPolicy: DEFAULT_POLICY,
      maxObservationGapMs: 90_000,
      settleMs: 60_000,
      windowMs: 50_000,
      restartsPerMinute: 10,
      region: 'eu-west-1',
      tableName: 'watch-table',
      eventBusName: 'default',
      logLevel: 'info',
      proxies: {
        startedBy: 'ecs-check-restart',
        allow: { families: [], clusters: [], commands: [], services: [] },
        keyPrefix: 'ecs-check-restart/proxies',
        defaultsKey: 'ecs-check-restart/proxy-defaults',
        settings: DEFAULT_PROXY_SETTINGS,
      },
    });
  });

  it('takes every variable that is empty as not set', () => {
    const allEmpty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']));
    expect(settingsOf({ ...allEmpty, ...MINIMUM })).toEqual(settingsOf({}));
  });

  it('names each required variable that is empty or missing', () => {
    const result = readSettings({ TABLE_NAME: '' });
    expect(result.ok).toBe(false);
    expect(problemsOf({ CONSUL_HTTP_ADDR: '', AWS_REGION: undefined, TABLE_NAME: '' })).toEqual([
      expect.stringMatching(/^CONSUL_HTTP_ADDR: not set; allowed: one or several of `http:/),
      expect.stringMatching(/^AWS_REGION: not set; allowed: a region/),
      expect.stringMatching(/^TABLE_NAME: not set; allowed: a DynamoDB table name/),
    ]);
  });

  // List C42. "absent" is the documented default of the variable.
  const rows: [
    kind: string,
    variable: string,
    text: string,
    field: (s: ReturnType<typeof settingsOf>) => unknown,
    answer: unknown,
  ][] = [
    ['boolean', 'DRY_RUN', 'false', (s) => s.dryRun, false],
    ['boolean', 'DRY_RUN', '', (s) => s.dryRun, true],
    ['boolean', 'DRY_RUN', 'False', (s) => s.dryRun, 'refused'],
    ['boolean', 'DRY_RUN', '0', (s) => s.dryRun, 'refused'],
    ['boolean', 'DRY_RUN', 'ture', (s) => s.dryRun, 'refused'],
    ['duration', 'SETTLE', '-5s', (s) => s.settleMs, 'refused'],
    ['duration', 'SETTLE', '', (s) => s.settleMs, 60_000],
    ['duration', 'SETTLE', '0s', (s) => s.settleMs, 0],
    ['duration', 'SETTLE', '90', (s) => s.settleMs, 'refused'],
    ['duration', 'SETTLE', '0', (s) => s.settleMs, 'refused'],
    ['integer', 'CHECK_RESTART_LIMIT', '3', (s) => s.defaultPolicy.limit, 3],
    ['integer', 'CHECK_RESTART_LIMIT', '', (s) => s.defaultPolicy.limit, DEFAULT_POLICY.limit],
    ['integer', 'RESTARTS_PER_MINUTE', '', (s) => s.restartsPerMinute, 10],
    ['integer', 'CHECK_RESTART_LIMIT', '-1', (s) => s.defaultPolicy.limit, 'refused'],
    ['integer', 'CHECK_RESTART_LIMIT', '3.5', (s) => s.defaultPolicy.limit, 'refused'],
    ['integer', 'CHECK_RESTART_LIMIT', '1e3', (s) => s.defaultPolicy.limit, 'refused'],
  ];
  it.each(rows)('C42: %s %s=%j', (_kind, variable, text, field, answer) => {
    if (answer === 'refused') {
      const [problem, ...others] = problemsOf({ [variable]: text });
      expect(others).toEqual([]);
      expect(problem).toContain(`${variable}: ${JSON.stringify(text)} is not allowed; allowed: `);
    } else {
      expect(field(settingsOf({ [variable]: text }))).toEqual(answer);
    }
  });

  it('C42: names all wrong values in one answer', () => {
    const problems = problemsOf({ DRY_RUN: 'ture', SETTLE: '90', CHECK_RESTART_LIMIT: '1e3', TABLE_NAME: 'x' });
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'DRY_RUN',
      'CHECK_RESTART_LIMIT',
      'SETTLE',
      'TABLE_NAME',
    ]);
  });

  // Bounds of what C42 does not list.
  it.each([
    ['MAX_OBSERVATION_GAP', 'null', true],
    ['MAX_OBSERVATION_GAP', '0s', false],
    ['MAX_OBSERVATION_GAP', '24h', true],
    ['MAX_OBSERVATION_GAP', '25h', false],
    ['WINDOW', '0s', true],
    ['WINDOW', '60s', true],
    ['WINDOW', '61s', false],
    ['CHECK_RESTART_INTERVAL', '0s', false],
    ['CHECK_RESTART_INTERVAL', '1ms', true],
    ['CHECK_RESTART_GRACE', '0s', true],
    ['CHECK_RESTART_LIMIT', '1000', true],
    ['CHECK_RESTART_LIMIT', '1001', false],
    ['CHECK_RESTART_MODE', 'notify', true],
    ['CHECK_RESTART_MODE', 'Restart', false],
    ['RESTARTS_PER_MINUTE', 'off', true],
    ['RESTARTS_PER_MINUTE', '0', false],
    ['ALLOWED_CLUSTERS', 'prod-*, stage', true],
    ['ALLOWED_CLUSTERS', 'prod,', false],
    ['ALLOWED_CLUSTERS', 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod', false],
    ['ALLOWED_SERVICES', 'web,prod/api-*', true],
    ['ALLOWED_SERVICES', 'a/b/c', false],
    ['POLICY_KEY', 'a/b', true],
    ['POLICY_KEY', '/a', false],
    ['POLICY_KEY', 'a/../b', false],
    ['AWS_ACCOUNT_ID', '12345', false],
    ['AWS_REGION', 'us-gov-west-1', true],
    ['LOG_LEVEL', 'trace', false],
    ['CHECK_RESTART_LIMTI', '3', false],
    ['PROXY_STARTED_BY', 'ecs-check-restart/prod_1', true],
    ['PROXY_STARTED_BY', 'a'.repeat(129), false],
    ['PROXY_STARTED_BY', 'prod.eu', false],
    ['PROXY_FAMILIES', 'envoy-*,gateway', true],
    ['PROXY_FAMILIES', 'envoy:3', false],
    ['PROXY_CLUSTERS', 'prod/*', false],
    ['PROXY_COMMANDS', '["envoy -c a,b", "sh *"]', true],
    ['PROXY_COMMANDS', '[]', true],
    ['PROXY_COMMANDS', 'envoy *', false],
    ['PROXY_COMMANDS', '["envoy",1]', false],
    ['PROXY_COMMANDS', '[""]', false],
    ['PROXY_COMMANDS', '{}', false],
    ['PROXY_SERVICES', 'prod/web', false],
    ['PROXY_KEY_PREFIX', 'proxies/', false],
    ['PROXY_REMOVAL_DELAY', '0s', true],
    ['PROXY_REMOVAL_DELAY', '25h', false],
    ['PROXY_START_PATIENCE', '29s', false],
    ['PROXY_STOP_SHARE', '100%', true],
    ['PROXY_STOP_SHARE', '101%', false],
    ['PROXY_STOP_SHARE', '0.2', false],
    ['PROXY_STOP_MINIMUM', '0', true],
    ['PROXY_STOP_MINIMUM', 'off', false],
    ['PROXY_HEALTHY_UPTIME', '0s', false],
    ['WAKE_UP_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/wake-ups', true],
    ['WAKE_UP_QUEUE_URL', 'http://127.0.0.1:4566/000000000000/wake-ups', true],
    ['WAKE_UP_QUEUE_URL', 'wake-ups', false],
  ])('%s=%j is allowed: %s', (variable, text, allowed) => {
    expect(problemsOf({ [variable]: text })).toHaveLength(allowed ? 0 : 1);
  });

  it('keeps an explicit "none" apart from the default', () => {
    const settings = settingsOf({ MAX_OBSERVATION_GAP: 'null', RESTARTS_PER_MINUTE: 'off', EVENT_BUS_NAME: 'off' });
    expect([settings.maxObservationGapMs, settings.restartsPerMinute, settings.eventBusName]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('tells reconcile-proxies what it may run, and how', () => {
    const { proxies } = settingsOf({
      PROXY_FAMILIES: 'envoy-*, gateway',
      PROXY_CLUSTERS: 'prod',
      PROXY_COMMANDS: '["envoy -l a,b"]',
      PROXY_SERVICES: 'ingress',
      PROXY_STOP_SHARE: '50%',
      PROXY_STOP_MINIMUM: '1',
      PROXY_REMOVAL_DELAY: '1m',
      PROXY_START_PATIENCE: '5m',
      PROXY_HEALTHY_UPTIME: '20s',
    });
    expect(proxies.allow).toEqual({
      families: ['envoy-*', 'gateway'],
      clusters: ['prod'],
      commands: ['envoy -l a,b'],
      services: ['ingress'],
    });
    expect(proxies.settings).toMatchObject({
      removalDelayMs: 60_000,
      startPatienceMs: 300_000,
      stopCap: { share: 0.5, atLeast: 1, windowMs: 60_000 },
      backoff: { healthyUptimeMs: 20_000, firstWaitMs: 2000 },
    });
    expect(settingsOf({ PROXY_STOP_SHARE: 'off' }).proxies.settings.stopCap).toBeNull();
  });

  it('takes a cluster by name or ARN', () => {
    expect(settingsOf({ DEFAULT_CLUSTER: 'arn:aws-cn:ecs:cn-north-1:123456789012:cluster/prod' }).defaultCluster).toBe(
      'prod',
    );
  });

  it('splits lists and ignores spaces around their entries', () => {
    expect(settingsOf({ ALLOWED_CLUSTERS: ' prod-* ,stage' }).allowed.clusters).toEqual(['prod-*', 'stage']);
    expect(settingsOf({ CONSUL_HTTP_ADDR: 'https://a.local:8501/, http://[::1]:8500' }).consul.addresses).toEqual([
      'https://a.local:8501',
      'http://[::1]:8500',
    ]);
  });

  it.each([
    'consul:8500',
    'ftp://consul',
    'http://consul/prefix',
    'http://',
    'http://a,,http://b',
    'unix:///run/consul',
  ])('refuses the Consul address %j', (text) => {
    expect(problemsOf({ CONSUL_HTTP_ADDR: text })).toEqual([expect.stringMatching(/^CONSUL_HTTP_ADDR: .*allowed: /)]);
  });
});

describe('secrets in settings', () => {
  it.each([
    'http://consul:8500?token=tok-SECRET-1',
    'http://consul:8500/?token=tok-SECRET-1',
    'http://consul:8500/#tok-SECRET-1',
    'http://tok-SECRET-1@consul:8500',
    'http://user:tok-SECRET-1@consul:8500',
    'tok-SECRET-1',
    'http://consul:8500/tok-SECRET-1',
    'http://good:8500,http://consul:8500?token=tok-SECRET-1',
  ])('C43d: refuses the address %j without repeating it', (address) => {
    const problems = problemsOf({ CONSUL_HTTP_ADDR: address });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain('SECRET');
    expect(problems.join()).toMatch(/^CONSUL_HTTP_ADDR: .*not shown/);
  });

  it('C43: a literal token is nowhere to be seen in settings that are printed', () => {
    const settings = settingsOf({ CONSUL_HTTP_TOKEN: 'tok-SECRET-1' });
    expect(JSON.stringify(settings)).not.toContain('SECRET');
    expect(inspect(settings, { depth: 10, showHidden: true, getters: true })).not.toContain('SECRET');
    expect(settings.consul.token?.from === 'text' && settings.consul.token.secret.reveal()).toBe('tok-SECRET-1');
  });

  it.each(['CONSUL_HTTP_TOKEN', 'CONSUL_CACERT'])('C43: a wrong %s is refused without being shown', (variable) => {
    const problems = problemsOf({ [variable]: 'tok-SECRET-1\u0007\n' });
    expect(problems).toEqual([expect.stringContaining(`${variable}: its value (not shown) is not allowed`)]);
  });

  it('takes references, and PEM texts with written line ends', () => {
    const { consul } = settingsOf({
      CONSUL_HTTP_TOKEN_SSM_PARAMETER: '/prod/consul/token',
      CONSUL_CACERT: '-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----',
      CONSUL_CLIENT_CERT: '/certs/client.pem',
      CONSUL_CLIENT_KEY_SECRET: 'prod/consul-key',
    });
    expect(consul.token).toEqual({ from: 'ssm', name: '/prod/consul/token' });
    expect(consul.tls.ca?.from === 'text' && consul.tls.ca.secret.reveal()).toBe(
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    );
    expect(consul.tls.client).toEqual({
      cert: { from: 'file', path: '/certs/client.pem' },
      key: { from: 'secrets-manager', id: 'prod/consul-key' },
    });
  });

  it.each(['CONSUL_HTTP_TOKEN', 'CONSUL_CACERT'])('refuses two sources of %s', (name) => {
    const problems = problemsOf({ [name]: 'literal', [`${name}_SECRET`]: 'reference' });
    expect(problems).toEqual([`${name}, ${name}_SECRET: more than one of them is set; allowed: one of them`]);
  });

  it('log in by an auth method, with or without a server ID', () => {
    expect(settingsOf({ CONSUL_LOGIN_AUTH_METHOD: 'aws' }).consul.login).toEqual({ authMethod: 'aws' });
    expect(
      settingsOf({ CONSUL_LOGIN_AUTH_METHOD: 'aws', CONSUL_LOGIN_SERVER_ID: 'consul.example.com' }).consul.login,
    ).toEqual({ authMethod: 'aws', serverId: 'consul.example.com' });
    expect(settingsOf({}).consul.login).toBeUndefined();
  });

  it.each(['CONSUL_HTTP_TOKEN', 'CONSUL_HTTP_TOKEN_SSM_PARAMETER', 'CONSUL_HTTP_TOKEN_SECRET'])(
    'refuses a login beside %s, without showing either',
    (name) => {
      expect(problemsOf({ CONSUL_LOGIN_AUTH_METHOD: 'aws', [name]: 'tok-SECRET-1' })).toEqual([
        `CONSUL_LOGIN_AUTH_METHOD, ${name}: a login and a token are set; allowed: one of them`,
      ]);
    },
  );

  it('refuses a server ID without an auth method, and one that no header may hold', () => {
    expect(problemsOf({ CONSUL_LOGIN_SERVER_ID: 'x' })).toEqual([
      'CONSUL_LOGIN_AUTH_METHOD: not set, but CONSUL_LOGIN_SERVER_ID is; allowed: both, or the auth method alone',
    ]);
    expect(problemsOf({ CONSUL_LOGIN_AUTH_METHOD: 'aws', CONSUL_LOGIN_SERVER_ID: 'a b' })).toHaveLength(1);
    expect(problemsOf({ CONSUL_LOGIN_AUTH_METHOD: 'a/b' })).toHaveLength(1);
  });

  it('refuses a client certificate without its key, and the other way round', () => {
    expect(problemsOf({ CONSUL_CLIENT_CERT: '/c.pem' })).toEqual([
      'CONSUL_CLIENT_KEY: not set, but CONSUL_CLIENT_CERT is; allowed: both or neither',
    ]);
    expect(problemsOf({ CONSUL_CLIENT_KEY_SECRET: 'key' })).toEqual([
      'CONSUL_CLIENT_CERT: not set, but CONSUL_CLIENT_KEY_SECRET is; allowed: both or neither',
    ]);
  });
});

describe('settings of the process', () => {
  it('throws one error that lists all problems', () => {
    const before = process.env;
    process.env = { ...MINIMUM, DRY_RUN: 'ture', SETTLE: '90' };
    try {
      expect(() => settingsOfProcess()).toThrow(InvalidSettings);
      expect(() => settingsOfProcess()).toThrow(/2 invalid settings:\nDRY_RUN: "ture".*\nSETTLE: "90"/);
    } finally {
      process.env = before;
    }
  });
});
