/**
 * The role of reconcile-proxies: exactly the actions that the code performs, on exactly what the stage's parameters name.
 * An empty list of clusters leaves nothing of ECS but definitions to read, an empty one of families nothing to run, and an
 * empty one of roles only proxies whose task definition has none.
 *
 * IAM cannot tell tasks by who started them, so StopTask covers every task of the clusters; the code stops only what its
 * own `startedBy` marks. A cluster of its own for proxies makes the role as narrow as the code.
 */
'use strict';

const { listParam } = require('./deployment.cjs');
const { allow, arn, commonStatements, onClusters, roleOf, servicesOf, tasksOf } = require('./role-statements.cjs');

function ecsStatements(clusters, families, services) {
  if (clusters.length === 0) return [];
  const on = onClusters(clusters);
  const tasks = tasksOf(clusters);
  const statements = [
    // ListTasks knows container instances only, which a whole cluster is not named by.
    allow('ListTasks', ['ecs:ListTasks'], '*', on),
    allow('ReadTasks', ['ecs:DescribeTasks', 'ecs:GetTaskProtection'], tasks, on),
    allow('StopTasks', ['ecs:StopTask'], tasks, on),
  ];
  if (families.length > 0) statements.push(...runStatements(clusters, families));
  if (services.length > 0) {
    const named = servicesOf(clusters, services);
    statements.push(allow('RedeployServices', ['ecs:DescribeServices', 'ecs:UpdateService'], named, on));
  }
  return statements;
}

function runStatements(clusters, families) {
  const definitions = families.map((family) => arn('ecs', `task-definition/${family}:*`));
  const tasks = clusters.map((cluster) => arn('ecs', `task/${cluster}/*`));
  return [
    allow('RunProxies', ['ecs:RunTask'], definitions, onClusters(clusters)),
    allow('TagWhatIsRun', ['ecs:TagResource'], tasks, { StringEquals: { 'ecs:CreateAction': 'RunTask' } }),
    // DescribeTaskDefinition knows no resources.
    allow('ReadDefinitions', ['ecs:DescribeTaskDefinition'], '*'),
  ];
}

/** The roles of the proxies' tasks, handed to nobody but ECS. */
function passStatements(roles, clusters, families) {
  if (roles.length === 0 || clusters.length === 0 || families.length === 0) return [];
  const toTasks = { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } };
  return [allow('PassTaskRoles', ['iam:PassRole'], roles, toTasks)];
}

module.exports = async (variables) => {
  const list = (name) => listParam(variables.resolveVariable, name);
  const clusters = await list('proxyClusters');
  const families = await list('proxyFamilies');
  const queueActions = ['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
  const statements = [
    ...ecsStatements(clusters, families, await list('proxyServices')),
    ...passStatements(await list('proxyRoleArns'), clusters, families),
    allow('UseQueue', queueActions, { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] }),
    ...(await commonStatements(variables, 'reconcileProxies')),
  ];
  return { Resources: { ReconcileProxiesRole: roleOf('reconcile-proxies', statements) } };
};
