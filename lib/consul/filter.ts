/**
 * Filter expressions (go-bexpr) around names that anybody may choose.
 *
 * go-bexpr ends a `"…"` literal at the next `"`, escaped or not, and hands it to Go's `strconv.Unquote` afterwards. So a
 * quote must not appear as itself; as `\x22` it passes the grammar and is a quote for Unquote. Newer versions read a
 * literal that looks like a JSON pointer (`"/a/b"`) as a selector, hence the slash is written as an escape too.
 */

/** Longest expression in a URL, percent-encoded; proxies before Consul refuse much longer lines. */
export const MAX_FILTER_LENGTH = 6000;

/** A text as a go-bexpr string literal, or `undefined` where Go could not read it (lone surrogates). */
export function quoteForFilter(text: string): string | undefined {
  if (!text.isWellFormed()) return undefined;
  return `"${text.replace(/[^A-Za-z0-9 _.:@-]/gu, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/**
 * Expressions that together select every entry whose field has one of the values, each short enough for a URL. Consul
 * 1.8 knows no `in [...]`, so they are chains of `or`. Values that cannot be written are left out. Values are asked once.
 */
export function anyOfFilters(
  field: 'ServiceID' | 'CheckID',
  values: Iterable<string>,
  maxLength = MAX_FILTER_LENGTH,
): readonly string[] {
  const filters: string[] = [];
  let terms: string[] = [];
  let length = 0;
  for (const value of new Set(values)) {
    const literal = quoteForFilter(value);
    if (literal === undefined) continue;
    const term = `${field} == ${literal}`;
    const encoded = encodeURIComponent(` or ${term}`).length;
    if (terms.length > 0 && length + encoded > maxLength) {
      filters.push(terms.join(' or '));
      terms = [];
      length = 0;
    }
    terms.push(term);
    length += encoded;
  }
  if (terms.length > 0) filters.push(terms.join(' or '));
  return filters;
}
