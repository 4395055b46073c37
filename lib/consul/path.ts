/**
 * Names in request paths (case C08). Each name is one segment, encoded exactly once. `.` and `..` cannot be sent:
 * servers and URL libraries collapse them, even as `%2E%2E`, into a request for another path.
 */

/** The segment of a name, or `undefined` where it cannot be sent: empty, `.`, `..`, or not Unicode. */
export function pathSegment(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..' || !name.isWellFormed()) return undefined;
  return encodeURIComponent(name);
}

/** A KV key as a path: its slashes separate segments. `undefined` where one of them cannot be sent. */
export function keyPath(key: string): string | undefined {
  const segments = key.split('/').map(pathSegment);
  return segments.includes(undefined) ? undefined : segments.join('/');
}
