/** Binds reconcile-proxies to the real world. Nothing happens at import; see `shared-wiring.ts`. */
import { createHash } from 'node:crypto';
import { systemClock } from '../../lib/clock.ts';
import { createDeclarationPort } from '../../lib/consul/declarations.ts';
import { HEALTH_PARTITION } from '../../lib/dynamodb/keys.ts';
import { createDynamoProxyState } from '../../lib/dynamodb/proxy-state.ts';
import { createDynamoState } from '../../lib/dynamodb/state.ts';
import { createProxyEcsPort } from '../../lib/ecs/proxy-ecs-port.ts';
import { ReadFailure } from '../../lib/ports.ts';
import type { Telemetry } from '../../lib/telemetry/telemetry.ts';
import { reconcile } from '../../lib/use-cases/reconcile/reconcile.ts';
import type {
  ReconcileDeps,
  ReconcileResult,
  ReconcileSettings,
} from '../../lib/use-cases/reconcile/reconcile-types.ts';
import { say } from '../../lib/use-cases/say.ts';
import { PROXY_STARTED_BY, type Shared, wiredOnce } from '../shared-wiring.ts';

/** One invocation. */
export interface Invocation {
  /** Names it in the lease. */
  readonly holder: string;
  readonly remainingMs: number;
}

/** What the handler can do, bound to the real world. */
export interface Reconciler {
  readonly telemetry: Telemetry;
  /** For a batch of messages; false: they must come again. */
  seeTo(request: Invocation & { readonly newestMs?: number }): Promise<boolean>;
  sync(request: Invocation & { readonly dryRun: boolean; readonly stops?: number }): Promise<ReconcileResult>;
  status(request: Invocation): Promise<unknown>;
  restart(
    request: Invocation & { readonly of: { readonly proxy: string } | { readonly taskDefinition: string } },
  ): Promise<unknown>;
  change(request: Invocation & { readonly to: 'close' | 'kill' | 'run' }): Promise<unknown>;
  /** Says that messages were not understood. */
  dropped(messageIds: readonly string[]): void;
  /** Says what ended an invocation: the table, or a fault of ours. */
  failed(error: unknown): void;
}

/** The schedule and people wait for another reconcile to end; messages need not: they come again. */
const LEASE_PATIENCE_MS = 15_000;

/** Wires once a process. Throws `InvalidSettings` or `SecretUnavailable`; neither holds a secret. */
export const wire = wiredOnce(bind);

function bind(shared: Shared): Reconciler {
  const deps = depsOf(shared);
  const settings = settingsOf(shared);
  const request = ({ holder, remainingMs }: Invocation) => ({ holder, endsAtMs: systemClock.nowMs() + remainingMs });
  const byHand = (invocation: Invocation) => ({ ...request(invocation), leasePatienceMs: LEASE_PATIENCE_MS });
  return {
    telemetry: shared.telemetry,
    async seeTo({ newestMs, ...invocation }) {
      const newest = newestMs === undefined ? {} : { newestMessageMs: newestMs };
      const result = await reconcile(deps, settings, { ...request(invocation), ...newest });
      return result.outcome !== 'done' || result.ok;
    },
    sync: ({ dryRun, stops, ...invocation }) =>
      reconcile(deps, settings, { ...byHand(invocation), dryRun, ...(stops === undefined ? {} : { stops }) }),
    status: () => Promise.reject(new Error('not there yet')),
    restart: () => Promise.reject(new Error('not there yet')),
    change: () => Promise.reject(new Error('not there yet')),
    dropped: (messageIds) => say(deps, 'message-dropped', { messageIds }),
    failed: (error) => say(deps, error instanceof ReadFailure ? 'state-failed' : 'pass-failed', { error }),
  };
}

function depsOf({ deps, settings, consulClient, ecsClient, tableOptions, wakeUps }: Shared): ReconcileDeps {
  const { namespace, partition } = settings.consul;
  return {
    ...deps,
    declarations: createDeclarationPort({
      client: consulClient,
      proxiesPrefix: settings.proxies.keyPrefix,
      defaultsKey: settings.proxies.defaultsKey,
      ...(namespace === undefined ? {} : { namespace }),
      ...(partition === undefined ? {} : { partition }),
    }),
    proxyEcs: createProxyEcsPort({ client: ecsClient, clock: systemClock, startedBy: PROXY_STARTED_BY }),
    proxies: createDynamoProxyState(tableOptions),
    health: createDynamoState({ ...tableOptions, partition: HEALTH_PARTITION }),
    wakeUps,
    hash: (text) => createHash('sha256').update(text).digest('hex'),
  };
}

function settingsOf({ settings, where, watchSettings }: Shared): ReconcileSettings {
  const home = { region: settings.region, account: where.account };
  return {
    proxies: settings.proxies.settings,
    rules: { allow: settings.proxies.allow, home },
    watch: watchSettings,
  };
}
