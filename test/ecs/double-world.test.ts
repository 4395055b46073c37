import { describe, expect, it } from 'vitest';
import { DEFAULT_DELAYS, NO_DELAYS } from '../../infra/local/ecs-double/model.ts';
import type { EcsEvent } from '../../infra/local/ecs-double/wire.ts';
import { EcsWorld, type EcsWorldOptions } from '../../infra/local/ecs-double/world.ts';

function world(options: Partial<EcsWorldOptions> = {}) {
  const clock = { ms: 0 };
  const ecs = new EcsWorld({ nowMs: () => clock.ms, ...options });
  const to = (atMs: number) => {
    clock.ms = atMs;
    ecs.advance();
  };
  return { ecs, to };
}

describe("a task's life in the double", () => {
  it('passes through all states, and startedAt is the instant of RUNNING', () => {
    const { ecs, to } = world();
    const seen: string[] = [];
    ecs.onTaskChange((task, before) => {
      if (task.lastStatus !== before.lastStatus) seen.push(task.lastStatus);
    });
    const arn = ecs.addTask({ launch: true });
    expect(ecs.task(arn)).toMatchObject({ lastStatus: 'PROVISIONING', startedAtMs: undefined });
    to(10_000);
    expect(ecs.task(arn)).toMatchObject({
      lastStatus: 'RUNNING',
      startedAtMs: DEFAULT_DELAYS.provisioningMs + DEFAULT_DELAYS.pendingMs,
    });
    ecs.stopTask(arn, 'why');
    expect(ecs.task(arn)).toMatchObject({ lastStatus: 'RUNNING', desiredStatus: 'STOPPED' });
    to(20_000);
    expect(seen).toStrictEqual(['PENDING', 'RUNNING', 'DEACTIVATING', 'STOPPING', 'DEPROVISIONING', 'STOPPED']);
    expect(ecs.task(arn)).toMatchObject({ stopCode: 'UserInitiated', stoppedReason: 'why', stoppingAtMs: 10_000 });
  });

  it('is MISSING an hour after it stopped, to the millisecond', () => {
    const { ecs, to } = world({ delays: NO_DELAYS });
    const arn = ecs.addTask({});
    ecs.stopTask(arn, 'why');
    to(0);
    to(3_599_999);
    expect(ecs.tasks()).toHaveLength(1);
    to(3_600_000);
    expect(ecs.tasks()).toHaveLength(0);
    expect(ecs.task(arn)?.lastStatus).toBe('STOPPED');
  });

  it('that has not come to run yet is stopped without ever having started', () => {
    const { ecs, to } = world();
    const arn = ecs.addTask({ launch: true });
    ecs.stopTask(arn, 'why');
    to(60_000);
    expect(ecs.task(arn)).toMatchObject({ lastStatus: 'STOPPED', startedAtMs: undefined });
  });

  it('ends by itself with its exit code', () => {
    const { ecs, to } = world();
    const arn = ecs.addTask({ tags: [{ key: 'a', value: 'b' }] });
    ecs.exitTask(arn, { exitCode: 0 });
    to(60_000);
    expect(ecs.task(arn)).toMatchObject({ stopCode: 'EssentialContainerExited', exitCode: 0, tags: [] });
  });

  it('drains for as long as somebody wants, and nothing follows from that', () => {
    const { ecs, to } = world();
    ecs.addService({ name: 'web', desiredCount: 1, startTasks: false });
    const arn = ecs.addTask({ service: 'web' });
    ecs.setDesiredStatus(arn, 'STOPPED');
    to(600_000);
    expect(ecs.tasks()).toHaveLength(1);
    expect(ecs.task(arn)?.lastStatus).toBe('RUNNING');
    ecs.setDesiredStatus(arn, 'RUNNING');
    expect(ecs.task(arn)?.desiredStatus).toBe('RUNNING');
  });

  it('started in the future is PENDING until then', () => {
    const { ecs, to } = world();
    const arn = ecs.addTask({ startedAtMs: 5000 });
    expect(ecs.task(arn)).toMatchObject({ lastStatus: 'PENDING', startedAtMs: undefined });
    expect(ecs.dueAtMs).toBe(5000);
    to(7000);
    expect(ecs.task(arn)).toMatchObject({ lastStatus: 'RUNNING', startedAtMs: 5000 });
  });
});

describe('the service scheduler of the double', () => {
  function roleWorld(replaceAfterMs: number | null) {
    const scene = world({ delays: NO_DELAYS });
    scene.ecs.addService({ name: 'web', desiredCount: 1, startTasks: false });
    const arn = scene.ecs.addTask({ service: 'web', label: 'web-1', replaceAfterMs });
    return { ...scene, arn };
  }

  it('replaces a stopped task after the delay by one with a new ARN, a new start and the old label', () => {
    const { ecs, to, arn } = roleWorld(5000);
    to(1000);
    ecs.stopTask(arn, 'why');
    to(5999);
    expect(ecs.tasks()).toHaveLength(1);
    to(20_000);
    const [, replacement] = ecs.tasks();
    expect(replacement).toMatchObject({ label: 'web-1', startedAtMs: 6000, replaces: arn, replaceAfterMs: 5000 });
    expect(replacement?.arn).not.toBe(arn);
    expect(replacement?.startedBy).toMatch(/^ecs-svc\/\d{19}$/);
  });

  it('replaces the replacement too', () => {
    const { ecs, to, arn } = roleWorld(0);
    ecs.stopTask(arn, 'why');
    to(0);
    const second = ecs.tasks().find((task) => task.desiredStatus === 'RUNNING');
    ecs.stopTask(second?.arn ?? '', 'again');
    to(0);
    expect(ecs.tasks().map(({ desiredStatus }) => desiredStatus)).toStrictEqual(['STOPPED', 'STOPPED', 'RUNNING']);
  });

  it('never replaces a task that is not to be replaced', () => {
    const { ecs, to, arn } = roleWorld(null);
    ecs.stopTask(arn, 'why');
    to(86_400_000);
    expect(ecs.service('default', 'web')?.desiredCount).toBe(1);
    expect(ecs.tasks()).toHaveLength(0);
  });

  it('replaces a task once, however often it is stopped', () => {
    const { ecs, to, arn } = roleWorld(1000);
    ecs.stopTask(arn, 'why');
    ecs.stopTask(arn, 'again');
    to(60_000);
    expect(ecs.tasks()).toHaveLength(2);
    expect(ecs.task(arn)?.stoppedReason).toBe('why');
  });

  it('leaves stand-alone tasks alone', () => {
    const { ecs, to } = world();
    ecs.stopTask(ecs.addTask({}), 'why');
    to(60_000);
    expect(ecs.tasks()).toHaveLength(1);
  });

  it('follows the desired count', () => {
    const { ecs, to } = world();
    ecs.addService({ name: 'web', desiredCount: 3 });
    to(10_000);
    ecs.setDesiredCount('default', 'web', 1);
    to(20_000);
    const running = ecs.tasks().filter(({ lastStatus }) => lastStatus === 'RUNNING');
    expect(running).toHaveLength(1);
    expect(ecs.tasks().find((task) => task.lastStatus === 'STOPPED')?.stopCode).toBe('ServiceSchedulerInitiated');
  });

  it('rolls a forced deployment: new tasks first, then the old ones go, then it is COMPLETED', () => {
    const { ecs, to } = world();
    ecs.addService({ name: 'web', desiredCount: 2 });
    to(10_000);
    const old = ecs.tasks().map(({ arn }) => arn);
    const id = ecs.deploy('default', 'web');
    const states = () =>
      ecs.service('default', 'web')?.deployments.map(({ status, rolloutState }) => [status, rolloutState]);
    expect(states()).toStrictEqual([
      ['PRIMARY', 'IN_PROGRESS'],
      ['ACTIVE', 'COMPLETED'],
    ]);
    to(11_000);
    expect(ecs.tasks().filter(({ desiredStatus }) => desiredStatus === 'RUNNING')).toHaveLength(4);
    to(60_000);
    expect(states()).toStrictEqual([['PRIMARY', 'COMPLETED']]);
    const live = ecs.tasks().filter(({ lastStatus }) => lastStatus === 'RUNNING');
    expect(live.map(({ startedBy }) => startedBy)).toStrictEqual([id, id]);
    expect(live.map(({ replaces }) => replaces).sort()).toStrictEqual([...old].sort());
  });

  it('leaves a deployment that does not roll in progress until it is settled', () => {
    const { ecs, to } = world();
    ecs.addService({ name: 'web', desiredCount: 1, rollsDeployments: false });
    to(10_000);
    ecs.deploy('default', 'web');
    to(600_000);
    expect(ecs.service('default', 'web')?.deployments[0]?.rolloutState).toBe('IN_PROGRESS');
    ecs.settleDeployment('default', 'web', 'FAILED');
    expect(ecs.service('default', 'web')?.deployments.map(({ rolloutState }) => rolloutState)).toStrictEqual([
      'FAILED',
      'COMPLETED',
    ]);
  });
});

describe("the double's events", () => {
  it('have the shape of EventBridge, and versions that count up', () => {
    const { ecs, to } = world({ delays: NO_DELAYS });
    const events: EcsEvent[] = [];
    ecs.onEvent((event) => events.push(event));
    const arn = ecs.addTask({ launch: true, startedBy: 'proxy-reconciler', family: 'edge-proxy' });
    to(1000);
    ecs.exitTask(arn);
    to(2000);
    expect(events.map(({ detail }) => detail.lastStatus)).toStrictEqual([
      'PROVISIONING',
      'PENDING',
      'RUNNING',
      'DEPROVISIONING',
      'STOPPED',
    ]);
    expect(events.map(({ detail }) => detail.version)).toStrictEqual([1, 2, 3, 4, 5]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(5);
    expect(events.at(-1)).toMatchObject({
      version: '0',
      'detail-type': 'ECS Task State Change',
      source: 'aws.ecs',
      account: '123456789012',
      region: 'eu-west-1',
      time: '1970-01-01T00:00:01Z',
      resources: [arn],
      detail: {
        taskArn: arn,
        clusterArn: 'arn:aws:ecs:eu-west-1:123456789012:cluster/default',
        desiredStatus: 'STOPPED',
        stopCode: 'EssentialContainerExited',
        startedBy: 'proxy-reconciler',
        group: 'family:edge-proxy',
        startedAt: '1970-01-01T00:00:00.000Z',
        stoppedAt: '1970-01-01T00:00:01.000Z',
        updatedAt: '1970-01-01T00:00:01.000Z',
      },
    });
  });

  it('reach nobody who has stopped listening', () => {
    const { ecs } = world();
    let heard = 0;
    const stopListening = ecs.onEvent(() => {
      heard += 1;
    });
    stopListening();
    ecs.addTask({});
    expect(heard).toBe(0);
  });
});
