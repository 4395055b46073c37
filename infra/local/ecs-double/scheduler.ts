/**
 * The service scheduler: replaces stopped tasks one for one, rolls deployments. A replacement belongs to the service's
 * PRIMARY deployment, takes the label of the task that it stands in for, and is a new task in every other respect.
 */
import type { Agenda } from './agenda.ts';
import type { Names } from './arns.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Delays, DeploymentRecord, ServiceRecord, TaskRecord, TaskSpec } from './model.ts';

/** What the scheduler needs of the world. */
export interface SchedulerWorld {
  readonly agenda: Agenda;
  readonly names: Names;
  readonly delays: Delays;
  readonly lifecycle: Lifecycle;
  nowMs(): number;
  service(cluster: string, name: string): ServiceRecord | undefined;
  tasksOf(service: ServiceRecord): TaskRecord[];
  addTask(spec: TaskSpec): string;
}

/** Keeps services at their count and deploys them. */
export class Scheduler {
  readonly #world: SchedulerWorld;

  constructor(world: SchedulerWorld) {
    this.#world = world;
  }

  /** Starts or stops tasks until as many are wanted RUNNING as the service desires. */
  fill(service: ServiceRecord): void {
    const live = this.#world.tasksOf(service).filter((task) => task.desiredStatus === 'RUNNING');
    for (let missing = service.desiredCount - live.length; missing > 0; missing -= 1) this.#start(service, undefined);
    for (const task of live.slice(service.desiredCount)) this.#stop(service, task);
  }

  /** A task was told to stop or ended by itself: its replacement comes after the delay. */
  taskEnds(task: TaskRecord): void {
    const service = task.service === undefined ? undefined : this.#world.service(task.cluster, task.service);
    if (!service || task.replaceAfterMs === null) return;
    const delayMs = task.replaceAfterMs ?? this.#world.delays.replaceMs;
    this.#world.agenda.at(this.#world.nowMs() + delayMs, () => {
      if (service.status === 'ACTIVE' && this.#live(service).length < service.desiredCount) this.#start(service, task);
    });
  }

  /** A new PRIMARY deployment whose tasks take the places of all that run. Returns its ID. */
  deploy(service: ServiceRecord): string {
    const id = this.#world.names.deploymentId();
    for (const deployment of service.deployments) deployment.status = 'ACTIVE';
    service.deployments.unshift({
      id,
      createdAtMs: this.#world.nowMs(),
      status: 'PRIMARY',
      rolloutState: 'IN_PROGRESS',
      rolls: service.rollsDeployments,
    });
    this.#message(service, `has begun deployment (deployment ${id}).`);
    if (service.rollsDeployments) this.#roll(service, id);
    return id;
  }

  /** Ends a deployment that is in progress. COMPLETED leaves it as the only one. */
  settle(service: ServiceRecord, rolloutState: 'COMPLETED' | 'FAILED'): void {
    const primary = service.deployments[0];
    if (!primary) return;
    primary.rolloutState = rolloutState;
    if (rolloutState === 'COMPLETED') service.deployments = [primary];
    const outcome = rolloutState === 'COMPLETED' ? 'completed' : 'failed';
    this.#message(service, `(deployment ${primary.id}) deployment ${outcome}.`);
  }

  /** A task of the service became RUNNING: its predecessor in a deployment goes, and the deployment may be complete. */
  taskRuns(task: TaskRecord): void {
    const service = task.service === undefined ? undefined : this.#world.service(task.cluster, task.service);
    if (!service) return;
    const old = this.#world.tasksOf(service).find((other) => other.arn === task.replaces);
    if (old?.desiredStatus === 'RUNNING') {
      this.#world.agenda.at(this.#world.nowMs() + this.#world.delays.drainMs, () => this.#stop(service, old));
    }
    this.lookAtDeployment(service);
  }

  /** COMPLETED once only tasks of the PRIMARY deployment are there, all RUNNING. */
  lookAtDeployment(service: ServiceRecord): void {
    const primary = service.deployments[0];
    if (!primary?.rolls || primary.rolloutState !== 'IN_PROGRESS') return;
    const present = this.#world.tasksOf(service).filter((task) => task.lastStatus !== 'STOPPED');
    const done = present.every((task) => task.startedBy === primary.id && task.lastStatus === 'RUNNING');
    if (!done || present.length < service.desiredCount) return;
    this.settle(service, 'COMPLETED');
    this.#message(service, 'has reached a steady state.');
  }

  #roll(service: ServiceRecord, deploymentId: string): void {
    const places = this.#world.tasksOf(service).filter((task) => task.desiredStatus === 'RUNNING');
    for (const old of places) {
      if (old.replaceAfterMs === null) continue;
      this.#world.agenda.at(this.#world.nowMs() + (old.replaceAfterMs ?? this.#world.delays.replaceMs), () => {
        const current = service.deployments[0]?.id === deploymentId && service.status === 'ACTIVE';
        if (current && this.#live(service).length < service.desiredCount) this.#start(service, old);
      });
    }
  }

  #start(service: ServiceRecord, old: TaskRecord | undefined): void {
    const arn = this.#world.addTask({
      service: service.name,
      cluster: service.cluster,
      launch: true,
      ...(old?.label === undefined ? {} : { label: old.label }),
      ...(old?.replaceAfterMs === undefined ? {} : { replaceAfterMs: old.replaceAfterMs }),
      ...(old === undefined ? {} : { replaces: old.arn, networkMode: old.networkMode }),
    });
    this.#message(service, `has started 1 tasks: (task ${arn.split('/').at(-1)}).`);
  }

  #stop(service: ServiceRecord, task: TaskRecord): void {
    if (task.desiredStatus === 'STOPPED') return;
    const reason = `Scaling activity initiated by (deployment ${service.deployments[0]?.id ?? ''})`;
    this.#world.lifecycle.stop(task, { stopCode: 'ServiceSchedulerInitiated', reason });
    this.#message(service, `has stopped 1 running tasks: (task ${task.id}).`);
  }

  /** Tasks of the PRIMARY deployment that are to run; those of an older one don't count, they are on their way out. */
  #live(service: ServiceRecord): TaskRecord[] {
    const primary: DeploymentRecord | undefined = service.deployments.find(
      ({ status, rolls }) => rolls && status === 'PRIMARY',
    );
    const current = (task: TaskRecord) => primary === undefined || task.startedBy === primary.id;
    return this.#world.tasksOf(service).filter((task) => task.desiredStatus === 'RUNNING' && current(task));
  }

  #message(service: ServiceRecord, text: string): void {
    const event = {
      id: this.#world.names.hex(),
      atMs: this.#world.nowMs(),
      message: `(service ${service.name}) ${text}`,
    };
    service.events = [event, ...service.events].slice(0, 100);
  }
}
