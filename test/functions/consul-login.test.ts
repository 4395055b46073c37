/** Consul login as a deployed function makes it: from its environment and its role's credentials, without any token. */
import { afterEach, expect, test } from 'vitest';
import { wire } from '../../functions/watch-checks/wiring.ts';
import { type ConsulDouble, startConsulDouble } from '../../infra/local/consul-double/double.ts';
import { CREDENTIALS, IDENTITIES, METHOD, SERVER_ID } from '../consul/login-world.ts';

const before = process.env;
let consul: ConsulDouble | undefined;

afterEach(async () => {
  process.env = before;
  await consul?.close();
});

test("a function logs in with its role's credentials, for the region that it runs in", async () => {
  consul = await startConsulDouble({
    tokens: { management: 'write' },
    login: {
      methods: { [METHOD]: { rights: 'read', serverId: SERVER_ID, maxTokenTtlMs: 3_600_000 } },
      identities: IDENTITIES,
    },
  });
  consul.agent.registerService({ Name: 'web', Check: { TTL: '1h' } });
  process.env = {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_SESSION_TOKEN: CREDENTIALS.sessionToken,
    // The table is not there, which is another problem of the status.
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    TABLE_NAME: 'table',
    CONSUL_HTTP_ADDR: consul.url,
    CONSUL_LOGIN_AUTH_METHOD: METHOD,
    CONSUL_LOGIN_SERVER_ID: SERVER_ID,
    LOG_LEVEL: 'error',
  };
  const invokedFunctionArn = 'arn:aws:lambda:eu-west-1:123456789012:function:watch-checks';
  const watch = await wire({ functionName: 'watch-checks', invokedFunctionArn });
  const status = await watch.status();
  expect(status.consul).toMatchObject({ reachable: true, services: 2, unhealthyChecks: 1 });
  expect(JSON.stringify(status)).not.toMatch(/SECRET|\bforbidden\b/);
  expect(consul.requests.filter(({ path }) => path === '/v1/acl/login')).toMatchObject([{ status: 200 }]);
  const [token] = consul.loginTokens.keys();
  const [, ...reads] = consul.requests;
  expect(new Set(reads.map(({ headers }) => headers['x-consul-token']))).toEqual(new Set([token]));
});
