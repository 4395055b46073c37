/** Events of the double twice, reordered, late and never: what tests of the reconciler play with. */
import { describe, expect, it } from 'vitest';
import { EventChaos } from '../../infra/local/ecs-double/event-chaos.ts';
import type { EcsEvent } from '../../infra/local/ecs-double/wire.ts';
import { launchRequest, OURS, proxyStage } from './proxy-stage.ts';

describe('events of our tasks on a bad day', () => {
  const statusesOf = (events: readonly EcsEvent[]) => events.map(({ detail }) => [detail.version, detail.lastStatus]);

  async function launched() {
    const scene = await proxyStage();
    const events: EcsEvent[] = [];
    const chaos = new EventChaos(scene.double.world, (event) => events.push(event));
    return { scene, events, chaos };
  }

  it('come once and in order unless told otherwise', async () => {
    const { scene, events } = await launched();
    await scene.port.runTask(launchRequest());
    scene.pass(5000);
    expect(statusesOf(events)).toEqual([
      [1, 'PROVISIONING'],
      [2, 'PENDING'],
      [3, 'RUNNING'],
    ]);
    expect(events.every(({ detail }) => detail.startedBy === OURS)).toBe(true);
  });

  it('C40: twice, each with an ID of its own', async () => {
    const { scene, events, chaos } = await launched();
    chaos.mischief.copies = 2;
    await scene.port.runTask(launchRequest());
    expect(statusesOf(events)).toEqual([
      [1, 'PROVISIONING'],
      [1, 'PROVISIONING'],
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
    expect(events[1]?.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('C40: held back, and then in another order', async () => {
    const { scene, events, chaos } = await launched();
    chaos.mischief.hold = true;
    await scene.port.runTask(launchRequest());
    scene.pass(5000);
    expect(events).toEqual([]);
    expect(chaos.held).toBe(3);
    chaos.release('reversed');
    expect(statusesOf(events).map(([version]) => version)).toEqual([3, 2, 1]);
    expect(chaos.held).toBe(0);
  });

  it('shuffled by a seed: the same every time', async () => {
    const orders = [];
    for (const seed of [1, 1, 2]) {
      const { scene, events, chaos } = await launched();
      chaos.mischief.hold = true;
      for (let generation = 1; generation < 8; generation += 1)
        await scene.port.runTask(launchRequest({ generation, clientTokenText: String(generation) }));
      scene.pass(5000);
      chaos.release(seed);
      orders.push(events.map(({ id }) => id).join());
    }
    expect(orders[0]).toBe(orders[1]);
    expect(orders[0]).not.toBe(orders[2]);
  });

  it('C41: never', async () => {
    const { scene, events, chaos } = await launched();
    const outcome = await scene.port.runTask(launchRequest());
    scene.pass(5000);
    chaos.mischief.lose = ({ detail }) => detail.lastStatus === 'STOPPED';
    scene.double.world.exitTask(outcome.kind === 'launched' ? outcome.taskArn : '');
    scene.pass(5000);
    expect(statusesOf(events).at(-1)).toEqual([4, 'DEPROVISIONING']);
    expect(statusesOf(chaos.lost)).toEqual([[5, 'STOPPED']]);
  });

  it('nothing more once it has ended', async () => {
    const { scene, events, chaos } = await launched();
    chaos.end();
    await scene.port.runTask(launchRequest());
    expect(events).toEqual([]);
  });
});
