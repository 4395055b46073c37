/** What every `ProxyStatePort` must do, tried on the table (dynalite) and on the one in memory. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { proxyKey } from '../../lib/dynamodb/keys.ts';
import { canonicalJson } from '../../lib/proxies/fingerprint.ts';
import type { ProxyState } from '../../lib/proxies/proxy-state.ts';
import { RUNNING } from '../../lib/proxies/run-state.ts';
import type { ProxyStatePort } from '../../lib/proxy-ports.ts';
import { dynamodb, memory, type Subject, type TableSubject } from './proxy-state-implementations.ts';
import { CONTROL, EVERYTHING, proxy } from './proxy-state-samples.ts';
import { NOW_MS, service, watchedCheck } from './state-samples.ts';

const FIRST = { version: 0, runState: RUNNING, memory: { stops: [] } };
const STOPPED = { version: 0, runState: { phase: 'stopped', kill: false }, memory: { stops: [] } };

describe.each([memory, dynamodb()])('proxies in $name', (implementation) => {
  let subject: Subject;
  let proxies: ProxyStatePort;
  beforeAll(() => implementation.start());
  afterAll(() => implementation.stop());
  beforeEach(async () => {
    subject = await implementation.fresh();
    proxies = subject.proxies;
  });

  const ids = async () => (await proxies.loadProxies()).proxies.map(({ state }) => state.proxyId).sort();

  describe('loading', () => {
    test('an empty table runs, and knows no proxies', async () => {
      expect(await proxies.loadProxies()).toEqual({ control: FIRST, proxies: [], unreadable: [] });
    });

    test('gives back every field that was saved', async () => {
      expect(await proxies.saveProxy({ version: 0, state: EVERYTHING })).toBe('saved');
      expect(await proxies.saveProxy({ version: 0, state: proxy('edge') })).toBe('saved');
      expect(await proxies.saveControl(CONTROL)).toBe('saved');
      const { control, proxies: stored, unreadable } = await proxies.loadProxies();
      expect(control).toEqual({ ...CONTROL, version: 1 });
      expect(unreadable).toEqual([]);
      expect(stored).toHaveLength(2);
      expect(stored).toContainEqual({ version: 1, state: EVERYTHING });
      expect(stored).toContainEqual({ version: 1, state: proxy('edge') });
    });

    test('gives back what counts as unchanged: the plan compares states as JSON', async () => {
      await proxies.saveProxy({ version: 0, state: EVERYTHING });
      const [stored] = (await proxies.loadProxies()).proxies;
      expect(canonicalJson(stored?.state)).toBe(canonicalJson(EVERYTHING));
    });

    test('what a caller does to an answer changes nothing that is stored', async () => {
      await proxies.saveProxy({ version: 0, state: EVERYTHING });
      const [stored] = (await proxies.loadProxies()).proxies;
      Object.assign(stored?.state.spec?.environment ?? {}, { A: 'spoilt' });
      expect((await proxies.loadProxies()).proxies[0]?.state).toEqual(EVERYTHING);
    });

    test('a field that is gone is gone', async () => {
      await proxies.saveProxy({ version: 0, state: EVERYTHING });
      const { task: _, ...rest } = EVERYTHING;
      await proxies.saveProxy({ version: 1, state: rest });
      expect((await proxies.loadProxies()).proxies).toEqual([{ version: 2, state: rest }]);
    });

    test.each(['control', 'proxy#x', 'sha256:0', '__proto__', 'a b.c:d/e=f+g@h', 'ü'.repeat(128)])(
      'a proxy may be called %j',
      async (proxyId) => {
        expect(await proxies.saveProxy({ version: 0, state: proxy(proxyId) })).toBe('saved');
        expect(await proxies.loadProxies()).toMatchObject({
          control: FIRST,
          proxies: [{ version: 1, state: { proxyId } }],
          unreadable: [],
        });
        expect(await proxies.deleteProxy({ version: 1, state: proxy(proxyId) })).toBe('saved');
        expect(await ids()).toEqual([]);
      },
    );

    test('a proxy without an ID cannot be stored', async () => {
      const failure = { name: 'ReadFailure', system: 'state', code: 'malformed' };
      await expect(proxies.saveProxy({ version: 0, state: proxy('') })).rejects.toMatchObject(failure);
      expect(await ids()).toEqual([]);
    });
  });

  describe('versions', () => {
    test('a proxy is saved only over the version that was read', async () => {
      const save = (version: number, reason: string) =>
        proxies.saveProxy({ version, state: proxy('edge', { reason }) });
      expect(await save(1, 'a')).toBe('conflict');
      expect(await save(0, 'b')).toBe('saved');
      expect(await save(0, 'c')).toBe('conflict');
      expect(await save(2, 'd')).toBe('conflict');
      expect(await save(1, 'e')).toBe('saved');
      expect(await save(1, 'f')).toBe('conflict');
      expect((await proxies.loadProxies()).proxies).toMatchObject([{ version: 2, state: { reason: 'e' } }]);
    });

    test('the control item likewise', async () => {
      expect(await proxies.saveControl({ ...CONTROL, version: 1 })).toBe('conflict');
      expect(await proxies.saveControl(CONTROL)).toBe('saved');
      expect(await proxies.saveControl(CONTROL)).toBe('conflict');
      expect(await proxies.saveControl({ ...FIRST, version: 1 })).toBe('saved');
      expect((await proxies.loadProxies()).control).toEqual({ ...FIRST, version: 2 });
    });

    test('a proxy is deleted only as it was read; one that is gone is deleted', async () => {
      const gone = (version: number) => proxies.deleteProxy({ version, state: proxy('edge') });
      expect(await gone(1)).toBe('saved');
      await proxies.saveProxy({ version: 0, state: proxy('edge') });
      await proxies.saveProxy({ version: 1, state: proxy('edge') });
      expect(await gone(1)).toBe('conflict');
      expect(await gone(0)).toBe('conflict');
      expect(await ids()).toEqual(['edge']);
      expect(await gone(2)).toBe('saved');
      expect(await ids()).toEqual([]);
      expect(await gone(2)).toBe('saved');
      expect(await proxies.saveProxy({ version: 0, state: proxy('edge') })).toBe('saved');
    });

    test('of two writers at the same time one wins', async () => {
      await proxies.saveProxy({ version: 0, state: proxy('edge') });
      const both = ['a', 'b'].map((reason) => proxies.saveProxy({ version: 1, state: proxy('edge', { reason }) }));
      expect((await Promise.all(both)).sort()).toEqual(['conflict', 'saved']);
    });

    test('one proxy does not stand in the way of another', async () => {
      await proxies.saveProxy({ version: 0, state: proxy('a') });
      await proxies.saveProxy({ version: 0, state: proxy('b') });
      await proxies.saveProxy({ version: 1, state: proxy('a') });
      const { proxies: stored } = await proxies.loadProxies();
      expect(Object.fromEntries(stored.map(({ version, state }) => [state.proxyId, version]))).toEqual({ a: 2, b: 1 });
    });
  });

  describe('an item that is not understood', () => {
    test('is set aside with the ID of its proxy; the others load', async () => {
      await proxies.saveProxy({ version: 0, state: proxy('a') });
      await subject.plantUnreadable('größe/1');
      const { proxies: stored, unreadable, control } = await proxies.loadProxies();
      expect(stored.map(({ state }) => state.proxyId)).toEqual(['a']);
      const key = proxyKey('größe/1').sk;
      expect(unreadable).toEqual([{ key, problem: expect.stringMatching(/./), proxyId: 'größe/1' }]);
      expect(control).toEqual(FIRST);
    });

    test('is never written over, nor deleted', async () => {
      await subject.plantUnreadable('edge');
      for (const version of [0, 1, 2]) {
        expect(await proxies.saveProxy({ version, state: proxy('edge') })).toBe('conflict');
        expect(await proxies.deleteProxy({ version, state: proxy('edge') })).toBe('conflict');
      }
      expect((await proxies.loadProxies()).unreadable).toHaveLength(1);
    });

    test('that is the control item: nothing is reconciled, and it is never written over', async () => {
      await proxies.saveProxy({ version: 0, state: proxy('a') });
      await subject.plantUnreadableControl();
      const { control, unreadable, proxies: stored } = await proxies.loadProxies();
      expect(control).toEqual(STOPPED);
      expect(unreadable).toEqual([{ key: 'control', problem: expect.stringMatching(/./) }]);
      expect(stored).toHaveLength(1);
      for (const version of [0, 1, 2]) expect(await proxies.saveControl({ ...FIRST, version })).toBe('conflict');
      expect((await proxies.loadProxies()).control).toEqual(STOPPED);
    });
  });
});

describe('proxies in the table', () => {
  const implementation = dynamodb();
  let subject: TableSubject;
  beforeAll(() => implementation.start());
  afterAll(() => implementation.stop());
  beforeEach(async () => {
    subject = await implementation.fresh();
  });

  test('are not in the state of the watcher, nor is its state in theirs', async () => {
    const { proxies, state, plantUnreadable } = subject;
    await proxies.saveProxy({ version: 0, state: EVERYTHING });
    await proxies.saveControl(CONTROL);
    await plantUnreadable('newer');
    expect(await state.load()).toEqual({ checks: [], services: [], unreadable: [] });
    await state.saveCheck(watchedCheck());
    await state.saveService(service());
    await state.acquireLease('reconcile', 'me', NOW_MS, NOW_MS + 1000);
    await state.appendHistory({ atMs: NOW_MS, kind: 'proxy-started', detail: { proxyId: 'edge' } });
    const { proxies: stored, unreadable } = await proxies.loadProxies();
    expect(stored).toEqual([{ version: 1, state: EVERYTHING }]);
    expect(unreadable.map(({ proxyId }) => proxyId)).toEqual(['newer']);
  });

  test('1,000 of them load in a few requests', async () => {
    const { proxies, sent } = subject;
    // About 2 KB each: a page of DynamoDB's has 1 MB.
    const spec = { ...EVERYTHING.spec, environment: { A: 'x'.repeat(1000) } };
    const stateOf = (number: number): ProxyState => ({ ...EVERYTHING, spec, proxyId: `proxy-${number}` });
    const all = Array.from({ length: 1000 }, (_, number) => stateOf(number));
    for (let start = 0; start < all.length; start += 50) {
      await Promise.all(all.slice(start, start + 50).map((state) => proxies.saveProxy({ version: 0, state })));
    }
    sent.length = 0;
    const { proxies: stored } = await proxies.loadProxies();
    expect(new Set(stored.map(({ state }) => state.proxyId)).size).toBe(1000);
    expect(new Set(sent)).toEqual(new Set(['QueryCommand']));
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  test('that a newer deployment stored keep what is not known here', async () => {
    const { proxies, plant } = subject;
    const data = { ...proxy('edge'), zone: 'b', task: { ...EVERYTHING.task, port: 8443 } };
    await plant({ ...proxyKey('edge'), schema: 1, version: 5, data });
    const [stored] = (await proxies.loadProxies()).proxies;
    expect(stored).toEqual({ version: 5, state: data });
    await proxies.saveProxy({ version: 5, state: { ...(stored?.state ?? proxy('edge')), phase: 'running' } });
    expect((await proxies.loadProxies()).proxies).toEqual([{ version: 6, state: { ...data, phase: 'running' } }]);
  });

  test.each([
    ['of a newer schema of the proxy itself', { ...proxy('edge'), schema: 2 }],
    ['of a phase that is not known', { ...proxy('edge'), phase: 'dancing' }],
    ['without a generation', { ...proxy('edge'), generation: undefined }],
    ['with a negative count', { ...proxy('edge'), counted: -1 }],
    ['with a task of another shape', { ...proxy('edge'), task: { taskArn: 'x' } }],
    ['with the ID of another proxy', proxy('other')],
    ['with nothing in it', {}],
    ['that is a text', 'edge'],
  ])('an item %s is set aside, with the proxy that its key names', async (_, data) => {
    const { proxies, plant } = subject;
    await plant({ ...proxyKey('edge'), schema: 1, version: 1, data });
    const { proxies: stored, unreadable } = await proxies.loadProxies();
    expect(stored).toEqual([]);
    expect(unreadable).toEqual([{ key: 'proxy#edge', problem: expect.stringMatching(/./), proxyId: 'edge' }]);
  });

  test.each([
    ['whose ID is too long for a key', proxyKey('x'.repeat(2000)), proxy('x'.repeat(2000)), 'x'.repeat(2000)],
    ['whose ID is too long for a key, and is not told', proxyKey('x'.repeat(2000)), {}, undefined],
    ['of which the content tells another', proxyKey('x'.repeat(2000)), proxy('edge'), undefined],
    ['that is no proxy', { pk: 'proxies', sk: 'gateway#edge' }, proxy('edge'), undefined],
    ['without an ID', { pk: 'proxies', sk: 'proxy#' }, {}, undefined],
  ])('an unreadable item %s', async (_, key, data, proxyId) => {
    const { proxies, plant } = subject;
    await plant({ ...key, schema: 2, version: 1, data });
    const { unreadable } = await proxies.loadProxies();
    expect(unreadable.map((one) => one.proxyId)).toEqual([proxyId]);
  });

  test.each([
    ['without a run state', { memory: { stops: [] } }],
    ['of a phase that is not known', { ...CONTROL, runState: { phase: 'paused', kill: false } }],
    ['without the stops of the last minute', { ...CONTROL, memory: {} }],
    ['with nothing in it', {}],
  ])('a control item %s stops everything', async (_, data) => {
    const { proxies, plant } = subject;
    await plant({ pk: 'proxies', sk: 'control', schema: 1, version: 3, data });
    const { control, unreadable } = await proxies.loadProxies();
    expect(control).toEqual(STOPPED);
    expect(unreadable.map(({ key }) => key)).toEqual(['control']);
    expect(await proxies.saveControl(FIRST)).toBe('conflict');
  });

  test('that cannot be read are a failure', async () => {
    const { proxies } = subject;
    await implementation.stop();
    await expect(proxies.loadProxies()).rejects.toMatchObject({ name: 'ReadFailure', system: 'state' });
    await implementation.start();
  });
});
