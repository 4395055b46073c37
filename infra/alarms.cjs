/**
 * Makes CloudWatch metric filters and alarms of `alarms.yml`. The filters read the function's log, so that an alarm
 * needs neither a metric's exact name nor its dimensions: log lines carry `code`, lines of metrics (EMF) carry `Passes`.
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

function metricFilter(namespace, name, pattern, value) {
  return {
    Type: 'AWS::Logs::MetricFilter',
    Properties: {
      LogGroupName: { Ref: 'WatchChecksLogGroup' },
      FilterPattern: pattern,
      MetricTransformations: [{ MetricNamespace: namespace, MetricName: name, MetricValue: value }],
    },
  };
}

function alarm(namespace, name, description, rule, actions) {
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      AlarmName: `${namespace}/${name}`,
      AlarmDescription: `${description} What to do: infra/RUNBOOK.md, "${name}".`,
      Namespace: namespace,
      MetricName: name,
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
  return {
    [`${logicalId(code)}Filter`]: metricFilter(namespace, code, `{ $.code = "${code}" }`, '1'),
    [`${logicalId(code)}Alarm`]: alarm(namespace, code, description, rule, actions),
  };
}

/** Alarms when good passes do not come. */
function ofHeartbeat(namespace, { name, minutes }, actions) {
  const description = `No good pass for ${minutes} minutes: nothing is being watched.`;
  const rule = {
    Period: 60,
    EvaluationPeriods: minutes,
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    TreatMissingData: 'breaching',
  };
  return {
    [`${logicalId(name)}Filter`]: metricFilter(namespace, name, '{ $.Passes >= 1 }', '$.Passes'),
    [`${logicalId(name)}Alarm`]: alarm(namespace, name, description, rule, actions),
  };
}

module.exports = async ({ resolveVariable }) => {
  const { alarms, heartbeat } = await resolveVariable('file(infra/alarms.yml)');
  const namespace = `${await resolveVariable('self:service')}-${await resolveVariable('sls:stage')}`;
  const actions = await alarmActions({ resolveVariable });
  return {
    Resources: Object.assign(
      ofHeartbeat(namespace, heartbeat, actions),
      ...alarms.map((entry) => ofCode(namespace, entry, actions)),
    ),
  };
};
