/** What `npx osls package` produces: when the functions run, what they are told and what is in them. Roles: `roles.test.ts`. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../lib/config/settings.ts';
import type { Setting } from '../../lib/config/settings-table.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import type { Packaged } from './packaged.ts';
import { FULL, filesIn, packaged, statementsOf } from './packaged.ts';

let plain: Packaged;
let full: Packaged;

beforeAll(async () => {
  plain = await packaged();
  full = await packaged(FULL);
}, 120_000);

const FUNCTIONS = [
  { id: 'WatchChecks', name: 'watch-checks', input: '{"action":"window"}' },
  { id: 'ReconcileProxies', name: 'reconcile-proxies', input: '{"action":"sync"}' },
] as const;

const propertiesOf = (id: string) => plain.resources[id]?.Properties ?? {};

describe.each(FUNCTIONS)('when $name runs', ({ id, input }) => {
  it('is every minute, once, by a schedule with a role of its own', () => {
    expect(plain.resources[`${id}Schedule`]?.Type).toBe('AWS::Scheduler::Schedule');
    expect(propertiesOf(`${id}Schedule`)).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: { 'Fn::GetAtt': [`${id}LambdaFunction`, 'Arn'] },
        RoleArn: { 'Fn::GetAtt': [`${id}ScheduleRole`, 'Arn'] },
        Input: input,
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      },
    });
    expect(statementsOf(plain.resources[`${id}ScheduleRole`])).toEqual([
      { Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: { 'Fn::GetAtt': [`${id}LambdaFunction`, 'Arn'] } },
    ]);
  });

  it('is not retried, not queued, and has no reserved concurrency', () => {
    expect(propertiesOf(`${id}LambdaEvConf`)).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(propertiesOf(`${id}LambdaFunction`)).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('is on Node.js 24 on arm64, in a VPC only where one is named', () => {
    const properties = propertiesOf(`${id}LambdaFunction`);
    expect(properties).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], MemorySize: 512, Timeout: 90 });
    expect(properties).not.toHaveProperty('VpcConfig');
    expect(full.resources[`${id}LambdaFunction`]?.Properties.VpcConfig).toEqual({
      SubnetIds: ['subnet-1', 'subnet-2'],
      SecurityGroupIds: ['sg-1'],
    });
  });
});

describe('what wakes reconcile-proxies', () => {
  it('are changes of tasks that it started itself, through the queue', () => {
    expect(propertiesOf('ProxyTaskChanges')).toMatchObject({
      EventPattern: {
        source: ['aws.ecs'],
        'detail-type': ['ECS Task State Change'],
        detail: { startedBy: ['ecs-check-restart/dev'] },
      },
      Targets: [{ Arn: { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] } }],
    });
  });

  it('is a standard queue that only the rule (and the roles) may send to, encrypted, and short of memory', () => {
    const { QueueName, FifoQueue, ...queue } = propertiesOf('WakeUpQueue');
    expect([QueueName, FifoQueue]).toEqual(['ecs-check-restart-dev-wake-ups', undefined]);
    expect(queue).toMatchObject({
      SqsManagedSseEnabled: true,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['WakeUpDeadLetterQueue', 'Arn'] }, maxReceiveCount: 3 },
    });
    expect(Number(queue.VisibilityTimeout)).toBeGreaterThanOrEqual(
      6 * Number(propertiesOf('ReconcileProxiesLambdaFunction').Timeout),
    );
    // A message that fails every time must not be gone before it is given up.
    expect(Number(queue.MessageRetentionPeriod)).toBeGreaterThan(3 * Number(queue.VisibilityTimeout));
    expect(propertiesOf('WakeUpDeadLetterQueue')).toMatchObject({ SqsManagedSseEnabled: true });
    expect(propertiesOf('WakeUpQueuePolicy').PolicyDocument).toMatchObject({
      Statement: [
        {
          Effect: 'Allow',
          Principal: { Service: 'events.amazonaws.com' },
          Action: 'sqs:SendMessage',
          Resource: { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] },
          Condition: { ArnEquals: { 'aws:SourceArn': { 'Fn::GetAtt': ['ProxyTaskChanges', 'Arn'] } } },
        },
      ],
    });
  });

  it('comes in large batches, at most two at a time, and says which messages failed', () => {
    expect(propertiesOf('WakeUpMapping')).toEqual({
      EventSourceArn: { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] },
      FunctionName: { 'Fn::GetAtt': ['ReconcileProxiesLambdaFunction', 'Arn'] },
      BatchSize: 1000,
      MaximumBatchingWindowInSeconds: 1,
      ScalingConfig: { MaximumConcurrency: 2 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });
});

it('the watcher has time left after its longest window', () => {
  const longest = SETTINGS.WINDOW.kind.read('60s')?.value ?? 0;
  expect(SETTINGS.WINDOW.kind.read('61s')).toBeUndefined();
  expect(Number(propertiesOf('WatchChecksLambdaFunction').Timeout) * 1000).toBeGreaterThanOrEqual(longest + 30_000);
});

describe.each(FUNCTIONS)('what $name is told', ({ id, name }) => {
  function environmentOf({ resources }: Packaged): Record<string, unknown> {
    const environment = resources[`${id}LambdaFunction`]?.Properties.Environment;
    return (environment as { Variables: Record<string, unknown> }).Variables;
  }

  /** Without what CloudFormation alone knows. */
  function textsOf(deployed: Packaged): Record<string, string> {
    const { WAKE_UP_QUEUE_URL: url, ...texts } = environmentOf(deployed);
    expect(url).toEqual({ Ref: 'WakeUpQueue' });
    // So that it can be invoked locally.
    for (const value of Object.values(texts)) expect(value).toBeTypeOf('string');
    return texts as Record<string, string>;
  }

  it('are the settings that it reads and a deployment may set, and no others', () => {
    const { NODE_OPTIONS: _, MALLOC_ARENA_MAX: __, ...set } = environmentOf(plain);
    const settable = Object.entries<Setting<unknown>>(SETTINGS).filter(
      ([, { setBy, usedBy }]) => setBy === 'deployment' && (usedBy === 'both' || usedBy === name),
    );
    expect(Object.keys(set).sort()).toEqual(settable.map(([setting]) => setting).sort());
  });

  it('has the same defaults as the settings, dry run on', () => {
    const others = { CONSUL_HTTP_ADDR: 'http://consul:8500', AWS_REGION: 'eu-west-1' };
    const deployed = readSettings({ ...textsOf(plain), ...others });
    const ofTheStage = { TABLE_NAME: 'ecs-check-restart-dev', PROXY_STARTED_BY: 'ecs-check-restart/dev' };
    expect(deployed).toEqual(readSettings({ ...others, ...ofTheStage }));
    expect(deployed).toMatchObject({ ok: true, settings: { dryRun: true, allowed: { clusters: [], services: [] } } });
    expect(deployed).toMatchObject({ settings: { proxies: { allow: { families: [], clusters: [] } } } });
  });

  it('is understood when all of it is set', () => {
    expect(readSettings({ ...textsOf(full), AWS_REGION: 'eu-west-1' })).toMatchObject({ ok: true });
  });
});

describe('what is deployed', () => {
  it.each(FUNCTIONS)('of $name is one file, below 2 MB, with its map', ({ id, name }) => {
    const files = filesIn(plain.zips[name]);
    expect([...files.keys()].sort()).toEqual([`dist/${name}/handler.cjs`, `dist/${name}/handler.cjs.map`]);
    expect(files.get(`dist/${name}/handler.cjs`)).toBeLessThan(2_000_000);
    expect(propertiesOf(`${id}LambdaFunction`).Handler).toBe(`dist/${name}/handler.handler`);
  });

  it.each(FUNCTIONS)('of $name loads as CommonJS without any settings, and does nothing by that', async ({ name }) => {
    const file = fileURLToPath(new URL(`../../dist/${name}/handler.cjs`, import.meta.url));
    const script = `process.stdout.write(typeof require(${JSON.stringify(file)}).handler)`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', script], { env: {} });
    expect([stdout, stderr]).toEqual(['function', '']);
  });

  it('is the same when it is packaged again', async () => {
    const again = await packaged();
    const withoutKey = ({ resources }: Packaged) => JSON.stringify(resources).replaceAll(/"S3Key":"[^"]*"/g, '');
    expect(withoutKey(again)).toBe(withoutKey(plain));
    for (const { name } of FUNCTIONS) expect(again.zips[name].equals(plain.zips[name]), name).toBe(true);
  }, 60_000);

  it('keeps its log for 90 days, and its table for good', () => {
    for (const { id, name } of FUNCTIONS) {
      const LogGroupName = `/aws/lambda/ecs-check-restart-dev-${name}`;
      expect(propertiesOf(`${id}LogGroup`)).toEqual({ LogGroupName, RetentionInDays: 90 });
    }
    const table = plain.resources.StateTable;
    expect(table?.DeletionPolicy).toBe('Retain');
    expect(table?.Properties).toMatchObject({
      TableName: 'ecs-check-restart-dev',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
    });
  });
});
