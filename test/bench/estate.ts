/**
 * Passes over a large estate against "read every check and parse it", side by side on one real Consul.
 *
 * Each round starts two processes, one after the other and in turn first: one reads everything, one makes passes. They
 * run as Lambda would run them (`function-process.ts`); Consul, ECS double and table are in other processes. In the timed
 * rounds ECS answers at once and the state is in memory: whoever reads everything has to ask ECS and to write the same.
 * What ECS (the double, over HTTP) and the table (dynalite) take is told beside; peak memory is that with ECS.
 */
import { createLocalClient, createTable, startDynamoDb } from '../../infra/local/dynamodb.ts';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { listen } from '../../infra/local/ecs-double/http.ts';
import type { RealConsul } from '../../infra/local/real-consul.ts';
import { startCountingProxy } from '../e2e/counting-proxy.ts';
import { CLUSTER, TABLE } from '../e2e/watch-stage.ts';
import { buildEstate, type EstateSize, estateOf } from './estate-catalog.ts';
import type { ChildTask, PassesMeasured, ReadingsMeasured } from './estate-messages.ts';
import type { BenchResult, Figure } from './figures.ts';
import { type Bundle, bundle } from './function-process.ts';
import { median } from './statistics.ts';

/** How much of it. */
export interface EstateOptions {
  readonly checks: number;
  readonly rounds: number;
  readonly progress: (line: string) => void;
}

const READINGS = 'estate-baseline.ts';
const PASSES = 'estate-passes.ts';
const NEXT_PASSES = 20;
const NEXT_READINGS = 2;

/** Runs it. Throws when what was measured is not what it should be, such as a pass that misses a check. */
export async function benchEstate(consul: RealConsul, options: EstateOptions): Promise<BenchResult> {
  const { progress } = options;
  const size = estateOf(options.checks);
  const ecs = new EcsDouble({ nowMs: () => Date.now(), clusters: [CLUSTER] });
  const listening = await listen(ecs);
  const bundled = await bundle([READINGS, PASSES]);
  try {
    progress(`registering ${size.instances} instances with ${size.checks} checks`);
    const startMs = performance.now();
    await buildEstate(consul.url, ecs, size, (done) => progress(`  ${done} of ${size.instances}`));
    const registeredMs = performance.now() - startMs;
    const task: ChildTask = { consulUrl: consul.url, next: NEXT_PASSES };
    const run = { bundled, task, size, progress };
    const rounds = await measureRounds(run, options.rounds);
    const bytes = await measureBytes(run);
    const withEcs: ChildTask = { ...task, ecsUrl: listening.url };
    progress('with ECS');
    const asked = await bundled.run<PassesMeasured>(PASSES, withEcs);
    const roomy = await bundled.run<PassesMeasured>(PASSES, withEcs, { limits: false });
    const whole = await measureWhole(run, withEcs);
    const figures = [
      ...ratios(rounds, bytes, asked),
      ...besides(rounds, asked, whole),
      { name: "peak memory with this machine's own heap limits", value: roomy.peakMb, unit: 'MB' },
      ms('registering', registeredMs),
    ];
    return {
      bench: 'estate',
      setting: {
        ...size,
        rounds: options.rounds,
        consul: consul.version,
        inRounds: 'ECS answers at once, state in memory',
        functionMemoryMb: bundled.memoryMb,
      },
      figures,
      raw: { rounds, bytes, asked, whole },
    };
  } finally {
    await bundled.remove();
    await listening.close();
  }
}

interface Run {
  readonly bundled: Bundle;
  readonly task: ChildTask;
  readonly size: EstateSize;
  readonly progress: (line: string) => void;
}

interface Round {
  readonly readings: ReadingsMeasured;
  readonly passes: PassesMeasured;
}

async function measureRounds({ bundled, task, size, progress }: Run, times: number): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let n = 0; n < times; n++) {
    const read = () => bundled.run<ReadingsMeasured>(READINGS, { ...task, next: NEXT_READINGS });
    // In turn first, so that neither always finds the machine as the other has left it.
    const before = n % 2 === 0 ? await read() : undefined;
    const passes = await bundled.run<PassesMeasured>(PASSES, task);
    const readings = before ?? (await read());
    check(size, { passes, readings });
    const [all] = readings.readMs;
    const [first, next] = [passes.firstMs, median(passes.nextMs)].map((took) => took.toFixed(0));
    progress(`round ${n + 1}: everything ${all?.toFixed(0)} ms, first pass ${first} ms, next ${next} ms`);
    rounds.push({ passes, readings });
  }
  return rounds;
}

function check(size: EstateSize, { passes, readings }: Round): void {
  const seen = { critical: readings.critical, tracked: passes.tracked, counting: passes.counting };
  for (const [what, number] of Object.entries(seen)) {
    if (number !== size.critical) throw new Error(`${what}: ${number} instead of ${size.critical}`);
  }
  if (readings.checks < size.checks) throw new Error(`only ${readings.checks} checks were read`);
}

interface Bytes {
  /** Everything from Consul to the process, headers included, nothing compressed. */
  readonly plain: { readonly everything: number; readonly first: number; readonly next: number };
  /** The same as the product has it sent, compressed; everything is asked for with gzip, too. */
  readonly sent: { readonly first: number; readonly next: number };
  /** What the first pass sends. */
  readonly asked: number;
}

/** Apart from the timed rounds, since a proxy that counts takes time. */
async function measureBytes({ bundled, task, progress }: Run): Promise<Bytes> {
  progress('counting bytes');
  const through = async (file: string, next: number, plain: boolean) => {
    const proxy = await startCountingProxy(task.consulUrl, { plain });
    try {
      await bundled.run(file, { ...task, consulUrl: proxy.url, next });
      return proxy.bytes();
    } finally {
      await proxy.close();
    }
  };
  const [all, first, both] = [
    await through(READINGS, 0, true),
    await through(PASSES, 0, true),
    await through(PASSES, 1, true),
  ];
  const [firstSent, bothSent] = [await through(PASSES, 0, false), await through(PASSES, 1, false)];
  return {
    plain: { everything: all.received, first: first.received, next: both.received - first.received },
    sent: { first: firstSent.received, next: bothSent.received - firstSent.received },
    asked: first.sent,
  };
}

/** The same passes kept in a table, too. */
async function measureWhole({ bundled, size, progress }: Run, withEcs: ChildTask): Promise<PassesMeasured> {
  progress('with ECS and a table');
  const local = await startDynamoDb();
  try {
    await createTable(createLocalClient(local.endpoint), TABLE);
    const measured = await bundled.run<PassesMeasured>(PASSES, { ...withEcs, tableUrl: local.endpoint });
    if (measured.writes !== size.critical) throw new Error(`${measured.writes} checks were written`);
    return measured;
  } finally {
    await local.close();
  }
}

/**
 * Ratios are taken within a round and their median counts: what else the machine does meanwhile changes from one round to
 * the next. Like is compared with like: what a fresh process does first, and what it does afterwards.
 */
function ratios(rounds: readonly Round[], bytes: Bytes, asked: PassesMeasured): Figure[] {
  const everythingFirst = rounds.map(({ readings }) => readings.readMs[0] ?? Number.NaN);
  const everythingNext = rounds.map(({ readings }) => median(readings.readMs.slice(1)));
  const first = rounds.map(({ passes }) => passes.firstMs);
  const next = rounds.map(({ passes }) => median(passes.nextMs));
  const percent = (part: number, whole: number) => (100 * part) / whole;
  const inRounds = (parts: readonly number[], wholes: readonly number[]) =>
    median(parts.map((part, n) => percent(part, wholes[n] ?? Number.NaN)));
  const peak = Math.max(asked.peakMb, ...rounds.map(({ passes }) => passes.peakMb));
  return [
    { name: 'first pass, of reading everything', ...share(inRounds(first, everythingFirst), 40) },
    { name: 'next passes, of reading everything', ...share(inRounds(next, everythingNext), 5) },
    { name: 'bytes of the first pass, of everything', ...share(percent(bytes.plain.first, bytes.plain.everything), 5) },
    { name: 'bytes of a next pass, of everything', ...share(percent(bytes.plain.next, bytes.plain.everything), 5) },
    { name: 'peak memory of the passes', value: peak, unit: 'MB', bound: 200, below: true },
    ms('reading everything, first', median(everythingFirst)),
    ms('reading everything, next', median(everythingNext)),
    ms('first pass', median(first)),
    ms('next passes', median(next)),
    megabytes('everything, plain', bytes.plain.everything),
    megabytes('first pass, plain', bytes.plain.first),
    megabytes('next pass, plain', bytes.plain.next),
    megabytes('first pass, as sent (gzip)', bytes.sent.first),
    megabytes('next pass, as sent (gzip)', bytes.sent.next),
    megabytes('requests of the first pass', bytes.asked),
  ];
}

function besides(rounds: readonly Round[], asked: PassesMeasured, whole: PassesMeasured): Figure[] {
  return [
    { name: 'peak memory of reading everything', unit: 'MB', value: Math.max(...rounds.map((r) => r.readings.peakMb)) },
    { name: 'peak memory with ECS and table', unit: 'MB', value: whole.peakMb },
    { ...ms('describing tasks', asked.describeMs), note: `${asked.described} tasks, ECS double over HTTP` },
    { ...ms('first pass with ECS', asked.firstMs) },
    { ...ms('writing the state, once', whole.writesMs), note: `${whole.writes} items, dynalite` },
    { ...ms('reading the state, each invocation', whole.loadMs), note: 'dynalite' },
    { ...ms('first pass with ECS and table', whole.firstMs) },
  ];
}

function share(value: number, bound: number): Omit<Figure, 'name'> {
  return { value, unit: '%', bound };
}

function ms(name: string, value: number): Figure {
  return { name, value, unit: 'ms' };
}

function megabytes(name: string, bytes: number): Figure {
  return { name, value: bytes / 1e6, unit: 'MB' };
}
