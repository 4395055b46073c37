/** What the functions may do: exactly what the stage's parameters name, and nothing where they name nothing. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Packaged, Statement } from './packaged.ts';
import { FULL, packaged, statementsOf } from './packaged.ts';

let plain: Packaged;
let full: Packaged;

beforeAll(async () => {
  plain = await packaged();
  full = await packaged(FULL);
}, 120_000);

const ARN = (service: string, rest: string) =>
  `arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${rest}`;
const ecs = (...resources: string[]) => resources.map((resource) => ARN('ecs', resource));
const on = (...clusters: string[]) => ({ ArnLike: { 'ecs:cluster': ecs(...clusters.map((one) => `cluster/${one}`)) } });
const SHORT_TASK = 'task/????????-????-????-????-????????????';
const QUEUE = { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] };

function byId(statements: readonly Statement[]) {
  return Object.fromEntries(statements.map(({ Sid = '', Effect, ...rest }) => [`${Effect} ${Sid}`, rest]));
}

function actionsOf({ resources }: Packaged, role: string): readonly string[] {
  return statementsOf(resources[role]).flatMap(({ Action }) => Action);
}

/** What any function of ours needs. */
function common(name: string) {
  return {
    'Allow WriteLogs': {
      Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      Resource: ARN('logs', `log-group:/aws/lambda/ecs-check-restart-dev-${name}:*`),
    },
    'Allow KeepState': {
      Action: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      Resource: ARN('dynamodb', 'table/ecs-check-restart-dev'),
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
      Condition: {
        ArnEquals: { 'lambda:SourceFunctionArn': ARN('lambda', `function:ecs-check-restart-dev-${name}`) },
      },
    },
  };
}

describe('the role of watch-checks', () => {
  it('has exactly the actions it needs, on exactly the resources that are named', () => {
    const tasks = ecs('task/prod/*', 'task/stage-*/*', SHORT_TASK);
    const condition = on('prod', 'stage-*');
    expect(byId(statementsOf(full.resources.WatchChecksRole))).toEqual({
      ...common('watch-checks'),
      'Allow ReadTasks': {
        Action: ['ecs:DescribeTasks', 'ecs:GetTaskProtection'],
        Resource: tasks,
        Condition: condition,
      },
      'Allow ReadServices': {
        Action: ['ecs:DescribeServices'],
        Resource: ARN('ecs', 'service/*'),
        Condition: condition,
      },
      'Allow StopTasks': { Action: ['ecs:StopTask'], Resource: tasks, Condition: condition },
      'Allow RedeployServices': {
        Action: ['ecs:UpdateService'],
        Resource: ecs('service/prod/web', 'service/stage-*/web', 'service/prod/api-*', 'service/web'),
        Condition: condition,
      },
      'Allow WakeReconciler': { Action: ['sqs:SendMessage'], Resource: QUEUE },
    });
  });

  it('can stop nothing, and see nothing of ECS, where the allow-lists are empty', () => {
    expect(Object.keys(byId(statementsOf(plain.resources.WatchChecksRole)))).toEqual([
      'Allow WakeReconciler',
      'Allow WriteLogs',
      'Allow KeepState',
      'Allow PublishEvents',
    ]);
  });

  it('can stop nothing where clusters are named but no services', async () => {
    const actions = actionsOf(await packaged({ allowedClusters: '*', eventBusName: 'off' }), 'WatchChecksRole');
    expect(actions.filter((action) => /^(ecs|events):/.test(action))).toEqual([
      'ecs:DescribeTasks',
      'ecs:GetTaskProtection',
      'ecs:DescribeServices',
    ]);
  }, 60_000);
});

describe('the role of reconcile-proxies', () => {
  it('has exactly the actions it needs, on exactly the resources that are named', () => {
    const tasks = ecs('task/prod/*', 'task/edge-*/*', SHORT_TASK);
    const condition = on('prod', 'edge-*');
    expect(byId(statementsOf(full.resources.ReconcileProxiesRole))).toEqual({
      ...common('reconcile-proxies'),
      'Allow ListTasks': { Action: ['ecs:ListTasks'], Resource: '*', Condition: condition },
      'Allow ReadTasks': {
        Action: ['ecs:DescribeTasks', 'ecs:GetTaskProtection'],
        Resource: tasks,
        Condition: condition,
      },
      'Allow StopTasks': { Action: ['ecs:StopTask'], Resource: tasks, Condition: condition },
      'Allow RunProxies': {
        Action: ['ecs:RunTask'],
        Resource: ecs('task-definition/envoy-*:*', 'task-definition/gateway:*'),
        Condition: condition,
      },
      'Allow TagWhatIsRun': {
        Action: ['ecs:TagResource'],
        Resource: ecs('task/prod/*', 'task/edge-*/*'),
        Condition: { StringEquals: { 'ecs:CreateAction': 'RunTask' } },
      },
      'Allow ReadDefinitions': { Action: ['ecs:DescribeTaskDefinition'], Resource: '*' },
      'Allow RedeployServices': {
        Action: ['ecs:DescribeServices', 'ecs:UpdateService'],
        Resource: ecs(
          'service/prod/ingress',
          'service/edge-*/ingress',
          'service/prod/mesh-*',
          'service/edge-*/mesh-*',
          'service/ingress',
        ),
        Condition: condition,
      },
      'Allow PassTaskRoles': {
        Action: ['iam:PassRole'],
        Resource: ['arn:aws:iam::123456789012:role/proxy-task', 'arn:aws:iam::123456789012:role/proxy-execution'],
        Condition: { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } },
      },
      'Allow UseQueue': {
        Action: ['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
        Resource: QUEUE,
      },
    });
  });

  const families = { proxyFamilies: 'envoy' };
  const roles = { proxyRoleArns: 'arn:aws:iam::123456789012:role/proxy' };
  it.each([
    ['everything is', {}, []],
    ['the clusters are', { ...families, ...roles, proxyServices: 'ingress' }, []],
    [
      'families and services are',
      { ...roles, proxyClusters: 'prod' },
      ['ecs:ListTasks', 'ecs:DescribeTasks', 'ecs:GetTaskProtection', 'ecs:StopTask'],
    ],
    [
      'the roles are',
      { ...families, proxyClusters: 'prod' },
      [
        'ecs:ListTasks',
        'ecs:DescribeTasks',
        'ecs:GetTaskProtection',
        'ecs:StopTask',
        'ecs:RunTask',
        'ecs:TagResource',
        'ecs:DescribeTaskDefinition',
      ],
    ],
  ])(
    'can run, restart and pass nothing else where %s left empty',
    async (_what, params, expected) => {
      const actions = actionsOf(await packaged(params), 'ReconcileProxiesRole');
      expect(actions.filter((action) => /^(ecs|iam):/.test(action))).toEqual(expected);
    },
    60_000,
  );
});

it('each function and each schedule has a role of its own, and there are no others', () => {
  expect(plain.resources.WatchChecksLambdaFunction?.Properties.Role).toEqual({ 'Fn::Sub': `\${WatchChecksRole.Arn}` });
  expect(plain.resources.ReconcileProxiesLambdaFunction?.Properties.Role).toEqual({
    'Fn::Sub': `\${ReconcileProxiesRole.Arn}`,
  });
  expect(Object.keys(plain.resources).filter((id) => plain.resources[id]?.Type === 'AWS::IAM::Role')).toEqual([
    'WatchChecksRole',
    'ReconcileProxiesRole',
    'WatchChecksScheduleRole',
    'ReconcileProxiesScheduleRole',
  ]);
});

it('no ARN of ours names a partition', () => {
  const template = JSON.stringify(plain.resources);
  expect(template.match(/arn:aws[a-z-]*:/g) ?? []).toEqual([]);
});
