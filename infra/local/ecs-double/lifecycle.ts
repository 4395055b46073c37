/**
 * A task's way from PROVISIONING to STOPPED, and on to MISSING. A stop is a wish first (`desiredStatus`), what happens
 * follows later: a task that ECS stops is RUNNING for a while yet.
 */
import type { Agenda } from './agenda.ts';
import type { Delays, TaskRecord, TaskStatus } from './model.ts';

/** Why a task ends. */
export interface StopCause {
  readonly stopCode: string;
  readonly reason: string;
  readonly exitCode?: number;
}

/** A task as it was before a change. */
export type TaskBefore = Pick<TaskRecord, 'lastStatus' | 'desiredStatus'>;

/** Moves tasks along and reports every change. */
export class Lifecycle {
  readonly #agenda: Agenda;
  readonly #delays: Delays;
  readonly #nowMs: () => number;
  readonly #changed: (task: TaskRecord, before: TaskBefore) => void;

  constructor(
    agenda: Agenda,
    delays: Delays,
    nowMs: () => number,
    changed: (task: TaskRecord, before: TaskBefore) => void,
  ) {
    this.#agenda = agenda;
    this.#delays = delays;
    this.#nowMs = nowMs;
    this.#changed = changed;
  }

  /** PROVISIONING now, PENDING and RUNNING later, unless it is stopped before. */
  launch(task: TaskRecord): void {
    this.change(task, { lastStatus: 'PROVISIONING' });
    this.#later(this.#delays.provisioningMs, () => {
      if (task.lastStatus !== 'PROVISIONING' || task.desiredStatus === 'STOPPED') return;
      this.change(task, { lastStatus: 'PENDING' });
      this.runLater(task, this.#delays.pendingMs);
    });
  }

  /** RUNNING after the time, unless it is stopped before. */
  runLater(task: TaskRecord, delayMs: number): void {
    this.#later(delayMs, () => {
      if (task.lastStatus !== 'PENDING' || task.desiredStatus === 'STOPPED') return;
      this.change(task, { lastStatus: 'RUNNING', startedAtMs: this.#nowMs() });
    });
  }

  /** ECS wants it stopped: by a call, or by a scheduler. Does nothing to a task that is stopping already. */
  stop(task: TaskRecord, cause: StopCause): void {
    if (task.stopCode !== undefined || task.lastStatus === 'STOPPED') return;
    const running = task.lastStatus === 'RUNNING';
    this.change(task, {
      desiredStatus: 'STOPPED',
      stopCode: cause.stopCode,
      stoppedReason: cause.reason,
      stoppingAtMs: this.#nowMs(),
    });
    this.#later(this.#delays.stopNoticedMs, () => {
      if (running) this.#pass(task, ['DEACTIVATING', 'STOPPING', 'DEPROVISIONING', 'STOPPED'], cause.exitCode ?? 143);
      else this.#pass(task, ['DEPROVISIONING', 'STOPPED'], undefined);
    });
  }

  /** Its essential container ended, or it never came to run: nobody asked for that. */
  exit(task: TaskRecord, cause: StopCause): void {
    if (task.lastStatus === 'STOPPED' || task.lastStatus === 'DEPROVISIONING') return;
    this.change(task, {
      lastStatus: 'DEPROVISIONING',
      desiredStatus: 'STOPPED',
      stopCode: cause.stopCode,
      stoppedReason: cause.reason,
      stoppingAtMs: this.#nowMs(),
      ...(task.lastStatus === 'RUNNING' ? { executionStoppedAtMs: this.#nowMs() } : {}),
      exitCode: cause.exitCode,
    });
    this.#later(this.#delays.deprovisioningMs, () => this.#pass(task, ['STOPPED'], cause.exitCode));
  }

  /** Sets fields, counts the version up, reports. */
  change(task: TaskRecord, fields: Partial<TaskRecord>): void {
    const before = { lastStatus: task.lastStatus, desiredStatus: task.desiredStatus };
    Object.assign(task, fields);
    task.version += 1;
    this.#changed(task, before);
  }

  #pass(task: TaskRecord, statuses: readonly TaskStatus[], exitCode: number | undefined): void {
    const [next, ...rest] = statuses;
    if (next === undefined || task.lastStatus === 'STOPPED') return;
    if (next === 'STOPPED') {
      const atMs = this.#nowMs();
      const missingAtMs = atMs + this.#delays.missingAfterMs;
      this.change(task, {
        lastStatus: next,
        stoppedAtMs: atMs,
        missingAtMs,
        exitCode,
        tags: [],
        protection: undefined,
      });
      return;
    }
    const ended = task.lastStatus === 'STOPPING' ? { executionStoppedAtMs: this.#nowMs() } : {};
    this.change(task, { lastStatus: next, ...ended });
    this.#later(this.#stayMs(next), () => this.#pass(task, rest, exitCode));
  }

  #stayMs(status: TaskStatus): number {
    if (status === 'DEACTIVATING') return this.#delays.deactivatingMs;
    return status === 'STOPPING' ? this.#delays.stoppingMs : this.#delays.deprovisioningMs;
  }

  #later(delayMs: number, run: () => void): void {
    this.#agenda.at(this.#nowMs() + delayMs, run);
  }
}
