import { describe, expect, it } from 'vitest';
import { FAULTS, type Fault } from '../../infra/local/ecs-double/faults.ts';
import { isTemporaryFailure } from '../../lib/proxies/backoff.ts';
import { launchRequest, type ProxyStage, proxyStage } from './proxy-stage.ts';
import { arnOf, START_MS, T1 } from './stage.ts';

const OF = { proxyId: 'edge', generation: START_MS };
const error = (code: string, message = code, status = 400): Fault => ({ kind: 'error', code, message, status });
const inputs = ({ double }: ProxyStage) => double.callsOf('RunTask').map(({ input }) => input);
const tasksOf = ({ double }: ProxyStage) => double.world.tasks().map(({ arn }) => arn);

describe('a launch that makes no task', () => {
  it('C37: failures[] of an answer with status 200 is a failed launch with its reason', async () => {
    const scene = await proxyStage();
    scene.double.launchFailures.push('AGENT', 'RESOURCE:MEMORY');
    expect(await scene.port.runTask(launchRequest())).toEqual({ ...OF, kind: 'launch-failed', reason: 'AGENT' });
    expect(await scene.port.runTask(launchRequest({ generation: 8 }))).toEqual({
      ...OF,
      generation: 8,
      kind: 'launch-failed',
      reason: 'RESOURCE:MEMORY',
    });
    expect(await scene.port.runTask(launchRequest({ generation: 9 }))).toMatchObject({ kind: 'launched' });
    expect(tasksOf(scene)).toHaveLength(1);
  });

  it.each([
    ['without a reason', { failures: [{ arn: 'x' }] }, { kind: 'launch-failed', reason: 'no reason' }],
    ['with a reason of several lines', { failures: [{ reason: 'a\nb' }] }, { kind: 'launch-failed', reason: 'a b' }],
    ['with neither task nor failure', { tasks: [], failures: [] }, { kind: 'launch-unknown' }],
    ['with nothing', {}, { kind: 'launch-unknown' }],
    ['with a task without an ARN', { tasks: [{}], failures: [] }, { kind: 'launch-unknown' }],
    ['with a task', { tasks: [{ taskArn: arnOf(T1) }] }, { kind: 'launched', taskArn: arnOf(T1) }],
  ])('C37: an answer %s', async (_, body, expected) => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', { kind: 'body', text: JSON.stringify(body) });
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, ...expected });
  });

  it.each([
    ['throttled three times', FAULTS.throttled, 'ThrottlingException', 3],
    ['forbidden', FAULTS.forbidden, 'AccessDeniedException', 1],
    [
      'invalid',
      error('InvalidParameterException', 'No Container Instances were found'),
      'InvalidParameterException',
      1,
    ],
    ['in a cluster that is gone', error('ClusterNotFoundException'), 'ClusterNotFoundException', 1],
    ['blocked', error('BlockedException'), 'BlockedException', 1],
    ['on a platform that does not exist', error('PlatformUnknownException'), 'PlatformUnknownException', 1],
  ])('is refused when it is %s', async (_, fault, code, tries) => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', fault);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-refused', code });
    expect(inputs(scene)).toHaveLength(tries);
    expect(tasksOf(scene)).toEqual([]);
  });

  it('is refused when there is no connection, which may pass', async () => {
    const scene = await proxyStage();
    await scene.close();
    const outcome = await scene.port.runTask(launchRequest({}, { container: 'envoy' }));
    expect(outcome).toMatchObject({ ...OF, kind: 'launch-refused', code: 'ECONNREFUSED' });
    expect(isTemporaryFailure('ECONNREFUSED')).toBe(true);
  });
});

describe('a launch of which nothing is known', () => {
  it.each([
    ['ECS fails itself', FAULTS.broken],
    ['the connection drops before the effect', FAULTS.reset],
    ['the connection drops after the effect', FAULTS.resetAfterEffect],
    ['something answers in HTML', FAULTS.html],
    ['the answer is cut off', FAULTS.truncated],
    ['the request took too long on its way', error('RequestTimeout', 'late', 408)],
  ])('%s', async (_, fault) => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', fault);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-unknown' });
  });

  it('no answer comes within the deadline', async () => {
    const scene = await proxyStage({ callTimeoutMs: 60 });
    scene.double.faults.add('RunTask', FAULTS.hangAfterEffect);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-unknown' });
    expect(tasksOf(scene)).toHaveLength(1);
  });

  it.each([
    ['throttled', FAULTS.throttled],
    ['forbidden', FAULTS.forbidden],
  ])('the first try got no answer, though the others were %s', async (_, then) => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', FAULTS.resetAfterEffect, { times: 1 });
    scene.double.faults.add('RunTask', then);
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-unknown' });
    expect(tasksOf(scene)).toHaveLength(1);
  });

  it('has a message of one line, and says nothing of the environment', async () => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', error('ServerException', `a\nb\u2028${'x'.repeat(500)}`, 500));
    const outcome = await scene.port.runTask(launchRequest({}, { environment: { A: 'quiet-please' } }));
    const message = outcome.kind === 'launch-unknown' ? outcome.message : '';
    expect(message).toMatch(/^ServerException: a b x+$/);
    expect(message.length).toBeLessThanOrEqual(300);
    expect(message).not.toContain('quiet-please');
  });
});
