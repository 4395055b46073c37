/** What `npx osls package` produces: what the function may do, when it runs, what it is told and what is in it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../lib/config/settings.ts';
import type { Setting } from '../../lib/config/settings-table.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import type { Packaged, Statement } from './packaged.ts';
import { filesIn, packaged, statementsOf } from './packaged.ts';

let plain: Packaged;
let full: Packaged;

beforeAll(async () => {
  plain = await packaged();
  full = await packaged({
    allowedClusters: 'prod, stage-*',
    allowedServices: 'web,prod/api-*',
    consulAddresses: 'https://consul.internal:8501',
    consulTokenSsmParameter: '/prod/consul/token',
    consulCaSecret: 'prod/consul-ca',
    consulClientKeySecret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-Ab12Cd',
    consulClientCertSsmParameter: 'arn:aws:ssm:eu-west-1:123456789012:parameter/prod/cert',
    kmsKeyArns: 'arn:aws:kms:eu-west-1:123456789012:key/1',
    vpcSubnetIds: 'subnet-1,subnet-2',
    vpcSecurityGroupIds: 'sg-1',
    alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:ops',
  });
}, 120_000);

const ARN = (service: string, rest: string) =>
  `arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${rest}`;
const NAME = 'ecs-check-restart-dev-watch-checks';

function byId(statements: readonly Statement[]) {
  return Object.fromEntries(statements.map(({ Sid = '', Effect, ...rest }) => [`${Effect} ${Sid}`, rest]));
}

describe('the role of watch-checks', () => {
  it('has exactly the actions it needs, on exactly the resources that are named', () => {
    const onClusters = {
      ArnLike: { 'ecs:cluster': [ARN('ecs', 'cluster/prod'), ARN('ecs', 'cluster/stage-*')] },
    };
    const tasks = [ARN('ecs', 'task/prod/*'), ARN('ecs', 'task/stage-*/*')];
    expect(byId(statementsOf(full.resources.WatchChecksRole))).toEqual({
      'Allow WriteLogs': {
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: ARN('logs', `log-group:/aws/lambda/${NAME}:*`),
      },
      'Allow KeepState': {
        Action: [
          'dynamodb:GetItem',
          'dynamodb:Query',
          'dynamodb:PutItem',
          'dynamodb:UpdateItem',
          'dynamodb:DeleteItem',
        ],
        Resource: ARN('dynamodb', 'table/ecs-check-restart-dev'),
      },
      'Allow ReadTasks': {
        Action: ['ecs:DescribeTasks', 'ecs:GetTaskProtection'],
        Resource: tasks,
        Condition: onClusters,
      },
      'Allow ReadServices': {
        Action: ['ecs:DescribeServices'],
        Resource: [ARN('ecs', 'service/prod/*'), ARN('ecs', 'service/stage-*/*')],
        Condition: onClusters,
      },
      'Allow StopTasks': { Action: ['ecs:StopTask'], Resource: tasks, Condition: onClusters },
      'Allow RedeployServices': {
        Action: ['ecs:UpdateService'],
        Resource: [ARN('ecs', 'service/prod/web'), ARN('ecs', 'service/stage-*/web'), ARN('ecs', 'service/prod/api-*')],
        Condition: onClusters,
      },
      'Allow PublishEvents': { Action: ['events:PutEvents'], Resource: ARN('events', 'event-bus/default') },
      'Allow ReadParameters': {
        Action: ['ssm:GetParameter'],
        Resource: [ARN('ssm', 'parameter/prod/consul/token'), 'arn:aws:ssm:eu-west-1:123456789012:parameter/prod/cert'],
      },
      'Allow ReadSecrets': {
        Action: ['secretsmanager:GetSecretValue'],
        Resource: [
          ARN('secretsmanager', 'secret:prod/consul-ca-??????'),
          'arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-Ab12Cd',
        ],
      },
      'Allow DecryptSecrets': {
        Action: ['kms:Decrypt'],
        Resource: ['arn:aws:kms:eu-west-1:123456789012:key/1'],
        Condition: {
          StringEquals: {
            'kms:ViaService': [
              `ssm.\${AWS::Region}.\${AWS::URLSuffix}`,
              `secretsmanager.\${AWS::Region}.\${AWS::URLSuffix}`,
            ],
          },
        },
      },
      'Allow AttachToVpc': { Action: expect.arrayContaining(['ec2:CreateNetworkInterface']), Resource: '*' },
      'Deny ButNotFromCode': {
        Action: expect.arrayContaining(['ec2:CreateNetworkInterface']),
        Resource: '*',
        Condition: { ArnEquals: { 'lambda:SourceFunctionArn': ARN('lambda', `function:${NAME}`) } },
      },
    });
  });

  it('can stop nothing, and see nothing of ECS, where the allow-lists are empty', () => {
    expect(Object.keys(byId(statementsOf(plain.resources.WatchChecksRole)))).toEqual([
      'Allow WriteLogs',
      'Allow KeepState',
      'Allow PublishEvents',
    ]);
  });

  it('can stop nothing where clusters are named but no services', async () => {
    const { resources } = await packaged({ allowedClusters: '*', eventBusName: 'off' });
    const actions = statementsOf(resources.WatchChecksRole).flatMap(({ Action }) => Action);
    expect(actions.filter((action) => /^(ecs|events):/.test(action))).toEqual([
      'ecs:DescribeTasks',
      'ecs:GetTaskProtection',
      'ecs:DescribeServices',
    ]);
  }, 60_000);

  it('is the only role of the function', () => {
    expect(plain.resources.WatchChecksLambdaFunction?.Properties.Role).toEqual({
      'Fn::Sub': `\${WatchChecksRole.Arn}`,
    });
    expect(Object.keys(plain.resources).filter((id) => plain.resources[id]?.Type === 'AWS::IAM::Role')).toEqual([
      'WatchChecksRole',
      'WatchChecksScheduleRole',
    ]);
  });
});

describe('when the function runs', () => {
  it('is invoked every minute, once, by a schedule with a role of its own', () => {
    const schedule = plain.resources.WatchChecksSchedule;
    expect(schedule?.Type).toBe('AWS::Scheduler::Schedule');
    expect(schedule?.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: { 'Fn::GetAtt': ['WatchChecksLambdaFunction', 'Arn'] },
        RoleArn: { 'Fn::GetAtt': ['WatchChecksScheduleRole', 'Arn'] },
        Input: '{"action":"window"}',
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      },
    });
    expect(statementsOf(plain.resources.WatchChecksScheduleRole)).toEqual([
      {
        Effect: 'Allow',
        Action: 'lambda:InvokeFunction',
        Resource: { 'Fn::GetAtt': ['WatchChecksLambdaFunction', 'Arn'] },
      },
    ]);
  });

  it('is not retried, not queued, and has no reserved concurrency', () => {
    expect(plain.resources.WatchChecksLambdaEvConf?.Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
    expect(plain.resources.WatchChecksLambdaFunction?.Properties).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('has time left after the longest window', () => {
    const longest = SETTINGS.WINDOW.kind.read('60s')?.value ?? 0;
    expect(SETTINGS.WINDOW.kind.read('61s')).toBeUndefined();
    expect(Number(plain.resources.WatchChecksLambdaFunction?.Properties.Timeout) * 1000).toBeGreaterThanOrEqual(
      longest + 30_000,
    );
  });

  it('runs on Node.js 24 on arm64, in a VPC only where one is named', () => {
    const properties = plain.resources.WatchChecksLambdaFunction?.Properties;
    expect(properties).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'] });
    expect(properties).not.toHaveProperty('VpcConfig');
    expect(full.resources.WatchChecksLambdaFunction?.Properties.VpcConfig).toEqual({
      SubnetIds: ['subnet-1', 'subnet-2'],
      SecurityGroupIds: ['sg-1'],
    });
  });
});

describe('what the function is told', () => {
  function environmentOf({ resources }: Packaged): Record<string, string> {
    const environment = resources.WatchChecksLambdaFunction?.Properties.Environment;
    return (environment as { Variables: Record<string, string> }).Variables;
  }

  it('has every setting that a deployment may set, and no other', () => {
    const { NODE_OPTIONS: _, ...set } = environmentOf(plain);
    const settable = Object.entries<Setting<unknown>>(SETTINGS).filter(([, { setBy }]) => setBy === 'deployment');
    expect(Object.keys(set).sort()).toEqual(settable.map(([name]) => name).sort());
  });

  it('is plain texts, so that it can be invoked locally', () => {
    for (const value of Object.values(environmentOf(full))) expect(value).toBeTypeOf('string');
  });

  it('has the same defaults as the settings, dry run on', () => {
    const others = { CONSUL_HTTP_ADDR: 'http://consul:8500', AWS_REGION: 'eu-west-1' };
    const deployed = readSettings({ ...environmentOf(plain), ...others });
    expect(deployed).toEqual(readSettings({ ...others, TABLE_NAME: 'ecs-check-restart-dev' }));
    expect(deployed).toMatchObject({ ok: true, settings: { dryRun: true, allowed: { clusters: [], services: [] } } });
  });

  it('is understood when all of it is set', () => {
    expect(readSettings({ ...environmentOf(full), AWS_REGION: 'eu-west-1' })).toMatchObject({ ok: true });
  });
});

describe('what is deployed', () => {
  it('is one file, below 2 MB, with its map', () => {
    const files = filesIn(plain.zip);
    expect([...files.keys()].sort()).toEqual(['dist/watch-checks/handler.cjs', 'dist/watch-checks/handler.cjs.map']);
    expect(files.get('dist/watch-checks/handler.cjs')).toBeLessThan(2_000_000);
    expect(plain.resources.WatchChecksLambdaFunction?.Properties.Handler).toBe('dist/watch-checks/handler.handler');
  });

  it('loads as CommonJS without any settings, and does nothing by that', async () => {
    const file = fileURLToPath(new URL('../../dist/watch-checks/handler.cjs', import.meta.url));
    const script = `process.stdout.write(typeof require(${JSON.stringify(file)}).handler)`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', script], { env: {} });
    expect([stdout, stderr]).toEqual(['function', '']);
  });

  it('is the same when it is packaged again', async () => {
    const again = await packaged();
    const withoutKey = ({ resources }: Packaged) => JSON.stringify(resources).replaceAll(/"S3Key":"[^"]*"/g, '');
    expect(withoutKey(again)).toBe(withoutKey(plain));
    expect(again.zip.equals(plain.zip)).toBe(true);
  }, 60_000);

  it('keeps its log for 90 days, and its table for good', () => {
    expect(plain.resources.WatchChecksLogGroup?.Properties).toEqual({
      LogGroupName: `/aws/lambda/${NAME}`,
      RetentionInDays: 90,
    });
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
