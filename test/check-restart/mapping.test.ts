import { describe, expect, it } from 'vitest';
import { type MappingContext, mapInstance, type Registration } from '../../lib/check-restart/mapping.ts';

const ACCOUNT = '123456789012';
const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
const T2 = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';
const UUID = '0f3c9a4b-e1d2-4c0f-9f4b-2f6b1b7c8d90';
const LONG = `arn:aws:ecs:eu-west-1:${ACCOUNT}:task/prod/`;
const SHORT = `arn:aws:ecs:eu-west-1:${ACCOUNT}:task/`;
const CLUSTER_ARN = `arn:aws:ecs:eu-west-1:${ACCOUNT}:cluster/`;

const CONTEXT: MappingContext = {
  partition: 'aws',
  region: 'eu-west-1',
  account: ACCOUNT,
  metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
  allowedClusters: ['prod'],
};

const instance = (meta: Record<string, string>, serviceId = 'orders', node = 'ip-10-0-0-1'): Registration => ({
  node,
  serviceId,
  meta,
});
const map = (registration: Registration, special: Partial<MappingContext> = {}) =>
  mapInstance([registration], { ...CONTEXT, ...special });
const mapped = (id: string, how: string, cluster = 'prod') => ({
  kind: 'mapped',
  taskArn: `arn:aws:ecs:eu-west-1:${ACCOUNT}:task/${cluster}/${id}`,
  cluster,
  how,
});

describe('a task is found', () => {
  it.each<[string, Registration, object]>([
    ['by a long ARN in Meta', instance({ 'task-arn': LONG + T1 }), mapped(T1, 'Meta task-arn')],
    [
      'by task ID and cluster name in Meta',
      instance({ 'task-id': T1, 'ecs-cluster': 'prod' }),
      mapped(T1, 'Meta task-id'),
    ],
    [
      'by task ID and cluster ARN in Meta',
      instance({ 'task-id': T1, 'ecs-cluster': `${CLUSTER_ARN}prod` }),
      mapped(T1, 'Meta task-id'),
    ],
    [
      'by task ID and the node that is named by the cluster',
      instance({ 'task-id': T1 }, 'orders', `${CLUSTER_ARN}prod`),
      mapped(T1, 'Meta task-id'),
    ],
    ['by the end of the service ID', instance({ 'ecs-cluster': 'prod' }, `orders-${T1}`), mapped(T1, 'service ID')],
    [
      'by a UUID at the end of the service ID',
      instance({ 'ecs-cluster': 'prod' }, `orders-${UUID}`),
      mapped(UUID, 'service ID'),
    ],
    [
      'by ARN first where all three agree',
      instance({ 'task-arn': LONG + T1, 'task-id': T1, 'ecs-cluster': 'prod' }, `orders-${T1}`, `${CLUSTER_ARN}prod`),
      mapped(T1, 'Meta task-arn'),
    ],
  ])('%s', (_, registration, expected) => {
    expect(map(registration)).toStrictEqual(expected);
  });

  it('under the names of Meta keys that are configured, and no others', () => {
    const metaKeys = { taskArn: 'arn', taskId: 'id', cluster: 'where' };
    expect(map(instance({ arn: LONG + T1, 'task-arn': LONG + T2 }), { metaKeys })).toStrictEqual(
      mapped(T1, 'Meta arn'),
    );
    expect(map(instance({ id: T1, where: 'prod', 'task-id': T2 }), { metaKeys })).toStrictEqual(mapped(T1, 'Meta id'));
  });
});

describe('C10: what users put into Meta', () => {
  it('C10: (a) a value that is not shaped like a task ID says nothing', () => {
    expect(map(instance({ 'task-id': 'canary', 'task-arn': LONG + T1 }, `orders-${T1}`))).toStrictEqual(
      mapped(T1, 'Meta task-arn'),
    );
  });

  it('C10: (b) two different tasks are ambiguous', () => {
    expect(map(instance({ 'task-id': T2, 'task-arn': LONG + T1 }))).toStrictEqual({
      kind: 'ambiguous',
      why: 'Meta task-arn and Meta task-id name different tasks',
    });
  });

  it('C10: (c) a cluster that is not allowed is foreign', () => {
    const arn = `arn:aws:ecs:eu-west-1:${ACCOUNT}:task/stage/${T1}`;
    expect(map(instance({ 'task-arn': arn }))).toStrictEqual({
      kind: 'foreign-task',
      why: 'cluster "stage" is not on the list of allowed clusters',
    });
  });

  it('C10: (d) a variable that nobody expanded is unmapped', () => {
    const unexpanded = ['$', '{TASK_ARN}'].join('');
    expect(map(instance({ 'task-arn': unexpanded }))).toMatchObject({ kind: 'unmapped' });
  });
});

describe('C12: Registrator’s registrations are unmapped, whatever context there is', () => {
  it.each([
    'ip-10-20-3-11:ecs-orders-api-v2-42-app-a0b1c2d3e4f5a6b7c801:8080',
    'ip-10-20-3-11:ecs-dns-7-resolver-2-a0b1c2d3e4f5a6b7c802:53:udp',
    'ip-10-20-3-11:ecs-orders-api-v2-42-app-a0b1c2d3e4f5a6b7c803:8080',
    'ip-10-20-3-11:ecs-pay-1-web-2-app-a0b1c2d3e4f5a6b7c804:80',
    'ip-10-20-3-11:redis:6379',
  ])('C12: %s', (serviceId) => {
    expect(map(instance({}, serviceId, 'ip-10-20-3-11'), { defaultCluster: 'prod' })).toStrictEqual({
      kind: 'unmapped',
      why: 'nothing in its Meta or service ID names a task',
    });
  });
});

describe('C13: where a task is', () => {
  it.each<[string, Registration, Partial<MappingContext>, string]>([
    ['from the node', instance({ 'task-arn': SHORT + UUID }, 'x', `${CLUSTER_ARN}prod`), {}, 'prod'],
    ['from Meta', instance({ 'task-arn': SHORT + UUID, 'ecs-cluster': 'prod' }), {}, 'prod'],
    ['from the configuration', instance({ 'task-arn': SHORT + UUID }), { defaultCluster: 'prod' }, 'prod'],
    [
      'from the registration rather than from the configuration',
      instance({ 'task-arn': SHORT + UUID, 'ecs-cluster': 'stage' }),
      { defaultCluster: 'prod', allowedClusters: ['prod', 'stage'] },
      'stage',
    ],
  ])('C13: a short ARN takes the cluster %s', (_, registration, special, cluster) => {
    expect(map(registration, special)).toStrictEqual(mapped(UUID, 'Meta task-arn', cluster));
  });

  it('C13: a short ARN without any cluster is unmapped, never in "default"', () => {
    expect(map(instance({ 'task-arn': SHORT + UUID }), { allowedClusters: ['*'] })).toStrictEqual({
      kind: 'unmapped',
      why: 'Meta task-arn names a task, but nothing its cluster',
    });
  });

  it('C13: a node named by a cluster ARN without a name says no cluster', () => {
    const node = `arn:aws:ecs:eu-west-1:${ACCOUNT}:cluster`;
    expect(map(instance({ 'task-arn': SHORT + UUID }, 'x', node)).kind).toBe('unmapped');
  });

  it('C13: a node that has the cluster’s plain name says no cluster', () => {
    expect(map(instance({ 'task-id': T1 }, 'x', 'prod')).kind).toBe('unmapped');
  });

  it.each([
    ['account', `arn:aws:ecs:eu-west-1:999999999999:task/prod/${T1}`],
    ['region', `arn:aws:ecs:us-east-1:${ACCOUNT}:task/prod/${T1}`],
    ['partition', `arn:aws-cn:ecs:eu-west-1:${ACCOUNT}:task/prod/${T1}`],
    ['account, in the short form', `arn:aws:ecs:eu-west-1:999999999999:task/${UUID}`],
  ])('C13: a task ARN of another %s is foreign', (_, arn) => {
    const mapping = map(instance({ 'task-arn': arn }), { defaultCluster: 'prod' });
    expect(mapping).toMatchObject({ kind: 'foreign-task', why: expect.stringContaining('Meta task-arn') });
  });

  it.each([
    ['account', 'arn:aws:ecs:eu-west-1:999999999999:cluster/prod'],
    ['region', `arn:aws:ecs:us-east-1:${ACCOUNT}:cluster/prod`],
    ['partition', `arn:aws-cn:ecs:eu-west-1:${ACCOUNT}:cluster/prod`],
  ])('C13: so is a cluster ARN of another %s, in Meta or as the node’s name', (_, arn) => {
    expect(map(instance({ 'task-id': T1, 'ecs-cluster': arn }))).toMatchObject({
      kind: 'foreign-task',
      why: expect.stringContaining('Meta ecs-cluster'),
    });
    expect(map(instance({ 'task-id': T1 }, 'orders', arn))).toMatchObject({
      kind: 'foreign-task',
      why: expect.stringContaining('node name'),
    });
  });

  it('C13: in another partition the long form is of that partition', () => {
    const arn = `arn:aws-cn:ecs:cn-north-1:${ACCOUNT}:task/${UUID}`;
    const china = { partition: 'aws-cn', region: 'cn-north-1', defaultCluster: 'prod' };
    expect(map(instance({ 'task-arn': arn }), china)).toMatchObject({
      taskArn: `arn:aws-cn:ecs:cn-north-1:${ACCOUNT}:task/prod/${UUID}`,
    });
  });
});

describe('contradictions', () => {
  it.each<[string, Registration, string]>([
    ['ARN and service ID', instance({ 'task-arn': LONG + T1 }, `orders-${T2}`), 'tasks'],
    ['task ID and service ID', instance({ 'task-id': T1, 'ecs-cluster': 'prod' }, `orders-${T2}`), 'tasks'],
    [
      'the cluster of the ARN and that of Meta',
      instance({ 'task-arn': LONG + T1, 'ecs-cluster': 'stage' }),
      'clusters',
    ],
    [
      'the cluster of the ARN and that of the node',
      instance({ 'task-arn': LONG + T1 }, 'orders', `${CLUSTER_ARN}stage`),
      'clusters',
    ],
    [
      'the cluster of Meta and that of the node',
      instance({ 'task-id': T1, 'ecs-cluster': 'stage' }, 'orders', `${CLUSTER_ARN}prod`),
      'clusters',
    ],
  ])('%s: ambiguous', (_, registration, what) => {
    expect(map(registration, { allowedClusters: ['*'] })).toMatchObject({
      kind: 'ambiguous',
      why: expect.stringMatching(new RegExp(`name different ${what}$`)),
    });
  });

  it('a configured cluster contradicts nothing', () => {
    expect(map(instance({ 'task-arn': LONG + T1 }), { defaultCluster: 'stage' })).toStrictEqual(
      mapped(T1, 'Meta task-arn'),
    );
  });
});

describe('what is not shaped like evidence is none', () => {
  it.each<[string, Registration]>([
    ['nothing at all', instance({})],
    ['an upper-case ID', instance({ 'task-id': T1.toUpperCase() })],
    ['an ID that is too long', instance({ 'task-id': `${T1}0` })],
    ['an ID in the middle of the service ID', instance({}, `orders-${T1}-http`)],
    ['an ID at the end without a dash before it', instance({}, `orders${T1}`)],
    ['a longer hexadecimal end', instance({}, `orders-a${T1}`)],
    ['an ID alone as service ID', instance({}, T1)],
    ['the ARN of a task definition', instance({ 'task-arn': `arn:aws:ecs:eu-west-1:${ACCOUNT}:task-definition/a:1` })],
    ['a path', instance({ 'task-arn': `prod/${T1}` })],
  ])('%s: unmapped', (_, registration) => {
    expect(map(registration, { defaultCluster: 'prod' }).kind).toBe('unmapped');
  });

  it('a cluster that is neither a name nor an ARN says nothing', () => {
    expect(map(instance({ 'task-id': T1, 'ecs-cluster': 'pr od' }), { defaultCluster: 'prod' })).toStrictEqual(
      mapped(T1, 'Meta task-id'),
    );
  });

  it('a cluster alone is no task', () => {
    expect(map(instance({ 'ecs-cluster': 'prod' })).kind).toBe('unmapped');
  });
});

describe('a sidecar comes with its destination', () => {
  const sidecar = (meta: Record<string, string>) => instance(meta, `orders-${T1}-sidecar-proxy`);

  it('C09: and shares its task', () => {
    const node = `${CLUSTER_ARN}prod`;
    const destination = instance({ 'task-id': T1, 'task-arn': LONG + T1 }, `orders-${T1}`, node);
    expect(mapInstance([destination, { ...sidecar({}), node }], CONTEXT)).toStrictEqual(mapped(T1, 'Meta task-arn'));
  });

  it('and is found by either of them', () => {
    expect(mapInstance([instance({}), sidecar({ 'task-arn': LONG + T1 })], CONTEXT)).toStrictEqual(
      mapped(T1, 'Meta task-arn'),
    );
    expect(mapInstance([instance({ 'task-arn': LONG + T1 }), sidecar({})], CONTEXT)).toStrictEqual(
      mapped(T1, 'Meta task-arn'),
    );
  });

  it('is ambiguous where both name different tasks', () => {
    const registrations = [instance({ 'task-arn': LONG + T2 }), sidecar({ 'task-arn': LONG + T1 })];
    expect(mapInstance(registrations, CONTEXT).kind).toBe('ambiguous');
  });

  it('is ambiguous where both name different clusters', () => {
    const other = `arn:aws:ecs:eu-west-1:${ACCOUNT}:task/stage/${T1}`;
    const registrations = [instance({ 'task-arn': LONG + T1 }), sidecar({ 'task-arn': other })];
    expect(mapInstance(registrations, { ...CONTEXT, allowedClusters: ['*'] }).kind).toBe('ambiguous');
  });

  it('is foreign where one of them is', () => {
    const foreign = `arn:aws:ecs:eu-west-1:999999999999:task/prod/${T1}`;
    const registrations = [instance({ 'task-arn': LONG + T1 }), sidecar({ 'task-arn': foreign })];
    expect(mapInstance(registrations, CONTEXT).kind).toBe('foreign-task');
  });
});

describe('the list of allowed clusters', () => {
  it.each<[readonly string[], 'mapped' | 'foreign-task']>([
    [[], 'foreign-task'],
    [['stage'], 'foreign-task'],
    [['pro'], 'foreign-task'],
    [['stage', 'prod'], 'mapped'],
    [['pr*'], 'mapped'],
    [['*'], 'mapped'],
  ])('%j: %s', (allowedClusters, kind) => {
    expect(map(instance({ 'task-arn': LONG + T1 }), { allowedClusters }).kind).toBe(kind);
  });

  it('holds for the configured cluster, too', () => {
    expect(map(instance({ 'task-id': T1 }), { defaultCluster: 'prod', allowedClusters: [] }).kind).toBe('foreign-task');
  });
});
