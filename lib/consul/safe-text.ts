/** Text from outside, made fit for a log line or an error message. */

/** Longest snippet of a response's body in a message. */
export const SNIPPET_LENGTH = 200;
/** Longest message of a `ReadFailure`. */
const MESSAGE_LENGTH = 300;
/** Enough for any snippet; the rest of a body is not looked at. */
const SCANNED_LENGTH = 8192;

/** C0 and C1 controls, line separators, and the marks that reorder or hide text in a terminal. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu;
/** `token=…`, `X-Consul-Token: …`, `"token": "…"`: a proxy's error page may show a request that carried another token. */
const TOKEN_FIELD = /(token["']?\s*[=:]\s*["']?)[^\s"'&<>]+/giu;

/**
 * One line of at most `length` characters without control characters, and without the secrets: they are removed before
 * the cut, so that no half of one stays.
 */
export function safeText(text: string, secrets: readonly string[] = [], length = SNIPPET_LENGTH): string {
  let safe = scanned(text, secrets).replace(UNSAFE, ' ');
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of new Set([secret, encodeURIComponent(secret.toWellFormed())])) {
      safe = safe.replaceAll(form, '[removed]');
    }
  }
  safe = safe.replace(TOKEN_FIELD, '$1[removed]').replace(/ +/g, ' ').trim();
  return safe.length > length ? `${safe.slice(0, length - 1)}…` : safe;
}

/** The part that is looked at. A secret across its end would be removed as little as it is whole, so it goes, too. */
function scanned(text: string, secrets: readonly string[]): string {
  if (text.length <= SCANNED_LENGTH) return text;
  const longest = Math.max(0, ...secrets.map((secret) => encodeURIComponent(secret.toWellFormed()).length));
  const isBegun = (at: number) => {
    const end = text.slice(at, SCANNED_LENGTH);
    return secrets.some(
      (secret) => secret.startsWith(end) || encodeURIComponent(secret.toWellFormed()).startsWith(end),
    );
  };
  for (let at = Math.max(0, SCANNED_LENGTH - longest); at < SCANNED_LENGTH; at++) {
    if (isBegun(at)) return text.slice(0, at);
  }
  return text.slice(0, SCANNED_LENGTH);
}

/** A whole message, at most 300 characters. */
export function safeMessage(text: string, secrets: readonly string[]): string {
  return safeText(text, secrets, MESSAGE_LENGTH);
}
