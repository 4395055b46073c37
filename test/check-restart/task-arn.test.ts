import { describe, expect, it } from 'vitest';
import {
  clusterName,
  clusterNameOfArn,
  isTaskId,
  longTaskArn,
  parseServiceArn,
  parseTaskArn,
} from '../../lib/check-restart/task-arn.ts';

const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const T2 = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';
const UUID = '0f3c9a4b-e1d2-4c0f-9f4b-2f6b1b7c8d90';
const account = '123456789012';

describe('C13: task ARNs of both forms and all partitions are taken apart', () => {
  it.each([
    [
      `arn:aws:ecs:eu-west-1:${account}:task/${UUID}`,
      { partition: 'aws', region: 'eu-west-1', account, cluster: undefined, id: UUID },
    ],
    [
      `arn:aws:ecs:eu-west-1:${account}:task/prod/${T1}`,
      { partition: 'aws', region: 'eu-west-1', account, cluster: 'prod', id: T1 },
    ],
    [
      `arn:aws-cn:ecs:cn-north-1:${account}:task/${UUID}`,
      { partition: 'aws-cn', region: 'cn-north-1', account, cluster: undefined, id: UUID },
    ],
    [
      `arn:aws-cn:ecs:cn-northwest-1:${account}:task/default/${T2}`,
      { partition: 'aws-cn', region: 'cn-northwest-1', account, cluster: 'default', id: T2 },
    ],
    [
      `arn:aws-us-gov:ecs:us-gov-west-1:${account}:task/prod_1-a/${T1}`,
      { partition: 'aws-us-gov', region: 'us-gov-west-1', account, cluster: 'prod_1-a', id: T1 },
    ],
  ])('C13: %s', (text, expected) => {
    const parsed = parseTaskArn(text);
    expect({ cluster: undefined, ...parsed }).toStrictEqual(expected);
  });
});

describe('C13: the short form says no cluster, so none is assumed', () => {
  it('C13: a short ARN has no member `cluster`', () => {
    expect(parseTaskArn(`arn:aws:ecs:eu-west-1:${account}:task/${UUID}`)).not.toHaveProperty('cluster');
  });
});

describe('C13: what only looks like a task ARN is none', () => {
  it.each([
    `arn:aws-us-gov:ecs:us-gov-east-1:${account}:service/orders`,
    `arn:aws-cn:ecs:cn-north-1:${account}:service/prod/orders`,
    `arn:aws:ecs:eu-west-1:${account}:cluster`,
    `arn:aws:ecs:eu-west-1:${account}:task-definition/orders:42`,
    `arn:aws:ecs::${account}:task/prod/${T1}`,
    `arn:aws:ec2:eu-west-1:${account}:instance/i-0abc`,
    `prod/${T1}`,
    T1,
    '',
    `arn:aws:ecs:eu-west-1:${account}:task/`,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/`,
    `arn:aws:ecs:eu-west-1:${account}:task//${T1}`,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/x/${T1}`,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/${T1.slice(1)}`,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/${T1.toUpperCase()}`,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/${T1} `,
    `arn:aws:ecs:eu-west-1:${account}:task/prod/${T1}\n`,
    ` arn:aws:ecs:eu-west-1:${account}:task/prod/${T1}`,
    `arn:aws:ecs:eu-west-1:12345678901:task/prod/${T1}`,
    `arn:aws:ecs:eu-west-1::task/prod/${T1}`,
    `arn::ecs:eu-west-1:${account}:task/prod/${T1}`,
    `arn:aws:ecs:eu-west-1:${account}:task/pr od/${T1}`,
    ['$', '{TASK_ARN}'].join(''),
  ])('C13: %j', (text) => {
    expect(parseTaskArn(text)).toBeUndefined();
  });
});

describe('C13: service and cluster ARNs', () => {
  it('C13: a short service ARN has a name only', () => {
    expect(parseServiceArn(`arn:aws-us-gov:ecs:us-gov-east-1:${account}:service/orders`)).toStrictEqual({
      name: 'orders',
    });
  });

  it('C13: a long service ARN has its cluster too', () => {
    expect(parseServiceArn(`arn:aws-cn:ecs:cn-north-1:${account}:service/prod/orders`)).toStrictEqual({
      name: 'orders',
      cluster: 'prod',
    });
  });

  it('C13: a task ARN is no service ARN', () => {
    expect(parseServiceArn(`arn:aws:ecs:eu-west-1:${account}:task/prod/${T1}`)).toBeUndefined();
  });

  it('C13: a cluster ARN without a name is not usable as a cluster', () => {
    expect(clusterNameOfArn(`arn:aws:ecs:eu-west-1:${account}:cluster`)).toBeUndefined();
    expect(clusterName(`arn:aws:ecs:eu-west-1:${account}:cluster`)).toBeUndefined();
  });

  it.each([
    [`arn:aws:ecs:eu-west-1:${account}:cluster/prod`, 'prod'],
    [`arn:aws-us-gov:ecs:us-gov-west-1:${account}:cluster/prod_1-a`, 'prod_1-a'],
    ['prod', 'prod'],
    ['prod/web', undefined],
    ['', undefined],
    [`arn:aws:ecs:eu-west-1:${account}:cluster/prod/web`, undefined],
  ])('the cluster of %j is %j', (text, expected) => {
    expect(clusterName(text)).toBe(expected);
  });
});

describe('task IDs', () => {
  it.each([
    [T1, true],
    [UUID, true],
    [T1.toUpperCase(), false],
    [T1.slice(1), false],
    [`${T1}0`, false],
    ['canary', false],
    [`0f3c9a4be1d2-4c0f-9f4b-2f6b-1b7c8d90`, false],
  ])('%s: %s', (text, expected) => {
    expect(isTaskId(text)).toBe(expected);
  });

  it('the long form is what the long form was parsed from', () => {
    const text = `arn:aws-us-gov:ecs:us-gov-west-1:${account}:task/prod_1-a/${T1}`;
    const arn = parseTaskArn(text);
    expect(arn && longTaskArn({ ...arn, cluster: arn.cluster ?? '' })).toBe(text);
  });
});
