/**
 * The model behind the ECS double: clusters, services with a scheduler, tasks with a life. It has no timers. Time is
 * what `nowMs()` says; `advance()` lets everything happen that is due by then, in order and at its own instant, and
 * `dueAtMs` says when something will be due next. `simulate` calls `advance()` as its virtual clock moves; in the local
 * stack `keepTime` does so. Every API call advances the world first, so an answer is never older than its clock.
 */
import { Agenda } from './agenda.ts';
import { Names } from './arns.ts';
import { Lifecycle, type StopCause, type TaskBefore } from './lifecycle.ts';
import {
  DEFAULT_DELAYS,
  type Delays,
  type ServiceRecord,
  type ServiceSpec,
  type TaskRecord,
  type TaskSpec,
} from './model.ts';
import { newService, newTask } from './records.ts';
import { Scheduler } from './scheduler.ts';
import { type EcsEvent, stateChangeEvent } from './wire.ts';

/** How a world is set up. All optional but the clock. */
export interface EcsWorldOptions {
  readonly nowMs: () => number;
  /** Missing ones as in `DEFAULT_DELAYS`. */
  readonly delays?: Partial<Delays>;
  readonly region?: string;
  readonly account?: string;
  readonly partition?: string;
  /** Clusters that exist from the start, besides those that services and tasks name. Default: `default`. */
  readonly clusters?: readonly string[];
  /** ARNs without the cluster's name, and UUIDs for task IDs. */
  readonly shortArns?: boolean;
  /** Two worlds with the same seed call everything alike. */
  readonly seed?: string;
}

/** Hears of every change of a task. `before` is equal to the task's present state when it has just been added. */
export type TaskListener = (task: Readonly<TaskRecord>, before: TaskBefore) => void;

/** Clusters, services and tasks of one account and region. */
export class EcsWorld {
  readonly agenda = new Agenda();
  readonly names: Names;
  readonly delays: Delays;
  readonly lifecycle: Lifecycle;
  readonly clusters: Set<string>;
  readonly #clock: () => number;
  readonly #scheduler: Scheduler;
  readonly #tasks = new Map<string, TaskRecord>();
  readonly #services = new Map<string, ServiceRecord>();
  readonly #unstopped = new Map<ServiceRecord, Set<TaskRecord>>();
  readonly #taskListeners = new Set<TaskListener>();
  readonly #eventListeners = new Set<(event: EcsEvent) => void>();

  constructor(options: EcsWorldOptions) {
    this.#clock = options.nowMs;
    this.delays = { ...DEFAULT_DELAYS, ...options.delays };
    this.clusters = new Set(options.clusters ?? ['default']);
    this.names = new Names({
      region: options.region ?? 'eu-west-1',
      account: options.account ?? '123456789012',
      partition: options.partition ?? 'aws',
      shortArns: options.shortArns ?? false,
      seed: options.seed ?? 'ecs-double',
    });
    const nowMs = () => this.nowMs();
    this.lifecycle = new Lifecycle(this.agenda, this.delays, nowMs, (task, before) => this.#changed(task, before));
    this.#scheduler = new Scheduler(this);
  }

  /** The instant at which things happen: the running item's own, else the clock's. */
  nowMs(): number {
    return this.agenda.runningAtMs ?? this.#clock();
  }

  /** When something will happen next; undefined: nothing, unless somebody asks for it. */
  get dueAtMs(): number | undefined {
    return this.agenda.dueAtMs;
  }

  /** Lets everything happen that is due by now. */
  advance(): void {
    this.agenda.runUntil(this.#clock());
  }

  /** Adds a service with one COMPLETED deployment, and starts its tasks unless told not to. */
  addService(spec: ServiceSpec): Readonly<ServiceRecord> {
    const service = newService(spec, this.names, this.nowMs());
    this.clusters.add(service.cluster);
    this.#services.set(`${service.cluster}/${service.name}`, service);
    if (spec.startTasks !== false) this.#scheduler.fill(service);
    return service;
  }

  /** Adds a task, RUNNING from `startedAtMs` on; with `launch` it starts now. Returns its ARN. */
  addTask(spec: TaskSpec): string {
    const service = spec.service === undefined ? undefined : this.#mustFind(spec.cluster, spec.service);
    const task = newTask(spec, service, this.names, this.nowMs());
    this.clusters.add(task.cluster);
    this.#tasks.set(task.id, task);
    if (service) this.#unstopped.set(service, this.#unstoppedOf(service).add(task));
    if (spec.launch) this.lifecycle.launch(task);
    else if ((spec.startedAtMs ?? this.nowMs()) > this.nowMs()) {
      this.lifecycle.change(task, { lastStatus: 'PENDING', startedAtMs: undefined });
      this.lifecycle.runLater(task, (spec.startedAtMs ?? 0) - this.nowMs());
    } else this.#changed(task, task);
    return task.arn;
  }

  /** A task by ARN or ID, also long after ECS has forgotten it. */
  task(arnOrId: string): Readonly<TaskRecord> | undefined {
    return this.#tasks.get(arnOrId.split('/').at(-1) ?? '');
  }

  /** All tasks that ECS still knows. */
  tasks(): Readonly<TaskRecord>[] {
    return [...this.#tasks.values()].filter((task) => this.isKnown(task));
  }

  /** False once a stopped task is MISSING. */
  isKnown(task: Readonly<TaskRecord>): boolean {
    return task.missingAtMs === undefined || task.missingAtMs > this.nowMs();
  }

  service(cluster: string, name: string): ServiceRecord | undefined {
    return this.#services.get(`${cluster}/${name}`);
  }

  services(): Readonly<ServiceRecord>[] {
    return [...this.#services.values()];
  }

  /** Tasks of a service that are not STOPPED. */
  tasksOf(service: ServiceRecord): TaskRecord[] {
    return [...this.#unstoppedOf(service)];
  }

  /** As StopTask does; a task that is stopping already stays as it is. */
  stopTask(arn: string, reason: string, stopCode = 'UserInitiated'): void {
    this.lifecycle.stop(this.#mustFindTask(arn), { stopCode, reason });
  }

  /** The task ends by itself: a crash, an exit, a failed start, a spot interruption. */
  exitTask(arn: string, cause: Partial<StopCause> = {}): void {
    const reason = cause.reason ?? 'Essential container in task exited';
    const exitCode = cause.exitCode ?? 1;
    this.lifecycle.exit(this.#mustFindTask(arn), {
      stopCode: cause.stopCode ?? 'EssentialContainerExited',
      reason,
      exitCode,
    });
  }

  /** Says where ECS wants the task, and lets nothing follow from it: a task that drains for as long as one likes. */
  setDesiredStatus(arn: string, desiredStatus: TaskRecord['desiredStatus']): void {
    const task = this.#mustFindTask(arn);
    if (task.stopCode === undefined && task.desiredStatus !== desiredStatus)
      this.lifecycle.change(task, { desiredStatus });
  }

  /** Sets what no call of ours can bring about, such as an agent's connectivity or a status that stays. */
  alterTask(
    arn: string,
    fields: Partial<Pick<TaskRecord, 'connectivity' | 'lastStatus' | 'tags' | 'startedAtMs'>>,
  ): void {
    this.lifecycle.change(this.#mustFindTask(arn), fields);
  }

  /** Protects a task until the instant. `stale`: GetTaskProtection says so even after its end. */
  protect(arn: string, untilMs: number = Number.MAX_SAFE_INTEGER, stale = false): void {
    this.#mustFindTask(arn).protection = { untilMs, stale };
  }

  unprotect(arn: string): void {
    this.#mustFindTask(arn).protection = undefined;
  }

  setDesiredCount(cluster: string, name: string, desiredCount: number): void {
    const service = this.#mustFind(cluster, name);
    service.desiredCount = desiredCount;
    this.#scheduler.fill(service);
  }

  /** Begins a deployment, as UpdateService does. Returns its ID. */
  deploy(cluster: string, name: string): string {
    return this.#scheduler.deploy(this.#mustFind(cluster, name));
  }

  /** Ends the deployment in progress. */
  settleDeployment(cluster: string, name: string, rolloutState: 'COMPLETED' | 'FAILED'): void {
    this.#scheduler.settle(this.#mustFind(cluster, name), rolloutState);
  }

  /** Adds a message of the scheduler's, such as "(service web) is unable to consistently start tasks successfully." */
  addServiceMessage(cluster: string, name: string, message: string): void {
    const service = this.#mustFind(cluster, name);
    service.events = [{ id: this.names.hex(), atMs: this.nowMs(), message }, ...service.events].slice(0, 100);
  }

  /** Also reports tasks that are added. Returns what ends it. */
  onTaskChange(listener: TaskListener): () => void {
    this.#taskListeners.add(listener);
    return () => this.#taskListeners.delete(listener);
  }

  /** Only when ECS begins to want a task STOPPED, or it ended by itself. */
  onStopping(listener: (task: Readonly<TaskRecord>) => void): () => void {
    return this.onTaskChange((task, before) => {
      if (before.desiredStatus === 'RUNNING' && task.desiredStatus === 'STOPPED') listener(task);
    });
  }

  /** Only when a task is STOPPED. */
  onStopped(listener: (task: Readonly<TaskRecord>) => void): () => void {
    return this.onTaskChange((task, before) => {
      if (before.lastStatus !== 'STOPPED' && task.lastStatus === 'STOPPED') listener(task);
    });
  }

  /** "ECS Task State Change" events, shaped as EventBridge sends them. */
  onEvent(listener: (event: EcsEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  #changed(task: TaskRecord, before: TaskBefore): void {
    if (task.stopCode !== undefined && before.desiredStatus === 'RUNNING' && task.desiredStatus === 'STOPPED') {
      this.#scheduler.taskEnds(task);
    }
    const service = task.service === undefined ? undefined : this.service(task.cluster, task.service);
    if (service && task.lastStatus === 'STOPPED') this.#unstoppedOf(service).delete(task);
    if (before.lastStatus !== task.lastStatus && task.lastStatus === 'RUNNING') this.#scheduler.taskRuns(task);
    else if (service && task.lastStatus === 'STOPPED') this.#scheduler.lookAtDeployment(service);
    for (const listener of this.#taskListeners) listener(task, before);
    if (this.#eventListeners.size === 0) return;
    const event = stateChangeEvent(task, this.names, this.nowMs());
    for (const listener of this.#eventListeners) listener(event);
  }

  #unstoppedOf(service: ServiceRecord): Set<TaskRecord> {
    return this.#unstopped.get(service) ?? new Set();
  }

  #mustFind(cluster: string | undefined, name: string): ServiceRecord {
    const service = this.service(cluster ?? 'default', name);
    if (!service) throw new Error(`the ECS double has no service ${cluster ?? 'default'}/${name}`);
    return service;
  }

  #mustFindTask(arn: string): TaskRecord {
    const task = this.#tasks.get(arn.split('/').at(-1) ?? '');
    if (!task) throw new Error(`the ECS double has no task ${arn}`);
    return task;
  }
}
