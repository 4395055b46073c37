/** The README's settings table is that of the code. That serverless.yml is too stands in `test/deploy/package.test.ts`. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settingsTable } from '../../infra/settings-table.ts';
import type { Setting } from '../../lib/config/settings-table.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';

const README = new URL('../../README.md', import.meta.url);
const settings = Object.entries<Setting<unknown>>(SETTINGS);

/** Rows of cells; how wide a formatter makes the columns does not matter. */
function cellsOf(table: string): string[][] {
  const rows = table
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()));
  return rows.filter((row) => !row.every((cell) => /^-*$/.test(cell)));
}

describe('the settings table', () => {
  it.runIf(existsSync(README))('stands in the README, row by row (npm run --silent settings-table prints it)', () => {
    const [, table] = /<!-- settings:begin -->([\s\S]*?)<!-- settings:end -->/.exec(readFileSync(README, 'utf8')) ?? [];
    expect(cellsOf(table ?? '')).toEqual(cellsOf(settingsTable()));
  });

  it('has a row of six cells for every setting', () => {
    const [, , ...rows] = settingsTable().split('\n');
    expect(rows.map((row) => row.split(' | ')[0]?.replace('| ', ''))).toEqual(settings.map(([name]) => `\`${name}\``));
    for (const row of rows) expect(row.split(' | '), row).toHaveLength(6);
  });

  it.each(settings)('%s has a default that it would take itself', (_name, { kind, fallback }) => {
    if (fallback !== undefined && fallback !== '') expect(kind.read(fallback)).toBeDefined();
    expect(kind.allowed).not.toBe('');
  });
});
