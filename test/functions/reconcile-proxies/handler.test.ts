/** The handler as Lambda runs it, on the local stack: what it answers a batch with, and what it refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FAULTS } from '../../../infra/local/ecs-double/faults.ts';
import { putToConsul } from '../../../infra/local/stack/consul-api.ts';
import { GATEWAY } from '../../../infra/local/stack/samples.ts';
import { type Stack, startStack } from '../../../infra/local/stack/stack.ts';
import { systemClock } from '../../../lib/clock.ts';

let stack: Stack;
const lines: string[] = [];
beforeAll(async () => {
  stack = await startStack({ consul: 'double', samples: [], onLine: (line) => lines.push(line) });
});
afterAll(() => stack.close());
beforeEach(() => {
  stack.ecs.faults.clear();
  stack.ecs.calls.length = 0;
  lines.length = 0;
});

const CHANGE = '{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{}}';

function batch(...bodies: readonly string[]) {
  const attributes = { SentTimestamp: String(systemClock.nowMs()) };
  return { Records: bodies.map((body, n) => ({ eventSource: 'aws:sqs', messageId: `m${n}`, body, attributes })) };
}

const invoke = (event: unknown) => stack.reconcileProxies.invoke(event);
const codes = () => lines.flatMap((line) => /"code":"([a-z-]+)"/.exec(line)?.[1] ?? []);

describe('a batch', () => {
  it('is done when its reconcile has come to a good end', async () => {
    expect(await invoke(batch(CHANGE, CHANGE))).toEqual({ batchItemFailures: [] });
    await expect.poll(() => codes().filter((code) => code === 'reconcile-done')).toHaveLength(1);
  });

  it('is done without a reconcile when all of it was sent before the last one began', async () => {
    const old = batch(CHANGE);
    await invoke({ action: 'sync' });
    expect(await invoke(old)).toEqual({ batchItemFailures: [] });
    await expect.poll(codes).toContain('reconcile-covered');
  });

  it('comes again, all of it but what is not understood, when nothing could be concluded', async () => {
    stack.ecs.faults.add('ListTasks', FAULTS.forbidden);
    expect(await invoke(batch(CHANGE, 'nonsense', CHANGE))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm0' }, { itemIdentifier: 'm2' }],
    });
    await expect.poll(codes).toContain('message-dropped');
  });

  it('of nothing that is understood is dropped, and said', async () => {
    expect(await invoke(batch('nonsense', '{}'))).toEqual({ batchItemFailures: [] });
    await expect.poll(codes).toContain('message-dropped');
    expect(stack.ecs.calls).toEqual([]);
  });
});

describe('by hand', () => {
  it('a dry run tells the plan and does nothing', async () => {
    await putToConsul(stack.consul.url, `kv/ecs-check-restart/proxies/${GATEWAY.id}`, GATEWAY.document);
    expect(await invoke({ action: 'sync', dryRun: true })).toMatchObject({
      dryRun: true,
      actions: [{ kind: 'start', proxyId: GATEWAY.id, outcome: 'planned' }],
    });
    expect(stack.ecs.callsOf('RunTask')).toEqual([]);
  });

  it('closed proxies are left alone until they are run again', async () => {
    expect(await invoke({ action: 'close' })).toMatchObject({ runState: { phase: 'stopped' } });
    expect(await invoke({ action: 'sync' })).toMatchObject({ actions: [] });
    expect(await invoke({ action: 'status' })).toMatchObject({ runState: { phase: 'stopped' } });
    expect(await invoke({ action: 'run' })).toMatchObject({
      runState: { phase: 'running' },
      actions: [{ kind: 'start', proxyId: GATEWAY.id, outcome: 'done' }],
    });
  });

  it('a restart stops the task of one proxy, or of all that run a definition', async () => {
    await expect.poll(() => stack.proxies.tasks.size, { timeout: 10_000 }).toBe(1);
    const stopped = [{ kind: 'stop', proxyId: GATEWAY.id, reason: 'operator', outcome: 'done' }];
    expect(await invoke({ action: 'restart', taskDefinition: 'sidecar' })).toMatchObject({ actions: [] });
    expect(await invoke({ action: 'restart', proxy: GATEWAY.id })).toMatchObject({ actions: stopped });
  });

  it('a kill stops all', async () => {
    await expect.poll(() => stack.proxies.tasks.size, { timeout: 15_000 }).toBe(1);
    await invoke({ action: 'kill' });
    await expect
      .poll(async () => (await invoke({ action: 'sync' })) as object, { timeout: 10_000 })
      .toMatchObject({ runState: { phase: 'stopped', kill: true }, running: 0 });
  });

  it('what is not understood is refused, with every problem, and nothing is done', async () => {
    await expect(invoke({ action: 'sync', dryRun: 'yes', stops: 0 })).rejects.toThrow(/dryRun: "yes"[\s\S]*stops: 0/);
    expect(stack.ecs.calls).toEqual([]);
  });
});

describe.each(['watchChecks', 'reconcileProxies'] as const)('settings of %s that are wrong', (name) => {
  it('end each invocation, and are said under the code that the alarm filters on', async () => {
    const said: string[] = [];
    const settings = { DRY_RUN: 'maybe', SETTLE: '90' };
    const wrong = await startStack({ consul: 'double', samples: [], settings, onLine: (line) => said.push(line) });
    for (const _ of ['first', 'second']) {
      await expect(wrong[name].invoke({ action: 'status' })).rejects.toThrow(
        /2 invalid settings:\nDRY_RUN[\s\S]*SETTLE/,
      );
    }
    await expect.poll(() => said.filter((line) => line.includes('"code":"settings-invalid"'))).toHaveLength(2);
    await wrong.close();
  });
});

it('a deployment whose dry run is on plans and tells, starts nothing, and has a heartbeat all the same', async () => {
  const said: string[] = [];
  const dry = await startStack({
    consul: 'double',
    samples: [],
    settings: { DRY_RUN: 'true' },
    onLine: (line) => said.push(line),
  });
  await putToConsul(dry.consul.url, `kv/ecs-check-restart/proxies/${GATEWAY.id}`, GATEWAY.document);
  await expect(dry.reconcileProxies.invoke({ action: 'sync' })).resolves.toMatchObject({ dryRun: true });
  await expect
    .poll(() => said.some((line) => line.includes('"code":"reconcile-done"') && line.includes('"planned"')))
    .toBe(true);
  await expect.poll(() => said.some((line) => /"Reconciles":1\b/.test(line))).toBe(true);
  await dry.close();

  expect(dry.ecs.callsOf('RunTask')).toEqual([]);
});
