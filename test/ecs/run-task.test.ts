import { describe, expect, it } from 'vitest';
import { FAULTS, type Fault } from '../../infra/local/ecs-double/faults.ts';
import { isTemporaryFailure } from '../../lib/proxies/backoff.ts';
import type { LaunchOutcome } from '../../lib/proxies/outcome.ts';
import { launchRequest, OURS, type ProxyStage, proxyStage } from './proxy-stage.ts';
import { arnOf, CLUSTER, START_MS, T1 } from './stage.ts';

const OF = { proxyId: 'edge', generation: START_MS };
const error = (code: string, message = code, status = 400): Fault => ({ kind: 'error', code, message, status });
const arnIn = (outcome: LaunchOutcome) => (outcome.kind === 'launched' ? outcome.taskArn : '');
const inputs = ({ double }: ProxyStage) => double.callsOf('RunTask').map(({ input }) => input);
const tasksOf = ({ double }: ProxyStage) => double.world.tasks().map(({ arn }) => arn);

describe('launching a proxy', () => {
  it('is one RunTask with everything that marks the task as ours', async () => {
    const scene = await proxyStage();
    const outcome = await scene.port.runTask(launchRequest());
    expect(outcome).toEqual({ ...OF, kind: 'launched', taskArn: tasksOf(scene)[0] });
    expect(inputs(scene)).toEqual([
      {
        cluster: CLUSTER,
        taskDefinition: 'envoy:3',
        count: 1,
        startedBy: OURS,
        clientToken: expect.stringMatching(/^[!-~]{1,64}$/),
        tags: [
          { key: 'ecs-check-restart:proxy-id', value: 'edge' },
          { key: 'ecs-check-restart:fingerprint', value: 'f'.repeat(64) },
          { key: 'ecs-check-restart:generation', value: String(START_MS) },
        ],
        overrides: {
          containerOverrides: [{ name: 'envoy', environment: [{ name: 'CONNECT_PROXY_ID', value: 'edge' }] }],
        },
      },
    ]);
  });

  it('says command, environment, network, launch type and platform, each where it is declared', async () => {
    const scene = await proxyStage();
    const spec = {
      command: ['envoy', '-c', '/x y'],
      environment: { B: '2', A: '1' },
      network: { subnets: ['subnet-0a1b2c3d'], securityGroups: ['sg-0a1b2c3d'], assignPublicIp: false },
      launchType: 'FARGATE',
      platformVersion: '1.4.0',
    } as const;
    await scene.port.runTask(launchRequest({}, spec));
    expect(inputs(scene)).toMatchObject([
      {
        overrides: {
          containerOverrides: [
            {
              name: 'envoy',
              command: ['envoy', '-c', '/x y'],
              environment: [
                { name: 'B', value: '2' },
                { name: 'A', value: '1' },
                { name: 'CONNECT_PROXY_ID', value: 'edge' },
              ],
            },
          ],
        },
        networkConfiguration: {
          awsvpcConfiguration: {
            subnets: ['subnet-0a1b2c3d'],
            securityGroups: ['sg-0a1b2c3d'],
            assignPublicIp: 'DISABLED',
          },
        },
        launchType: 'FARGATE',
        platformVersion: '1.4.0',
      },
    ]);
    expect(inputs(scene)[0]).not.toHaveProperty('capacityProviderStrategy');
  });

  it('with capacity providers and a public address', async () => {
    const scene = await proxyStage();
    const capacityProviders = [{ capacityProvider: 'FARGATE_SPOT', weight: 1, base: 0 }];
    const network = { subnets: ['subnet-0a1b2c3d'], securityGroups: [], assignPublicIp: true };
    await scene.port.runTask(launchRequest({}, { capacityProviders, network }));
    expect(inputs(scene)).toMatchObject([
      {
        capacityProviderStrategy: capacityProviders,
        networkConfiguration: { awsvpcConfiguration: { securityGroups: [], assignPublicIp: 'ENABLED' } },
      },
    ]);
    expect(inputs(scene)[0]).not.toHaveProperty('launchType');
  });

  it('its ID is the last variable, and its own, whatever the declaration says', async () => {
    const scene = await proxyStage();
    await scene.port.runTask(launchRequest({}, { environment: { CONNECT_PROXY_ID: 'other', Z: '1' } }));
    const environment = [
      { name: 'Z', value: '1' },
      { name: 'CONNECT_PROXY_ID', value: 'edge' },
    ];
    expect(inputs(scene)).toMatchObject([{ overrides: { containerOverrides: [{ environment }] } }]);
    const { tasks } = await scene.port.ownTasks(CLUSTER, []);
    expect(tasks).toMatchObject([{ proxyId: 'edge', fingerprint: 'f'.repeat(64), generation: START_MS }]);
  });
});

describe('the container that the overrides go to', () => {
  it('is the first essential one of the task definition', async () => {
    const scene = await proxyStage();
    scene.double.containers.set('envoy', [
      { name: 'init', essential: false },
      { name: 'proxy' },
      { name: 'log', essential: true },
    ]);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ kind: 'launched' });
    expect(inputs(scene)).toMatchObject([{ overrides: { containerOverrides: [{ name: 'proxy' }] } }]);
    expect(scene.double.callsOf('DescribeTaskDefinition').map(({ input }) => input)).toEqual([
      { taskDefinition: 'envoy:3' },
    ]);
  });

  it('is the first one where none is essential', async () => {
    const scene = await proxyStage();
    scene.double.containers.set('envoy', [
      { name: 'a', essential: false },
      { name: 'b', essential: false },
    ]);
    await scene.port.runTask(launchRequest());
    expect(inputs(scene)).toMatchObject([{ overrides: { containerOverrides: [{ name: 'a' }] } }]);
  });

  it('is the declared one, and then the definition is not asked for', async () => {
    const scene = await proxyStage();
    scene.double.containers.set('envoy', [{ name: 'a' }, { name: 'sidecar' }]);
    await scene.port.runTask(launchRequest({}, { container: 'sidecar' }));
    expect(inputs(scene)).toMatchObject([{ overrides: { containerOverrides: [{ name: 'sidecar' }] } }]);
    expect(scene.double.callsOf('DescribeTaskDefinition')).toEqual([]);
  });

  it('does not exist: refused, with ECS as witness', async () => {
    const scene = await proxyStage();
    const outcome = await scene.port.runTask(launchRequest({}, { container: 'nope' }));
    expect(outcome).toMatchObject({
      ...OF,
      kind: 'launch-refused',
      code: 'InvalidParameterException',
      message: expect.stringMatching(/nope/),
    });
  });

  it.each([
    ['throttled', FAULTS.throttled, 'ThrottlingException', true],
    ['forbidden', FAULTS.forbidden, 'AccessDeniedException', false],
    [
      'without such a definition',
      error('ClientException', 'Unable to describe task definition.'),
      'ClientException',
      false,
    ],
    ['broken', FAULTS.broken, 'ServerException', true],
  ])('cannot be looked up (%s): refused, since nothing was launched', async (_, fault, code, temporary) => {
    const scene = await proxyStage();
    scene.double.faults.add('DescribeTaskDefinition', fault);
    const outcome = await scene.port.runTask(launchRequest());
    expect(outcome).toMatchObject({
      ...OF,
      kind: 'launch-refused',
      code,
      message: expect.stringMatching(/^DescribeTaskDefinition: /),
    });
    expect(isTemporaryFailure(code)).toBe(temporary);
    expect(inputs(scene)).toEqual([]);
  });

  it('cannot be looked up in time: refused, and temporary', async () => {
    const scene = await proxyStage({ callTimeoutMs: 50 });
    scene.double.faults.add('DescribeTaskDefinition', FAULTS.hang);
    const outcome = await scene.port.runTask(launchRequest());
    expect(outcome).toMatchObject({ kind: 'launch-refused' });
    expect(outcome.kind === 'launch-refused' && isTemporaryFailure(outcome.code)).toBe(true);
  });

  it('there is none: refused', async () => {
    const scene = await proxyStage();
    scene.double.containers.set('envoy', []);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ kind: 'launch-refused', code: 'NoContainer' });
    expect(inputs(scene)).toEqual([]);
  });
});

describe('overrides', () => {
  /** Its overrides have exactly so many bytes. */
  function ofBytes(bytes: number, letter = 'x') {
    const frame = JSON.stringify({
      containerOverrides: [
        {
          name: 'envoy',
          environment: [
            { name: 'A', value: '' },
            { name: 'CONNECT_PROXY_ID', value: 'edge' },
          ],
        },
      ],
    });
    return { environment: { A: letter.repeat((bytes - frame.length) / Buffer.byteLength(letter)) } };
  }

  it('of 8192 bytes are taken', async () => {
    const scene = await proxyStage();
    expect(await scene.port.runTask(launchRequest({}, ofBytes(8192)))).toMatchObject({ kind: 'launched' });
    expect(JSON.stringify(inputs(scene)[0]?.overrides)).toHaveLength(8192);
  });

  it.each([
    ['one byte more', ofBytes(8193)],
    ['fewer characters, but more bytes', ofBytes(9001, '🔥')],
  ])('of %s are refused without a call', async (_, spec) => {
    const scene = await proxyStage();
    const outcome = await scene.port.runTask(launchRequest({}, spec));
    expect(outcome).toMatchObject({
      ...OF,
      kind: 'launch-refused',
      code: 'OverridesTooLarge',
      message: expect.stringMatching(/at most 8192/),
    });
    expect(inputs(scene)).toEqual([]);
    expect(isTemporaryFailure('OverridesTooLarge')).toBe(false);
  });
});

describe('stopping and redeploying, by the same port', () => {
  it('stops one of ours with its reason', async () => {
    const scene = await proxyStage();
    const task = arnIn(await scene.port.runTask(launchRequest()));
    const reason = 'proxy edge: its declaration has changed';
    expect(await scene.port.stopTask({ cluster: CLUSTER, task, reason })).toEqual({ outcome: 'accepted' });
    expect(scene.double.world.task(task)).toMatchObject({ desiredStatus: 'STOPPED', stoppedReason: reason });
    expect(await scene.port.stopTask({ cluster: CLUSTER, task: arnOf(T1), reason })).toEqual({ outcome: 'gone' });
  });

  it('forces a deployment of an existing service', async () => {
    const scene = await proxyStage();
    scene.double.world.addService({ name: 'gateway', cluster: CLUSTER, desiredCount: 2 });
    const outcome = await scene.port.forceNewDeployment({ cluster: CLUSTER, service: 'gateway' });
    expect(outcome).toMatchObject({ outcome: 'accepted', deploymentId: expect.stringMatching(/^ecs-svc\//) });
    expect(scene.double.callsOf('UpdateService').map(({ input }) => input)).toEqual([
      { cluster: CLUSTER, service: 'gateway', forceNewDeployment: true },
    ]);
  });
});
