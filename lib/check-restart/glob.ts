/** Globs of rules and allow-lists: `*` is any text, `?` one character, everything else is itself. No brackets, no escapes. */
export function globMatches(glob: string, text: string): boolean {
  const pattern = glob
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.');
  return new RegExp(`^${pattern}$`, 'su').test(text);
}

/** True when one of the globs matches; an empty list matches nothing. */
export function anyGlobMatches(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => globMatches(glob, text));
}
