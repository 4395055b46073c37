/**
 * What STS does with a signed request before it answers: it computes the signature anew (AWS Signature Version 4) from the
 * secret of the named access key. Written from the specification, apart from any SDK, so that it proves something.
 */
import { createHash, createHmac } from 'node:crypto';

/** A request as it was signed. */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** By lower-case name; without `host`, which is the URL's. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What an Authorization header says. */
export interface Authorization {
  readonly accessKeyId: string;
  /** `YYYYMMDD/REGION/SERVICE/aws4_request`. */
  readonly scope: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const SHAPE =
  /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8}\/[a-z0-9-]+\/[a-z0-9]+\/aws4_request), ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/** `undefined` where it is no such header. */
export function parseAuthorization(text: string): Authorization | undefined {
  const [, accessKeyId = '', scope = '', signed = '', signature = ''] = SHAPE.exec(text) ?? [];
  return signature === '' ? undefined : { accessKeyId, scope, signedHeaders: signed.split(';'), signature };
}

/** The signature that the request must have, of a POST or of a GET with sorted query parameters. */
export function signatureOf(
  request: SignedRequest,
  { scope, signedHeaders }: Authorization,
  secretKey: string,
): string {
  const { method, url, headers, body } = request;
  const value = (name: string) => (name === 'host' ? url.host : (headers.get(name) ?? ''));
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    ...signedHeaders.map((name) => `${name}:${value(name).trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders.join(';'),
    sha256(body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers.get('x-amz-date'), scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretKey}`);
  return hmac(key, toSign).toString('hex');
}

/** Epoch milliseconds of `YYYYMMDDTHHMMSSZ`; NaN where it is none. */
export function amzDateMs(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
