/**
 * Prints the rows of the README's settings table, which stands between `<!-- settings:begin -->` and
 * `<!-- settings:end -->`: `npm run --silent settings-table`. A test holds the README to it.
 */
import { pathToFileURL } from 'node:url';
import type { Setting } from '../lib/config/settings-table.ts';
import { SETTINGS } from '../lib/config/settings-table.ts';

const HEADER = ['Variable', 'Function', 'Kind', 'Default', 'Allowed', 'Effect'];

/** The table in Markdown, without a line end after its last row. */
export function settingsTable(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) => [
    `\`${name}\``,
    setting.usedBy,
    setting.kind.name,
    defaultOf(setting),
    setting.kind.allowed,
    setting.effect,
  ]);
  return [HEADER, HEADER.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function defaultOf({ required, fallback }: Setting<unknown>): string {
  if (required) return 'required';
  return fallback === undefined || fallback === '' ? 'none' : `\`${fallback}\``;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.stdout.write(`${settingsTable()}\n`);
