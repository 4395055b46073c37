/**
 * The role of watch-checks: exactly the actions that the code performs, on exactly the resources that the stage's
 * parameters name. An empty list of clusters or services leaves no statement that could stop anything.
 *
 * ECS: resources carry the cluster's name (`task/CLUSTER/ID`, `service/CLUSTER/NAME`), and the condition `ecs:cluster`,
 * which all of these actions have, names the same clusters again. IAM has no condition for the service of a task, so the
 * list of services narrows UpdateService here and StopTask in the code. Globs mean the same in IAM (`*`, `?`).
 */
'use strict';

const { listParam, vpc } = require('./deployment.cjs');

/** `${AWS::Partition}` and so on are CloudFormation's to fill in. */
const sub = (text) => ({ 'Fn::Sub': text });
const arn = (service, resource) =>
  sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${resource}`);

const endpoint = (service) => sub(`${service}.\${AWS::Region}.\${AWS::URLSuffix}`);

function allow(sid, actions, resources, condition) {
  return {
    Sid: sid,
    Effect: 'Allow',
    Action: actions,
    Resource: resources,
    ...(condition ? { Condition: condition } : {}),
  };
}

function ecsStatements(clusters, services) {
  if (clusters.length === 0) return [];
  const onClusters = { ArnLike: { 'ecs:cluster': clusters.map((cluster) => arn('ecs', `cluster/${cluster}`)) } };
  const tasks = clusters.map((cluster) => arn('ecs', `task/${cluster}/*`));
  const statements = [
    allow('ReadTasks', ['ecs:DescribeTasks', 'ecs:GetTaskProtection'], tasks, onClusters),
    allow(
      'ReadServices',
      ['ecs:DescribeServices'],
      clusters.map((cluster) => arn('ecs', `service/${cluster}/*`)),
      onClusters,
    ),
  ];
  if (services.length === 0) return statements;
  const named = services.flatMap((service) =>
    service.includes('/') ? [service] : clusters.map((cluster) => `${cluster}/${service}`),
  );
  return [
    ...statements,
    allow('StopTasks', ['ecs:StopTask'], tasks, onClusters),
    allow(
      'RedeployServices',
      ['ecs:UpdateService'],
      [...new Set(named)].map((service) => arn('ecs', `service/${service}`)),
      onClusters,
    ),
  ];
}

function parameterArn(name) {
  return name.startsWith('arn:') ? name : arn('ssm', `parameter/${name.replace(/^\//, '')}`);
}

/** Secrets Manager appends six random characters to a secret's name. */
function secretArn(id) {
  if (!id.startsWith('arn:')) return arn('secretsmanager', `secret:${id}-??????`);
  return /-[A-Za-z0-9]{6}$/.test(id) ? id : `${id}-??????`;
}

function secretStatements(parameters, secrets, keys) {
  return [
    ...(parameters.length > 0 ? [allow('ReadParameters', ['ssm:GetParameter'], parameters.map(parameterArn))] : []),
    ...(secrets.length > 0 ? [allow('ReadSecrets', ['secretsmanager:GetSecretValue'], secrets.map(secretArn))] : []),
    ...(keys.length > 0
      ? [
          allow('DecryptSecrets', ['kms:Decrypt'], keys, {
            StringEquals: {
              'kms:ViaService': [endpoint('ssm'), endpoint('secretsmanager')],
            },
          }),
        ]
      : []),
  ];
}

/** Lambda itself needs these to attach a function to a VPC, on all resources; the function's own code is denied them. */
function vpcStatements(inVpc, functionArn) {
  if (!inVpc) return [];
  const actions = [
    'ec2:CreateNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:DeleteNetworkInterface',
    'ec2:AssignPrivateIpAddresses',
    'ec2:UnassignPrivateIpAddresses',
  ];
  return [
    allow('AttachToVpc', actions, '*'),
    {
      Sid: 'ButNotFromCode',
      Effect: 'Deny',
      Action: actions,
      Resource: '*',
      Condition: { ArnEquals: { 'lambda:SourceFunctionArn': functionArn } },
    },
  ];
}

module.exports = async ({ resolveVariable, resolveConfigurationProperty }) => {
  const list = (name) => listParam(resolveVariable, name);
  const lists = (names) => Promise.all(names.map(list)).then((all) => all.flat());
  const parameters = await lists([
    'consulTokenSsmParameter',
    'consulCaSsmParameter',
    'consulClientCertSsmParameter',
    'consulClientKeySsmParameter',
  ]);
  const secrets = await lists([
    'consulTokenSecret',
    'consulCaSecret',
    'consulClientCertSecret',
    'consulClientKeySecret',
  ]);
  const [bus] = await list('eventBusName');
  const name = await resolveConfigurationProperty(['functions', 'watchChecks', 'name']);
  const table = await resolveConfigurationProperty(['custom', 'tableName']);
  const statements = [
    allow('WriteLogs', ['logs:CreateLogStream', 'logs:PutLogEvents'], arn('logs', `log-group:/aws/lambda/${name}:*`)),
    allow(
      'KeepState',
      ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      arn('dynamodb', `table/${table}`),
    ),
    ...ecsStatements(await list('allowedClusters'), await list('allowedServices')),
    ...(bus && bus !== 'off' ? [allow('PublishEvents', ['events:PutEvents'], arn('events', `event-bus/${bus}`))] : []),
    ...secretStatements(parameters, secrets, await list('kmsKeyArns')),
    ...vpcStatements((await vpc({ resolveVariable })) !== null, arn('lambda', `function:${name}`)),
  ];
  return {
    Resources: {
      WatchChecksRole: {
        Type: 'AWS::IAM::Role',
        Properties: {
          Description: 'What watch-checks may do, and nothing else',
          AssumeRolePolicyDocument: {
            Version: '2012-10-17',
            Statement: [{ Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' }],
          },
          Policies: [{ PolicyName: 'watch-checks', PolicyDocument: { Version: '2012-10-17', Statement: statements } }],
        },
      },
    },
  };
};
