/**
 * Filter expressions, the part of go-bexpr that clients of Consul 1.8 use: `==`, `!=`, `in`, `not in`, `contains`,
 * `is empty`, `is not empty`, `not`, `and`, `or`, parentheses. Unknown fields and operators that a field does not have
 * are errors before anything is compared, as in Consul. `matches` is not here: 501, never a wrong answer.
 */
import type { FieldKind, Fields } from './filter-fields.ts';
import { filterError, type Token, tokenize } from './filter-lexer.ts';
import { ConsulError } from './records.ts';

/** Whether one entry of a listing is selected. */
export type Predicate = (entry: Readonly<Record<string, unknown>>) => boolean;

/** Throws the error with which Consul answers an expression that is broken or does not fit the fields. */
export function parseFilter(expression: string, fields: Fields): Predicate {
  const parser = new FilterParser(tokenize(expression), fields);
  const predicate = parser.or();
  parser.end();
  return predicate;
}

interface Selector {
  readonly path: readonly string[];
  readonly text: string;
}

class FilterParser {
  readonly #tokens: readonly Token[];
  readonly #fields: Fields;
  #next = 0;

  constructor(tokens: readonly Token[], fields: Fields) {
    this.#tokens = tokens;
    this.#fields = fields;
  }

  or(): Predicate {
    const first = this.#and();
    if (!this.#joined('or')) return first;
    const rest = this.or();
    return (entry) => first(entry) || rest(entry);
  }

  end(): void {
    if (this.#peek().kind !== 'end') throw this.#unexpected();
  }

  #and(): Predicate {
    const first = this.#not();
    if (!this.#joined('and')) return first;
    const rest = this.#and();
    return (entry) => first(entry) && rest(entry);
  }

  #not(): Predicate {
    const negated = this.#peek().text === 'not' && this.#peek().kind === 'word' && this.#peek(1).spaced;
    if (!negated) return this.#term();
    this.#take();
    const inner = this.#not();
    return (entry) => !inner(entry);
  }

  #term(): Predicate {
    if (this.#accept('symbol', '(')) {
      const inner = this.or();
      if (!this.#accept('symbol', ')')) throw this.#unexpected();
      return inner;
    }
    if (this.#peek().kind === 'literal' || this.#peek().kind === 'number') {
      const value = this.#take().text;
      return this.#membership(value, this.#isNegated('in'), this.#selector());
    }
    const selector = this.#selector();
    if (this.#accept('symbol', '==')) return this.#equality(selector, this.#value(), false);
    if (this.#accept('symbol', '!=')) return this.#equality(selector, this.#value(), true);
    if (this.#accept('word', 'is')) return this.#emptiness(selector, this.#accept('word', 'not'));
    const word = this.#peek().text === 'not' ? this.#peek(1).text : this.#peek().text;
    if (word === 'matches') throw new ConsulError(501, 'the Consul double has no "matches"');
    if (word === 'contains') {
      const negated = this.#isNegated('contains');
      return this.#membership(this.#value(), negated, selector);
    }
    if (word === 'in') return this.#membership(selector.text, this.#isNegated('in'), this.#selector());
    throw this.#unexpected();
  }

  #equality(selector: Selector, value: string, negated: boolean): Predicate {
    const kind = this.#kindOf(selector);
    if (kind === 'list' || kind === 'map' || typeof kind === 'object') {
      throw filterError(`Invalid match operator "${negated ? 'Not Equal' : 'Equal'}" for selector "${selector.text}"`);
    }
    if (kind === 'number' && !/^[+-]?\d+$/.test(value)) {
      const coercion = `Failed to coerce value "${value}" for selector "${selector.text}"`;
      throw filterError(`${coercion}: strconv.ParseInt: parsing "${value}": invalid syntax`);
    }
    // A path through a list holds if it holds for one of its entries; a key that is not there is not equal.
    return (entry) => valuesAt(entry, selector.path).some((found) => String(found) === value) !== negated;
  }

  #membership(value: string, negated: boolean, selector: Selector): Predicate {
    const kind = this.#kindOf(selector);
    if (kind === 'number' || kind === 'boolean' || typeof kind === 'object') {
      throw filterError(`Invalid match operator "${negated ? 'Not In' : 'In'}" for selector "${selector.text}"`);
    }
    const holds = (found: unknown) => {
      if (Array.isArray(found)) return found.includes(value);
      if (typeof found === 'string') return found.includes(value);
      return typeof found === 'object' && found !== null && Object.hasOwn(found, value);
    };
    return (entry) => valuesAt(entry, selector.path, true).some(holds) !== negated;
  }

  #emptiness(selector: Selector, negated: boolean): Predicate {
    const kind = this.#kindOf(selector);
    if (!this.#accept('word', 'empty')) throw this.#unexpected();
    if (kind === 'string' || kind === 'number' || kind === 'boolean') {
      throw filterError(`Invalid match operator "Is ${negated ? 'Not ' : ''}Empty" for selector "${selector.text}"`);
    }
    const full = (found: unknown) => typeof found === 'object' && found !== null && Object.keys(found).length > 0;
    return (entry) => valuesAt(entry, selector.path, true).some(full) === negated;
  }

  #isNegated(word: 'in' | 'contains'): boolean {
    const negated = this.#accept('word', 'not');
    if (!this.#accept('word', word)) throw this.#unexpected();
    return negated;
  }

  #selector(): Selector {
    if (this.#peek().kind !== 'word') throw this.#unexpected();
    const path = [this.#take().text];
    for (;;) {
      if (this.#accept('symbol', '.')) path.push(this.#takeOf('word'));
      else if (this.#accept('symbol', '[')) {
        path.push(this.#takeOf('literal'));
        if (!this.#accept('symbol', ']')) throw this.#unexpected();
      } else return { path, text: path.join('.') };
    }
  }

  #value(): string {
    const { kind } = this.#peek();
    if (kind === 'literal' || kind === 'number') return this.#take().text;
    return this.#selector().text;
  }

  #kindOf({ path, text }: Selector): FieldKind {
    const [first = '', ...rest] = path;
    let kind = this.#fields[first];
    if (kind === undefined) throw filterError(`Selector "${first}" is not valid`);
    for (const name of rest) {
      if (kind === 'map') kind = 'string';
      else if (typeof kind === 'object') kind = kind[name];
      else kind = undefined;
      if (kind === undefined) throw filterError(`Selector "${text}" is not valid`);
    }
    return kind;
  }

  /** `and` and `or` need white space on both sides. */
  #joined(word: 'and' | 'or'): boolean {
    const { kind, text, spaced } = this.#peek();
    if (kind !== 'word' || text !== word || !spaced || !this.#peek(1).spaced) return false;
    this.#take();
    return true;
  }

  #peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)];
    if (!token) throw filterError('no match found');
    return token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  #takeOf(kind: Token['kind']): string {
    if (this.#peek().kind !== kind) throw this.#unexpected();
    return this.#take().text;
  }

  #accept(kind: Token['kind'], text: string): boolean {
    const found = this.#peek().kind === kind && this.#peek().text === text;
    if (found) this.#next += 1;
    return found;
  }

  #unexpected(): ConsulError {
    const { at } = this.#peek();
    return filterError(`1:${at + 1} (${at}): no match found`);
  }
}

function valuesAt(value: unknown, path: readonly string[], whole = false): readonly unknown[] {
  const [name, ...rest] = path;
  if (name === undefined) return Array.isArray(value) && !whole ? value : [value];
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, path, whole));
  if (value === null || typeof value !== 'object') return [];
  const found: unknown = Reflect.get(value, name);
  return found === undefined ? [] : valuesAt(found, rest, whole);
}
