import { afterEach, beforeEach, expect, it } from 'vitest';
import { putToConsul } from '../../infra/local/stack/consul-api.ts';
import { followHealth } from '../../infra/local/stack/health-view.ts';
import type { StoryLine } from '../../infra/local/stack/narrator.ts';
import { GATEWAY } from '../../infra/local/stack/samples.ts';
import { startSchedule } from '../../infra/local/stack/schedule.ts';
import { PROXY_STARTED_BY, type Stack, type StackOptions, startStack } from '../../infra/local/stack/stack.ts';
import { beginStory, type Story } from '../../infra/local/stack/story.ts';
import { systemClock } from '../../lib/clock.ts';
import { consulsToTry } from './real-consul-for-tests.ts';

/** Restarted at the first bad observation after a grace in which a new task's check, critical at first, gets well. */
const AT_ONCE = { rules: [{ match: {}, checkRestart: { limit: 1, interval: '1s', grace: '3s' } }] };

let closers: (() => unknown)[];
beforeEach(() => {
  closers = [];
});
afterEach(async () => {
  for (const closer of closers) await closer();
});

interface Told {
  readonly stack: Stack;
  readonly story: Story;
  readonly lines: StoryLine[];
}

async function tellAbout(options: StackOptions): Promise<Told> {
  const lines: StoryLine[] = [];
  let story: Story | undefined;
  const stack = await startStack({
    policy: AT_ONCE,
    ...options,
    onLine: (line) => story?.narrator.hearLog(line),
    onProblem: (text) => lines.push({ kind: 'other', headline: 'problem', text }),
  });
  closers.unshift(() => stack.close());
  story = beginStory(stack, { tell: (line) => lines.push(line) });
  const { narrator } = story;
  const view = new AbortController();
  const viewed = followHealth(stack.consul.url, (health) => narrator.hearHealth(health), view.signal);
  closers.unshift(
    () => view.abort(),
    () => viewed,
  );
  const stopSchedule = startSchedule(stack.watchChecks, 'window', {
    onResult: (result) => narrator.hearWindow(result),
    onFailure: (text) => lines.push({ kind: 'other', headline: 'window failed', text }),
  });
  closers.unshift(stopSchedule);
  await story.untilHealthy(systemClock.nowMs() + 15_000);
  return { stack, story, lines };
}

const afterMs = (durationMs: number) => systemClock.nowMs() + durationMs;

it.each(await consulsToTry())(
  'samples with http and ttl checks are restarted and replaced (Consul: %s)',
  async (consul) => {
    const samples = [
      { name: 'web', count: 2, check: 'http' },
      { name: 'worker', count: 1, check: 'ttl' },
    ] as const;
    const { stack, story, lines } = await tellAbout({ consul, samples });
    const before = new Set(stack.samples.tasks.keys());
    await Promise.all([story.breakOne('web', afterMs(20_000)), story.breakOne('worker', afterMs(20_000))]);
    await story.untilHealthy(afterMs(20_000));

    const stopped = stack.ecs.callsOf('StopTask').map(({ input }) => String(input.task).split('/').at(-1) ?? '');
    expect(stopped).toHaveLength(2);
    expect(stopped.every((id) => before.has(id))).toBe(true);
    expect([...stack.samples.tasks.keys()].filter((id) => !before.has(id))).toHaveLength(2);
    expect(lines.filter(({ headline }) => headline === 'problem')).toEqual([]);
  },
);

it('a dry run restarts nothing, and the story says so instead of ending well', async () => {
  const settings = { DRY_RUN: 'true' };
  const samples = [{ name: 'web', count: 1, check: 'ttl' }] as const;
  const { stack, story, lines } = await tellAbout({ consul: 'double', samples, settings });

  await expect(story.breakOne('web', afterMs(8000))).rejects.toThrow(/^web [0-9a-f]{8} was not restarted; .*dry-run/);
  expect(stack.ecs.callsOf('StopTask')).toEqual([]);
  expect(lines.map(({ kind }) => kind)).not.toContain('restarted');
});

it('the instance is registered with the address of its task, so that the ownership rule is met for real', async () => {
  const { stack } = await tellAbout({ consul: 'double', samples: [{ name: 'web', count: 1, check: 'ttl' }] });
  const [sample] = stack.samples.tasks.values();
  const [instance] = stack.consul.double?.agent.services.values() ?? [];

  expect(instance?.address).toBe(stack.ecs.world.task(sample?.taskId ?? '')?.address);
  expect(instance?.address).toMatch(/^10\./);
});

it('a sample that is told to stop leaves Consul', async () => {
  const { stack } = await tellAbout({ consul: 'double', samples: [{ name: 'web', count: 1, check: 'ttl' }] });
  const [sample] = stack.samples.tasks.values();
  stack.ecs.world.setDesiredCount('default', 'web', 0);

  await expect.poll(() => stack.consul.double?.agent.services.size, { timeout: 5000 }).toBe(0);
  await expect.poll(() => fetch(`${sample?.url}/health`).catch(() => 'gone'), { timeout: 5000 }).toBe('gone');
});

it('a proxy that is declared in KV is started, crashes, and is started again by nothing but its event', async () => {
  const stack = await startStack({ consul: 'double', samples: [] });
  closers.push(() => stack.close());
  const { document, id } = GATEWAY;
  await putToConsul(stack.consul.url, `kv/ecs-check-restart/proxies/${id}`, document);
  await stack.reconcileProxies.invoke({ action: 'sync' });
  await expect.poll(() => stack.proxies.tasks.size, { timeout: 10_000 }).toBe(1);
  const [first] = stack.proxies.tasks.values();
  expect(stack.consul.double?.agent.services.has(id)).toBe(true);

  stack.ecs.world.exitTask(first?.taskId ?? '');
  await expect
    .poll(() => [...stack.proxies.tasks.keys()].filter((taskId) => taskId !== first?.taskId), { timeout: 15_000 })
    .toHaveLength(1);
  const launches = stack.ecs.callsOf('RunTask');
  expect(launches.map(({ input }) => input.startedBy)).toEqual([PROXY_STARTED_BY, PROXY_STARTED_BY]);
  expect(stack.queue.deadLetters).toEqual([]);
});

it('a proxy whose check turns bad is restarted by a message of the watcher, which does not touch it itself', async () => {
  const stack = await startStack({ consul: 'double', samples: [], policy: AT_ONCE });
  closers.push(() => stack.close());
  await putToConsul(stack.consul.url, `kv/ecs-check-restart/proxies/${GATEWAY.id}`, GATEWAY.document);
  closers.unshift(startSchedule(stack.watchChecks, 'window', { onResult: () => {}, onFailure: () => {} }));
  await stack.reconcileProxies.invoke({ action: 'sync' });
  await expect.poll(() => stack.proxies.tasks.size, { timeout: 10_000 }).toBe(1);
  // Out of its grace, and every message about its start is seen to.
  await systemClock.sleepUntil(afterMs(5000));
  await expect.poll(() => stack.queue.waiting + stack.queue.running, { timeout: 10_000 }).toBe(0);
  const [program] = stack.proxies.tasks.values();
  await fetch(`${program?.url}/break`, { method: 'PUT' });

  await expect.poll(() => stack.ecs.callsOf('StopTask').length, { timeout: 15_000 }).toBe(1);
  const [stop] = stack.ecs.callsOf('StopTask');
  expect(stop?.input).toMatchObject({ reason: expect.stringContaining('proxy gateway: unhealthy') });
  expect(String(stop?.input.task)).toContain(program?.taskId);
  await expect.poll(() => stack.ecs.callsOf('RunTask').length, { timeout: 10_000 }).toBe(2);
}, 60_000);

it('a family that is not on the allow-list is never run, and the report says so', async () => {
  const settings = { PROXY_FAMILIES: 'sidecar' };
  const stack = await startStack({ consul: 'double', samples: [], settings });
  closers.push(() => stack.close());
  await putToConsul(stack.consul.url, `kv/ecs-check-restart/proxies/${GATEWAY.id}`, GATEWAY.document);

  await expect(stack.reconcileProxies.invoke({ action: 'sync' })).resolves.toMatchObject({
    ok: true,
    actions: [],
    problems: [{ proxyId: GATEWAY.id, reason: 'declaration-invalid' }],
  });
  expect(stack.ecs.callsOf('RunTask')).toEqual([]);
});

it('two stacks run beside each other', async () => {
  const options = { consul: 'double', samples: [] } as const;
  const one = await startStack(options);
  const other = await startStack(options);
  closers.push(
    () => one.close(),
    () => other.close(),
  );

  const statuses = await Promise.all([one, other].map(({ watchChecks }) => watchChecks.invoke({ action: 'status' })));
  expect(new Set([one, other].flatMap((stack) => [stack.consul.url, stack.ecsUrl, stack.dynamoDbUrl])).size).toBe(6);
  for (const status of statuses) expect(status).toMatchObject({ consul: { reachable: true } });
});

it('a function gets its own variables and none of this process', async () => {
  const lines: string[] = [];
  process.env.LOG_LEVEL = 'nonsense';
  const stack = await startStack({ consul: 'double', samples: [], onLine: (line) => lines.push(line) });
  closers.push(
    () => stack.close(),
    () => delete process.env.LOG_LEVEL,
  );

  // With no service at all a pass fails: the token may see nothing.
  stack.consul.double?.agent.registerService({ Name: 'web' });
  await expect(stack.watchChecks.invoke({ action: 'pass' })).resolves.toMatchObject({ ok: true });
  await expect(stack.watchChecks.invoke({ action: 'dance' })).rejects.toThrow('invalid input');
  expect(lines.join('\n')).toContain('"code":"pass-done"');
});

it('an invocation that is under way when the stack is closed fails, and says so', async () => {
  const stack = await startStack({ consul: 'double', samples: [] });
  closers.push(() => stack.close());
  stack.consul.double?.agent.registerService({ Name: 'web' });
  const cutOff = stack.watchChecks.invoke({ action: 'window' }).catch((error: unknown) => error);
  await expect.poll(() => stack.consul.double?.waiting, { timeout: 5000 }).toBeGreaterThan(0);
  await stack.close();

  expect(await cutOff).toEqual(new Error('watch-checks: ended'));
  await expect(stack.watchChecks.invoke({ action: 'pass' })).rejects.toThrow('watch-checks is closed');
});
