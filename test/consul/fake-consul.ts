/**
 * Consul's two state lists in memory, behind the client's interface, on a virtual clock. Blocking queries behave as
 * measured on Consul 1.8: woken by a change of their list, by a changed Output, by every check write while the list is
 * empty, and ended unchanged a sixteenth late.
 */

import { onTestFinished } from 'vitest';
import type { ConsulClient, ConsulReply, ConsulRequest } from '../../lib/consul/client.ts';
import { watchUnhealthy } from '../../lib/consul/unhealthy-watch.ts';
import type { Clock } from '../../lib/ports.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { rawCheck } from './scripted-server.ts';

type Status = 'critical' | 'warning';

export class FakeConsul implements ConsulClient {
  readonly asked: {
    readonly atMs: number;
    readonly status: Status;
    readonly query: Readonly<Record<string, string>>;
  }[] = [];
  readonly #clock: Clock;
  readonly #lists: Record<Status, Record<string, unknown>[]> = { critical: [], warning: [] };
  readonly #changedAt: Record<Status, number> = { critical: 1, warning: 1 };
  #index = 1;
  #wakers = new Set<() => void>();
  /** Thrown instead of an answer, until taken away. */
  failure: Error | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A list changes. */
  set(status: Status, checks: readonly Record<string, unknown>[]): void {
    this.#lists[status] = checks.map((fields) => rawCheck({ Status: status, ...fields }));
    this.#changedAt[status] = ++this.#index;
    this.wake();
  }

  /** Something else in the datacenter is written: wakes the queries of empty lists. */
  writeElsewhere(): void {
    this.#index++;
    for (const status of ['critical', 'warning'] as const) {
      if (this.#lists[status].length === 0) this.#changedAt[status] = this.#index;
    }
    this.wake();
  }

  /** The index starts again, as after a snapshot was restored. */
  restore(index: number): void {
    this.#index = index;
    this.#changedAt.critical = index;
    this.#changedAt.warning = index;
    this.wake();
  }

  /** Ends waiting queries so that they look again. */
  wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  async get(request: ConsulRequest): Promise<ConsulReply> {
    const status = request.path.endsWith('critical') ? 'critical' : 'warning';
    const query = request.query ?? {};
    this.asked.push({ atMs: this.#clock.nowMs(), status, query });
    const index = query.index;
    if (index !== undefined) {
      const waitMs = Number.parseInt(query.wait ?? '', 10);
      const untilMs = this.#clock.nowMs() + waitMs + waitMs / 16;
      const isDue = () => String(this.#changedAt[status]) !== index || this.failure !== undefined;
      while (!isDue() && this.#clock.nowMs() < untilMs && !request.signal?.aborted) {
        await this.#sleep(untilMs, request.signal);
      }
    }
    request.signal?.throwIfAborted();
    if (this.failure !== undefined) throw this.failure;
    return { body: this.#lists[status], index: String(this.#changedAt[status]) };
  }

  async close(): Promise<void> {}

  async #sleep(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#wakers.add(wake);
    signal?.addEventListener('abort', wake);
    await this.#clock.sleepUntil(untilMs, woken.signal);
    this.#wakers.delete(wake);
    signal?.removeEventListener('abort', wake);
  }
}

/** When the virtual clock of `watchBegun` starts. */
export const START_MS = 1_000_000;

/** A watch on a fake Consul, closed with the test. */
export function watchBegun(warnings = false) {
  const clock = new VirtualClock(START_MS);
  const consul = new FakeConsul(clock);
  const watch = watchUnhealthy({ client: consul, clock, warnings, marginMs: 10_000 });
  onTestFinished(() => watch.close());
  return { clock, consul, watch };
}
