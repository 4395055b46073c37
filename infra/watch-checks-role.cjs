/**
 * The role of watch-checks: exactly the actions that the code performs, on exactly the resources that the stage's
 * parameters name. An empty list of clusters or services leaves no statement that could stop anything.
 *
 * ECS: resources carry the cluster's name (`task/CLUSTER/ID`, `service/CLUSTER/NAME`; short ARNs do not), and the condition
 * `ecs:cluster`, which all of these actions have, names the same clusters again. IAM has no condition for the service of a
 * task, so the list of services narrows UpdateService here and StopTask in the code.
 */
'use strict';

const { listParam } = require('./deployment.cjs');
const { allow, arn, commonStatements, onClusters, roleOf, servicesOf, tasksOf } = require('./role-statements.cjs');

function ecsStatements(clusters, services) {
  if (clusters.length === 0) return [];
  const on = onClusters(clusters);
  const tasks = tasksOf(clusters);
  const statements = [
    allow('ReadTasks', ['ecs:DescribeTasks', 'ecs:GetTaskProtection'], tasks, on),
    allow('ReadServices', ['ecs:DescribeServices'], arn('ecs', 'service/*'), on),
  ];
  if (services.length === 0) return statements;
  return [
    ...statements,
    allow('StopTasks', ['ecs:StopTask'], tasks, on),
    allow('RedeployServices', ['ecs:UpdateService'], servicesOf(clusters, services), on),
  ];
}

module.exports = async (variables) => {
  const list = (name) => listParam(variables.resolveVariable, name);
  const statements = [
    ...ecsStatements(await list('allowedClusters'), await list('allowedServices')),
    allow('WakeReconciler', ['sqs:SendMessage'], { 'Fn::GetAtt': ['WakeUpQueue', 'Arn'] }),
    ...(await commonStatements(variables, 'watchChecks')),
  ];
  return { Resources: { WatchChecksRole: roleOf('watch-checks', statements) } };
};
