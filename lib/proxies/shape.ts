/**
 * A small validator for declarations: already-parsed JSON of unknown shape in, typed values out, and every problem at
 * once, each naming the field, the value and what is allowed. Pure folders import no packages, so this is not zod.
 */

/** One thing wrong with a declaration. Safe to log: `value` is cut, free of control characters, or withheld. */
export interface FieldProblem {
  readonly field: string;
  readonly value: string;
  readonly allowed: string;
}

/** Collects problems while a document is read. */
export type Problems = FieldProblem[];

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What a text must look like, and how to say so. */
export interface TextForm {
  readonly pattern: RegExp;
  readonly allowed: string;
}

/** Stands where a value might be a secret. */
export const WITHHELD = '(withheld)';

const SHOWN_LENGTH = 80;

/** True for JSON objects, not for arrays and null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a problem shows it: JSON, at most 80 characters, no control characters. */
export function showValue(value: unknown): string {
  if (value === undefined) return '(absent)';
  const text = (JSON.stringify(value) ?? typeof value).replace(/\p{C}/gu, '?');
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 1)}…` : text;
}

/** One problem as a sentence. */
export function describeProblem(problem: FieldProblem): string {
  return `${problem.field}: ${problem.value} is not usable; allowed: ${problem.allowed}`;
}

/** A text of the given form; `undefined` where it is absent or wrong (then there is a problem). */
export function readText(problems: Problems, field: string, value: unknown, form: TextForm): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && form.pattern.test(value)) return value;
  problems.push({ field, value: showValue(value), allowed: form.allowed });
  return undefined;
}

/** One of the choices. */
export function readChoice<T extends string>(
  problems: Problems,
  field: string,
  value: unknown,
  choices: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) {
    problems.push({ field, value: showValue(value), allowed: choices.map((one) => `"${one}"`).join(' or ') });
  }
  return choice;
}

/** A list of texts of the given form, at most `max` of them. */
export function readTextList(
  problems: Problems,
  field: string,
  value: unknown,
  form: TextForm,
  max: number,
): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > max) {
    const shown = Array.isArray(value) ? `a list of ${value.length}` : showValue(value);
    problems.push({ field, value: shown, allowed: `a list of at most ${max}, each ${form.allowed}` });
    return undefined;
  }
  const items: readonly unknown[] = value;
  const texts = items.map((item, index) => {
    // JSON has no `undefined`; a hole in a list is wrong all the same.
    return readText(problems, `${field}[${index}]`, item === undefined ? null : item, form);
  });
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** A boolean; texts such as "false" are not. */
export function readFlag(problems: Problems, field: string, value: unknown): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  problems.push({ field, value: showValue(value), allowed: 'true or false' });
  return undefined;
}

/** A whole number within bounds, both inclusive. */
export function readWhole(
  problems: Problems,
  field: string,
  value: unknown,
  min: number,
  max: number,
): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  problems.push({ field, value: showValue(value), allowed: `a whole number from ${min} to ${max}` });
  return undefined;
}

/** An object. Its content is not shown: it may hold anything. */
export function readObject(problems: Problems, field: string, value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined;
  if (isObject(value)) return value;
  problems.push({ field, value: Array.isArray(value) ? 'a list' : showValue(value), allowed: 'a JSON object' });
  return undefined;
}

/** A misspelt field would otherwise be ignored in silence. */
export function refuseUnknownKeys(
  problems: Problems,
  document: JsonObject,
  known: readonly string[],
  prefix: string,
): void {
  for (const key of Object.keys(document)) {
    if (!known.includes(key)) {
      problems.push({
        field: `${prefix}${showValue(key).slice(1, -1)}`,
        value: 'unknown field',
        allowed: known.join(', '),
      });
    }
  }
}
