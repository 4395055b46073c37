/**
 * Tokens of a filter expression (go-bexpr). A literal in double quotes ends at the next `"`, escaped or not, and goes
 * through Go's `strconv.Unquote` afterwards; one in backticks is taken as it is.
 */
import { ConsulError } from './records.ts';

/** A piece of an expression. `at` is its offset; `spaced` = white space before it. */
export interface Token {
  readonly kind: 'word' | 'literal' | 'number' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
  readonly spaced: boolean;
}

/** The error that Consul answers to an expression that it cannot read. */
export function filterError(problem: string): ConsulError {
  return new ConsulError(500, `Failed to create boolean expression evaluator: ${problem}`);
}

const PIECES =
  /([ \t\r\n]*)(?:(?<word>[a-zA-Z][a-zA-Z0-9_]*)|(?<literal>"[^"]*"|`[^`]*`)|(?<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?![0-9]))|(?<symbol>==|!=|[().[\]])|(?<end>$))/y;

/** Throws where the text has something that no expression has. */
export function tokenize(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  PIECES.lastIndex = 0;
  for (;;) {
    const from = PIECES.lastIndex;
    const match = PIECES.exec(expression);
    if (!match) throw filterError(`1:${from + 1} (${from}): no match found`);
    const spaces = match[1] ?? '';
    const at = from + spaces.length;
    const kind = (['word', 'literal', 'number', 'symbol', 'end'] as const).find((k) => match.groups?.[k] !== undefined);
    const raw = match.groups?.[kind ?? 'end'] ?? '';
    const text = kind === 'literal' ? unquote(raw, at) : raw;
    tokens.push({ kind: kind ?? 'end', text, at, spaced: spaces.length > 0 });
    if (kind === 'end') return tokens;
  }
}

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtv\\"])|)/g;
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
};

/** Go's `strconv.Unquote`. Bytes above 0x7f that `\x` and octal escapes name are bytes of UTF-8, as in Go. */
function unquote(raw: string, at: number): string {
  const invalid = () => filterError(`1:${at + 1} (${at}): rule "string": invalid syntax`);
  const inner = raw.slice(1, -1);
  if (raw.startsWith('`')) return inner.replaceAll('\r', '');
  if (inner.includes('\n')) throw invalid();
  const bytes: Buffer[] = [];
  let from = 0;
  for (const match of inner.matchAll(ESCAPE)) {
    const [whole, hex, short, long, octal, simple] = match;
    bytes.push(Buffer.from(inner.slice(from, match.index)));
    from = match.index + whole.length;
    if (hex !== undefined) bytes.push(Buffer.from([Number.parseInt(hex, 16)]));
    else if (octal !== undefined && Number.parseInt(octal, 8) < 256)
      bytes.push(Buffer.from([Number.parseInt(octal, 8)]));
    else if (simple !== undefined) bytes.push(Buffer.from(SIMPLE[simple] ?? ''));
    else bytes.push(Buffer.from(codePoint(short ?? long, invalid)));
  }
  bytes.push(Buffer.from(inner.slice(from)));
  return Buffer.concat(bytes).toString('utf8');
}

function codePoint(digits: string | undefined, invalid: () => ConsulError): string {
  const code = digits === undefined ? Number.NaN : Number.parseInt(digits, 16);
  if (!(code <= 0x10ffff)) throw invalid();
  return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : String.fromCodePoint(code);
}
