/** Faults on demand: what goes wrong between a reader and Consul. */
import type { ServerResponse } from 'node:http';

/**
 * - `refuse`: the connection is reset before a byte of an answer. `hang`: no answer ever.
 * - `no-leader` 500, `unavailable` 503, `forbidden` 403, `rate-limited` 429 with an empty body.
 * - `empty`: 200 with `[]`, indistinguishable from nothing to list. `filtered`: the same with the header that says so.
 * - `truncated`: well-framed, but the JSON ends too early. `cut-off`: the connection closes within the body.
 * - `html`: 200 from something in between. `wrong-shape`: JSON of another shape.
 * - `stale`, `leaderless`, `streaming`, `no-index`, `index-zero`: the true answer with odd headers: X-Consul-LastContact 45000;
 *   KnownLeader false (and with the streaming backend's header); X-Consul-Index absent or 0.
 */
export type FaultAnswer =
  | 'refuse'
  | 'hang'
  | 'no-leader'
  | 'unavailable'
  | 'forbidden'
  | 'rate-limited'
  | 'empty'
  | 'filtered'
  | 'truncated'
  | 'cut-off'
  | 'html'
  | 'wrong-shape'
  | 'stale'
  | 'leaderless'
  | 'streaming'
  | 'no-index'
  | 'index-zero'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      /** Before the answer. */
      readonly delayMs?: number;
    };

/** A fault: which requests (by path and query, as sent), and how many of them. Without these, all of them, for ever. */
export interface Fault {
  readonly match?: RegExp;
  readonly times?: number;
  readonly answer: FaultAnswer;
}

/** A fault that was set. */
export interface SetFault {
  /** Number of requests that it met. */
  readonly hits: number;
  remove(): void;
}

/** Faults in force. The one set last goes first. */
export class FaultPlan {
  readonly #faults: { readonly fault: Fault; hits: number }[] = [];

  add(fault: Fault): SetFault {
    const entry = { fault, hits: 0 };
    this.#faults.unshift(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => {
        const place = this.#faults.indexOf(entry);
        if (place >= 0) this.#faults.splice(place, 1);
      },
    };
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault that this request meets; uses it up by one. */
  take(target: string): FaultAnswer | undefined {
    const entry = this.#faults.find(
      ({ fault, hits }) => hits < (fault.times ?? Number.POSITIVE_INFINITY) && (fault.match?.test(target) ?? true),
    );
    if (!entry) return undefined;
    entry.hits += 1;
    return entry.fault.answer;
  }
}

/** Headers that a fault puts over those of the true answer; `undefined` removes one. Not there: it answers by itself. */
export function headersOfFault(answer: FaultAnswer): Readonly<Record<string, string | undefined>> | undefined {
  if (answer === 'stale') return { 'X-Consul-Lastcontact': '45000' };
  if (answer === 'leaderless') return { 'X-Consul-Knownleader': 'false' };
  if (answer === 'streaming') return { 'X-Consul-Knownleader': 'false', 'X-Consul-Query-Backend': 'streaming' };
  if (answer === 'no-index') return { 'X-Consul-Index': undefined };
  if (answer === 'index-zero') return { 'X-Consul-Index': '0' };
  return undefined;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const READ_HEADERS = {
  ...JSON_TYPE,
  'X-Consul-Index': '5',
  'X-Consul-Knownleader': 'true',
  'X-Consul-Lastcontact': '0',
};
const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' };
const TRUNCATED =
  '[{"Node":"n1","CheckID":"c1","Name":"c1","Status":"critical","ServiceID":"web-1"},{"Node":"n1","Chec';

interface Canned {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const CANNED: Readonly<Partial<Record<Extract<FaultAnswer, string>, Canned>>> = {
  'no-leader': { status: 500, headers: PLAIN, body: 'No cluster leader' },
  unavailable: { status: 503, headers: PLAIN, body: 'upstream connect error' },
  forbidden: { status: 403, headers: PLAIN, body: 'Permission denied' },
  'rate-limited': { status: 429, headers: {}, body: '' },
  empty: { status: 200, headers: READ_HEADERS, body: '[]' },
  filtered: {
    status: 200,
    headers: { ...READ_HEADERS, 'X-Consul-Results-Filtered-By-Acls': 'true' },
    body: '[]',
  },
  truncated: { status: 200, headers: READ_HEADERS, body: TRUNCATED },
  html: { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<html><body>maintenance</body></html>' },
  'wrong-shape': { status: 200, headers: READ_HEADERS, body: '{"not":"what was asked for"}' },
};

/** Gives the answer of a fault that has one of its own. */
export function answerFault(answer: FaultAnswer, target: string, response: ServerResponse): void {
  if (answer === 'hang') return;
  if (answer === 'refuse') {
    // A listener cannot refuse single requests: the reader sees a reset instead.
    response.socket?.resetAndDestroy();
    return;
  }
  if (answer === 'cut-off') {
    response.writeHead(200, { ...READ_HEADERS, 'Content-Length': '5000' });
    response.write(TRUNCATED, () => response.destroy());
    return;
  }
  if (typeof answer === 'object') {
    const { status, headers = JSON_TYPE, body = '', delayMs = 0 } = answer;
    setTimeout(() => send(response, { status, headers, body }), delayMs);
    return;
  }
  const canned = CANNED[answer];
  if (!canned) throw new TypeError(`no answer for the fault ${answer}`);
  // A listing of services is an object, not a list.
  const ofServices = canned.body === '[]' && target.startsWith('/v1/catalog/services');
  send(response, ofServices ? { ...canned, body: '{}' } : canned);
}

function send(response: ServerResponse, { status, headers, body }: Canned): void {
  response.writeHead(status, { ...headers, 'Content-Length': String(Buffer.byteLength(body)) });
  response.end(body);
}
