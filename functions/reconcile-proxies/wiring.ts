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
import {
  operateProxies,
  type ProxyOperations,
  type RestartTarget,
} from '../../lib/use-cases/reconcile/operate-proxies.ts';
import { type ProxyStatus, proxyStatus } from '../../lib/use-cases/reconcile/proxy-status.ts';
import { reconcile } from '../../lib/use-cases/reconcile/reconcile.ts';
import type {
  ReconcileDeps,
  ReconcileResult,
  ReconcileSettings,
} from '../../lib/use-cases/reconcile/reconcile-types.ts';
import { count, say } from '../../lib/use-cases/say.ts';
import { type Shared, wiredOnce } from '../shared-wiring.ts';

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
  seeTo(invocation: Invocation, newestMs: number | undefined): Promise<boolean>;
  sync(
    invocation: Invocation,
    options: { readonly dryRun: boolean; readonly stops?: number },
  ): Promise<ReconcileResult>;
  restart(invocation: Invocation, target: RestartTarget): Promise<ReconcileResult>;
  /** `close`, `kill`, `run`. */
  operate(
    invocation: Invocation,
    action: keyof Pick<ProxyOperations, 'close' | 'kill' | 'run'>,
  ): Promise<ReconcileResult>;
  status(): Promise<ProxyStatus>;
  /** Says that messages were not understood. */
  dropped(messageIds: readonly string[]): void;
  /** Says what ended an invocation: the table, or a fault of ours. */
  failed(error: unknown): void;
}

/** Wires once a process. Throws `InvalidSettings` or `SecretUnavailable`; neither holds a secret. */
export const wire = wiredOnce(bind);

function bind(shared: Shared): Reconciler {
  const deps = depsOf(shared);
  const settings = settingsOf(shared);
  const operations = operateProxies(deps, settings);
  const caller = ({ holder, remainingMs }: Invocation) => ({ holder, endsAtMs: systemClock.nowMs() + remainingMs });
  return {
    telemetry: shared.telemetry,
    async seeTo(invocation, newestMessageMs) {
      const newest = newestMessageMs === undefined ? {} : { newestMessageMs };
      const result = tellDryRun(deps, await reconcile(deps, settings, { ...caller(invocation), ...newest }));
      // What is covered is done; where the lease is held, a message of our own comes in place of these.
      return result.outcome !== 'done' || result.ok;
    },
    async sync(invocation, options) {
      const result = await operations.sync(caller(invocation), options);
      return options.dryRun ? result : tellDryRun(deps, result);
    },
    restart: (invocation, target) => operations.restart(caller(invocation), target),
    operate: (invocation, action) => operations[action](caller(invocation)),
    status: () => proxyStatus(deps, settings),
    dropped: (messageIds) => say(deps, 'message-dropped', { messageIds }),
    failed: (error) => say(deps, error instanceof ReadFailure ? 'state-failed' : 'pass-failed', { error }),
  };
}

/** A deployment whose dry run is on reconciles as well as any, as far as its heartbeat goes, and its plans are for its log. */
function tellDryRun(deps: ReconcileDeps, result: ReconcileResult): ReconcileResult {
  if (result.outcome !== 'done' || !result.dryRun) return result;
  const { ok, actions, waiting, problems, failures } = result;
  if (ok) count(deps, 'Reconciles', 1);
  say(deps, ok ? 'reconcile-done' : 'pass-failed', { dryRun: true, actions, waiting, problems, failures });
  return result;
}

function depsOf({ deps, settings, consulClient, ecsClient, tableOptions }: Shared): ReconcileDeps {
  const { namespace, partition } = settings.consul;
  return {
    ...deps,
    declarations: createDeclarationPort({
      client: consulClient,
      clock: systemClock,
      proxiesPrefix: settings.proxies.keyPrefix,
      defaultsKey: settings.proxies.defaultsKey,
      ...(namespace === undefined ? {} : { namespace }),
      ...(partition === undefined ? {} : { partition }),
    }),
    proxyEcs: createProxyEcsPort({ client: ecsClient, clock: systemClock, startedBy: settings.proxies.startedBy }),
    proxies: createDynamoProxyState(tableOptions),
    health: createDynamoState({ ...tableOptions, partition: HEALTH_PARTITION }),
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
