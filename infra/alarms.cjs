/**
 * Makes CloudWatch metric filters and alarms of `alarms.yml`. The filters read the functions' logs, so that an alarm
 * needs neither a metric's exact name nor its dimensions: log lines carry `code`, lines of metrics (EMF) carry `Passes`.
 * A code is the same trouble whichever function meets it: filters on both logs feed one alarm.
 */
'use strict';

const { alarmActions } = require('./deployment.cjs');

/** `pass-failed` → `PassFailed`. */
function logicalId(name) {
  return name
    .split('-')
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');
}

const FUNCTIONS = ['WatchChecks', 'ReconcileProxies'];

function metricFilter(functionId, namespace, name, pattern, value) {
  return {
    Type: 'AWS::Logs::MetricFilter',
    Properties: {
      LogGroupName: { Ref: `${functionId}LogGroup` },
      FilterPattern: pattern,
      MetricTransformations: [{ MetricNamespace: namespace, MetricName: name, MetricValue: value }],
    },
  };
}

/** `metric`: where it is another namespace's than ours. */
function alarm(namespace, name, description, rule, actions, metric) {
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      AlarmName: `${namespace}/${name}`,
      AlarmDescription: `${description} What to do: infra/RUNBOOK.md, "${name}".`,
      ...(metric ?? { Namespace: namespace, MetricName: name }),
      Statistic: 'Sum',
      ...rule,
      AlarmActions: actions,
      OKActions: actions,
    },
  };
}

/** Alarms when lines with the code come. */
function ofCode(namespace, { code, times, minutes }, actions) {
  const description = `${times} or more log lines "${code}" within ${minutes} minutes.`;
  const rule = {
    Period: minutes * 60,
    EvaluationPeriods: 1,
    ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    Threshold: times,
    TreatMissingData: 'notBreaching',
  };
  const filters = FUNCTIONS.map((functionId) => [
    `${logicalId(code)}${functionId}Filter`,
    metricFilter(functionId, namespace, code, `{ $.code = "${code}" }`, '1'),
  ]);
  return {
    ...Object.fromEntries(filters),
    [`${logicalId(code)}Alarm`]: alarm(namespace, code, description, rule, actions),
  };
}

/** Alarms when good passes of a function do not come. */
function ofHeartbeat(namespace, { name, function: functionId, metric, minutes, meaning }, actions) {
  const description = `Nothing good for ${minutes} minutes: ${meaning}.`;
  const rule = {
    Period: 60,
    EvaluationPeriods: minutes,
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    TreatMissingData: 'breaching',
  };
  return {
    [`${logicalId(name)}Filter`]: metricFilter(functionId, namespace, name, `{ $.${metric} >= 1 }`, `$.${metric}`),
    [`${logicalId(name)}Alarm`]: alarm(namespace, name, description, rule, actions),
  };
}

/** Alarms when there is something in a queue that nobody reads. */
function ofQueue(namespace, { name, queue, minutes }, actions) {
  const description = 'Messages could not be seen to.';
  const rule = {
    Period: minutes * 60,
    EvaluationPeriods: 1,
    Statistic: 'Maximum',
    ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    Threshold: 1,
    TreatMissingData: 'notBreaching',
  };
  const metric = {
    Namespace: 'AWS/SQS',
    MetricName: 'ApproximateNumberOfMessagesVisible',
    Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': [queue, 'QueueName'] } }],
  };
  return { [`${logicalId(name)}Alarm`]: alarm(namespace, name, description, rule, actions, metric) };
}

module.exports = async ({ resolveVariable }) => {
  const { alarms, heartbeats, queues } = await resolveVariable('file(infra/alarms.yml)');
  const namespace = `${await resolveVariable('self:service')}-${await resolveVariable('sls:stage')}`;
  const actions = await alarmActions({ resolveVariable });
  return {
    Resources: Object.assign(
      ...heartbeats.map((entry) => ofHeartbeat(namespace, entry, actions)),
      ...queues.map((entry) => ofQueue(namespace, entry, actions)),
      ...alarms.map((entry) => ofCode(namespace, entry, actions)),
    ),
  };
};
