/** One request as the double's endpoints see it, and their answers. */
import type { Access } from './acl.ts';
import type { Reading } from './records.ts';

/** A request, its path below `/v1/` decoded. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
  readonly token: string;
  readonly access: Access;
  /** Aborts when the client goes away or the double closes. */
  readonly signal: AbortSignal;
}

/** An answer before compression. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** JSON with status 200. */
export function jsonAnswer(value: unknown, headers: Answer['headers'] = {}): Answer {
  return { status: 200, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** Consul's errors are plain text. */
export function textAnswer(status: number, text: string, headers: Answer['headers'] = {}): Answer {
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers }, body: text };
}

/** 200 (or another status) and nothing else. */
export function bareAnswer(status = 200, headers: Answer['headers'] = {}): Answer {
  return { status, headers, body: '' };
}

/** Headers of a read. An index is never 0. */
export function readHeaders(reading: Pick<Reading<unknown>, 'index'>): Record<string, string> {
  return {
    'X-Consul-Index': String(Math.max(1, reading.index)),
    'X-Consul-Knownleader': 'true',
    'X-Consul-Lastcontact': '0',
  };
}
