/**
 * How soon a restart is issued in an open window: from a check turning critical (limit 1, grace 0) to StopTask, and from a
 * deadline (limit 2, interval 2 s) to StopTask, when nothing else happens and with 50 unrelated check writes a second.
 *
 * Real Consul, the real adapters, the ECS double over HTTP, dynalite, all doubles in this process. The two kinds are
 * measured at the same time, each in a window, a Consul and a table of its own, so that neither is the other's change.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { type RealConsul, startRealConsul } from '../../infra/local/real-consul.ts';
import { inParallel } from '../../lib/in-parallel.ts';
import { deregister, type Registration, register, startUnrelatedWrites } from '../e2e/consul-writes.ts';
import { preciseNowMs, type RestartStage, startRestartStage } from '../e2e/restart-stage.ts';
import { doubleAnswersMs } from './double-answers.ts';
import type { BenchResult, Figure } from './figures.ts';
import { percentile } from './statistics.ts';

/** How much of it. */
export interface LatencyOptions {
  /** A binary that runs. */
  readonly consul: string;
  /** Of each kind, idle and under load. */
  readonly tries: number;
  readonly progress: (line: string) => void;
}

const POLICY = {
  rules: [
    { match: { service: 'at-once-*' }, checkRestart: { limit: 1, interval: '2s', grace: '0s' } },
    { match: { service: 'deadline-*' }, checkRestart: { limit: 2, interval: '2s', grace: '0s' } },
  ],
};
/**
 * From one check that turns critical to the next. The stopped task is deregistered at once, so that the list of what is
 * bad is empty again (with an empty list Consul wakes us at every write), and that change is a pass a second later.
 */
const AT_ONCE_SPACE_MS = 2200;
/** Stopped tasks stay registered here: the second after a change would get in the way of the next one. */
const DEADLINE_SPACE_MS = 1200;
const LIMIT_MS = 2000;
const BEGIN_MS = 1000;
const END_MS = 3000;
const WRITES_PER_SECOND = 50;
/** Bounds of the 99th percentile. */
const IDLE_MS = 150;
const LOADED_MS = 500;

type Kind = 'at-once' | 'deadline';

interface Measured {
  readonly kind: Kind;
  readonly loaded: boolean;
  readonly tookMs: readonly number[];
  readonly writes: number;
  readonly doublesMs: { readonly ecs: readonly number[]; readonly table: readonly number[] };
}

/** Runs it. Throws when a restart is missing, comes twice, out of order or before its time. */
export async function benchLatency(options: LatencyOptions): Promise<BenchResult> {
  const measured: Measured[] = [];
  const pauses: Figure[] = [];
  let version = '';
  for (const loaded of [false, true]) {
    options.progress(
      `${options.tries} tries of each kind, ${loaded ? `${WRITES_PER_SECOND} writes a second` : 'idle'}`,
    );
    const pause = monitorEventLoopDelay({ resolution: 5 });
    pause.enable();
    const both = (['at-once', 'deadline'] as const).map(async (kind) => {
      const consul = await startRealConsul(options.consul);
      version = consul.version;
      try {
        return await measure(kind, loaded, consul, options);
      } finally {
        await consul.close();
      }
    });
    measured.push(...(await Promise.all(both)));
    pause.disable();
    // Doubles, watchers and clocks share this process: what a busy machine takes from it is in every figure above.
    const name = `longest pause of the process, ${loaded ? 'under load' : 'idle'}`;
    pauses.push({ name, value: pause.max / 1e6, unit: 'ms' });
  }
  return {
    bench: 'latency',
    setting: { tries: options.tries, consul: version, writesPerSecond: WRITES_PER_SECOND },
    figures: [...measured.flatMap(figuresOf), ...pauses, ...doublesOf(measured)],
    raw: { measured },
  };
}

async function measure(kind: Kind, loaded: boolean, consul: RealConsul, options: LatencyOptions): Promise<Measured> {
  const stage = await startRestartStage(consul.url, POLICY);
  try {
    const doublesMs = await doubleAnswersMs(stage.ecsUrl, stage.tableUrl);
    const numbers = Array.from({ length: options.tries }, (_, number) => String(number).padStart(3, '0'));
    const instances = await inParallel(numbers, 4, (number) => stage.service(`${kind}-${number}`));
    const spaceMs = kind === 'at-once' ? AT_ONCE_SPACE_MS : DEADLINE_SPACE_MS;
    const window = stage.window(BEGIN_MS + options.tries * spaceMs + LIMIT_MS + END_MS);
    await wait(BEGIN_MS);
    const load = loaded ? startUnrelatedWrites(consul.url, WRITES_PER_SECOND) : undefined;
    const run = kind === 'at-once' ? tryAtOnce : tryDeadlines;
    const tookMs = await run(stage, instances);
    const writes = (await load?.stop()) ?? 0;
    const result = await window;
    if (result.outcome !== 'done' || result.failedPasses > 0)
      throw new Error(`a pass failed: ${JSON.stringify(result)}`);
    inOrderAndOnce(stage, instances);
    return { kind, loaded, tookMs, writes, doublesMs };
  } finally {
    await stage.close();
  }
}

/** One after the other, from the moment at which the write of the check is sent. */
async function tryAtOnce(stage: RestartStage, instances: readonly Registration[]): Promise<number[]> {
  const tookMs: number[] = [];
  for (const instance of instances) {
    const sentMs = preciseNowMs();
    await register(stage.writer, instance, 'critical');
    const stop = await stage.stopOf(instance.taskArn);
    tookMs.push(stop.atMs - sentMs);
    await deregister(stage.writer, instance);
    await wait(Math.max(AT_ONCE_SPACE_MS - (preciseNowMs() - sentMs), 0));
  }
  return tookMs;
}

/** The next check turns critical while the others count. Deadlines are those that the watcher itself told. */
async function tryDeadlines(stage: RestartStage, instances: readonly Registration[]): Promise<number[]> {
  const sentMs: number[] = [];
  const beganMs = preciseNowMs();
  for (const [n, instance] of instances.entries()) {
    await wait(Math.max(beganMs + n * DEADLINE_SPACE_MS - preciseNowMs(), 0));
    sentMs.push(preciseNowMs());
    await register(stage.writer, instance, 'critical');
  }
  const stops = await Promise.all(instances.map(({ taskArn }) => stage.stopOf(taskArn)));
  const told = stage.telemetry.of('verdict-changed');
  return instances.map(({ taskArn }, n) => {
    const deadlineMs = Number(told.find(({ task }) => taskArn.endsWith(String(task)))?.untilMs);
    // Whole milliseconds: the watcher's clock has no fractions.
    if (!(deadlineMs >= Math.floor((sentMs[n] ?? Number.NaN) + LIMIT_MS)))
      throw new Error(`a deadline too early: ${n}`);
    return (stops[n]?.atMs ?? Number.NaN) - deadlineMs;
  });
}

function inOrderAndOnce(stage: RestartStage, instances: readonly Registration[]): void {
  const stopped = stage.ecs.callsOf('StopTask').map(({ input }) => input.task);
  const expected = instances.map(({ taskArn }) => taskArn);
  if (JSON.stringify(stopped) !== JSON.stringify(expected)) throw new Error('not each task once, in order');
}

function figuresOf({ kind, loaded, tookMs, writes }: Measured): Figure[] {
  const from = kind === 'at-once' ? 'critical to StopTask' : 'deadline to StopTask';
  const name = `${from}, ${loaded ? 'under load' : 'idle'}`;
  const note = `${tookMs.length} tries${loaded ? `, ${writes} unrelated writes` : ''}`;
  return [
    { name: `${name}, p50`, value: percentile(tookMs, 0.5), unit: 'ms' },
    {
      name: `${name}, p99`,
      value: percentile(tookMs, 0.99),
      unit: 'ms',
      bound: loaded ? LOADED_MS : IDLE_MS,
      below: true,
      note,
    },
    { name: `${name}, max`, value: Math.max(...tookMs), unit: 'ms' },
  ];
}

/** Told beside: the bounds are for doubles that answer within 5 ms. */
function doublesOf(measured: readonly Measured[]): Figure[] {
  const ecs = measured.flatMap(({ doublesMs }) => doublesMs.ecs);
  const table = measured.flatMap(({ doublesMs }) => doublesMs.table);
  return [
    {
      name: 'ECS double answers, p50',
      value: percentile(ecs, 0.5),
      unit: 'ms',
      note: 'as seen by a client, one at a time',
    },
    { name: 'dynalite answers, p50', value: percentile(table, 0.5), unit: 'ms' },
  ];
}
