/**
 * What the adapter must do against anything that speaks Consul's HTTP API: the double, a real agent. Writes and reads go
 * over HTTP only, so that the same tests run against both.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { type ConsulAdapter, createConsulPort } from '../../lib/consul/consul-port.ts';
import { checkKey, instanceKey, type UnhealthyAnswer } from '../../lib/ports.ts';

/** A Consul for one test, empty but for its own node. */
export interface ConsulUnderTest {
  readonly url: string;
  close(): Promise<void>;
}

/** IDs that a filter or a path could trip over. */
const ODD = [
  'a"b',
  'x/y',
  '/a/b',
  '/',
  'back\\slash',
  "q'`",
  '注文😀',
  'sp ace',
  'nl\nx',
  'p%2F',
  '" or ServiceID != "',
];
const never = new AbortController().signal;

/** Declares the tests for one implementation. */
export function adapterContract(name: string, start: () => Promise<ConsulUnderTest>): void {
  describe(`the adapter against ${name}`, () => {
    let consul: ConsulUnderTest;
    let port: ConsulAdapter;

    beforeEach(async () => {
      consul = await start();
      const token = { current: async () => undefined, refetch: async () => undefined };
      port = createConsulPort({ addresses: [consul.url], token, clock: systemClock });
    });
    afterEach(async () => {
      await port.close();
      await consul.close();
    });

    async function put(path: string, body: string): Promise<void> {
      const response = await fetch(consul.url + path, { method: 'PUT', body });
      expect(response.status).toBe(200);
      await response.text();
    }
    async function register(id: string, status: string, serviceName = 'team/orders', number = 0): Promise<void> {
      const service = { ID: id, Service: serviceName, Address: '10.1.1.1', Port: 8000 + number, Meta: { id } };
      const check = { Node: 'n1', CheckID: `c:${id}`, Name: id, Status: status, ServiceID: id, Output: 'refused' };
      await put(
        '/v1/catalog/register',
        JSON.stringify({ Node: 'n1', Address: '10.1.1.2', Service: service, Check: check }),
      );
    }
    async function changeOf(watch: ReturnType<ConsulAdapter['watchUnhealthy']>, write: () => Promise<void>) {
      const change = watch.change(Date.now() + 10_000, never);
      await new Promise((resolve) => setTimeout(resolve, 100));
      const beganMs = performance.now();
      await write();
      return { answer: await change, tookMs: performance.now() - beganMs };
    }
    const ids = (answer: UnhealthyAnswer | undefined) => answer?.checks.map((check) => check.checkId).sort();

    test('odd IDs are found by themselves, each with its own details and checks', async () => {
      for (const [number, id] of ODD.entries()) await register(id, 'critical', 'team/orders', number);
      await register('healthy', 'passing');
      const { checks } = await port.watchUnhealthy({ warnings: false }).read(never);
      expect(checks.map((check) => check.serviceId).sort()).toEqual([...ODD].sort());
      const details = await port.describeInstances(checks);
      expect(details.refused).toEqual([]);
      for (const [number, id] of ODD.entries()) {
        const key = instanceKey({ partition: '', namespace: '', node: 'n1', serviceId: id });
        expect(details.found.get(key)).toMatchObject({ port: 8000 + number, meta: { id }, address: '10.1.1.1' });
      }
      const found = await port.lookUpChecks(checks);
      expect(checks.map((check) => found.get(checkKey(check))?.serviceId)).toEqual(checks.map((c) => c.serviceId));
    });

    test('a check that turned passing is looked up as such; one that is gone is absent', async () => {
      await register('a', 'passing');
      const asked = ['c:a', 'c:gone'].map((checkId) => ({
        ...{ node: 'n1', serviceId: 'a', serviceName: 'team/orders', namespace: '', partition: '' },
        checkId,
      }));
      const found = await port.lookUpChecks(asked);
      expect(asked.map((check) => found.get(checkKey(check))?.status)).toEqual(['passing', undefined]);
    });

    test('a change of either list is given out at once; an equal answer is not', async () => {
      const watch = port.watchUnhealthy({ warnings: true });
      expect((await watch.read(never)).checks).toEqual([]);
      const critical = await changeOf(watch, () => register('a', 'critical'));
      expect(ids(critical.answer)).toEqual(['c:a']);
      expect(critical.tookMs).toBeLessThan(500);
      const warning = await changeOf(watch, () => register('b', 'warning'));
      expect(ids(warning.answer)).toEqual(['c:a', 'c:b']);
      await register('c', 'passing');
      const beganMs = Date.now();
      expect(await watch.change(beganMs + 300, never)).toBeUndefined();
      expect(Date.now() - beganMs).toBeLessThan(1000);
      await watch.close();
    });

    test('keys and services', async () => {
      expect(await port.readKey('ecs-check-restart/policy')).toBeUndefined();
      await put('/v1/kv/ecs-check-restart/policy', '{"größe": 1}');
      expect(await port.readKey('ecs-check-restart/policy')).toMatchObject({ text: '{"größe": 1}' });
      await register('a', 'passing', 'web');
      expect([...(await port.listServices()).keys()].sort()).toEqual(['consul', 'web']);
      expect((await port.listInstances('web')).map((instance) => instance.serviceId)).toEqual(['a']);
      expect(await port.listInstances('nothing')).toEqual([]);
    });
  });
}
