/**
 * Restarts in an open window, end to end: each happens, once, in its order and not before its time. How soon they happen
 * is measured by `npm run bench -- latency`: a slow machine must not fail a test.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WindowResult } from '../../lib/use-cases/watch.ts';
import { consulServers, type RunningConsul } from '../contracts/consul-servers.ts';
import { register } from './consul-writes.ts';
import { preciseNowMs, type RestartStage, startRestartStage } from './restart-stage.ts';

const POLICY = {
  rules: [
    { match: { service: 'at-once-*' }, checkRestart: { limit: 1, interval: '2s', grace: '0s' } },
    { match: { service: 'deadline-*' }, checkRestart: { limit: 2, interval: '2s', grace: '0s' } },
    { match: { service: 'patient-*' }, checkRestart: { limit: 2, interval: '5s', grace: '0s' } },
  ],
};
/** More than the second that lies between two passes caused by changes. */
const SPACE_MS = 1300;

describe.each(await consulServers())('an open window on $name', ({ start }) => {
  let consul: RunningConsul;
  let stage: RestartStage;
  beforeEach(async () => {
    consul = await start();
    stage = await startRestartStage(consul.url, POLICY);
  });
  afterEach(async () => {
    await stage.close();
    await consul.close();
  });

  async function inWindow(windowMs: number, act: () => Promise<void>): Promise<WindowResult> {
    const window = stage.window(windowMs);
    await wait(500);
    await act();
    return window;
  }
  const calls = () => stage.ecs.callsOf('StopTask').map(({ input }) => String(input.task));
  const services = (prefix: string) => Promise.all([0, 1, 2].map((number) => stage.service(`${prefix}-${number}`)));

  test('a check that turns critical (limit 1) stops its task, each once and in order', async () => {
    const instances = await services('at-once');
    const result = await inWindow(6000, async () => {
      for (const instance of instances) {
        const turnedMs = preciseNowMs();
        await register(stage.writer, instance, 'critical');
        const stop = await stage.stopOf(instance.taskArn);
        await wait(Math.max(SPACE_MS - (preciseNowMs() - turnedMs), 0));
        expect(stop.atMs).toBeGreaterThan(turnedMs);
      }
    });
    expect(calls()).toEqual(instances.map(({ taskArn }) => taskArn));
    expect(result).toMatchObject({ outcome: 'done', failedPasses: 0 });
  });

  test('a check that stays critical (limit 2, 2 s) stops its task at its deadline, each once and in order', async () => {
    const instances = await services('deadline');
    const turnedMs: number[] = [];
    const result = await inWindow(8000, async () => {
      for (const instance of instances) {
        turnedMs.push(preciseNowMs());
        await register(stage.writer, instance, 'critical');
        await wait(SPACE_MS);
      }
      await Promise.all(instances.map(({ taskArn }) => stage.stopOf(taskArn)));
    });
    expect(calls()).toEqual(instances.map(({ taskArn }) => taskArn));
    // The watcher's clock has whole milliseconds.
    for (const [n, stop] of stage.stops.entries()) expect(stop.atMs).toBeGreaterThan((turnedMs[n] ?? 0) + 1999);
    expect(result).toMatchObject({ outcome: 'done', failedPasses: 0 });
  });

  test('a check that recovers before its deadline stops nothing', async () => {
    const [instance] = await services('patient');
    if (!instance) throw new Error('no instance');
    await inWindow(6500, async () => {
      await register(stage.writer, instance, 'critical');
      await wait(SPACE_MS);
      await register(stage.writer, instance, 'passing');
    });
    expect(stage.telemetry.of('verdict-changed')).toMatchObject([{ reason: 'counting' }]);
    expect(calls()).toEqual([]);
  });
});
