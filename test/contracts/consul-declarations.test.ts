/**
 * Declarations of proxies as the adapter reads them, from the double and from a real Consul. With ACLs Consul 1.8 leaves
 * out what a token may not read without a word: what that does to each of the four reads is shown here, and that none of
 * it passes for "nothing is declared".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createConsulClient } from '../../lib/consul/client.ts';
import { createDeclarationPort } from '../../lib/consul/declarations.ts';
import type { DeclarationSources } from '../../lib/proxies/declaration.ts';
import { bareClient } from './consul-client.ts';
import { consulServers, type Readable, type RunningConsul } from './consul-servers.ts';

const EVERYTHING: Readable = { services: [''], nodes: [''], keys: [''] };
const KEYS = 'ecs-check-restart/';

async function declare(consul: RunningConsul, token?: string): Promise<void> {
  const client = bareClient(consul.url, token);
  const service = (id: string, name: string, Tags: readonly string[]) => ({
    ID: id,
    Service: name,
    Tags,
    Meta: { 'proxy-task-definition': 'envoy:3' },
  });
  await client.register({ Node: 'n1', Service: service('web-1', 'web', ['v1', 'managed-proxy']) });
  await client.register({ Node: 'n2', Service: service('web-2', 'web', ['v1']) });
  await client.register({ Node: 'n2', Service: service('a/b-1', 'team/a b', ['managed-proxy']) });
  await client.register({ Node: 'n2', Service: service('api-1', 'api', []) });
  await client.put(`kv/${KEYS}proxies/edge`, '{"service":"edge","größe":1}');
  await client.put(`kv/${KEYS}proxies/n%C3%BC`, 'no JSON');
  await client.put(`kv/${KEYS}proxies/`, '');
  await client.put(`kv/${KEYS}proxies/team/x`, '{}');
  await client.put(`kv/${KEYS}proxies-other`, '{}');
  await client.put(`kv/${KEYS}proxy-defaults`, '{"cluster":"prod"}');
}

const DECLARED: DeclarationSources = {
  instances: [
    {
      node: 'n2',
      serviceId: 'a/b-1',
      serviceName: 'team/a b',
      tags: ['managed-proxy'],
      meta: { 'proxy-task-definition': 'envoy:3' },
    },
    {
      node: 'n1',
      serviceId: 'web-1',
      serviceName: 'web',
      tags: ['v1', 'managed-proxy'],
      meta: { 'proxy-task-definition': 'envoy:3' },
    },
  ],
  documents: [
    { id: 'edge', source: { value: { service: 'edge', größe: 1 } } },
    { id: 'nü', source: { malformed: 'a value that is not JSON' } },
    { id: 'team/x', source: { malformed: expect.stringMatching(/slash/) } },
  ],
  defaults: { value: { cluster: 'prod' } },
};

async function read(consul: RunningConsul, token?: string): Promise<DeclarationSources> {
  const current = async () => token;
  const client = createConsulClient({
    addresses: [consul.url],
    token: { current, refetch: current },
    clock: systemClock,
  });
  try {
    const sources = await createDeclarationPort({ client, clock: systemClock }).readDeclarations();
    const instances = [...sources.instances].sort((one, other) => (one.serviceId < other.serviceId ? -1 : 1));
    return { ...sources, instances };
  } finally {
    await client.close();
  }
}

describe.each(await consulServers())('declarations from $name', ({ start }) => {
  it('are none in an empty Consul, and all of them later, and fewer when some are gone', async () => {
    const consul = await start();
    try {
      expect(await read(consul)).toEqual({ instances: [], documents: [] });
      await declare(consul);
      expect(await read(consul)).toEqual(DECLARED);
      const client = bareClient(consul.url);
      await client.put('catalog/deregister', { Node: 'n1', ServiceID: 'web-1' });
      await client.delete(`kv/${KEYS}proxies?recurse`);
      await client.delete(`kv/${KEYS}proxy-defaults`);
      expect(await read(consul)).toEqual({ instances: DECLARED.instances.slice(0, 1), documents: [] });
    } finally {
      await consul.close();
    }
  });

  describe('with ACLs', () => {
    let consul: RunningConsul;
    const readAs = async (rights: Partial<Readable>) =>
      read(consul, await consul.createToken?.({ ...EVERYTHING, ...rights }));

    beforeAll(async () => {
      consul = await start({ acl: true });
      await declare(consul, consul.tokens?.management);
    });
    afterAll(() => consul.close());

    it('are complete for the management token', async () => {
      expect(await read(consul, consul.tokens?.management)).toEqual(DECLARED);
    });

    it('are complete for a token that reads services, nodes and our keys, and no others', async () => {
      expect(await readAs({ keys: [KEYS] })).toEqual(DECLARED);
      expect(await readAs({ keys: [`${KEYS}proxies/`, `${KEYS}proxy-defaults`] })).toEqual(DECLARED);
    });

    it.each<[string, Partial<Readable>, string]>([
      ['keys', { keys: [] }, 'forbidden'],
      ['the defaults', { keys: [`${KEYS}proxies/`] }, 'forbidden'],
      ['the folder of the documents', { keys: [`${KEYS}proxy-defaults`] }, 'forbidden'],
      ['some of the documents', { keys: [`${KEYS}proxy-defaults`, `${KEYS}proxies/e`] }, 'forbidden'],
      ['services', { services: [] }, 'filtered'],
      ['nodes', { nodes: [] }, 'incomplete'],
      ['the only node of one of the services', { nodes: ['n2'] }, 'incomplete'],
    ])('are doubtful for a token that may not read %s', async (_, rights, code) => {
      await expect(readAs(rights)).rejects.toMatchObject({ name: 'ReadFailure', system: 'consul', code });
    });

    it('are doubtful for a weak token, for none, and for one that is not known', async () => {
      // Of several reads that fail the first is told.
      const failures = { name: 'ReadFailure', code: expect.stringMatching(/^(?:forbidden|filtered)$/) };
      await expect(read(consul, consul.tokens?.weak)).rejects.toMatchObject(failures);
      await expect(read(consul)).rejects.toMatchObject(failures);
      await expect(read(consul, '22222222-2222-2222-2222-222222222222')).rejects.toMatchObject(failures);
    });

    it('a token that reads some services sees those alone: 1.8 gives no sign of it', async () => {
      const { instances } = await readAs({ services: ['web'] });
      expect(instances.map(({ serviceId }) => serviceId)).toEqual(['web-1']);
    });
  });
});
