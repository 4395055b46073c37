/**
 * What a proxy may be started from. Anyone who may write a service in Consul could otherwise run any task, so families,
 * clusters, commands and ECS services must be on the deployment's own list. An empty list allows nothing.
 */

/** Globs (`*` any text, `?` one character), from the deployment's settings. */
export interface AllowList {
  /** Families of task definitions. */
  readonly families: readonly string[];
  /** Names of clusters. */
  readonly clusters: readonly string[];
  /** Commands: the words joined by single spaces. The task definition's own command is always allowed. */
  readonly commands: readonly string[];
  /** Names of ECS services that `execMode: service` may restart. */
  readonly services: readonly string[];
}

/** True when one of the globs matches the whole text; an empty list matches nothing. */
export function isAllowed(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => globMatches(glob, text));
}

/** A list of globs as a problem shows it. */
export function showGlobs(what: string, globs: readonly string[]): string {
  return globs.length === 0
    ? `nothing: the allow-list of ${what} is empty`
    : `${what} on the allow-list: ${globs.join(', ')}`;
}

/** Linear in practice for hostile texts too: only the last star is ever taken back. */
function globMatches(glob: string, text: string): boolean {
  const pattern = [...glob];
  const letters = [...text];
  let at = 0;
  let star = -1;
  let starAt = 0;
  let index = 0;
  while (index < letters.length) {
    const expected = pattern[at];
    if (expected === '*') {
      star = at;
      starAt = index;
      at += 1;
    } else if (expected !== undefined && (expected === '?' || expected === letters[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      starAt += 1;
      index = starAt;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
