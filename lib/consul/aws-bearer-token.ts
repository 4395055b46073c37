/**
 * The bearer token of Consul's auth methods of the type `aws-iam`: a signed `sts:GetCallerIdentity` request, as JSON. It is
 * never sent to STS by us. Consul sends it, and believes what STS answers about who signed it.
 *
 *   { iam_http_request_method: "POST", iam_request_url, iam_request_headers, iam_request_body }   each base64 but the first
 *
 * The headers are Go's `http.Header` as JSON: name → list of values. Consul refuses any `X-Amz-…` header that a signature
 * does not need, so the request is signed here and not taken from the SDK's client, which adds some. It is good for 15
 * minutes (STS) and may be replayed meanwhile; the server ID, signed along, binds it to one Consul.
 */
import { partition } from '@aws-sdk/core/client';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Clock } from '../ports.ts';
import type { BearerToken } from './options.ts';

/** Who signs. The last is of temporary credentials, a function's among them. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Whose request, for whom. */
export interface AwsBearerTokenOptions {
  /** Its STS is asked by Consul. */
  readonly region: string;
  /** Value of the header that the auth method demands (`ServerIDHeaderValue`), if it does. */
  readonly serverId?: string;
  /** Asked each time; caches as it likes. */
  readonly credentials: () => Promise<AwsCredentials>;
  readonly clock: Clock;
}

const BODY = 'Action=GetCallerIdentity&Version=2011-06-15';
const SERVER_ID_HEADER = 'X-Consul-IAM-ServerID';

/**
 * Host of a region's STS, in every partition. Consul takes `sts.*.amazonaws.com` by itself; elsewhere (China, the isolated
 * and sovereign partitions) its auth method has to name the endpoint (`STSEndpoint`).
 */
export function stsHost(region: string): string {
  return `sts.${region}.${partition(region).dnsSuffix}`;
}

/** Signs a bearer token. Throws what the credentials throw. */
export async function awsBearerToken(options: AwsBearerTokenOptions): Promise<BearerToken> {
  const { region, serverId, clock } = options;
  const credentials = await options.credentials();
  const host = stsHost(region);
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256: Sha256, applyChecksum: false });
  const signed = await signer.sign(
    {
      method: 'POST',
      protocol: 'https:',
      hostname: host,
      path: '/',
      headers: {
        host,
        'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        ...(serverId === undefined ? {} : { [SERVER_ID_HEADER.toLowerCase()]: serverId }),
      },
      body: BODY,
    },
    // In seconds, as the signer takes numbers.
    { signingDate: Math.floor(clock.nowMs() / 1000) },
  );
  // Consul's HTTP client makes the Host header from the URL.
  const sent = Object.entries(signed.headers).filter(([name]) => name !== 'host');
  const headers = base64(JSON.stringify(Object.fromEntries(sent.map(([name, value]) => [inGo(name), [value]]))));
  const text = JSON.stringify({
    iam_http_request_method: 'POST',
    iam_request_url: base64(`https://${host}/`),
    iam_request_headers: headers,
    iam_request_body: base64(BODY),
  });
  const { authorization = '' } = signed.headers;
  const signature = /Signature=([0-9a-f]+)/.exec(authorization)?.[1];
  const parts = [text, headers, authorization, signature, credentials.sessionToken];
  return { text, secrets: parts.flatMap((part) => part || []) };
}

/** A header's name as Go's `http.Header` has it: `X-Amz-Date`. */
function inGo(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
