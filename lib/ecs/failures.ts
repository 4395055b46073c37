/**
 * What an error of the SDK means. Errors are told by name, HTTP status and Node's codes, never by class: the SDK has no
 * class for most of them. Texts count only where nothing else tells cases apart, and then loosely, as wordings vary.
 */
import { ReadFailure, type ReadFailureCode } from '../ports.ts';

/** What we look at in an error, whatever threw it. */
interface SeenError {
  readonly name: string;
  readonly message: string;
  /** Node's, such as ECONNREFUSED. */
  readonly code: string;
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
}

const THROTTLED = /throttl|toomanyrequests|requestlimitexceeded|slowdown|^limitexceeded/i;
const FORBIDDEN =
  /^(accessdenied|unauthorized|unrecognizedclient|expiredtoken|invalidsignature|signaturedoesnotmatch|missingauthenticationtoken|incompletesignature|invalidclienttoken|optinrequired|credentialsprovider)/i;
const TIMED_OUT = /^(abort|timeout)|requesttimeout/i;
/** The request did not leave this machine. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** The failure of a read. Nothing may be concluded from what was asked. */
export function readFailure(operation: string, error: unknown): ReadFailure {
  if (error instanceof ReadFailure) return error;
  const seen = look(error);
  return new ReadFailure('ecs', readCode(seen), safeText(`${operation}: ${describe(seen)}`));
}

/** True when ECS, or this machine, said no before anything was done; false where the call may have taken effect. */
export function hadNoEffect(error: unknown): boolean {
  const seen = look(error);
  if (seen.status === 408) return false;
  if (seen.status >= 400 && seen.status < 500) return true;
  return NEVER_SENT.includes(seen.code) || /^CredentialsProvider/.test(seen.name);
}

/** Code and text of a refusal, safe to log. */
export function refusal(error: unknown): { code: string; message: string } {
  const seen = look(error);
  return { code: safeText(seen.code || seen.name), message: safeText(seen.message || seen.name) };
}

/** ECS does not know the task any more: it stopped more than about an hour ago. Not: its cluster or its ID is wrong. */
export function saysTaskIsGone(error: unknown): boolean {
  const { name, message } = look(error);
  if (name === 'ResourceNotFoundException' || name === 'TaskNotFoundException') return true;
  const speaksOfInput = name === 'InvalidParameterException' || name === 'ClientException';
  const isGone =
    /not\s+(be\s+)?found|(does\s+not|doesn['’]t|no\s+longer)\s+exists?|unable\s+to\s+find|no\s+such\s+task/i;
  return speaksOfInput && /\btasks?\b/i.test(message) && isGone.test(message) && !/cluster/i.test(message);
}

/** UpdateService can't deploy this service: CodeDeploy or an external controller does (C30). */
export function saysControllerMismatch(error: unknown): boolean {
  const { name, message } = look(error);
  const speaksOfInput = /^(InvalidParameter|Client|UnsupportedFeature|Validation)/.test(name);
  return (
    speaksOfInput && /deployment[\s-]*controller|code[\s_-]*deploy|external[\s-]+(deployment|controller)/i.test(message)
  );
}

/** Without control characters (also line and paragraph separators) and at most 300 characters: fit for a log line. */
export function safeText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 300);
}

function readCode({ name, code, status }: SeenError): ReadFailureCode {
  if (THROTTLED.test(name) || status === 429) return 'rate-limited';
  if (FORBIDDEN.test(name) || status === 401 || status === 403) return 'forbidden';
  if (TIMED_OUT.test(name) || code === 'ETIMEDOUT') return 'timeout';
  if (/^(E[A-Z_]+|CERT_|ERR_TLS|SELF_SIGNED|UNABLE_TO|DEPTH_ZERO)/.test(code)) return 'unreachable';
  if (status >= 400) return 'server-error';
  return status === 200 || name === 'SyntaxError' ? 'malformed' : 'server-error';
}

function describe({ name, message, code }: SeenError): string {
  return [name, code, message].filter((part) => part !== '' && part !== 'Error').join(' ');
}

function look(error: unknown): SeenError {
  if (typeof error !== 'object' || error === null)
    return { name: 'Error', message: String(error), code: '', status: 0 };
  const { name, message, code } = error as { name?: unknown; message?: unknown; code?: unknown };
  return { name: textOf(name), message: textOf(message), code: textOf(code), status: httpStatus(error) };
}

/** The SDK has the status in `$metadata`; for bodies that it can't read in `$response`. */
function httpStatus(error: object): number {
  const { $metadata, $response } = error as {
    $metadata?: { httpStatusCode?: unknown };
    $response?: { statusCode?: unknown };
  };
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  return typeof status === 'number' ? status : 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
