import { describe, expect, it } from 'vitest';
import { FAULTS, type Fault } from '../../infra/local/ecs-double/faults.ts';
import { arnOf, CLUSTER, serviceOfOne, stage, T1, T2 } from './stage.ts';

const stop = (id: string) => ({ cluster: CLUSTER, task: arnOf(id), reason: 'healthcheck: check "http" unhealthy' });
const deploy = { cluster: CLUSTER, service: 'web' };

function refusing(code: string, message: string): Fault {
  return { kind: 'error', code, message };
}

describe('stopping a task', () => {
  it('is accepted, and the task carries the reason', async () => {
    const scene = stage();
    serviceOfOne(scene);
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual({ outcome: 'accepted' });
    expect(scene.double.calls.map(({ input }) => input)).toStrictEqual([stop(T1)]);
    expect(scene.double.world.task(T1)).toMatchObject({ desiredStatus: 'STOPPED', stoppedReason: stop(T1).reason });
  });

  it('can be repeated', async () => {
    const scene = stage();
    serviceOfOne(scene);
    await scene.port.stopTask(stop(T1));
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual({ outcome: 'accepted' });
  });

  it.each([
    ['InvalidParameterException', 'The referenced task was not found.'],
    ['InvalidParameterException', 'Task not found'],
    ['InvalidParameterException', 'The task cannot be found.'],
    ['InvalidParameterException', 'The specified task does not exist.'],
    ['InvalidParameterException', 'Task arn:aws:ecs:eu-west-1:123456789012:task/prod/x no longer exists'],
    ['ClientException', 'The referenced task was not found.'],
    ['ResourceNotFoundException', 'The specified resource was not found.'],
  ])('C36: %s "%s" means that it is gone already', async (code, message) => {
    const scene = stage();
    scene.double.faults.add('StopTask', refusing(code, message));
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual({ outcome: 'gone' });
    expect(scene.double.calls).toHaveLength(1);
  });

  it.each([
    ['InvalidParameterException', 'taskId length should be one of [32,36]'],
    ['InvalidParameterException', 'Cluster not found for the task.'],
    ['ClusterNotFoundException', 'Cluster not found.'],
    ['ClientException', 'The task is in a state in which this is not allowed.'],
    ['AccessDeniedException', 'User is not authorized: the task was not found in the policy'],
  ])('C36: %s "%s" is a refusal', async (code, message) => {
    const scene = stage();
    scene.double.faults.add('StopTask', refusing(code, message));
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual({ outcome: 'refused', code, message });
    expect(scene.double.calls).toHaveLength(1);
  });

  it.each([
    [T1, T2],
    [T2, T1],
  ])('C36: one gone and one forbidden have each their own outcome, in either order', async (...order) => {
    const scene = stage();
    scene.double.faults.add('StopTask', FAULTS.forbidden, { when: ({ task }) => task === arnOf(T2) });
    const outcomes = new Map<string, string>();
    for (const id of order) outcomes.set(id, (await scene.port.stopTask(stop(id))).outcome);
    expect(Object.fromEntries(outcomes)).toStrictEqual({ [T1]: 'gone', [T2]: 'refused' });
  });

  it('is refused when ECS throttled every try: none of them did anything', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('StopTask', FAULTS.throttled);
    const refused = { outcome: 'refused', code: 'ThrottlingException', message: 'Rate exceeded' };
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual(refused);
    expect(scene.double.calls).toHaveLength(3);
  });

  it('is refused when no connection could be made', async () => {
    const scene = stage();
    scene.double.faults.add('StopTask', FAULTS.refuse);
    expect(await scene.port.stopTask(stop(T1))).toMatchObject({ outcome: 'refused', code: 'ECONNREFUSED' });
  });

  it.each([
    ['the connection drops', FAULTS.reset],
    ['ECS fails itself', FAULTS.broken],
    ['something answers in HTML', FAULTS.html],
    ['the answer is cut off', FAULTS.truncated],
  ])('is unknown when %s', async (_, fault) => {
    const scene = stage();
    scene.double.faults.add('StopTask', fault);
    expect(await scene.port.stopTask(stop(T1))).toMatchObject({ outcome: 'unknown' });
  });

  it('is unknown when no answer comes within the deadline', async () => {
    const scene = stage({ callTimeoutMs: 50 });
    serviceOfOne(scene);
    scene.double.faults.add('StopTask', FAULTS.hangAfterEffect);
    expect(await scene.port.stopTask(stop(T1))).toMatchObject({ outcome: 'unknown' });
    expect(scene.double.world.task(T1)?.desiredStatus).toBe('STOPPED');
  });

  it('is unknown when the first try got no answer, though the others were throttled', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('StopTask', FAULTS.resetAfterEffect, { times: 1 });
    scene.double.faults.add('StopTask', FAULTS.throttled);
    expect(await scene.port.stopTask(stop(T1))).toMatchObject({ outcome: 'unknown' });
    expect(scene.double.calls).toHaveLength(3);
  });

  it('is accepted when a later try is', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('StopTask', FAULTS.broken, { times: 1 });
    expect(await scene.port.stopTask(stop(T1))).toStrictEqual({ outcome: 'accepted' });
  });

  it('says nothing in a refusal that could break a log line', async () => {
    const scene = stage();
    scene.double.faults.add('StopTask', refusing('ClientException', `a\nb\u001b[31m\u2028${'x'.repeat(400)}`));
    const outcome = await scene.port.stopTask(stop(T1));
    expect(outcome).toMatchObject({ outcome: 'refused', message: expect.stringMatching(/^a b \[31m x+$/) });
    expect(JSON.stringify(outcome).length).toBeLessThan(400);
  });
});

describe('forcing a deployment', () => {
  it('is accepted with the ID of the new deployment', async () => {
    const scene = stage();
    serviceOfOne(scene);
    const outcome = await scene.port.forceNewDeployment(deploy);
    const [primary, old] = scene.double.world.service(CLUSTER, 'web')?.deployments ?? [];
    expect(outcome).toStrictEqual({ outcome: 'accepted', deploymentId: primary?.id });
    expect(old?.status).toBe('ACTIVE');
    expect(scene.double.calls.map(({ input }) => input)).toStrictEqual([{ ...deploy, forceNewDeployment: true }]);
  });

  it.each(['CODE_DEPLOY', 'EXTERNAL'] as const)('C30: the %s controller refuses it', async (controller) => {
    const scene = stage();
    serviceOfOne(scene, { controller, omitController: true });
    expect(await scene.port.forceNewDeployment(deploy)).toMatchObject({
      outcome: 'refused',
      code: 'InvalidParameterException',
      controllerMismatch: true,
    });
    expect(scene.double.calls).toHaveLength(1);
  });

  it.each([
    ['Unable to update task definition on services with a CODE_DEPLOY deployment controller.', true],
    ['The deployment-controller of this service does not allow it', true],
    ['Use AWS CodeDeploy to trigger a new deployment.', true],
    ['Services with an external controller are updated through their task sets.', true],
    ['The service is being updated.', undefined],
    ['The deployment circuit breaker is not valid.', undefined],
  ])('C30: "%s" speaks of the controller: %s', async (message, controllerMismatch) => {
    const scene = stage();
    scene.double.faults.add('UpdateService', refusing('InvalidParameterException', message));
    const outcome = await scene.port.forceNewDeployment(deploy);
    expect(outcome).toMatchObject({ outcome: 'refused', message });
    expect('controllerMismatch' in outcome && outcome.controllerMismatch).toBe(controllerMismatch ?? false);
  });

  it('C30: a forbidden call is no mismatch, whatever its text', async () => {
    const scene = stage();
    scene.double.faults.add('UpdateService', refusing('AccessDeniedException', 'CODE_DEPLOY deployment controller'));
    expect(await scene.port.forceNewDeployment(deploy)).not.toHaveProperty('controllerMismatch');
  });

  it('is not repeated after a try without an answer: each call would start one more deployment', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('UpdateService', FAULTS.resetAfterEffect, { times: 1 });
    const outcome = { outcome: 'unknown', message: 'ECONNRESET: read ECONNRESET' };
    expect(await scene.port.forceNewDeployment(deploy)).toStrictEqual(outcome);
    expect(scene.double.calls).toHaveLength(1);
    expect(scene.double.world.service(CLUSTER, 'web')?.deployments).toHaveLength(2);
  });

  it('is repeated after throttling', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.faults.add('UpdateService', FAULTS.throttled, { times: 2 });
    expect(await scene.port.forceNewDeployment(deploy)).toMatchObject({ outcome: 'accepted' });
    expect(scene.double.calls).toHaveLength(3);
  });

  it('is refused for a service that is not there', async () => {
    const outcome = await stage().port.forceNewDeployment(deploy);
    expect(outcome).toMatchObject({ outcome: 'refused', code: 'ServiceNotFoundException' });
  });
});
