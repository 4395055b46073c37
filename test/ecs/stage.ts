/** A double with the real adapter in front of it, in one process: the SDK's bytes, no sockets, a clock of our own. */
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { requestHandler } from '../../infra/local/ecs-double/request-handler.ts';
import type { EcsWorldOptions } from '../../infra/local/ecs-double/world.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';
import type { EcsPort } from '../../lib/ports.ts';

/** Where the tests' tasks live. */
export const CLUSTER = 'prod';
/** IDs of cases.md. */
export const T1 = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
export const T2 = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';
/** Its ARN in the cluster of the tests. */
export const arnOf = (id: string) => `arn:aws:ecs:eu-west-1:123456789012:task/${CLUSTER}/${id}`;

/** Start of all virtual clocks here. */
export const START_MS = Date.UTC(2026, 7, 1, 10);

/** What a test plays on. */
export interface Stage {
  readonly double: EcsDouble;
  readonly port: EcsPort;
  readonly clock: { ms: number; nowMs(): number };
  /** Moves the clock and lets happen what is due. */
  pass(durationMs: number): void;
}

/** A world with the cluster `prod` and nothing in it. */
export function stage(options: Partial<EcsWorldOptions> & { callTimeoutMs?: number } = {}): Stage {
  const { callTimeoutMs, ...world } = options;
  const clock = { ms: START_MS, nowMs: () => clock.ms };
  const double = new EcsDouble({ nowMs: clock.nowMs, clusters: ['default', CLUSTER], ...world });
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = createEcsClient({ region: 'eu-west-1', requestHandler: requestHandler(double), credentials });
  const port = createEcsPort({ client, clock, ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }) });
  return {
    double,
    port,
    clock,
    pass(durationMs) {
      clock.ms += durationMs;
      double.world.advance();
    },
  };
}

/** A service of one task, `T1`, in the cluster of the tests. */
export function serviceOfOne({ double }: Stage, spec: Partial<Parameters<EcsDouble['world']['addService']>[0]> = {}) {
  double.world.addService({ name: 'web', cluster: CLUSTER, desiredCount: 1, startTasks: false, ...spec });
  double.world.addTask({ service: 'web', cluster: CLUSTER, id: T1 });
}
