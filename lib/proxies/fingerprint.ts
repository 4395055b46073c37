/**
 * When two declarations are the same proxy. Everything that RunTask sees is in the fingerprint; `config`, which only the
 * proxy itself reads, and what Consul fills in are not. The order of keys does not matter, that of lists does.
 * Hashing is the caller's: pure folders have no node:crypto, and a home-made hash would collide.
 */
import type { ProxySpec } from './spec.ts';

/** Turns a canonical text into a short, collision-free one (SHA-256 in hexadecimal, say). */
export type Hash = (canonicalText: string) => string;

/** JSON with sorted keys and without absent fields: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const present = Object.keys(value).filter((key) => Reflect.get(value, key) !== undefined);
    const fields = present.sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(Reflect.get(value, key))}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** What is hashed into the fingerprint of a declaration. */
export function fingerprintText(spec: ProxySpec): string {
  return canonicalJson(spec);
}

/**
 * What is hashed into RunTask's `clientToken` (at most 64 characters from `!` to `~`). ECS answers a repeated token with
 * the task it made before, for 24 hours or until an hour after that task's end; so a launch whose outcome is not known
 * is repeated with the same text, and each new launch has another generation.
 */
export function clientTokenText(launch: {
  readonly proxyId: string;
  readonly fingerprint: string;
  readonly generation: number;
}): string {
  return canonicalJson([launch.proxyId, launch.fingerprint, launch.generation]);
}
