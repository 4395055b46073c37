/**
 * What a healthy estate costs, in requests as they are recorded. How many there are in a busy datacenter is tested on a
 * virtual clock (`test/consul/unhealthy-watch-under-stress.test.ts`) and measured by `npm run bench -- requests`.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { consulServers, type RunningConsul } from '../contracts/consul-servers.ts';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import { type RestartStage, startRestartStage } from './restart-stage.ts';
import { POLICY_KEY, SETTINGS } from './watch-stage.ts';

const KEY = `/v1/kv/${POLICY_KEY}`;
const CRITICAL = '/v1/health/state/critical';
const WARNING = '/v1/health/state/warning';

describe.each(await consulServers())('all healthy on $name', ({ start }) => {
  let consul: RunningConsul;
  let proxy: CountingProxy;
  let stage: RestartStage;
  beforeEach(async () => {
    consul = await start();
    proxy = await startCountingProxy(consul.url);
  });
  afterEach(async () => {
    await stage.close();
    await proxy.close();
    await consul.close();
  });

  /** The invocations before have kept the policy document and shown that the token sees something. */
  async function secondInvocation(windowMs: number, ignoreWarnings: boolean) {
    const policy = { rules: [{ match: {}, checkRestart: { limit: 2, interval: '2s', ignoreWarnings } }] };
    stage = await startRestartStage(consul.url, policy, proxy.url);
    await stage.service('web');
    const settings = { defaults: { ...SETTINGS.defaults, ignoreWarnings } };
    await stage.window(0, settings);
    proxy.seen.length = 0;
    stage.tableOperations.length = 0;
    const result = await stage.window(windowMs, settings);
    expect(result).toMatchObject({ outcome: 'done', failedPasses: 0, restarts: [] });
    const asked = proxy.seen.map(({ method, path, blocking }) => `${method} ${path}${blocking ? ' blocking' : ''}`);
    return asked.toSorted();
  }

  test('a pass is one read of one list; the invocation adds the document, the state, lease and heartbeat', async () => {
    expect(await secondInvocation(0, true)).toEqual([`GET ${CRITICAL}`, `GET ${KEY}`]);
    // The lease, the state, the heartbeat, the lease again.
    expect(stage.tableOperations).toEqual(['UpdateItemCommand', 'QueryCommand', 'PutItemCommand', 'UpdateItemCommand']);
    expect(stage.ecs.calls).toEqual([]);
  });

  test('with warnings a pass is a read of both lists', async () => {
    expect(await secondInvocation(0, false)).toEqual([`GET ${CRITICAL}`, `GET ${WARNING}`, `GET ${KEY}`]);
    expect(stage.ecs.calls).toEqual([]);
  });

  test('a window in which nothing happens adds one blocking query a list and no pass', async () => {
    const asked = await secondInvocation(1500, false);
    expect(asked).toEqual([
      `GET ${CRITICAL}`,
      `GET ${CRITICAL} blocking`,
      `GET ${WARNING}`,
      `GET ${WARNING} blocking`,
      `GET ${KEY}`,
    ]);
    expect(stage.ecs.calls).toEqual([]);
  });
});
