/** Event codes that alarm, the alarms, and the runbook's entries are the same set. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVENT_CODES, METRICS } from '../../lib/event-codes.ts';
import type { Packaged } from './packaged.ts';
import { packaged } from './packaged.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:ops';
const RUNBOOK = readFileSync(new URL('../../infra/RUNBOOK.md', import.meta.url), 'utf8');

let deployed: Packaged;
beforeAll(async () => {
  deployed = await packaged({ alarmTopicArn: TOPIC });
}, 60_000);

function propertiesOf(type: string) {
  return Object.values(deployed.resources)
    .filter((resource) => resource.Type === type)
    .map((resource) => resource.Properties);
}

/** Names of the heartbeats' alarms, and the metric of a function's that is missing then. */
const HEARTBEATS = { 'heartbeat-missing': 'Passes', 'reconcile-missing': 'Reconciles' } as const;
const QUEUES = ['wake-ups-failed'];

const codes = Object.entries(EVENT_CODES)
  .filter(([, { alarm }]) => alarm)
  .map(([code]) => code);
const expected = () => [...codes, ...Object.keys(HEARTBEATS), ...QUEUES].sort();

/** An alarm's own name, without the stage's. */
const nameOf = ({ AlarmName }: Readonly<Record<string, unknown>>) => String(AlarmName).split('/').at(-1) ?? '';

describe('alarms', () => {
  it('are those that the event codes ask for, the heartbeats, and one for what was given up', () => {
    expect(propertiesOf('AWS::CloudWatch::Alarm').map(nameOf).sort()).toEqual(expected());
  });

  it('have an entry each in the runbook, and it has no others', () => {
    const entries = [...RUNBOOK.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(entries.sort()).toEqual(expected());
  });

  it('filter the logs of both functions on their code, the heartbeats one on its metric', () => {
    const filters = propertiesOf('AWS::Logs::MetricFilter').map(({ LogGroupName, FilterPattern, ...rest }) => {
      const [transformation] = rest.MetricTransformations as { MetricName: string }[];
      return [transformation?.MetricName, (LogGroupName as { Ref: string }).Ref, FilterPattern].join(' ');
    });
    const groups = ['WatchChecksLogGroup', 'ReconcileProxiesLogGroup'];
    expect(filters.sort()).toEqual(
      [
        ...codes.flatMap((code) => groups.map((group) => `${code} ${group} { $.code = "${code}" }`)),
        'heartbeat-missing WatchChecksLogGroup { $.Passes >= 1 }',
        'reconcile-missing ReconcileProxiesLogGroup { $.Reconciles >= 1 }',
      ].sort(),
    );
    for (const metric of Object.values(HEARTBEATS)) expect(METRICS).toHaveProperty(metric);
    const alarms = propertiesOf('AWS::CloudWatch::Alarm').filter((alarm) => !QUEUES.includes(nameOf(alarm)));
    for (const alarm of alarms) expect(alarm.MetricName).toBe(nameOf(alarm));
  });

  it('look into the queue of what was given up', () => {
    expect(propertiesOf('AWS::CloudWatch::Alarm').find((alarm) => nameOf(alarm) === 'wake-ups-failed')).toMatchObject({
      Namespace: 'AWS/SQS',
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['WakeUpDeadLetterQueue', 'QueueName'] } }],
      Statistic: 'Maximum',
      Threshold: 1,
    });
  });

  it('notify the topic, and name their runbook entry', () => {
    for (const alarm of propertiesOf('AWS::CloudWatch::Alarm')) {
      expect(alarm.AlarmActions).toEqual([TOPIC]);
      expect(alarm.AlarmDescription).toContain(`infra/RUNBOOK.md, "${nameOf(alarm)}"`);
    }
  });

  it('take missing log lines for good news, a missing heartbeat for bad', () => {
    for (const alarm of propertiesOf('AWS::CloudWatch::Alarm')) {
      const bad = nameOf(alarm) in HEARTBEATS;
      expect(alarm.TreatMissingData, nameOf(alarm)).toBe(bad ? 'breaching' : 'notBreaching');
    }
  });
});
