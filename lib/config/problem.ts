/** The form that every problem with something written by people has: where, what was found, what is allowed. */

const SHOWN_CHARACTERS = 80;

/** A found value for a message: on one line, quoted, without control characters, cut. Never what is nested in it. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = JSON.stringify(value) ?? String(value);
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\u{fffd}');
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}

/** `PLACE: VALUE is not allowed; allowed: ALLOWED`. */
export function notAllowed(place: string, value: unknown, allowed: string): string {
  return `${place}: ${shown(value)} is not allowed; allowed: ${allowed}`;
}

/** The same for a value that must not be shown. */
export function notAllowedHidden(place: string, allowed: string): string {
  return `${place}: its value (not shown) is not allowed; allowed: ${allowed}`;
}
