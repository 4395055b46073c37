/** A scenario's world at one virtual instant: its ECS is the strict double, its Consul answers from the timelines. */
import {
  type ConsulPort,
  checkKey,
  type InstanceDetails,
  instanceKey,
  ReadFailure,
  type UnhealthyAnswer,
  type UnhealthyCheck,
} from '../../../lib/ports.ts';
import type { DeclarationPort } from '../../../lib/proxy-ports.ts';
import { EcsDouble } from '../ecs-double/double.ts';
import { NO_DELAYS } from '../ecs-double/model.ts';
import { ScenarioProxies } from './proxies.ts';
import { checkIdOf, documentOf, isMaintenance, type Scenario } from './schema.ts';

/** Virtual time begins here, so that no instant is 0. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);
const NODE = 'scenario';
const DEFAULT_CLUSTER = 'default';
/** Marks the tasks that are launched for proxies. */
export const STARTED_BY = 'ecs-check-restart';

type Fault = NonNullable<Scenario['consul']>[number]['answer'];
type TaskSpec = NonNullable<Scenario['tasks']>[string];

/** One role: its spec, and the task that plays it now. */
interface Role {
  readonly name: string;
  readonly spec: TaskSpec;
  taskArn: string;
  /** Grows with every replacement, as Consul's CreateIndex does when the new task registers. */
  createIndex: number;
}

/** An instance as Consul has it. */
interface Registered {
  readonly name: string;
  readonly service: string;
  readonly taskArn: string;
  readonly createIndex: number;
}

/** Proxies' CreateIndexes grow beside those of roles. */
const PROXY_INDEX = 1_000_000;

/** Tasks, checks and faults of a scenario. Move `nowMs` forward and call `advance`. */
export class ScenarioWorld {
  readonly ecs: EcsDouble;
  readonly roles = new Map<string, Role>();
  readonly proxies: ScenarioProxies;
  readonly #scenario: Scenario;
  #nowMs = EPOCH_MS;
  #index = 1;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.ecs = new EcsDouble({ nowMs: () => this.#nowMs, delays: NO_DELAYS, clusters: [DEFAULT_CLUSTER] });
    this.proxies = new ScenarioProxies(scenario, this.ecs, STARTED_BY, DEFAULT_CLUSTER);
    const listed = new Map(Object.entries(scenario.tasks ?? {}));
    const named = (scenario.checks ?? [])
      .filter(({ task }) => !this.proxies.ids.includes(task))
      .map(({ task }) => [task, listed.get(task) ?? {}] as const);
    const tasks = new Map<string, TaskSpec>([...listed, ...named]);
    this.#addServices([...tasks]);
    for (const [name, spec] of tasks) this.#addRole(name, spec);
    this.ecs.world.onTaskChange((task) => this.#played(task.label, task.arn));
  }

  /** Time since the scenario's beginning. */
  get atMs(): number {
    return this.#nowMs - EPOCH_MS;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Goes to an instant, through everything that happens until then, each at its own time. */
  advanceTo(atMs: number): void {
    const changes = [...this.roles.values()].flatMap((role) =>
      (role.spec.desiredStatus ?? [])
        .filter(([changeMs]) => changeMs > this.atMs && changeMs <= atMs)
        .map(([changeMs, status]) => ({ changeMs, status, role })),
    );
    for (const { changeMs, status, role } of changes.sort((one, other) => one.changeMs - other.changeMs)) {
      this.#nowMs = EPOCH_MS + changeMs;
      this.ecs.world.advance();
      this.ecs.world.setDesiredStatus(role.taskArn, status);
    }
    this.#nowMs = EPOCH_MS + atMs;
    this.ecs.world.advance();
  }

  /** When something happens next, after this instant; `undefined`: nothing by itself. */
  get nextAtMs(): number | undefined {
    const { dueAtMs } = this.ecs.world;
    return dueAtMs === undefined ? undefined : Math.max(dueAtMs - EPOCH_MS, this.atMs);
  }

  /** The role that a task plays, or the proxy that it was launched for. */
  roleOf(taskId: string): string {
    const task = this.ecs.world.task(taskId);
    return (task && this.proxies.idOf(task)) ?? task?.label ?? taskId;
  }

  /** Declarations at this instant; a fault of Consul is one here, too. */
  declarations(): DeclarationPort {
    return {
      readDeclarations: async () => {
        const declared = this.proxies.declaredAt(this.atMs);
        return this.#fault() === 'empty' ? { ...declared, documents: [] } : declared;
      },
    };
  }

  /** Consul at this instant. */
  consul(): ConsulPort {
    return {
      watchUnhealthy: () => ({
        read: async () => this.#unhealthy(),
        change: async () => undefined,
        close: async () => {},
      }),
      lookUpChecks: async (checks) => {
        const isEmpty = this.#fault() === 'empty';
        const wanted = new Set(checks.map(checkKey));
        const all = isEmpty ? [] : this.#checks().filter((check) => wanted.has(checkKey(check)));
        return new Map(all.map((check) => [checkKey(check), check]));
      },
      listChecks: async (serviceName) => {
        const isEmpty = this.#fault() === 'empty';
        return isEmpty ? [] : this.#checks().filter((check) => check.serviceName === serviceName);
      },
      describeInstances: async (instances) => {
        this.#fault();
        const details = instances.flatMap(({ serviceId }) => this.#details(serviceId) ?? []);
        return { found: new Map(details.map((one) => [instanceKey(one), one])), refused: [] };
      },
      readKey: async () => {
        this.#fault();
        return { text: documentOf(this.#scenario), modifyIndex: '1' };
      },
      listServices: async () => {
        this.#fault();
        return new Map(this.#catalog().map(({ service }) => [service, []]));
      },
      listInstances: async (serviceName) => {
        this.#fault();
        const registered = this.#catalog().filter(({ service }) => service === serviceName);
        return registered.flatMap(({ name }) => this.#details(name) ?? []);
      },
    };
  }

  #addServices(tasks: readonly (readonly [string, TaskSpec])[]): void {
    const services = new Map<string, { name: string; cluster: string; specs: TaskSpec[] }>();
    for (const [taskName, spec] of tasks) {
      if (spec.standalone) continue;
      const name = spec.service ?? taskName;
      const cluster = spec.cluster ?? DEFAULT_CLUSTER;
      const service = services.get(`${cluster}/${name}`) ?? { name, cluster, specs: [] };
      service.specs.push(spec);
      services.set(`${cluster}/${name}`, service);
    }
    for (const { name, cluster, specs } of services.values()) {
      const controller = specs.find(({ deploymentController }) => deploymentController)?.deploymentController;
      this.ecs.world.addService({
        name,
        cluster,
        desiredCount: specs.length,
        startTasks: false,
        deploying: specs.some(({ deploying }) => deploying),
        ...(controller === undefined ? {} : { controller }),
      });
    }
  }

  #addRole(name: string, spec: TaskSpec): void {
    const [initial] = spec.desiredStatus?.filter(([atMs]) => atMs === 0) ?? [];
    const taskArn = this.ecs.world.addTask({
      label: name,
      cluster: spec.cluster ?? DEFAULT_CLUSTER,
      startedAtMs: EPOCH_MS + (spec.startedAt ?? 0),
      replaceAfterMs: spec.replaceAfter ?? null,
      ...(spec.standalone ? { family: spec.service ?? name } : { service: spec.service ?? name }),
    });
    if (spec.protected) this.ecs.world.protect(taskArn);
    if (initial) this.ecs.world.setDesiredStatus(taskArn, initial[1]);
    this.roles.set(name, { name, spec, taskArn, createIndex: this.#index++ });
  }

  #played(name: string | undefined, taskArn: string): void {
    const role = this.roles.get(name ?? '');
    const isNew = role && role.taskArn !== taskArn && this.ecs.world.task(taskArn)?.desiredStatus === 'RUNNING';
    if (!role || !isNew) return;
    role.taskArn = taskArn;
    role.createIndex = this.#index++;
  }

  /** The services of tasks are all that count; where there are none, those of proxies are seen. */
  #catalog(): readonly Registered[] {
    const names = this.roles.size > 0 ? [...this.roles.keys()] : this.proxies.ids;
    return names.flatMap((name) => this.#registered(name) ?? []);
  }

  /** What is registered under an ID: a role, or a proxy while it has a task. */
  #registered(name: string): Registered | undefined {
    const role = this.roles.get(name);
    if (role) return { ...role, service: role.spec.service ?? name };
    const proxy = this.proxies.running(name);
    if (proxy?.taskArn === undefined) return undefined;
    return { name, service: name, taskArn: proxy.taskArn, createIndex: PROXY_INDEX + proxy.launches };
  }

  /** The fault in force: those that are errors throw, `empty` is returned. */
  #fault(): Fault | undefined {
    const fault = (this.#scenario.consul ?? []).find(({ from, to }) => this.atMs >= from && this.atMs <= to)?.answer;
    if (fault === undefined || fault === 'empty') return fault;
    const codes = {
      error: 'unreachable',
      'no-leader': 'no-leader',
      forbidden: 'forbidden',
      filtered: 'filtered',
      truncated: 'malformed',
      'rate-limited': 'rate-limited',
    } as const;
    throw new ReadFailure('consul', codes[fault], `the scenario's Consul answers: ${fault}`);
  }

  #unhealthy(): UnhealthyAnswer {
    if (this.#fault() === 'empty') return { checks: [] };
    return { checks: this.#checks().filter(({ status }) => status === 'critical' || status === 'warning') };
  }

  #checks(): UnhealthyCheck[] {
    return (this.#scenario.checks ?? []).flatMap((check) => {
      const role = this.#registered(check.task);
      const status = check.timeline.findLast(([atMs]) => atMs <= this.atMs)?.[1] ?? 'absent';
      if (!role || status === 'absent') return [];
      const isOfNode = check.id === '_node_maintenance';
      return [
        {
          node: NODE,
          checkId: checkIdOf(check),
          name: check.id,
          status,
          serviceId: isOfNode ? '' : role.name,
          serviceName: isOfNode ? '' : role.service,
          namespace: '',
          partition: '',
          type: isMaintenance(check.id) ? 'maintenance' : 'ttl',
          output: 'scenario',
          createIndex: role.createIndex,
        },
      ];
    });
  }

  #details(serviceId: string): InstanceDetails | undefined {
    const role = this.#registered(serviceId);
    if (!role) return undefined;
    const task = this.ecs.world.task(role.taskArn);
    return {
      node: NODE,
      serviceId,
      serviceName: role.service,
      namespace: '',
      partition: '',
      kind: '',
      address: task?.address ?? '',
      port: 0,
      meta: { 'task-arn': role.taskArn },
      nodeMeta: {},
    };
  }
}
