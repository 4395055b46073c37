/** What the bench and its child processes say to each other. */
import { readFile } from 'node:fs/promises';

/** To a child, on its command line as JSON. */
export interface ChildTask {
  readonly consulUrl: string;
  /** The ECS double; absent = ECS answers at once. */
  readonly ecsUrl?: string;
  /** Of dynalite, where the table keeps the state; absent = it is kept in memory. */
  readonly tableUrl?: string;
  /** Passes, or readings, after the first. */
  readonly next: number;
}

/** From the child that makes passes. */
export interface PassesMeasured {
  readonly firstMs: number;
  readonly nextMs: readonly number[];
  /** Checks that are tracked after the passes, and those among them that count towards a restart. */
  readonly tracked: number;
  readonly counting: number;
  /** From the first write of a check to the end of the last, and how many there were. */
  readonly writesMs: number;
  readonly writes: number;
  /** The same of the descriptions of tasks. */
  readonly describeMs: number;
  readonly described: number;
  /** Reading all of it back, as the next invocation does. */
  readonly loadMs: number;
  readonly peakMb: number;
}

/** From the child that reads everything. */
export interface ReadingsMeasured {
  readonly readMs: readonly number[];
  readonly checks: number;
  readonly critical: number;
  readonly peakMb: number;
}

/**
 * The most memory this process ever had, in MB. On Linux from the kernel's own account of it: `resourceUsage().maxRSS`
 * begins there with what the process that started this one had.
 */
export async function peakMb(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return (Number(kilobytes ?? process.resourceUsage().maxRSS) * 1024) / 1e6;
}

/** The task from the command line. */
export function taskOfChild(): ChildTask {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Tells the bench what was measured. */
export function tell(measured: PassesMeasured | ReadingsMeasured): void {
  process.send?.(measured);
  process.disconnect?.();
}
