/** Blocking queries: what wakes them, what does not, what comes back. A fresh Consul a test: its sets begin empty. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type BareClient, bareClient, filtered } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

const CRITICAL = 'health/state/critical';
/** Long enough that nobody takes its end for a wake-up on a busy machine. */
const LONG_WAIT_MS = 8000;
const SHORT_WAIT_MS = 300;

describe.each(await consulServers())('blocking queries of $name', ({ start }) => {
  let consul: RunningConsul;
  let client: BareClient;

  beforeEach(async () => {
    consul = await start();
    client = bareClient(consul.url);
    await client.register({ Node: 'm1', Service: { ID: 'sa1', Service: 'sa' } });
    await client.register({ Node: 'm1', Service: { ID: 'sb1', Service: 'sb' } });
    await a('passing');
    await b('passing');
  });
  afterEach(() => consul.close());

  const a = (status: string, output = '') => client.check('m1', 'a', status, { ServiceID: 'sa1', Output: output });
  const b = (status: string, output = '') => client.check('m1', 'b', status, { ServiceID: 'sb1', Output: output });

  async function blocked(path: string, waitMs: number, write: () => Promise<unknown>): Promise<[Answer, Answer]> {
    const before = await client.get(path);
    const join = path.includes('?') ? '&' : '?';
    const after = client.get(`${path}${join}index=${before.index}&wait=${waitMs}ms`);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await write();
    return [before, await after];
  }

  async function expectWakes(path: string, write: () => Promise<unknown>): Promise<Answer> {
    const [before, after] = await blocked(path, LONG_WAIT_MS, write);
    expect(after.tookMs, 'woken').toBeLessThan(LONG_WAIT_MS / 2);
    expect(after.index).toBeGreaterThan(before.index);
    return after;
  }

  async function expectSleeps(path: string, write: () => Promise<unknown>): Promise<void> {
    const [before, after] = await blocked(path, SHORT_WAIT_MS, write);
    expect(after.tookMs, 'asleep until the end of its wait').toBeGreaterThanOrEqual(SHORT_WAIT_MS - 5);
    expect(after.index).toBe(before.index);
    expect(after.text).toBe(before.text);
  }

  it('wakes for the first check of its set, and carries it', async () => {
    const answer = await expectWakes(CRITICAL, () => a('critical'));
    expect(JSON.parse(answer.text)).toMatchObject([{ CheckID: 'a', Status: 'critical' }]);
  });

  it('wakes within 50 ms, as a rule', async () => {
    const lags: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      let writtenAtMs = 0;
      const write = () => {
        writtenAtMs = performance.now();
        return a(round % 2 === 0 ? 'critical' : 'passing');
      };
      const { index } = await client.get(CRITICAL);
      const answered = client.get(`${CRITICAL}?index=${index}&wait=10s`).then(() => performance.now());
      await new Promise((resolve) => setTimeout(resolve, 15));
      await write();
      lags.push((await answered) - writtenAtMs);
    }
    const sorted = lags.sort((left, right) => left - right);
    expect(sorted[10]).toBeLessThan(50);
  });

  describe.each([CRITICAL, 'health/state/warning'])('%s, empty', (path) => {
    it('wakes for another output of a check elsewhere', () => expectWakes(path, () => b('passing', 'other')));

    it('wakes for an identical write of a check elsewhere', () => expectWakes(path, () => b('passing')));

    it('wakes for a new check, and for its end', async () => {
      await expectWakes(path, () => client.check('m2', 'new', 'passing'));
      await expectWakes(path, () => client.put('catalog/deregister', { Node: 'm2', CheckID: 'new' }));
    });

    it('sleeps while nodes, services, keys and no checks are written', () =>
      expectSleeps(path, async () => {
        await client.register({ Node: 'm1', Address: '10.0.0.9' });
        await client.register({ Node: 'm1', SkipNodeUpdate: true, Service: { ID: 'sc1', Service: 'sc' } });
        await client.put('kv/some', 'thing');
        await client.put('catalog/deregister', { Node: 'm1', CheckID: 'unknown' });
        await client.put('catalog/deregister', { Node: 'm1', ServiceID: 'sc1' });
      }));
  });

  describe.each([
    ['critical', 'warning'],
    ['warning', 'critical'],
  ])('health/state/%s, not empty', (own, other) => {
    const path = `health/state/${own}`;
    beforeEach(() => a(own, 'first'));

    it('sleeps through everything that happens to checks elsewhere', () =>
      expectSleeps(path, async () => {
        await b('passing', 'changed');
        await b(other);
        await b('passing');
        await client.check('m2', 'new', 'passing');
        await client.put('catalog/deregister', { Node: 'm2' });
        await client.register({ Node: 'm1', Service: { ID: 'sa1', Service: 'sa', Meta: { changed: 'yes' } } });
      }));

    it('wakes for another output of a check of its set', () => expectWakes(path, () => a(own, 'second')));

    it('wakes for an identical write of a check of its set, which keeps its ModifyIndex', async () => {
      const [before] = await client.list(path);
      await expectWakes(path, () => a(own, 'first'));
      expect(await client.list(path)).toEqual([before]);
    });

    it('wakes when a check joins, leaves, and when the last one leaves', async () => {
      await expectWakes(path, () => b(own));
      await expectWakes(path, () => b('passing'));
      const answer = await expectWakes(path, () => a('passing'));
      expect(JSON.parse(answer.text)).toEqual([]);
    });

    it('wakes when the service of a check goes', async () => {
      const answer = await expectWakes(path, () => client.put('catalog/deregister', { Node: 'm1', ServiceID: 'sa1' }));
      expect(JSON.parse(answer.text)).toEqual([]);
    });

    it('wakes for its set, whatever its filter leaves of it', async () => {
      const nothing = filtered(path, 'CheckID == "nobody"');
      await expectSleeps(nothing, () => b('passing', 'changed'));
      const answer = await expectWakes(nothing, () => a(own, 'third'));
      expect(JSON.parse(answer.text)).toEqual([]);
    });
  });

  it('returns at once when the index of the checks has moved on, though its own set is the same', async () => {
    await a('critical');
    const before = await client.get(CRITICAL);
    await b('passing', 'changed');
    const after = await client.get(`${CRITICAL}?index=${before.index}&wait=${LONG_WAIT_MS}ms`);
    expect(after.tookMs).toBeLessThan(LONG_WAIT_MS / 2);
    expect(after.index).toBeGreaterThan(before.index);
    expect(after.text).toBe(before.text);
  });

  it('gives the old index at the end of its wait, though checks elsewhere were written, so the next query returns at once', async () => {
    await a('critical');
    const [before, after] = await blocked(CRITICAL, SHORT_WAIT_MS, () => b('passing', 'changed'));
    expect(after.index).toBe(before.index);
    const next = await client.get(`${CRITICAL}?index=${after.index}&wait=${LONG_WAIT_MS}ms`);
    expect(next.tookMs).toBeLessThan(LONG_WAIT_MS / 2);
    expect(next.text).toBe(before.text);
  });

  it('answers at once without an index, and with index 0', async () => {
    for (const query of ['', '?index=0', '?wait=10s', '?index=0&wait=10s']) {
      expect((await client.get(`${CRITICAL}${query}`)).tookMs).toBeLessThan(5000);
    }
  });

  it('waits for an index that is still to come, and answers the lower one', async () => {
    const { index } = await client.get(CRITICAL);
    const answer = await client.get(`${CRITICAL}?index=${index + 1000}&wait=${SHORT_WAIT_MS}ms`);
    expect(answer.tookMs).toBeGreaterThanOrEqual(SHORT_WAIT_MS - 5);
    expect(answer.index).toBe(index);
  });

  it('ends at its wait, or up to a sixteenth later', async () => {
    await a('critical');
    const { index } = await client.get(CRITICAL);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => client.get(`${CRITICAL}?index=${index}&wait=1600ms`)));
    for (const { tookMs } of answers) {
      expect(tookMs).toBeGreaterThanOrEqual(1595);
      expect(tookMs).toBeLessThan(1700 + 400);
    }
  });

  it('wakes many who wait for the same', async () => {
    const { index } = await client.get(CRITICAL);
    const waiting = Array.from({ length: 20 }, () => client.get(`${CRITICAL}?index=${index}&wait=10s`));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await a('critical');
    for (const { text } of await Promise.all(waiting)) expect(JSON.parse(text)).toHaveLength(1);
  });

  const ofA = (meta: string) => ({ Node: 'm1', Service: { ID: 'sa1', Service: 'sa', Meta: { meta } } });
  const ofB = (meta: string) => ({ Node: 'm1', Service: { ID: 'sb1', Service: 'sb', Meta: { meta } } });

  it('wakes the instances of a service for them and their node, not for checks and others', async () => {
    const path = 'catalog/service/sa';
    await expectSleeps(path, async () => {
      await a('critical');
      await client.register(ofB('changed'));
    });
    await expectWakes(path, () => client.register(ofA('changed')));
    await expectWakes(path, () => client.register({ Node: 'm1', Address: '10.8.8.8' }));
  });

  it('wakes the health of a service for its checks and those of its node too', async () => {
    const path = 'health/service/sa';
    await expectSleeps(path, () => b('critical'));
    await expectWakes(path, () => a('critical'));
    await expectWakes(path, () => client.check('m1', 'disk', 'warning'));
    await expectWakes(path, () => client.register(ofA('changed')));
  });

  it('wakes the checks of a service for its own; while it has none, for those of any service', async () => {
    await expectSleeps('health/checks/sa', () => b('critical'));
    await expectWakes('health/checks/sa', () => a('critical'));
    await expectSleeps('health/checks/none', () => client.check('m1', 'disk', 'warning'));
    await expectWakes('health/checks/none', () => b('passing'));
  });

  it('wakes the instances of a service that is not there for any service, until one has gone for good', async () => {
    await expectWakes('catalog/service/new', () => client.register(ofB('1')));
    await expectWakes('catalog/service/new', () => client.register({ Node: 'm1', Service: { Service: 'new' } }));
    await expectWakes('catalog/service/new', () => client.put('catalog/deregister', { Node: 'm1', ServiceID: 'new' }));
    await expectSleeps('catalog/service/new', () => client.register(ofB('2')));
  });

  it('wakes the list of services for a changed instance, not for checks or an identical registration', async () => {
    const service = { ID: 'sa1', Service: 'sa', Tags: ['new'] };
    await expectWakes('catalog/services', () => client.register({ Node: 'm1', Service: service }));
    await expectSleeps('catalog/services', async () => {
      await a('critical');
      await client.register({ Node: 'm1', Service: service });
    });
  });

  it('wakes the list of nodes for a changed node, not for checks', async () => {
    await expectSleeps('catalog/nodes', () => a('critical'));
    await expectWakes('catalog/nodes', () => client.register({ Node: 'm1', Address: '10.9.9.9' }));
  });

  it('wakes a key for a new value, not for the same value or another key', async () => {
    await client.put('kv/x', '1');
    await expectSleeps('kv/x', async () => {
      await client.put('kv/x', '1');
      await client.put('kv/y', '1');
    });
    await expectWakes('kv/x', () => client.put('kv/x', '2'));
    const answer = await expectWakes('kv/x', () => client.delete('kv/x'));
    expect(answer.status).toBe(404);
  });
});
