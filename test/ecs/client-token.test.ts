/** One launch is one task, however often it is asked for and whatever becomes of the answers. */
import { describe, expect, it } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import type { LaunchOutcome } from '../../lib/proxies/outcome.ts';
import { launchRequest, OURS, type ProxyStage, proxyStage } from './proxy-stage.ts';
import { START_MS } from './stage.ts';

const OF = { proxyId: 'edge', generation: START_MS };
const arnIn = (outcome: LaunchOutcome) => (outcome.kind === 'launched' ? outcome.taskArn : '');
const inputs = ({ double }: ProxyStage) => double.callsOf('RunTask').map(({ input }) => input);
const tasksOf = ({ double }: ProxyStage) => double.world.tasks().map(({ arn }) => arn);

describe('the client token', () => {
  async function tokenOf(changes: Parameters<typeof launchRequest>[0], startedBy = OURS) {
    const scene = await proxyStage({ startedBy });
    await scene.port.runTask(launchRequest(changes));
    return inputs(scene)[0]?.clientToken;
  }

  it('is the same for the same launch, another for another generation or deployment', async () => {
    const first = await tokenOf({});
    expect(await tokenOf({})).toBe(first);
    const others = [
      await tokenOf({ generation: 8 }),
      await tokenOf({ clientTokenText: 'x' }),
      await tokenOf({}, 'other'),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it('has at most 64 characters of ! to ~, whatever the proxy is called', async () => {
    expect(await tokenOf({ clientTokenText: `["${'größe 🔥 '.repeat(100)}"]` })).toMatch(/^[!-~]{1,64}$/);
  });

  it('a launch that is asked for again is the same task', async () => {
    const scene = await proxyStage();
    const first = await scene.port.runTask(launchRequest());
    scene.pass(60_000);
    expect(await scene.port.runTask(launchRequest())).toEqual(first);
    expect(tasksOf(scene)).toHaveLength(1);
  });

  it('C38: the answer is lost, the SDK repeats with the same token: one task, and it is told', async () => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', FAULTS.resetAfterEffect, { times: 1 });
    const outcome = await scene.port.runTask(launchRequest());
    expect(outcome).toEqual({ ...OF, kind: 'launched', taskArn: tasksOf(scene)[0] });
    expect(tasksOf(scene)).toHaveLength(1);
    expect(new Set(inputs(scene).map(({ clientToken }) => clientToken)).size).toBe(1);
    expect(inputs(scene)).toHaveLength(2);
  });

  it('C38: all answers are lost: unknown; the next pass repeats it and finds the one task', async () => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', FAULTS.resetAfterEffect, { times: 3 });
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-unknown' });
    const [only] = tasksOf(scene);
    expect(await scene.port.runTask(launchRequest())).toEqual({ ...OF, kind: 'launched', taskArn: only });
    expect(tasksOf(scene)).toHaveLength(1);
  });

  it('was used for a request in other words: the task that it made is ours', async () => {
    const scene = await proxyStage();
    const first = await scene.port.runTask(launchRequest());
    // A new revision, whose first essential container has another name.
    scene.double.containers.set('envoy', [{ name: 'renamed' }]);
    expect(await scene.port.runTask(launchRequest())).toEqual(first);
    expect(inputs(scene)).toHaveLength(2);
    expect(tasksOf(scene)).toEqual([arnIn(first)]);
  });

  it.each([
    ['names no task', { __type: 'ConflictException', message: 'in use' }],
    ['has an empty list', { __type: 'ConflictException', message: 'in use', resourceIds: [] }],
    ['names something else', { __type: 'ConflictException', message: 'in use', resourceIds: ['edge'] }],
  ])('a conflict that %s: a task was made, which one is unknown', async (_, body) => {
    const scene = await proxyStage();
    scene.double.faults.add('RunTask', { kind: 'body', text: JSON.stringify(body), status: 400 });
    expect(await scene.port.runTask(launchRequest())).toMatchObject({ ...OF, kind: 'launch-unknown' });
  });
});
