/**
 * A value of Consul's KV as a JSON document. Whoever may write a key chose it, so it is bounded in size and depth: what
 * reads documents later may be recursive. Values of KV come in base64.
 */
import type { JsonSource } from '../proxies/declaration.ts';

/** RunTask takes overrides of 8 KB; the rest is for `config`. */
const MOST_BYTES = 64 * 1024;
const DEEPEST = 32;

/** Never throws; says why where it is no JSON. The text itself is in no message: it may hold a secret by mistake. */
export function readDocument(base64: string): JsonSource {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0) return { malformed: 'an empty value' };
  if (bytes.length > MOST_BYTES) return { malformed: `${bytes.length} bytes; at most ${MOST_BYTES} are read` };
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { malformed: 'a value that is not UTF-8' };
  }
  try {
    const value: unknown = JSON.parse(text);
    return isDeeperThan(value, DEEPEST) ? { malformed: `deeper than ${DEEPEST} levels` } : { value };
  } catch {
    return { malformed: 'a value that is not JSON' };
  }
}

/** Level by level, not by recursion: that is what the bound is for. */
function isDeeperThan(value: unknown, depth: number): boolean {
  let level: unknown[] = [value];
  for (let deep = 0; deep <= depth; deep += 1) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
    if (level.length === 0) return false;
  }
  return true;
}
