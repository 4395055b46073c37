/** What a bench found: figures with their bounds, as a table for people and as JSON for programs. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join, relative, resolve } from 'node:path';

/** One figure. With a bound it is met or not; without one it is told for its own sake. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** `ms`, `MB`, `%`, or what is counted. */
  readonly unit: string;
  /** The value must not be above it; with `below` it must not reach it either. */
  readonly bound?: number;
  readonly below?: boolean;
  /** What the figure is made of. */
  readonly note?: string;
}

/** The result of one bench. */
export interface BenchResult {
  readonly bench: string;
  /** What was measured, and how. */
  readonly setting: Readonly<Record<string, string | number | boolean>>;
  readonly figures: readonly Figure[];
  /** All single measurements, for those who want to look closer. */
  readonly raw: Readonly<Record<string, unknown>>;
}

const PROJECT = resolve(import.meta.dirname, '../..');

/** True when the figure has no bound or keeps it. */
export function isMet({ value, bound, below }: Figure): boolean {
  if (bound === undefined) return true;
  return below ? value < bound : value <= bound;
}

/** Lines of a table: figure, value, bound, met or not. */
export function tableOf({ figures }: BenchResult): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${shown(figure.value)} ${figure.unit}`,
    figure.bound === undefined ? '' : `${figure.below ? '<' : '≤'} ${figure.bound} ${figure.unit}`,
    figure.bound === undefined ? '' : isMet(figure) ? 'met' : 'NOT MET',
    figure.note ?? '',
  ]);
  const table = [['figure', 'value', 'bound', '', ''], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 1 ? cell.padStart(widths[1] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${table.map(line).join('\n')}\n`;
}

/** Writes `reports/bench-NAME.json` and returns its path within the project. */
export async function save(result: BenchResult): Promise<string> {
  const { figures, ...rest } = result;
  const machine = { node: process.version, processors: availableParallelism(), memoryMb: Math.round(totalmem() / 1e6) };
  const content = {
    ...rest,
    atMs: Date.now(),
    machine,
    met: figures.every(isMet),
    figures: figures.map((figure) => ({ ...figure, ...(figure.bound === undefined ? {} : { met: isMet(figure) }) })),
  };
  const path = join(PROJECT, 'reports', `bench-${result.bench}.json`);
  await mkdir(join(PROJECT, 'reports'), { recursive: true });
  await writeFile(path, `${JSON.stringify(content, null, 2)}\n`);
  return relative(PROJECT, path);
}

function shown(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
