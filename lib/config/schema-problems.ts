/**
 * Problems of JSON that people write, from zod's issues. The schemas' messages are what is allowed at a place, so that a
 * problem reads `PLACE: VALUE is not allowed; allowed: …`.
 */
import type * as z from 'zod/mini';
import { notAllowed, shown } from './problem.ts';

/** All problems. `whole` names the document where the problem is the document itself. */
export function schemaProblems(issues: readonly z.core.$ZodIssue[], json: unknown, whole: string): string[] {
  return issues.flatMap((issue) => problemsOf(issue, json, whole));
}

function problemsOf(issue: z.core.$ZodIssue, json: unknown, whole: string): string[] {
  if (issue.code !== 'unrecognized_keys') {
    const value = valueAt(json, issue.path);
    const place = placeOf(issue.path, whole);
    return [
      value === undefined ? `${place}: missing; allowed: ${issue.message}` : notAllowed(place, value, issue.message),
    ];
  }
  return issue.keys.map((key) => `${placeOf([...issue.path, key], whole)}: unknown key; allowed: ${issue.message}`);
}

/** `["rules", 0, "match"]` → `rules[0].match`. */
function placeOf(path: readonly PropertyKey[], whole: string): string {
  if (path.length === 0) return whole;
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      const name = /^[$\w-]{1,64}$/.test(String(key)) ? String(key) : shown(String(key));
      return index === 0 ? name : `.${name}`;
    })
    .join('');
}

function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
