/** The documents of the project as its tests read them: prose, fenced blocks, headings, links, tables. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Root of the project, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Paths of all documents for people, relative to the root. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  ...readdirSync(`${ROOT}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'infra/RUNBOOK.md',
];

/** A fenced block. `info` is what stands behind the fence: `json policy`. */
export interface Fence {
  readonly document: string;
  readonly info: string;
  readonly text: string;
}

/** Text of a file of the project. */
export function textOf(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8');
}

/** All fenced blocks of all documents, in their order. */
export const FENCES: readonly Fence[] = DOCUMENTS.flatMap((document) =>
  [...textOf(document).matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, info = '', text = '']) => ({
    document,
    info,
    text,
  })),
);

/** Fenced blocks of one kind; there must be some, or a test of them would test nothing. */
export function fencesOf(info: string): readonly Fence[] {
  const found = FENCES.filter((fence) => fence.info === info);
  if (found.length === 0) throw new Error(`no fenced block \`${info}\` in any document`);
  return found;
}

/** A document without its fenced blocks. */
export function proseOf(document: string): string {
  return textOf(document).replace(/^```[^\n]*\n[\s\S]*?^```$/gm, '');
}

/** Anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(document: string): readonly string[] {
  return [...proseOf(document).matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Rows of a Markdown table without its header, as trimmed cells; how wide a formatter makes columns does not matter. */
export function rowsOf(table: string): string[][] {
  return cellsOf(table).slice(1);
}

/** The same with its header. */
export function cellsOf(table: string): string[][] {
  return table
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^[|\s:-]+$/.test(line))
    .map((line) => {
      const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return cells.slice(1, -1);
    });
}

/** What stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. */
export function markedIn(document: string, name: string): string {
  const [, marked] = new RegExp(`<!-- ${name}:begin -->([\\s\\S]*?)<!-- ${name}:end -->`).exec(textOf(document)) ?? [];
  if (marked === undefined) throw new Error(`${document} has nothing marked ${name}`);
  return marked;
}

/** The table whose header begins with this cell. */
export function tableIn(document: string, firstHeader: string): string[][] {
  const tables = proseOf(document).split(/\n(?!\|)/);
  const found = tables.find((table) => cellsOf(table)[0]?.[0] === firstHeader);
  if (!found) throw new Error(`${document} has no table that begins with ${firstHeader}`);
  return rowsOf(found);
}
