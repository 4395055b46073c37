/** The double over HTTP with the real adapter for proxies in front of it, through the real SDK, on a clock of our own. */
import { onTestFinished } from 'vitest';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { listen } from '../../infra/local/ecs-double/http.ts';
import type { EcsWorldOptions } from '../../infra/local/ecs-double/world.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createProxyEcsPort } from '../../lib/ecs/proxy-ecs-port.ts';
import type { LaunchRequest, ProxyEcsPort } from '../../lib/proxy-ports.ts';
import { CLUSTER, START_MS } from './stage.ts';

/** Marks what is ours. */
export const OURS = 'ecs-check-restart';

/** What a test plays on. */
export interface ProxyStage {
  readonly double: EcsDouble;
  readonly port: ProxyEcsPort;
  readonly clock: { ms: number };
  /** Moves the clock and lets happen what is due. */
  pass(durationMs: number): void;
  /** Nobody listens any more. */
  close(): Promise<void>;
}

/** A world with the cluster `prod` and nothing in it. */
export async function proxyStage(
  options: Partial<EcsWorldOptions> & { callTimeoutMs?: number; startedBy?: string } = {},
): Promise<ProxyStage> {
  const { callTimeoutMs, startedBy = OURS, ...world } = options;
  const clock = { ms: START_MS, nowMs: () => clock.ms };
  const double = new EcsDouble({ nowMs: clock.nowMs, clusters: ['default', CLUSTER], ...world });
  const server = await listen(double);
  onTestFinished(() => server.close());
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = createEcsClient({ region: 'eu-west-1', endpoint: server.url, credentials });
  onTestFinished(() => client.destroy());
  const deadline = callTimeoutMs === undefined ? {} : { callTimeoutMs };
  return {
    double,
    port: createProxyEcsPort({ client, clock, startedBy, ...deadline }),
    clock,
    close: () => server.close(),
    pass(durationMs) {
      clock.ms += durationMs;
      double.world.advance();
    },
  };
}

/** A launch of `envoy` for the proxy `edge`. */
export function launchRequest(
  changes: Partial<Omit<LaunchRequest, 'spec'>> = {},
  spec: Partial<LaunchRequest['spec']> = {},
): LaunchRequest {
  return {
    proxyId: 'edge',
    spec: { execMode: 'task', cluster: CLUSTER, taskDefinition: 'envoy:3', ...spec },
    fingerprint: 'f'.repeat(64),
    generation: START_MS,
    clientTokenText: `["edge","f",${changes.generation ?? START_MS}]`,
    ...changes,
  };
}
