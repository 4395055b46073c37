/**
 * What only the double can show: faults on demand, a virtual clock, and what Consul 1.8.7 does not have: Interval and
 * Timeout of checks, the header of filtered answers, namespaces and partitions, 400 for a broken filter, 404 for what
 * is not there to deregister. Consul login by AWS IAM needs 1.12 and is neither here nor there.
 */
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ConsulDouble,
  type ConsulDoubleOptions,
  startConsulDouble,
} from '../../infra/local/consul-double/double.ts';
import type { FaultAnswer } from '../../infra/local/consul-double/faults.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { type BareClient, bareClient, filtered } from './consul-client.ts';

const CRITICAL = 'health/state/critical';

describe('the Consul double', () => {
  let double: ConsulDouble;
  let client: BareClient;

  async function start(options: ConsulDoubleOptions = {}): Promise<void> {
    double = await startConsulDouble(options);
    client = bareClient(double.url);
  }
  afterEach(() => double.close());

  describe('like later versions', () => {
    it('states interval and timeout of a check', async () => {
      await start({ dialect: 'current' });
      const check = { HTTP: 'http://127.0.0.1:9/', Interval: '10s', Timeout: '2s' };
      await client.put('agent/service/register', { Name: 'web', Check: check });
      expect(await client.list(CRITICAL)).toMatchObject([{ Type: 'http', Interval: '10s', Timeout: '2s' }]);
    });

    it('answers 400 to a broken filter', async () => {
      await start({ dialect: 'current' });
      expect(await client.get(filtered(CRITICAL, 'Nonsense == 1'))).toMatchObject({ status: 400 });
    });

    it('answers 404 where there is nothing to deregister', async () => {
      await start({ dialect: 'current' });
      expect(await client.put('agent/service/deregister/none')).toMatchObject({ status: 404 });
      expect(await client.put('agent/check/deregister/none')).toMatchObject({ status: 404 });
    });

    it('C03: says when ACLs kept a part of the answer', async () => {
      const some = { services: /^seen$/ };
      await start({ dialect: 'current', tokens: { all: 'write', some, none: 'none' } });
      for (const name of ['seen', 'hidden']) {
        const check = { CheckID: name, Status: 'critical', ServiceID: name };
        const body = { Node: 'n', Address: '10.0.0.1', Service: { ID: name, Service: name }, Check: check };
        expect(await client.put('catalog/register', body, 'all')).toMatchObject({ status: 200 });
      }
      const said = async (token: string) => {
        const { text, headers } = await client.get(CRITICAL, token);
        return [JSON.parse(text).length, headers.get('x-consul-results-filtered-by-acls')];
      };
      expect(await said('all')).toEqual([2, null]);
      expect(await said('some')).toEqual([1, 'true']);
      expect(await said('none')).toEqual([0, 'true']);
      expect(await said('')).toEqual([0, 'true']);
    });

    it('keeps namespaces and partitions apart, as Enterprise does', async () => {
      await start({ enterprise: true });
      for (const Namespace of ['', 'team']) {
        const Service = { ID: 'w', Service: 'web', Namespace };
        await client.register({
          Node: 'n',
          Service,
          Check: { CheckID: 'c', Status: 'critical', ServiceID: 'w', Namespace },
        });
      }
      await client.register({ Node: 'n', Partition: 'east', Check: { CheckID: 'c', Status: 'critical' } });
      expect(await client.list(CRITICAL)).toHaveLength(1);
      expect(await client.list(`${CRITICAL}?ns=team`)).toMatchObject([{ Namespace: 'team' }]);
      expect(await client.list(`${CRITICAL}?ns=*`)).toHaveLength(2);
      expect(await client.list(`${CRITICAL}?partition=east`)).toMatchObject([{ Partition: 'east', CheckID: 'c' }]);
    });
  });

  describe('faults', () => {
    it.each([
      ['no-leader', 500, 'No cluster leader'],
      ['unavailable', 503, 'upstream connect error'],
      ['forbidden', 403, 'Permission denied'],
      ['rate-limited', 429, ''],
      ['empty', 200, '[]'],
      ['filtered', 200, '[]'],
      ['html', 200, '<html><body>maintenance</body></html>'],
      ['wrong-shape', 200, '{"not":"what was asked for"}'],
      [{ status: 502, body: 'of our own' }, 502, 'of our own'],
    ] satisfies [FaultAnswer, number, string][])('%j answers %i %j', async (answer, status, text) => {
      await start();
      double.fault({ answer });
      expect(await client.get(CRITICAL)).toMatchObject({ status, text });
    });

    it('cuts JSON off in a well-framed answer', async () => {
      await start();
      double.fault({ answer: 'truncated' });
      const { status, text } = await client.get(CRITICAL);
      expect(status).toBe(200);
      expect(() => JSON.parse(text)).toThrow(SyntaxError);
    });

    it.each(['refuse', 'cut-off'] as const)('%s breaks the connection', async (answer) => {
      await start();
      double.fault({ answer });
      await expect(client.get(CRITICAL)).rejects.toThrow();
    });

    it('hangs until the client or the double gives up', async () => {
      await start();
      double.fault({ answer: 'hang' });
      const hanging = fetch(`${double.url}/v1/${CRITICAL}`, { signal: AbortSignal.timeout(50) });
      await expect(hanging).rejects.toThrow(/timeout|aborted/i);
    });

    it.each([
      ['stale', 'x-consul-lastcontact', '45000'],
      ['leaderless', 'x-consul-knownleader', 'false'],
      ['streaming', 'x-consul-query-backend', 'streaming'],
      ['no-index', 'x-consul-index', null],
      ['index-zero', 'x-consul-index', '0'],
    ] as const)('%s gives the true answer with %s: %s', async (answer, header, value) => {
      await start();
      await client.check('n', 'c', 'critical');
      double.fault({ answer });
      const { status, text, headers } = await client.get(CRITICAL);
      expect(status).toBe(200);
      expect(JSON.parse(text)).toHaveLength(1);
      expect(headers.get(header)).toBe(value);
    });

    it('meets only the requests that match, and only so many', async () => {
      await start();
      const fault = double.fault({ match: /state\/critical/, times: 2, answer: 'no-leader' });
      const status = async (path: string) => (await client.get(path)).status;
      expect([
        await status('catalog/services'),
        await status(CRITICAL),
        await status(CRITICAL),
        await status(CRITICAL),
      ]).toEqual([200, 500, 500, 200]);
      expect(fault.hits).toBe(2);
    });

    it('ends when it is removed, the one set last going first', async () => {
      await start();
      double.fault({ answer: 'no-leader' });
      const last = double.fault({ answer: 'rate-limited' });
      expect((await client.get(CRITICAL)).status).toBe(429);
      last.remove();
      expect((await client.get(CRITICAL)).status).toBe(500);
      double.clearFaults();
      expect((await client.get(CRITICAL)).status).toBe(200);
    });

    it('drops the connections of waiting queries', async () => {
      await start();
      const { index } = await client.get(CRITICAL);
      const waiting = client.get(`${CRITICAL}?index=${index}&wait=60s`);
      const failed = expect(waiting).rejects.toThrow();
      await expect.poll(() => double.waiting).toBe(1);
      double.dropConnections();
      await failed;
      await expect.poll(() => double.waiting).toBe(0);
    });
  });

  it('records requests in order, with query, headers and status', async () => {
    await start();
    await client.get(filtered('catalog/service/a%2Fb', 'ServiceID == "x"'), 'secret');
    await client.put('kv/k', 'v');
    expect(double.requests).toMatchObject([
      {
        method: 'GET',
        path: '/v1/catalog/service/a%2Fb',
        query: { filter: 'ServiceID == "x"' },
        headers: { 'x-consul-token': 'secret' },
        status: 200,
      },
      { method: 'PUT', path: '/v1/kv/k', status: 200 },
    ]);
  });

  it('waits up to a sixteenth longer, as its jitter says', async () => {
    await start({ jitter: () => 0.99 });
    await client.check('n', 'c', 'critical');
    const { index } = await client.get(CRITICAL);
    const { tookMs } = await client.get(`${CRITICAL}?index=${index}&wait=800ms`);
    expect(tookMs).toBeGreaterThanOrEqual(845);
  });

  it('runs its waits and TTLs on the clock that it is given', async () => {
    const clock = new VirtualClock();
    await start({ clock, jitter: () => 0 });
    await client.put('agent/service/register', { Name: 'web', Check: { TTL: '1h', Status: 'passing' } });
    await client.check('n', 'c', 'critical');
    const { index } = await client.get(CRITICAL);
    const waiting = client.get(`${CRITICAL}?index=${index}&wait=10m`);
    await expect.poll(() => double.waiting).toBe(1);
    await clock.advanceTo(clock.nowMs() + 600_000);
    expect((await waiting).index).toBe(index);
    await clock.advanceTo(clock.nowMs() + 3_000_000);
    expect(await client.list('health/checks/web')).toMatchObject([{ Status: 'critical', Output: 'TTL expired' }]);
  });

  it('passes an output of an unchanged status on after its interval', async () => {
    const clock = new VirtualClock();
    await start({ clock });
    await client.put('agent/service/register', { Name: 'web', Check: { TTL: '10h', Status: 'passing' } });
    await client.put('agent/check/pass/service:web?note=new');
    await clock.advanceTo(clock.nowMs() + 299_000);
    expect(await client.list('health/checks/web')).toMatchObject([{ Output: '' }]);
    await clock.advanceTo(clock.nowMs() + 2_000);
    expect(await client.list('health/checks/web')).toMatchObject([{ Output: 'new' }]);
  });

  it('lets the results of other checks be reported in the place of an agent that runs them', async () => {
    await start();
    await client.put('agent/service/register', { Name: 'web', Check: { TCP: '127.0.0.1:9', Interval: '10s' } });
    double.agent.reportCheck('service:web', 'passing', 'connected');
    expect(await client.list('health/checks/web')).toMatchObject([{ Status: 'passing', Output: 'connected' }]);
    expect(() => double.agent.reportCheck('none', 'passing', '')).toThrow('Unknown check ID "none"');
  });

  it('answers from a thousand checks within 5 ms, as a rule', async () => {
    await start();
    for (let number = 0; number < 1000; number += 1) {
      const status = number % 100 === 0 ? 'critical' : 'passing';
      await client.check(`n${number % 50}`, `c${number}`, status);
    }
    const times: number[] = [];
    for (let round = 0; round < 31; round += 1) times.push((await client.get(CRITICAL)).tookMs);
    times.sort((left, right) => left - right);
    expect(times[15]).toBeLessThan(5);
  });

  it('closes at once while queries wait', async () => {
    await start();
    const { index } = await client.get(CRITICAL);
    const failed = expect(client.get(`${CRITICAL}?index=${index}&wait=60s`)).rejects.toThrow();
    await expect.poll(() => double.waiting).toBe(1);
    await double.close();
    await failed;
    await double.close();
  });
});
