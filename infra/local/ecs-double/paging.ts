/** Pages of a listing, with the traps of the real ones on demand. */
import { invalid } from './errors.ts';
import { type Input, text, wholeNumber } from './input.ts';

/** How listings are paged. */
export interface Paging {
  /** At most this many a page, whatever the request asks for. Default 100. */
  pageSize: number;
  /** So many empty pages that carry a token come first. Default 0. */
  emptyPagesFirst: number;
  /** True: there is always one more page, and its token is always the same. */
  endless: boolean;
}

/** Settings of an ECS that behaves. */
export const PLAIN_PAGING: Paging = { pageSize: 100, emptyPagesFirst: 0, endless: false };

/** One page and the token of the next. */
export function page(
  input: Input,
  all: readonly string[],
  defaultSize: number,
  paging: Paging,
): { items: readonly string[]; nextToken?: string } {
  const asked = wholeNumber(input, 'maxResults') ?? defaultSize;
  if (asked < 1 || asked > 100) throw invalid('maxResults must be between 1 and 100.');
  const number = pageNumber(text(input, 'nextToken'));
  if (paging.endless) return { items: [], nextToken: token(1) };
  const size = Math.min(asked, paging.pageSize);
  const start = (number - paging.emptyPagesFirst) * size;
  const items = start < 0 ? [] : all.slice(start, start + size);
  const isLast = start >= 0 && start + size >= all.length;
  return isLast ? { items } : { items, nextToken: token(number + 1) };
}

function token(number: number): string {
  return Buffer.from(`page ${number}`).toString('base64');
}

function pageNumber(nextToken: string | undefined): number {
  if (nextToken === undefined) return 0;
  const match = /^page (\d+)$/.exec(Buffer.from(nextToken, 'base64').toString());
  if (!match) throw invalid('Invalid token.');
  return Number(match[1]);
}
