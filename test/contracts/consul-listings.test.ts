import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BareClient, bareClient } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

const NUMBER = expect.any(Number);

describe.each(await consulServers())('listings of $name', ({ start, exact }) => {
  let consul: RunningConsul;
  let client: BareClient;

  beforeAll(async () => {
    consul = await start();
    client = bareClient(consul.url);
    await client.register({
      Node: 'n1',
      Address: '10.0.0.1',
      NodeMeta: { zone: 'a' },
      Service: {
        ID: 'web-1',
        Service: 'web',
        Tags: ['v1'],
        Address: '10.0.1.1',
        Port: 80,
        Meta: { 'task-arn': 'arn:t1' },
      },
      Checks: [
        {
          CheckID: 'web-1-http',
          Name: 'HTTP',
          Status: 'critical',
          ServiceID: 'web-1',
          Type: 'http',
          Output: 'refused',
        },
        { CheckID: 'web-1-ok', Name: 'OK', Status: 'passing', ServiceID: 'web-1', Notes: 'fine' },
        { CheckID: 'disk', Name: 'Disk', Status: 'warning' },
      ],
    });
    await client.register({
      Node: 'n1',
      // Else the node's Meta would be taken away.
      SkipNodeUpdate: true,
      Service: {
        ID: 'web-1-sidecar',
        Service: 'web-sidecar',
        Kind: 'connect-proxy',
        Port: 21000,
        Proxy: { DestinationServiceName: 'web', DestinationServiceID: 'web-1' },
      },
    });
  });
  afterAll(() => consul.close());

  it('lists a critical service check in full', async () => {
    const [check, ...others] = await client.list('health/state/critical');
    expect(others).toEqual([]);
    const shape = {
      Node: 'n1',
      CheckID: 'web-1-http',
      Name: 'HTTP',
      Status: 'critical',
      Notes: '',
      Output: 'refused',
      ServiceID: 'web-1',
      ServiceName: 'web',
      ServiceTags: ['v1'],
      Type: 'http',
      Definition: {},
      CreateIndex: NUMBER,
      ModifyIndex: NUMBER,
    };
    if (exact) expect(check).toEqual(shape);
    else expect(check).toMatchObject(shape);
  });

  it('says nothing of a service in the check of a node', async () => {
    const [check] = await client.list('health/state/warning');
    expect(check).toMatchObject({ CheckID: 'disk', ServiceID: '', ServiceName: '', ServiceTags: [], Type: '' });
  });

  it('has its own node, with serfHealth passing', async () => {
    const checks = await client.list('health/node/local');
    expect(checks).toMatchObject([{ CheckID: 'serfHealth', Status: 'passing', ServiceID: '' }]);
  });

  it('lists by node and check ID, in this order', async () => {
    const checks = await client.list('health/state/any');
    expect(checks.map(({ CheckID }) => CheckID)).toEqual(['serfHealth', 'disk', 'web-1-http', 'web-1-ok']);
  });

  it('gives empty lists for a state, a service, a node that nothing has', async () => {
    for (const path of ['health/state/nonsense', 'health/checks/none', 'health/node/none', 'health/service/none']) {
      expect(await client.list(path), path).toEqual([]);
    }
    expect(await client.list('catalog/service/none')).toEqual([]);
  });

  it('says who leads, and how fresh a read is', async () => {
    const { headers, index } = await client.get('health/state/critical');
    expect(headers.get('x-consul-knownleader')).toBe('true');
    expect(headers.get('x-consul-lastcontact')).toBe('0');
    expect(headers.get('content-type')).toBe('application/json');
    expect(index).toBeGreaterThan(0);
    expect((await client.get('status/leader')).text.trim()).toMatch(/^"127\.0\.0\.1:\d+"$/);
  });

  it('compresses for those who accept it', async () => {
    const { headers } = await client.get('health/state/any');
    expect(headers.get('content-encoding')).toBe('gzip');
  });

  it('lists an instance with its node', async () => {
    const [instance] = await client.list('catalog/service/web');
    const shape = {
      ID: '',
      Node: 'n1',
      Address: '10.0.0.1',
      Datacenter: 'dc1',
      TaggedAddresses: null,
      NodeMeta: { zone: 'a' },
      ServiceKind: '',
      ServiceID: 'web-1',
      ServiceName: 'web',
      ServiceTags: ['v1'],
      ServiceAddress: '10.0.1.1',
      ServiceWeights: { Passing: 1, Warning: 1 },
      ServiceMeta: { 'task-arn': 'arn:t1' },
      ServicePort: 80,
      ServiceEnableTagOverride: false,
      ServiceProxy: { MeshGateway: {}, Expose: {} },
      ServiceConnect: {},
      CreateIndex: NUMBER,
      ModifyIndex: NUMBER,
    };
    if (exact) expect(instance).toEqual(shape);
    else expect(instance).toMatchObject(shape);
  });

  it('names the destination of a sidecar', async () => {
    const [sidecar] = await client.list('catalog/service/web-sidecar');
    expect(sidecar).toMatchObject({
      ServiceKind: 'connect-proxy',
      ServiceAddress: '',
      ServiceMeta: {},
      ServiceProxy: { DestinationServiceName: 'web', DestinationServiceID: 'web-1' },
    });
  });

  it('refuses a sidecar without a destination or a port', async () => {
    const service = { ID: 's', Service: 's', Kind: 'connect-proxy' };
    const none = await client.put('catalog/register', { Node: 'n1', Address: 'x', Service: { ...service, Port: 1 } });
    expect(none).toMatchObject({ status: 500, text: expect.stringContaining('DestinationServiceName must be') });
    const proxy = { Proxy: { DestinationServiceName: 'web' } };
    const portless = await client.put('catalog/register', {
      Node: 'n1',
      Address: 'x',
      Service: { ...service, ...proxy },
    });
    expect(portless).toMatchObject({ status: 500, text: expect.stringContaining('Port must be set') });
  });

  it('shows node, service and both kinds of checks in health/service', async () => {
    const [entry] = await client.list('health/service/web');
    expect(entry).toMatchObject({
      Node: { Node: 'n1', Address: '10.0.0.1', Meta: { zone: 'a' } },
      Service: { ID: 'web-1', Service: 'web', Address: '10.0.1.1', Meta: { 'task-arn': 'arn:t1' } },
      Checks: [{ CheckID: 'disk' }, { CheckID: 'web-1-http' }, { CheckID: 'web-1-ok' }],
    });
  });

  it('names all services with their tags', async () => {
    const { text } = await client.get('catalog/services');
    expect(JSON.parse(text)).toEqual({ consul: [], web: ['v1'], 'web-sidecar': [] });
  });

  it('C11: has no services, and no node, where there is no such node', async () => {
    const { status, text, index } = await client.get('catalog/node-services/none');
    const nothing = exact ? null : expect.toSatisfy((value) => value === null || Array.isArray(value));
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ Node: null, Services: nothing });
    expect(index).toBe(1);
  });

  it('C11: says null for the Meta of an instance that was registered without', async () => {
    const { text } = await client.get('catalog/node-services/n1');
    const shape = { Services: [{ ID: 'web-1' }, { ID: 'web-1-sidecar', Kind: 'connect-proxy', Meta: null }] };
    expect(JSON.parse(text)).toMatchObject(shape);
  });

  it('refuses what it does not know, with the status that the fault deserves', async () => {
    expect(await client.get('nonsense')).toMatchObject({ status: 404, text: '' });
    expect(await client.get('health/nonsense')).toMatchObject({ status: 404 });
    expect(await client.put('health/state/critical')).toMatchObject({ status: 405 });
    expect(await client.get('health/state/')).toMatchObject({ status: 400, text: 'Missing check state' });
    expect(await client.get('catalog/service/')).toMatchObject({ status: 400, text: 'Missing service name' });
    expect(await client.get('health/state/any?index=x')).toMatchObject({ status: 400, text: 'Invalid index' });
    expect(await client.get('health/state/any?index=1&wait=5')).toMatchObject({
      status: 400,
      text: 'Invalid wait time',
    });
    expect(await client.get('health/state/any?stale&consistent')).toMatchObject({ status: 400 });
    expect(await client.get('health/state/any?ns=x')).toMatchObject({ status: 400 });
    expect(await client.get('health/state/any?dc=elsewhere')).toMatchObject({
      status: 500,
      text: 'No path to datacenter',
    });
  });

  it('refuses registrations that are broken or incomplete, and changes nothing', async () => {
    const before = await client.get('health/state/any');
    const put = (body: unknown) => client.put('catalog/register', body);
    expect(await put('{broken')).toMatchObject({ status: 400 });
    expect(await put('[]')).toMatchObject({ status: 400 });
    expect(await put({ Node: 'n1', Address: 'x', Nonsense: 1 })).toMatchObject({
      status: 400,
      text: 'Request decode failed: json: unknown field "Nonsense"',
    });
    expect(await put({ Node: 5, Address: 'x' })).toMatchObject({ status: 400 });
    expect(await put({})).toMatchObject({ status: 500, text: 'Must provide node' });
    expect(await put({ Node: 'n1' })).toMatchObject({ status: 500 });
    expect(await put({ Node: 'n1', Address: 'x', Service: { ID: 'y' } })).toMatchObject({ status: 500 });
    const orphan = { CheckID: 'orphan', Status: 'critical', ServiceID: 'nobody' };
    expect(await put({ Node: 'n1', Address: '10.0.0.1', Check: orphan })).toMatchObject({ status: 500 });
    expect(await client.put('catalog/deregister', {})).toMatchObject({ status: 500, text: 'Must provide node' });
    expect((await client.get('health/state/any')).text).toBe(before.text);
  });

  it('takes IDs for the same whatever their case', async () => {
    await client.check('Case', 'CK', 'passing');
    await client.check('case', 'ck', 'warning');
    expect(await client.list('health/node/CASE')).toMatchObject([{ Node: 'case', CheckID: 'ck', Status: 'warning' }]);
    await client.put('catalog/deregister', { Node: 'CASE' });
    expect(await client.list('health/node/case')).toEqual([]);
  });
});

describe.each(await consulServers())('names in paths of $name', ({ start }) => {
  let consul: RunningConsul;
  let client: BareClient;

  beforeAll(async () => {
    consul = await start();
    client = bareClient(consul.url);
  });
  afterAll(() => consul.close());

  it.each(['team/orders', 'two words', '50%off', 'a%2Fb', 'größe+neu', '注文?x=1#y'])(
    'C08: reads a service, a node, a check named %j, encoded once',
    async (name) => {
      const node = `n ${name}`;
      const segment = encodeURIComponent(name);
      await client.register({
        Node: node,
        Service: { ID: name, Service: name },
        Check: { CheckID: name, Status: 'critical', ServiceID: name },
      });
      expect(await client.list(`catalog/service/${segment}`)).toMatchObject([{ ServiceName: name }]);
      expect(await client.list(`health/service/${segment}`)).toMatchObject([{ Service: { Service: name } }]);
      expect(await client.list(`health/checks/${segment}`)).toMatchObject([{ CheckID: name, Node: node }]);
      expect(await client.list(`health/node/${encodeURIComponent(node)}`)).toMatchObject([{ Node: node }]);
      const { text } = await client.get(`catalog/node-services/${encodeURIComponent(node)}`);
      expect(JSON.parse(text)).toMatchObject({ Node: { Node: node }, Services: [{ Service: name }] });
    },
  );
});
