/**
 * Kinds of settings: how the text of an environment variable becomes a value. A kind returns `undefined` for whatever
 * it does not allow; it never guesses (C42: `"false"` is not true, `"90"` is no duration, `"1e3"` is no integer).
 * The empty text never reaches a kind: it means that the variable is not set.
 */
import { parseDurationMs } from '../check-restart/duration.ts';
import { clusterName } from '../check-restart/task-arn.ts';
import type { SecretSource } from './secret-source.ts';
import { SecretText } from './secret-source.ts';

/** A value that was understood. */
export interface Understood<T> {
  readonly value: T;
}

/** How one kind of text is read. */
export interface Kind<T> {
  /** For the settings table: `duration`, `integer`, … */
  readonly name: string;
  /** What is allowed, for people; completes the sentence "allowed: …". */
  readonly allowed: string;
  /** True where a wrong value must not be shown (it may hold a secret). */
  hidden(text: string): boolean;
  read(text: string): Understood<T> | undefined;
}

function kind<T>(
  name: string,
  allowed: string,
  read: Kind<T>['read'],
  hidden: Kind<T>['hidden'] = () => false,
): Kind<T> {
  return { name, allowed, read, hidden };
}

/** `true` or `false`, exactly. */
export const boolean: Kind<boolean> = kind('boolean', '`true` or `false`', (text) =>
  text === 'true' || text === 'false' ? { value: text === 'true' } : undefined,
);

/** A Go duration as milliseconds, both bounds inclusive; `word`, where given, stands for none. */
export function duration(bounds: { minMs: number; maxMs: number; allowed: string }): Kind<number> {
  return kind('duration', bounds.allowed, (text) => {
    const value = text === '0' ? undefined : parseDurationMs(text);
    return value === undefined || value < bounds.minMs || value > bounds.maxMs ? undefined : { value };
  });
}

/** A whole number in decimal digits, both bounds inclusive. */
export function integer(min: number, max: number): Kind<number> {
  return kind('integer', `a whole number, ${min} to ${max}`, (text) => {
    if (!/^\d{1,9}$/.test(text)) return undefined;
    const value = Number(text);
    return value < min || value > max ? undefined : { value };
  });
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return kind('word', words.map((word) => `\`${word}\``).join(', '), (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? undefined : { value };
  });
}

/** Another kind, or a word that stands for `null`: the thing is switched off. */
export function orOff<T>(other: Kind<T>, word: string): Kind<T | null> {
  return kind<T | null>(
    other.name,
    `${other.allowed}, or \`${word}\``,
    (text) => (text === word ? { value: null } : other.read(text)),
    other.hidden,
  );
}

/** A text of one shape. */
export function pattern(name: string, shape: RegExp, allowed: string): Kind<string> {
  return kind(name, allowed, (text) => (shape.test(text) ? { value: text } : undefined));
}

/** Globs separated by commas, spaces around them ignored, each of one shape. */
export function globs(shape: RegExp, allowed: string): Kind<readonly string[]> {
  return kind('globs', allowed, (text) => {
    const value = text.split(',').map((glob) => glob.trim());
    return value.every((glob) => shape.test(glob)) ? { value } : undefined;
  });
}

/** A JSON list of texts, each of one shape: for what may itself contain commas. */
export function jsonTexts(shape: RegExp, allowed: string): Kind<readonly string[]> {
  return kind('JSON list', allowed, (text) => {
    const value = parsedJson(text);
    return Array.isArray(value) && value.every((one): one is string => typeof one === 'string' && shape.test(one))
      ? { value }
      : undefined;
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `20%` as 0.2; whole percents, both bounds inclusive. */
export function percent(min: number, max: number): Kind<number> {
  return kind('percent', `whole percents, \`${min}%\` to \`${max}%\``, (text) => {
    const value = /^\d{1,3}%$/.test(text) ? Number(text.slice(0, -1)) : undefined;
    return value === undefined || value < min || value > max ? undefined : { value: value / 100 };
  });
}

/** Name of an ECS cluster, given as its name or ARN. */
export const cluster: Kind<string> = kind('name', 'a cluster name or ARN', (text) => {
  const value = clusterName(text);
  return value === undefined ? undefined : { value };
});

/** Path of a KV key. */
export const keyPath: Kind<string> = kind(
  'path',
  'a key path without a leading or trailing slash and without `.` or `..` segments',
  (text) => {
    const segments = text.split('/');
    const plain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
    return plain && text.length <= 512 && isPrintable(text) ? { value: text } : undefined;
  },
);

/** `http(s)://host[:port]`, one or several. Anything with user info or a query could hold a token (C43d). */
export const addresses: Kind<readonly string[]> = kind(
  'addresses',
  'one or several of `http://HOST:PORT` or `https://HOST:PORT`, separated by commas, without user info, path, query or fragment',
  (text) => {
    const value = text.split(',').map((part) => addressOf(part.trim()));
    return value.every((address) => address !== undefined) ? { value } : undefined;
  },
  (text) => /[@?#]/.test(text) || !text.split(',').every((part) => /^\s*https?:\/\/[\w.:[\]-]*\/?\s*$/.test(part)),
);

function addressOf(text: string): string | undefined {
  if (!/^https?:\/\//.test(text) || /[@?#]/.test(text)) return undefined;
  const url = URL.parse(text);
  return url && url.pathname === '/' && url.hostname !== '' ? url.origin : undefined;
}

/** A secret given literally; never shown. */
export const literalSecret: Kind<SecretSource> = kind<SecretSource>(
  'secret',
  'printable characters without spaces',
  (text) => (/^[\x21-\x7e]+$/.test(text) ? { value: { from: 'text', secret: new SecretText(text) } } : undefined),
  () => true,
);

/** PEM text (line ends may be written as `\n`) or the path of a PEM file; never shown. */
export const pem: Kind<SecretSource> = kind<SecretSource>(
  'PEM',
  'PEM text or the path of a PEM file',
  (text) => {
    if (/-----BEGIN [A-Z0-9 ]+-----/.test(text)) {
      return { value: { from: 'text', secret: new SecretText(text.replaceAll('\\n', '\n')) } };
    }
    return isPrintable(text) && !text.includes('-----') ? { value: { from: 'file', path: text } } : undefined;
  },
  () => true,
);

/** Name or ARN of an SSM parameter. */
export const ssmParameter: Kind<SecretSource> = kind<SecretSource>(
  'reference',
  'name or ARN of an SSM parameter',
  (text) =>
    /^(?:arn:aws[a-z-]*:ssm:[a-z0-9-]+:\d{12}:parameter)?\/?[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/.test(text)
      ? { value: { from: 'ssm', name: text } }
      : undefined,
  // What does not look like a reference may be the secret itself, put into the wrong variable.
  () => true,
);

/** Name or ARN of a Secrets Manager secret. */
export const secretsManagerSecret: Kind<SecretSource> = kind<SecretSource>(
  'reference',
  'name or ARN of a Secrets Manager secret',
  (text) =>
    /^(?:arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,512}$/.test(text)
      ? { value: { from: 'secrets-manager', id: text } }
      : undefined,
  () => true,
);

function isPrintable(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}
