import { afterEach, describe, expect, it, vi } from 'vitest';
import { FAULTS, type Fault } from '../../infra/local/ecs-double/faults.ts';
import { readFailure } from '../../lib/ecs/failures.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { arnOf, CLUSTER, stage, T1 } from './stage.ts';

const error = (code: string, status?: number): Fault => ({
  kind: 'error',
  code,
  message: 'No.',
  ...(status ? { status } : {}),
});

describe('a read that failed', () => {
  it.each<[Fault, string]>([
    [FAULTS.throttled, 'rate-limited'],
    [error('TooManyRequestsException'), 'rate-limited'],
    [FAULTS.forbidden, 'forbidden'],
    [error('UnrecognizedClientException'), 'forbidden'],
    [error('ExpiredTokenException'), 'forbidden'],
    [error('InvalidSignatureException', 403), 'forbidden'],
    [FAULTS.refuse, 'unreachable'],
    [FAULTS.reset, 'unreachable'],
    [FAULTS.broken, 'server-error'],
    [error('ClusterNotFoundException'), 'server-error'],
    [FAULTS.truncated, 'malformed'],
    [{ kind: 'body', text: '<html>', status: 200 }, 'malformed'],
    [FAULTS.html, 'server-error'],
    [FAULTS.hang, 'timeout'],
  ])('%j is %s', async (fault, code) => {
    const { double, port } = stage({ callTimeoutMs: fault.kind === 'hang' ? 50 : 10_000 });
    double.faults.add('DescribeTasks', fault);
    const failure = await port.describeTasks(CLUSTER, [arnOf(T1)]).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ReadFailure);
    expect(failure).toMatchObject({ system: 'ecs', code });
  });

  it('is tried three times where that may help, and once where not', async () => {
    for (const [fault, tries] of [
      [FAULTS.throttled, 3],
      [FAULTS.broken, 3],
      [FAULTS.forbidden, 1],
    ] as const) {
      const { double, port } = stage();
      double.faults.add('DescribeTasks', fault);
      await port.describeTasks(CLUSTER, [arnOf(T1)]).catch(() => undefined);
      expect(double.calls).toHaveLength(tries);
    }
  });

  it.each(['ENOTFOUND', 'EHOSTUNREACH', 'EPIPE', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT'])(
    '%s is unreachable',
    (code) => {
      expect(readFailure('ListTasks', Object.assign(new Error('x'), { code })).code).toBe('unreachable');
    },
  );

  it('no credentials are a matter of permission', () => {
    const failure = Object.assign(new Error('Could not load credentials'), { name: 'CredentialsProviderError' });
    expect(readFailure('ListTasks', failure).code).toBe('forbidden');
  });

  it.each([undefined, null, 'text', 7, {}])('%j, thrown by whatever, is an error of the server', (thrown) => {
    expect(readFailure('ListTasks', thrown)).toMatchObject({ code: 'server-error' });
  });

  it('has one line of at most 300 characters', () => {
    const { message } = readFailure('ListTasks', new Error(`a\nb\u0000${'x'.repeat(500)}`));
    expect(message).toMatch(/^ListTasks: a b x+$/);
    expect(message).toHaveLength(300);
  });
});

describe('the deadline of a call', () => {
  afterEach(() => vi.restoreAllMocks());

  it('is 10 s for every one of them', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    const { double, port } = stage();
    double.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 0 });
    await port.describeTasks(CLUSTER, [T1]);
    await port.describeServices(CLUSTER, ['web']);
    await port.taskProtection(CLUSTER, [T1]);
    await port.listTasks(CLUSTER, {});
    await port.listServices(CLUSTER);
    await port.stopTask({ cluster: CLUSTER, task: T1, reason: 'x' });
    await port.forceNewDeployment({ cluster: CLUSTER, service: 'web' });
    expect(double.calls).toHaveLength(7);
    expect(timeout.mock.calls).toStrictEqual(Array.from({ length: 7 }, () => [10_000]));
  });

  it('ends a call that hangs, its retries included', async () => {
    const { double, port } = stage({ callTimeoutMs: 50 });
    double.faults.add('*', FAULTS.hang);
    const startMs = performance.now();
    await expect(port.describeTasks(CLUSTER, [T1])).rejects.toMatchObject({ code: 'timeout' });
    expect(await port.stopTask({ cluster: CLUSTER, task: T1, reason: 'x' })).toMatchObject({ outcome: 'unknown' });
    expect(performance.now() - startMs).toBeLessThan(5000);
    expect(double.calls).toHaveLength(2);
  });
});
