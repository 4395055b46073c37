import { describe, expect, it } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { arnOf, CLUSTER, serviceOfOne, stage, T1 } from './stage.ts';

const isSecondPage = (input: Readonly<Record<string, unknown>>) => input.nextToken !== undefined;

describe('listing tasks', () => {
  it('C35: goes on behind an empty page that carries a token', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.paging.emptyPagesFirst = 1;
    expect(await scene.port.listTasks(CLUSTER, {})).toStrictEqual([arnOf(T1)]);
    expect(scene.double.callsOf('ListTasks')).toHaveLength(2);
  });

  it('C35: (b) a page that fails makes the listing incomplete', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.paging.emptyPagesFirst = 1;
    scene.double.faults.add('ListTasks', FAULTS.throttled, { when: isSecondPage });
    await expect(scene.port.listTasks(CLUSTER, {})).rejects.toMatchObject({ system: 'ecs', code: 'incomplete' });
  });

  it('C35: (c) a token that comes again ends the listing as incomplete', async () => {
    const scene = stage();
    serviceOfOne(scene);
    scene.double.paging.endless = true;
    await expect(scene.port.listTasks(CLUSTER, {})).rejects.toMatchObject({ code: 'incomplete' });
    expect(scene.double.callsOf('ListTasks')).toHaveLength(2);
  });

  it('C35: (c) new tokens for ever end it after a bounded number of pages', async () => {
    const scene = stage();
    scene.double.paging.emptyPagesFirst = Number.POSITIVE_INFINITY;
    await expect(scene.port.listTasks(CLUSTER, {})).rejects.toMatchObject({ code: 'incomplete' });
    expect(scene.double.callsOf('ListTasks')).toHaveLength(1000);
  });

  it('a first page that fails says why', async () => {
    const scene = stage();
    scene.double.faults.add('ListTasks', FAULTS.forbidden);
    await expect(scene.port.listTasks(CLUSTER, {})).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('brings all of 250, in three pages', async () => {
    const scene = stage();
    const arns = Array.from({ length: 250 }, () => scene.double.world.addTask({ cluster: CLUSTER }));
    expect(await scene.port.listTasks(CLUSTER, {})).toStrictEqual(arns);
    expect(scene.double.callsOf('ListTasks')).toHaveLength(3);
  });

  it('filters by service and by starter, never with both in one request', async () => {
    const scene = stage();
    serviceOfOne(scene);
    const ours = scene.double.world.addTask({ cluster: CLUSTER, startedBy: 'proxies' });
    expect(await scene.port.listTasks(CLUSTER, { service: 'web' })).toStrictEqual([arnOf(T1)]);
    expect(await scene.port.listTasks(CLUSTER, { startedBy: 'proxies' })).toStrictEqual([ours]);
    expect(await scene.port.listTasks(CLUSTER, { service: 'web', startedBy: 'proxies' })).toStrictEqual([]);
    expect(scene.double.calls.every(({ input }) => input.cluster === CLUSTER)).toBe(true);
  });
});

describe('listing services', () => {
  it('C35: pages to the end', async () => {
    const scene = stage();
    for (let n = 0; n < 25; n += 1) {
      scene.double.world.addService({ name: `web-${n}`, cluster: CLUSTER, desiredCount: 0 });
    }
    scene.double.paging.pageSize = 10;
    scene.double.paging.emptyPagesFirst = 2;
    expect(new Set(await scene.port.listServices(CLUSTER)).size).toBe(25);
    expect(scene.double.callsOf('ListServices')).toHaveLength(5);
  });
});
