/**
 * Consul login with auth methods of the type `aws-iam`, and the STS behind them. It refuses what Consul refuses (from
 * Consul's own source: 403 for a method or a token that it does not know, 500 for a bearer token that proves nothing), and
 * what STS refuses: a wrong signature, one that is older than 15 minutes, credentials that are not known.
 */
import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import type { Clock } from '../../../lib/ports.ts';
import type { TokenRights } from './acl.ts';
import { decodeBody } from './bodies.ts';
import { type Answer, type Exchange, jsonAnswer } from './exchange.ts';
import { ConsulError } from './records.ts';
import { amzDateMs, parseAuthorization, type SignedRequest, signatureOf } from './sigv4.ts';

/** An auth method. */
export interface AwsIamMethod {
  /** Rights of the tokens that it gives. */
  readonly rights: TokenRights;
  /** ARNs that may log in; default: everybody whose credentials are known. */
  readonly principals?: readonly string[];
  /** `ServerIDHeaderValue`. */
  readonly serverId?: string;
  /** `MaxTokenTTL`; without it a token has no end. */
  readonly maxTokenTtlMs?: number;
  /** Where requests are sent instead of the URL's host, which may then be any (`STSEndpoint`). */
  readonly stsEndpoint?: string;
}

/** What the double's STS knows: credentials by access key ID. */
export type AwsIdentities = Readonly<
  Record<string, { readonly secretKey: string; readonly arn: string; readonly sessionToken?: string }>
>;

/** Options of the double. */
export interface LoginOptions {
  readonly methods: Readonly<Record<string, AwsIamMethod>>;
  readonly identities: AwsIdentities;
}

const SIGNATURE_LIFE_MS = 15 * 60_000;
const SERVER_ID_HEADER = 'x-consul-iam-serverid';
const ALLOWED_AMZ_HEADERS = new Set(
  ['algorithm', 'content-sha256', 'credential', 'date', 'security-token', 'signature', 'signedheaders'].map(
    (name) => `x-amz-${name}`,
  ),
);

const loginBody = z.strictObject({
  AuthMethod: z.optional(z.string()),
  BearerToken: z.optional(z.string()),
  Meta: z.nullish(z.record(z.string(), z.string())),
});

const bearerBody = z.object({
  iam_http_request_method: z.string(),
  iam_request_url: z.string(),
  iam_request_headers: z.string(),
  iam_request_body: z.string(),
});

interface LoginToken {
  readonly rights: TokenRights;
  readonly endsAtMs: number;
}

/** Tokens that were given by login. */
export class Logins {
  /** Tokens in use, by secret. */
  readonly tokens = new Map<string, LoginToken>();
  readonly #options: LoginOptions;
  readonly #clock: Clock;

  constructor(options: LoginOptions | undefined, clock: Clock) {
    this.#options = options ?? { methods: {}, identities: {} };
    this.#clock = clock;
  }

  /** `undefined` for a token that no login gave, or that has ended. */
  rightsOf(token: string): TokenRights | undefined {
    const found = this.tokens.get(token);
    return found && this.#clock.nowMs() < found.endsAtMs ? found.rights : undefined;
  }

  /** `POST acl/login`. Throws `ConsulError`. */
  logIn({ body }: Exchange): Answer {
    const { AuthMethod: name, BearerToken: bearer } = decodeBody(loginBody, body.toString('utf8'));
    const method = name && Object.hasOwn(this.#options.methods, name) ? this.#options.methods[name] : undefined;
    if (!method) throw new ConsulError(403, `ACL not found: auth method "${name ?? ''}" not found`);
    const nowMs = this.#clock.nowMs();
    const arn = callerOf(parseBearer(bearer ?? ''), method, this.#options.identities, nowMs);
    if (method.principals && !method.principals.includes(arn)) {
      throw new ConsulError(500, `IAM principal ${arn} is not trusted`);
    }
    const secret = randomUUID();
    const endsAtMs = nowMs + (method.maxTokenTtlMs ?? Number.POSITIVE_INFINITY);
    this.tokens.set(secret, { rights: method.rights, endsAtMs });
    return jsonAnswer({
      AccessorID: randomUUID(),
      SecretID: secret,
      Description: 'token created via login',
      Roles: [],
      Local: true,
      AuthMethod: name,
      ...(endsAtMs === Number.POSITIVE_INFINITY ? {} : { ExpirationTime: new Date(endsAtMs).toISOString() }),
      CreateTime: new Date(nowMs).toISOString(),
      CreateIndex: 1,
      ModifyIndex: 1,
    });
  }

  /** `POST acl/logout`. Throws `ConsulError`. */
  logOut(token: string): Answer {
    if (token === '') throw new ConsulError(401, 'Supplied token does not exist');
    if (!this.tokens.delete(token)) throw new ConsulError(403, 'Permission denied');
    return jsonAnswer(true);
  }
}

/** A bearer token, decoded. Throws where it is none. */
function parseBearer(text: string): SignedRequest {
  try {
    const json = decodeBody(bearerBody, text);
    const headers: Record<string, unknown> = JSON.parse(decoded(json.iam_request_headers));
    const values = Object.entries(headers).map(([name, list]) => {
      // Go's http.Header: anything but a list of texts is not decoded.
      if (!Array.isArray(list) || !list.every((value) => typeof value === 'string')) throw new Error(`header ${name}`);
      return [name.toLowerCase(), list.join(',')] as const;
    });
    const url = new URL(decoded(json.iam_request_url));
    return {
      method: json.iam_http_request_method,
      url,
      headers: new Map(values),
      body: decoded(json.iam_request_body),
    };
  } catch (error) {
    throw new ConsulError(500, `invalid token: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function decoded(text: string): string {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw new Error('illegal base64 data');
  return Buffer.from(text, 'base64').toString('utf8');
}

/** Who signed the request. Throws for whatever Consul or STS would refuse. */
function callerOf(request: SignedRequest, method: AwsIamMethod, identities: AwsIdentities, nowMs: number): string {
  const { url, headers, body } = request;
  const refuse = (why: string) => new ConsulError(500, why);
  if (request.method !== 'POST') throw refuse('iam_http_request_method must be POST');
  const isSts = /^sts(?:-fips)?\./.test(url.hostname) && url.hostname.endsWith('.amazonaws.com');
  if (!method.stsEndpoint && !isSts) throw refuse(`invalid STS hostname: "${url.hostname}"`);
  if (body !== 'Action=GetCallerIdentity&Version=2011-06-15') throw refuse('iam_request_body error: unexpected field');
  const alien = [...headers.keys()].find((name) => name.startsWith('x-amz-') && !ALLOWED_AMZ_HEADERS.has(name));
  if (alien) throw refuse(`invalid request header: ${alien}`);
  const authorization = parseAuthorization(headers.get('authorization') ?? '');
  if (method.serverId !== undefined) {
    const given = headers.get(SERVER_ID_HEADER);
    if (given !== method.serverId) throw refuse(`expected "${method.serverId}" but got "${given ?? ''}"`);
    if (!authorization?.signedHeaders.includes(SERVER_ID_HEADER)) throw refuse("header wasn't signed");
  }
  const denied = (why: string) => refuse(`received error code 403: <ErrorResponse><Code>${why}</Code></ErrorResponse>`);
  if (!authorization) throw denied('MissingAuthenticationToken');
  const { accessKeyId, scope, signature, signedHeaders } = authorization;
  const identity = Object.hasOwn(identities, accessKeyId) ? identities[accessKeyId] : undefined;
  if (!identity || headers.get('x-amz-security-token') !== identity.sessionToken) throw denied('InvalidClientTokenId');
  const [date, , service] = scope.split('/');
  const signedAt = headers.get('x-amz-date') ?? '';
  const isScoped = service === 'sts' && signedAt.startsWith(`${date}T`) && signedHeaders.includes('host');
  if (!isScoped || signature !== signatureOf(request, authorization, identity.secretKey)) {
    throw denied('SignatureDoesNotMatch');
  }
  if (!(Math.abs(nowMs - amzDateMs(signedAt)) <= SIGNATURE_LIFE_MS)) throw denied('SignatureDoesNotMatch');
  return identity.arn;
}
