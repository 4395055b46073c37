/**
 * What the roles of both functions are made of: statements of a policy, and the ones that any function of ours needs. Each
 * function's own file says what that function may do. Globs mean the same in IAM (`*`, `?`) as in our settings.
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

/** The condition that all actions of ECS on tasks and services have. */
function onClusters(clusters) {
  return { ArnLike: { 'ecs:cluster': clusters.map((cluster) => arn('ecs', `cluster/${cluster}`)) } };
}

/**
 * Tasks of the clusters. ARNs of old tasks are short: no cluster's name, and a UUID for an ID, which no long one looks
 * like; of these the condition on the cluster lets through what is meant.
 */
function tasksOf(clusters) {
  const short = 'task/????????-????-????-????-????????????';
  return [...clusters.map((cluster) => `task/${cluster}/*`), short].map((resource) => arn('ecs', resource));
}

/** Services by name (or `CLUSTER/NAME`). A short ARN is just the name: a glob there would match long ones of other clusters. */
function servicesOf(clusters, services) {
  const long = services.flatMap((service) =>
    service.includes('/') ? [service] : clusters.map((cluster) => `${cluster}/${service}`),
  );
  const short = services.map((service) => service.split('/').at(-1)).filter((name) => !/[*?]/.test(name));
  return [...new Set([...long, ...short])].map((service) => arn('ecs', `service/${service}`));
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

/** What any function of ours needs: its log, the table, events, Consul's secrets, its place in a VPC. */
async function commonStatements({ resolveVariable, resolveConfigurationProperty }, functionKey) {
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
  const name = await resolveConfigurationProperty(['functions', functionKey, 'name']);
  const table = await resolveConfigurationProperty(['custom', 'tableName']);
  return [
    allow('WriteLogs', ['logs:CreateLogStream', 'logs:PutLogEvents'], arn('logs', `log-group:/aws/lambda/${name}:*`)),
    allow(
      'KeepState',
      ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      arn('dynamodb', `table/${table}`),
    ),
    ...(bus && bus !== 'off' ? [allow('PublishEvents', ['events:PutEvents'], arn('events', `event-bus/${bus}`))] : []),
    ...secretStatements(parameters, secrets, await list('kmsKeyArns')),
    ...vpcStatements((await vpc({ resolveVariable })) !== null, arn('lambda', `function:${name}`)),
  ];
}

/** A function's role. */
function roleOf(functionName, statements) {
  return {
    Type: 'AWS::IAM::Role',
    Properties: {
      Description: `What ${functionName} may do, and nothing else`,
      AssumeRolePolicyDocument: {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' }],
      },
      Policies: [{ PolicyName: functionName, PolicyDocument: { Version: '2012-10-17', Statement: statements } }],
    },
  };
}

module.exports = { allow, arn, commonStatements, onClusters, roleOf, servicesOf, tasksOf };
