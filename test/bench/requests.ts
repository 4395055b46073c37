/**
 * How many requests a window costs Consul in a busy datacenter in which everything is healthy: the lists are empty, so
 * Consul answers at every check write. Counted by a proxy, with the critical list alone and with warnings, too.
 */
import { type RealConsul, startRealConsul } from '../../infra/local/real-consul.ts';
import { startUnrelatedWrites } from '../e2e/consul-writes.ts';
import { startCountingProxy } from '../e2e/counting-proxy.ts';
import { startRestartStage } from '../e2e/restart-stage.ts';
import { SETTINGS } from '../e2e/watch-stage.ts';
import type { BenchResult, Figure } from './figures.ts';

/** How much of it. */
export interface RequestsOptions {
  /** A binary that runs. */
  readonly consul: string;
  readonly windowMs: number;
  readonly progress: (line: string) => void;
}

const WRITES_PER_SECOND = 50;
/** Of a window of 50 s. */
const MOST_REQUESTS = 220;
const FULL_WINDOW_MS = 50_000;

interface Counted {
  readonly warnings: boolean;
  readonly requests: Readonly<Record<string, number>>;
  readonly passes: number;
  readonly writes: number;
}

/** Runs it. Throws when a pass failed or something was restarted. */
export async function benchRequests(options: RequestsOptions): Promise<BenchResult> {
  options.progress(`windows of ${options.windowMs / 1000} s, ${WRITES_PER_SECOND} writes a second`);
  let version = '';
  const both = [false, true].map(async (warnings) => {
    const consul = await startRealConsul(options.consul);
    version = consul.version;
    try {
      return await count(warnings, consul, options.windowMs);
    } finally {
      await consul.close();
    }
  });
  const counted = await Promise.all(both);
  return {
    bench: 'requests',
    setting: { windowMs: options.windowMs, consul: version, writesPerSecond: WRITES_PER_SECOND },
    figures: counted.map((one) => figureOf(one, options.windowMs)),
    raw: { counted },
  };
}

async function count(warnings: boolean, consul: RealConsul, windowMs: number): Promise<Counted> {
  const proxy = await startCountingProxy(consul.url);
  const ignoreWarnings = !warnings;
  const policy = { rules: [{ match: {}, checkRestart: { limit: 3, interval: '10s', ignoreWarnings } }] };
  const stage = await startRestartStage(consul.url, policy, proxy.url);
  try {
    await stage.service('web');
    const load = startUnrelatedWrites(consul.url, WRITES_PER_SECOND);
    const window = stage.window(windowMs, { defaults: { ...SETTINGS.defaults, ignoreWarnings } });
    const result = await window;
    const writes = await load.stop();
    if (result.outcome !== 'done' || result.failedPasses > 0 || result.restarts.length > 0) {
      throw new Error(`not the window that was meant: ${JSON.stringify(result)}`);
    }
    const requests: Record<string, number> = {};
    for (const { path } of proxy.seen) requests[path] = (requests[path] ?? 0) + 1;
    return { warnings, requests, passes: result.passes, writes };
  } finally {
    await stage.close();
    await proxy.close();
  }
}

function figureOf({ warnings, requests, passes, writes }: Counted, windowMs: number): Figure {
  const value = Object.values(requests).reduce((total, number) => total + number, 0);
  return {
    name: `requests of a window, ${warnings ? 'critical and warning' : 'critical alone'}`,
    value,
    unit: 'requests',
    note: `${writes} unrelated writes, ${passes} passes`,
    ...(windowMs === FULL_WINDOW_MS ? { bound: MOST_REQUESTS } : {}),
  };
}
