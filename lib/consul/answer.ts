/** Whether an HTTP answer is data (DESIGN section 3, cases C01 to C06). Pure. */
import type { ReadFailureCode } from '../ports.ts';
import { usableIndex } from './blocking-query.ts';
import { safeText } from './safe-text.ts';
import { tlsProblem } from './tls-problem.ts';
import type { NoAnswer, RawAnswer } from './transport.ts';

/** Data, a KV key that does not exist, or no data. */
export type Judgement =
  | { readonly kind: 'data'; readonly body: unknown; readonly index: string | undefined }
  | { readonly kind: 'absent' }
  | Refusal;

/** Why an answer is no data, and whether asking again (another server, or this one later) may help. */
export interface Refusal {
  readonly kind: 'failure';
  readonly code: ReadFailureCode;
  /** Follows the server's name in the message; safe to log. */
  readonly reason: string;
  readonly retry: boolean;
}

/** What the judgement depends on besides the answer. */
export interface Rules {
  readonly maxStaleMs: number;
  /** A 404 of Consul's means that the key does not exist. */
  readonly absentOn404: boolean;
  /** Removed from every text. */
  readonly secrets: readonly string[];
}

/** Judges an answer. Anything but a complete, led, fresh, unfiltered JSON answer with status 200 is no data. */
export function judge(answer: RawAnswer | NoAnswer, rules: Rules): Judgement {
  if (answer.kind !== 'answer') return noAnswer(answer);
  // A proxy's own 404 page has no index; it must not pass for "the key is gone".
  const absent = answer.status === 404 && rules.absentOn404 && answer.header('x-consul-index') !== undefined;
  if (answer.status !== 200 && !absent) return badStatus(answer, rules);
  const doubt = doubtful(answer, rules.maxStaleMs);
  if (doubt !== undefined) return doubt;
  return absent ? { kind: 'absent' } : parse(answer, rules);
}

function failure(code: ReadFailureCode, reason: string, retry: boolean): Refusal {
  return { kind: 'failure', code, reason, retry };
}

function noAnswer(answer: NoAnswer): Refusal {
  switch (answer.kind) {
    case 'timeout':
      return failure('timeout', 'no answer from Consul within the deadline', true);
    case 'aborted':
      return failure('timeout', 'given up by the caller before an answer came', false);
    case 'cut':
      return failure('malformed', `the answer was cut off or could not be decoded (${answer.detail})`, true);
    case 'refused':
      return failure('unreachable', unreachable(answer.detail), true);
  }
}

function unreachable(code: string): string {
  const problem = tlsProblem(code);
  return `cannot be reached${problem === undefined ? '' : `, ${problem}`} (${code})`;
}

function badStatus(answer: RawAnswer, rules: Rules): Refusal {
  const snippet = safeText(answer.text, rules.secrets);
  const reason = `answered ${answer.status} ${contentType(answer)}${snippet === '' ? '' : `: ${snippet}`}`;
  if (answer.status === 401 || answer.status === 403) return failure('forbidden', reason, false);
  // On health and catalog reads 429 means "slow down", never a status.
  if (answer.status === 429) return failure('rate-limited', reason, true);
  if (answer.status >= 500 && /no cluster leader/i.test(answer.text)) return failure('no-leader', reason, true);
  return failure('server-error', reason, answer.status >= 500);
}

/** Headers that make a well-formed answer worthless. Streaming backends know no leader, and need none. */
function doubtful(answer: RawAnswer, maxStaleMs: number): Refusal | undefined {
  if (isTrue(answer.header('x-consul-results-filtered-by-acls'))) {
    return failure(
      'filtered',
      'left out results that the token may not read (X-Consul-Results-Filtered-By-ACLs)',
      false,
    );
  }
  const streaming = answer.header('x-consul-query-backend')?.trim().toLowerCase() === 'streaming';
  if (answer.header('x-consul-knownleader')?.trim().toLowerCase() === 'false' && !streaming) {
    return failure('no-leader', 'answered without a leader (X-Consul-KnownLeader: false)', true);
  }
  const lastContact = answer.header('x-consul-lastcontact');
  // Written so that a text which is no number is doubtful too.
  if (lastContact !== undefined && !(Number(lastContact) <= maxStaleMs)) {
    return failure('stale', `answered from data older than ${maxStaleMs} ms (X-Consul-LastContact)`, true);
  }
  return undefined;
}

function parse(answer: RawAnswer, rules: Rules): Judgement {
  const type = answer.header('content-type');
  if (type !== undefined && !/^application\/json\b/i.test(type.trim())) {
    const snippet = safeText(answer.text, rules.secrets);
    return failure('malformed', `answered 200 ${contentType(answer)}, not JSON: ${snippet}`, true);
  }
  try {
    return { kind: 'data', body: JSON.parse(answer.text), index: usableIndex(answer.header('x-consul-index')) };
  } catch {
    // Without a snippet: JSON from Consul may hold check output.
    return failure('malformed', `answered 200 with JSON that is not complete (${answer.text.length} characters)`, true);
  }
}

function isTrue(header: string | undefined): boolean {
  return header?.trim().toLowerCase() === 'true';
}

function contentType(answer: RawAnswer): string {
  const type = answer.header('content-type');
  return type === undefined ? '(no content type)' : `(${safeText(type, [], 60)})`;
}
