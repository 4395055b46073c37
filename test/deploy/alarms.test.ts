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

function expected(): string[] {
  const codes = Object.entries(EVENT_CODES).filter(([, { alarm }]) => alarm);
  return [...codes.map(([code]) => code), 'heartbeat-missing'].sort();
}

describe('alarms', () => {
  it('are those that the event codes ask for, and the heartbeat', () => {
    expect(
      propertiesOf('AWS::CloudWatch::Alarm')
        .map(({ MetricName }) => MetricName)
        .sort(),
    ).toEqual(expected());
  });

  it('have an entry each in the runbook, and it has no others', () => {
    const entries = [...RUNBOOK.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(entries.sort()).toEqual(expected());
  });

  it('filter the log on their code, the heartbeat on the metric of passes', () => {
    expect(METRICS).toHaveProperty('Passes');
    const filters = propertiesOf('AWS::Logs::MetricFilter').map(({ FilterPattern, MetricTransformations }) => {
      const [transformation] = MetricTransformations as { MetricName: string }[];
      return [transformation?.MetricName, FilterPattern];
    });
    expect(Object.fromEntries(filters)).toEqual(
      Object.fromEntries(
        expected().map((name) => [name, name === 'heartbeat-missing' ? '{ $.Passes >= 1 }' : `{ $.code = "${name}" }`]),
      ),
    );
  });

  it('notify the topic, and name their runbook entry', () => {
    for (const alarm of propertiesOf('AWS::CloudWatch::Alarm')) {
      expect(alarm.AlarmActions).toEqual([TOPIC]);
      expect(alarm.AlarmDescription).toContain(`infra/RUNBOOK.md, "${String(alarm.MetricName)}"`);
    }
  });

  it('take missing log lines for good news, a missing heartbeat for bad', () => {
    for (const alarm of propertiesOf('AWS::CloudWatch::Alarm')) {
      const bad = alarm.MetricName === 'heartbeat-missing';
      expect(alarm.TreatMissingData, String(alarm.MetricName)).toBe(bad ? 'breaching' : 'notBreaching');
    }
  });
});
