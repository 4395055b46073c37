/**
 * Globs of rules and allow-lists: `*` is any text, `?` one character, everything else is itself. No brackets, no escapes.
 *
 * No regular expression: the texts come from Consul, and a glob with many stars would backtrack for ever on the wrong
 * one. Here only the last star is ever widened, so the time is at most the product of both lengths.
 */
export function globMatches(glob: string, text: string): boolean {
  const pattern = [...glob];
  const characters = [...text];
  let at = 0;
  let star = -1;
  let afterStar = 0;
  for (let position = 0; position < characters.length; ) {
    if (pattern[at] === '*') {
      star = at;
      at += 1;
      afterStar = position;
    } else if (pattern[at] === '?' || pattern[at] === characters[position]) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      afterStar += 1;
      position = afterStar;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every((character) => character === '*');
}

/** True when one of the globs matches; an empty list matches nothing. */
export function anyGlobMatches(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => globMatches(glob, text));
}
