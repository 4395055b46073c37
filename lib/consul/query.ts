import type { ConsulOptions } from './options.ts';

/** What a query is made of. */
export interface QueryParts {
  /** Instead of the configured ones. */
  readonly namespace?: string;
  readonly partition?: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** `?…`, each value encoded once, or the empty text. The datacenter, namespace and partition of the options come first. */
export function queryOf(options: ConsulOptions, parts: QueryParts = {}): string {
  const query = new Map<string, string>();
  const add = (name: string, value: string | undefined) => value && query.set(name, value);
  add('dc', options.datacenter);
  add('ns', parts.namespace || options.namespace);
  add('partition', parts.partition || options.partition);
  for (const [name, value] of Object.entries(parts.query ?? {})) query.set(name, value);
  const text = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return text === '' ? '' : `?${text}`;
}
