/** A bare client of Consul's HTTP API for the contract suite: what was answered, nothing interpreted. */
import { expect } from 'vitest';

/** An answer. `index` is NaN where there is no X-Consul-Index. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly index: number;
  readonly headers: Headers;
  readonly tookMs: number;
}

/** Asks one Consul. */
export interface BareClient {
  get(path: string, token?: string): Promise<Answer>;
  put(path: string, body?: unknown, token?: string): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  /** The list at a path; fails the test if it is none. */
  list(path: string): Promise<readonly Record<string, unknown>[]>;
  /** `catalog/register`; fails the test if it is refused. */
  register(body: Record<string, unknown>): Promise<void>;
  /** Writes a check of an instance that is registered, through `catalog/register`. */
  check(node: string, id: string, status: string, more?: Record<string, unknown>): Promise<void>;
}

/** A client; texts and `undefined` go as they are, everything else as JSON. */
export function bareClient(url: string, defaultToken?: string): BareClient {
  const ask = async (method: string, path: string, body?: unknown, token = defaultToken): Promise<Answer> => {
    const startedMs = performance.now();
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${url}/v1/${path}`, {
      method,
      headers: token === undefined ? {} : { 'x-consul-token': token },
      ...(payload === undefined ? {} : { body: payload }),
    });
    const text = await response.text();
    const tookMs = performance.now() - startedMs;
    const index = Number(response.headers.get('x-consul-index') ?? 'none');
    return { status: response.status, text, index, headers: response.headers, tookMs };
  };
  const register = async (body: Record<string, unknown>) => {
    const answer = await ask('PUT', 'catalog/register', { Address: '10.0.0.1', ...body });
    expect(answer, 'catalog/register').toMatchObject({ status: 200 });
  };
  return {
    get: (path, token) => ask('GET', path, undefined, token),
    put: (path, body, token) => ask('PUT', path, body, token),
    delete: (path) => ask('DELETE', path),
    register,
    async list(path) {
      const { status, text } = await ask('GET', path);
      expect({ status, text }, path).toMatchObject({ status: 200 });
      const json: unknown = JSON.parse(text);
      if (!Array.isArray(json)) throw new Error(`${path} is no list: ${text}`);
      return json;
    },
    check: (node, id, status, more = {}) =>
      register({ Node: node, Check: { Node: node, CheckID: id, Name: id, Status: status, ...more } }),
  };
}

/** A query with a filter. */
export function filtered(path: string, expression: string): string {
  return `${path}?filter=${encodeURIComponent(expression)}`;
}
