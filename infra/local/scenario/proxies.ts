/** The proxies of a scenario: what is declared at an instant, and when the tasks that were launched for them exit. */
import { createHash } from 'node:crypto';
import type { DeclarationSources } from '../../../lib/proxies/declaration.ts';
import { PROXY_ID_VARIABLE } from '../../../lib/proxies/spec.ts';
import type { EcsDouble } from '../ecs-double/double.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { Scenario } from './schema.ts';

type ProxyPart = NonNullable<Scenario['proxies']>[number];

/** A proxy that a task was launched for. */
export interface PlayedProxy {
  readonly id: string;
  taskArn: string | undefined;
  launches: number;
}

/** Hash of a declaration's canonical text. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Proxies by ID, and whether one of their tasks has ended since somebody looked. */
export class ScenarioProxies {
  readonly #parts: readonly ProxyPart[];
  readonly #defaultCluster: string;
  readonly #proxies: ReadonlyMap<string, PlayedProxy>;
  readonly #seen = new Set<string>();
  #hasEnded = false;

  constructor(scenario: Scenario, ecs: EcsDouble, startedBy: string, defaultCluster: string) {
    this.#parts = scenario.proxies ?? [];
    this.#defaultCluster = defaultCluster;
    this.#proxies = new Map(this.#parts.map(({ id }) => [id, { id, taskArn: undefined, launches: 0 }]));
    for (const { declared } of this.#parts) {
      for (const [, spec] of declared) if (typeof spec?.cluster === 'string') ecs.world.clusters.add(spec.cluster);
    }
    ecs.world.onTaskChange((task) => {
      const proxy = task.startedBy === startedBy ? this.#proxies.get(proxyIdOf(task)) : undefined;
      if (proxy) this.#changed(ecs, proxy, task);
    });
  }

  /** IDs in the order of the file. */
  get ids(): readonly string[] {
    return this.#parts.map(({ id }) => id);
  }

  /** The proxy of an ID, while it has a task. */
  running(id: string): PlayedProxy | undefined {
    const proxy = this.#proxies.get(id);
    return proxy?.taskArn === undefined ? undefined : proxy;
  }

  /** The proxy that a task was launched for. */
  idOf(task: Readonly<TaskRecord>): string | undefined {
    return this.#seen.has(task.arn) ? proxyIdOf(task) : undefined;
  }

  /** True once after tasks have ended: ECS has sent events. */
  takeEvents(): boolean {
    const hasEnded = this.#hasEnded;
    this.#hasEnded = false;
    return hasEnded;
  }

  /** What Consul declares at an instant, as documents in KV. */
  declaredAt(atMs: number): DeclarationSources {
    const documents = this.#parts.flatMap(({ id, declared }) => {
      const value = declared.findLast(([fromMs]) => fromMs <= atMs)?.[1] ?? null;
      return value === null ? [] : [{ id, source: { value } }];
    });
    return { documents, instances: [], defaults: { value: { cluster: this.#defaultCluster } } };
  }

  #changed(ecs: EcsDouble, proxy: PlayedProxy, task: Readonly<TaskRecord>): void {
    if (task.lastStatus === 'STOPPED') {
      this.#hasEnded = true;
      if (proxy.taskArn === task.arn) proxy.taskArn = undefined;
    }
    if (task.lastStatus !== 'RUNNING' || this.#seen.has(task.arn)) return;
    this.#seen.add(task.arn);
    proxy.taskArn = task.arn;
    const uptimes = this.#parts.find(({ id }) => id === proxy.id)?.exitsAfter ?? [];
    const uptimeMs = uptimes[proxy.launches] ?? uptimes.at(-1);
    proxy.launches += 1;
    if (uptimeMs === undefined) return;
    ecs.world.agenda.at(ecs.world.nowMs() + uptimeMs, () => ecs.world.exitTask(task.arn));
  }
}

/** As the task itself says in its overrides, which ECS keeps when it stops. */
function proxyIdOf(task: Readonly<TaskRecord>): string {
  const { containerOverrides = [] } = (task.overrides ?? {}) as {
    containerOverrides?: readonly { environment?: readonly { name: string; value: string }[] }[];
  };
  const variables = containerOverrides.flatMap(({ environment }) => environment ?? []);
  return variables.find(({ name }) => name === PROXY_ID_VARIABLE)?.value ?? '';
}
