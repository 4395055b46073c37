/**
 * What end-to-end tests and the bench stand on: the watcher with its real adapters, wired to a Consul, to the ECS
 * double over HTTP and to a table. Brakes are off: what is shown here is how soon and how often, not what holds it back.
 * Nothing but the product is imported here, since the bench measures the memory of a process that does.
 */
import { NO_ESTATE_BRAKES, NO_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { DEFAULT_POLICY } from '../../lib/check-restart/policy.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { createConsulPort } from '../../lib/consul/consul-port.ts';
import { createDocumentClient } from '../../lib/dynamodb/client.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import { createEcsClient } from '../../lib/ecs/client.ts';
import { createEcsPort } from '../../lib/ecs/ecs-port.ts';
import type { StatePort, TelemetryPort } from '../../lib/ports.ts';
import type { WatchDeps, WatchSettings } from '../../lib/use-cases/watch-types.ts';

export const CLUSTER = 'prod';
export const REGION = 'eu-west-1';
export const TABLE = 'state';
export const POLICY_KEY = 'ecs-check-restart/policy';

/** Settings of a deployment that may restart everything in `CLUSTER`, without brakes. */
export const SETTINGS: WatchSettings = {
  defaults: DEFAULT_POLICY,
  policyKey: POLICY_KEY,
  maxObservationGapMs: 90_000,
  settleMs: 60_000,
  dryRun: false,
  mapping: {
    partition: 'aws',
    region: REGION,
    account: '123456789012',
    metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
    allowedClusters: [CLUSTER],
  },
  allowedServices: ['*'],
  requireAddress: false,
  proxyStartedBy: 'ecs-check-restart',
  brakes: { service: NO_SERVICE_BRAKES, estate: NO_ESTATE_BRAKES },
};

/** Where everything outside is. */
export interface Outside {
  readonly consulUrl: string;
  readonly ecsUrl: string;
  readonly state: StatePort;
  readonly telemetry: TelemetryPort;
}

/** The watcher's dependencies, and what ends their connections. */
export interface Wired {
  readonly deps: WatchDeps;
  close(): Promise<void>;
}

const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

/** As `functions/watch-checks/wiring.ts` does it, with other addresses. Events go nowhere. */
export function wire({ consulUrl, ecsUrl, state, telemetry }: Outside): Wired {
  const token = { current: async () => undefined, refetch: async () => undefined };
  const consul = createConsulPort({ addresses: [consulUrl], token, clock: systemClock, log: telemetry.log });
  const client = createEcsClient({ region: REGION, endpoint: ecsUrl, credentials });
  const deps: WatchDeps = {
    consul,
    telemetry,
    state,
    clock: systemClock,
    ecs: createEcsPort({ client, clock: systemClock }),
    events: { publish: async () => {} },
    parsePolicy: (text) => {
      const parsed = parsePolicyDocument(text);
      return parsed.ok ? { ok: true, value: parsed.document } : parsed;
    },
    parseMeta: (meta) => {
      const parsed = parseMetaPolicy(meta);
      return parsed.ok ? { ok: true, value: parsed.part } : parsed;
    },
  };
  return {
    deps,
    close: async () => {
      await consul.close();
      client.destroy();
    },
  };
}

/** The state in a table that exists; every operation of the SDK is told to `onOperation`, such as `QueryCommand`. */
export function tableState(endpoint: string, onOperation: (operation: string) => void = () => {}): StatePort {
  const client = createDocumentClient({ endpoint, region: REGION, credentials });
  client.middlewareStack.add(
    (next, context) => (args) => {
      onOperation(String(context.commandName));
      return next(args);
    },
    { step: 'initialize', name: 'told' },
  );
  return createDynamoState({ client, table: TABLE, clock: systemClock });
}
