/** What an error of the SDK means for a use case. */
import { ReadFailure, type ReadFailureCode } from '../ports.ts';

const CODES: Readonly<Record<string, ReadFailureCode>> = {
  ThrottlingException: 'rate-limited',
  ProvisionedThroughputExceededException: 'rate-limited',
  RequestLimitExceeded: 'rate-limited',
  LimitExceededException: 'rate-limited',
  AccessDeniedException: 'forbidden',
  UnrecognizedClientException: 'forbidden',
  InvalidSignatureException: 'forbidden',
  IncompleteSignatureException: 'forbidden',
  MissingAuthenticationTokenException: 'forbidden',
  MissingAuthenticationToken: 'forbidden',
  ExpiredTokenException: 'forbidden',
  CredentialsProviderError: 'forbidden',
  AbortError: 'timeout',
  TimeoutError: 'timeout',
  SyntaxError: 'malformed',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EPIPE: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'unreachable',
  ECONNABORTED: 'unreachable',
};

const LONGEST_MESSAGE = 300;

/** A `ReadFailure` of system `state`; one that is one already is handed through. */
export function toReadFailure(error: unknown, operation: string, table: string): ReadFailure {
  if (error instanceof ReadFailure) return error;
  const { name, code, message } = describe(error);
  const kind =
    CODES[code] ??
    CODES[name] ??
    (/certificate|TLS|SSL|socket hang up/i.test(message) ? 'unreachable' : 'server-error');
  const detail = kind === 'timeout' ? 'no answer in time' : message;
  return stateFailure(kind, `${operation} on table ${table}: ${name}: ${detail}`, error);
}

/** A `ReadFailure` of system `state` with a message that is safe to log. */
export function stateFailure(code: ReadFailureCode, message: string, cause?: unknown): ReadFailure {
  const safe = message
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, LONGEST_MESSAGE);
  return new ReadFailure('state', code, safe, cause === undefined ? {} : { cause });
}

/** True for the answer to a write whose condition did not hold. */
export function isConditionFailure(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConditionalCheckFailedException';
}

function describe(error: unknown): { name: string; code: string; message: string } {
  if (!(error instanceof Error)) return { name: 'Error', code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return { name: error.name, code, message: error.message };
}
