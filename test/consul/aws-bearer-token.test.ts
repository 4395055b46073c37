/** The signed request: by the specification's own example, by a second implementation, and by what Consul demands of it. */
import { describe, expect, test } from 'vitest';
import { type Authorization, parseAuthorization, signatureOf } from '../../infra/local/consul-double/sigv4.ts';
import { awsBearerToken, stsHost } from '../../lib/consul/aws-bearer-token.ts';
import { CREDENTIALS, SERVER_ID, settableClock } from './login-world.ts';

const decode = (text: unknown) => Buffer.from(String(text), 'base64').toString('utf8');

async function signed(options: { region?: string; serverId?: string; sessionToken?: string } = {}) {
  const { region = 'eu-west-1', ...more } = options;
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const bearer = await awsBearerToken({
    region,
    clock: settableClock(),
    ...(more.serverId === undefined ? {} : { serverId: more.serverId }),
    credentials: async () => ({
      accessKeyId,
      secretAccessKey,
      ...(more.sessionToken === undefined ? {} : { sessionToken: more.sessionToken }),
    }),
  });
  const json: Record<string, string> = JSON.parse(bearer.text);
  const headers: Record<string, string[]> = JSON.parse(decode(json.iam_request_headers));
  return { ...bearer, json, headers };
}

test('the double verifies the example of the SigV4 specification', () => {
  const authorization: Authorization = {
    accessKeyId: 'AKIDEXAMPLE',
    scope: '20150830/us-east-1/iam/aws4_request',
    signedHeaders: ['content-type', 'host', 'x-amz-date'],
    signature: '',
  };
  const request = {
    method: 'GET',
    url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
    headers: new Map([
      ['content-type', 'application/x-www-form-urlencoded; charset=utf-8'],
      ['x-amz-date', '20150830T123600Z'],
    ]),
    body: '',
  };
  expect(signatureOf(request, authorization, 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY')).toBe(
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  );
});

describe('the bearer token', () => {
  test('is JSON of a POST of GetCallerIdentity, all but the method in base64', async () => {
    const { json } = await signed();
    expect(json).toEqual({
      iam_http_request_method: 'POST',
      iam_request_url: expect.any(String),
      iam_request_headers: expect.any(String),
      iam_request_body: expect.any(String),
    });
    expect(decode(json.iam_request_url)).toBe('https://sts.eu-west-1.amazonaws.com/');
    expect(decode(json.iam_request_body)).toBe('Action=GetCallerIdentity&Version=2011-06-15');
  });

  test("has headers as Go's http.Header, and no X-Amz- header that Consul does not allow", async () => {
    const { headers } = await signed({ serverId: SERVER_ID, sessionToken: 'session' });
    expect(headers).toEqual({
      'Content-Type': ['application/x-www-form-urlencoded; charset=utf-8'],
      'X-Amz-Date': ['20260801T100000Z'],
      'X-Amz-Security-Token': ['session'],
      'X-Consul-Iam-Serverid': [SERVER_ID],
      Authorization: [
        expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE\/20260801\/eu-west-1\/sts\/aws4_request, /),
      ],
    });
  });

  test('signs the server ID and the session token along', async () => {
    const { headers } = await signed({ serverId: SERVER_ID, sessionToken: 'session' });
    expect(parseAuthorization(headers.Authorization?.[0] ?? '')?.signedHeaders).toEqual([
      'content-type',
      'host',
      'x-amz-date',
      'x-amz-security-token',
      'x-consul-iam-serverid',
    ]);
    const plain = await signed();
    expect(parseAuthorization(plain.headers.Authorization?.[0] ?? '')?.signedHeaders).toEqual([
      'content-type',
      'host',
      'x-amz-date',
    ]);
  });

  test('names as its secrets itself and all parts that prove something; the key itself is in none of it', async () => {
    const { text, secrets, json, headers } = await signed({ sessionToken: 'session' });
    const authorization = headers.Authorization?.[0] ?? '';
    const signature = parseAuthorization(authorization)?.signature;
    expect(secrets).toEqual([text, json.iam_request_headers, authorization, signature, 'session']);
    expect([text, ...Object.values(json).map(decode)].join()).not.toContain(CREDENTIALS.secretAccessKey);
  });

  test('is what its credentials throw', async () => {
    const failing = {
      region: 'eu-west-1',
      clock: settableClock(),
      credentials: async () => Promise.reject(new Error('x')),
    };
    await expect(awsBearerToken(failing)).rejects.toThrow('x');
  });
});

test.each([
  ['eu-west-1', 'sts.eu-west-1.amazonaws.com'],
  ['us-east-1', 'sts.us-east-1.amazonaws.com'],
  ['us-gov-west-1', 'sts.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
  ['us-iso-east-1', 'sts.us-iso-east-1.c2s.ic.gov'],
  ['us-isob-east-1', 'sts.us-isob-east-1.sc2s.sgov.gov'],
  ['eu-isoe-west-1', 'sts.eu-isoe-west-1.cloud.adc-e.uk'],
  ['us-isof-south-1', 'sts.us-isof-south-1.csp.hci.ic.gov'],
  ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
])('the STS of %s is %s', (region, host) => {
  expect(stsHost(region)).toBe(host);
});
