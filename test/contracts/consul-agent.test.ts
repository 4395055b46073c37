/** Registration with the agent, TTL checks, maintenance, and what of it reaches the catalog. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BareClient, bareClient, filtered } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

describe.each(await consulServers())('the agent of $name', ({ start, exact }) => {
  let consul: RunningConsul;
  let client: BareClient;

  beforeAll(async () => {
    consul = await start();
    client = bareClient(consul.url);
  });
  afterAll(() => consul.close());
  afterEach(async () => {
    await put('agent/maintenance?enable=false');
    const services: unknown = JSON.parse((await client.get('agent/services')).text);
    const ids = Object.keys(services ?? {});
    await Promise.all(ids.map((id) => put(`agent/service/deregister/${encodeURIComponent(id)}`)));
    await expect.poll(() => client.list('health/node/local')).toMatchObject([{ CheckID: 'serfHealth' }]);
  });

  async function put(path: string, body?: unknown): Promise<void> {
    expect(await client.put(path, body), path).toMatchObject({ status: 200 });
  }

  /** The agent syncs in the background: waits until the catalog says it. */
  async function checkOf(service: string, id: string, wanted: Record<string, unknown> = {}) {
    return expect
      .poll(() => client.list(filtered(`health/checks/${service}`, `CheckID == "${id}"`)), { timeout: 5000 })
      .toMatchObject([wanted]);
  }
  const register = (body: Record<string, unknown>) => put('agent/service/register', { Name: 'web', ...body });

  it('registers a service with checks: names, IDs, types, all critical at first', async () => {
    await register({
      ID: 'web-1',
      Tags: ['v1'],
      Address: '10.0.0.5',
      Port: 80,
      Meta: { 'task-arn': 'arn:t1' },
      Checks: [
        { CheckID: 'own-id', Name: 'Own', TTL: '60s', Notes: 'noted' },
        { TTL: '60s' },
        { HTTP: 'http://127.0.0.1:9/', Interval: '10m', Timeout: '1s' },
        { TCP: '127.0.0.1:9', Interval: '10m', Status: 'warning' },
      ],
    });
    await checkOf('web', 'own-id');
    const checks = await client.list('health/checks/web');
    expect(checks).toMatchObject([
      {
        CheckID: 'own-id',
        Name: 'Own',
        Type: 'ttl',
        Status: 'critical',
        Output: '',
        Notes: 'noted',
        ServiceTags: ['v1'],
      },
      { CheckID: 'service:web-1:2', Name: "Service 'web' check", Type: 'ttl', Status: 'critical' },
      { CheckID: 'service:web-1:3', Type: 'http', Status: 'critical', Output: '' },
      { CheckID: 'service:web-1:4', Type: 'tcp', Status: 'warning' },
    ]);
    expect(await client.list('catalog/service/web')).toMatchObject([
      { Node: 'local', ServiceID: 'web-1', ServiceAddress: '10.0.0.5', ServiceMeta: { 'task-arn': 'arn:t1' } },
    ]);
    expect(new Set(checks.map(({ CreateIndex }) => CreateIndex)).size, 'one transaction').toBe(1);
  });

  it('takes the service ID from the name, and the ID of its only check from both', async () => {
    await register({ Check: { TTL: '60s', Status: 'passing' } });
    await checkOf('web', 'service:web', { ServiceID: 'web', Status: 'passing' });
  });

  it('changes status and output by pass, warn, fail and update, at once, with CreateIndex kept', async () => {
    await register({ Check: { TTL: '60s' } });
    await checkOf('web', 'service:web');
    const [first] = await client.list('health/checks/web');
    await put('agent/check/pass/service:web?note=all%20well');
    await checkOf('web', 'service:web', { Status: 'passing', Output: 'all well' });
    await put('agent/check/warn/service:web?note=slow');
    await checkOf('web', 'service:web', { Status: 'warning', Output: 'slow' });
    await put('agent/check/fail/service:web');
    await checkOf('web', 'service:web', { Status: 'critical', Output: '' });
    await put('agent/check/update/service:web', { Status: 'passing', Output: 'updated' });
    await checkOf('web', 'service:web', { Status: 'passing', Output: 'updated', CreateIndex: first?.CreateIndex });
    const [last] = await client.list('health/checks/web');
    expect(last?.ModifyIndex).toBeGreaterThan(Number(first?.ModifyIndex));
  });

  it('keeps an output to itself while the status stays the same', async () => {
    await register({ Check: { TTL: '60s', Status: 'passing' } });
    await checkOf('web', 'service:web');
    const before = await client.list('health/checks/web');
    await put('agent/check/pass/service:web?note=changed');
    await put('agent/check/pass/service:web?note=again');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await client.list('health/checks/web')).toEqual(before);
    await put('agent/check/fail/service:web?note=broken');
    await checkOf('web', 'service:web', { Status: 'critical', Output: 'broken' });
  });

  it('turns a TTL check critical when its time is over, and says so', async () => {
    await register({
      Checks: [
        { CheckID: 'silent', TTL: '700ms', Status: 'passing' },
        { CheckID: 'noted', TTL: '700ms' },
      ],
    });
    await put('agent/check/pass/noted?note=was%20well');
    await checkOf('web', 'noted', { Status: 'passing' });
    await checkOf('web', 'silent', { Status: 'critical', Output: 'TTL expired' });
    const output = 'TTL expired (last output before timeout follows): was well';
    await checkOf('web', 'noted', { Status: 'critical', Output: output });
    await put('agent/check/pass/silent');
    await checkOf('web', 'silent', { Status: 'passing', Output: '' });
  });

  it('keeps a TTL check that is renewed in time', async () => {
    await register({ Check: { TTL: '500ms', Status: 'passing' } });
    for (let round = 0; round < 8; round += 1) {
      await put('agent/check/pass/service:web');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await checkOf('web', 'service:web', { Status: 'passing' });
  });

  it('keeps status, output and CreateIndex of a check whose service is registered again', async () => {
    await register({ Check: { TTL: '60s' } });
    await put('agent/check/pass/service:web?note=well');
    await checkOf('web', 'service:web', { Status: 'passing' });
    const [before] = await client.list('health/checks/web');
    await register({ Tags: ['v2'], Check: { TTL: '60s', Status: 'critical' } });
    const again = { Status: 'passing', Output: 'well', CreateIndex: before?.CreateIndex, ServiceTags: ['v2'] };
    await checkOf('web', 'service:web', again);
  });

  it('gives a new CreateIndex after deregistration', async () => {
    await register({ Check: { TTL: '60s' } });
    await checkOf('web', 'service:web');
    const [before] = await client.list('health/checks/web');
    await put('agent/service/deregister/web');
    await expect.poll(() => client.list('health/checks/web')).toEqual([]);
    expect(await client.list('catalog/service/web')).toEqual([]);
    await register({ Check: { TTL: '60s' } });
    await checkOf('web', 'service:web');
    const [after] = await client.list('health/checks/web');
    expect(after?.CreateIndex).toBeGreaterThan(Number(before?.CreateIndex));
  });

  it('leaves earlier checks of a service, unless told to replace them', async () => {
    await register({ Check: { CheckID: 'old', TTL: '60s' } });
    await register({ Check: { CheckID: 'new', TTL: '60s' } });
    await expect.poll(() => client.list('health/checks/web')).toMatchObject([{ CheckID: 'new' }, { CheckID: 'old' }]);
    await put('agent/service/register?replace-existing-checks=true', {
      Name: 'web',
      Check: { CheckID: 'new', TTL: '60s' },
    });
    await expect.poll(() => client.list('health/checks/web')).toMatchObject([{ CheckID: 'new' }]);
  });

  it('registers checks by themselves: of a service, of the node, by ID or name', async () => {
    await register({});
    await put('agent/check/register', { Name: 'of web', ServiceID: 'web', TTL: '60s' });
    await put('agent/check/register', { ID: 'a/b c', Name: 'of the node', TTL: '60s', Status: 'passing' });
    await checkOf('web', 'of web', { ServiceID: 'web', Status: 'critical' });
    await put(`agent/check/fail/${encodeURIComponent('a/b c')}?note=%C3%BC`);
    const path = filtered('health/node/local', 'CheckID == "a/b c"');
    const wanted = { ServiceID: '', ServiceName: '', Status: 'critical', Output: 'ü' };
    await expect.poll(() => client.list(path)).toMatchObject([wanted]);
    await put(`agent/check/deregister/${encodeURIComponent('a/b c')}`);
    await expect.poll(() => client.list(path)).toEqual([]);
  });

  it('C22: marks a service in maintenance with a check of its own', async () => {
    await register({ ID: 'web-1' });
    await put('agent/service/maintenance/web-1?enable=true&reason=upgrade');
    const check = { Status: 'critical', Type: 'maintenance', Notes: 'upgrade', Output: '', ServiceID: 'web-1' };
    await checkOf('web', '_service_maintenance:web-1', { ...check, Name: 'Service Maintenance Mode' });
    await put('agent/service/maintenance/web-1?enable=false');
    await expect.poll(() => client.list('health/checks/web')).toEqual([]);
  });

  it('C22: marks the node in maintenance with a check of no service', async () => {
    await put('agent/maintenance?enable=true');
    const path = 'health/state/critical';
    const check = { CheckID: '_node_maintenance', Type: 'maintenance', ServiceID: '', ServiceName: '' };
    await expect.poll(() => client.list(path)).toMatchObject([check]);
    await put('agent/maintenance?enable=false');
    await expect.poll(() => client.list(path)).toEqual([]);
  });

  it('registers a sidecar', async () => {
    const proxy = { DestinationServiceName: 'web', DestinationServiceID: 'web' };
    await put('agent/service/register', { Name: 'web-sidecar', Kind: 'connect-proxy', Port: 21000, Proxy: proxy });
    const shape = { ServiceKind: 'connect-proxy', ServiceProxy: proxy };
    await expect.poll(() => client.list('catalog/service/web-sidecar')).toMatchObject([shape]);
  });

  it.each([
    ['agent/service/register', '{broken', 400, 'Request decode failed'],
    ['agent/service/register', '', 400, 'Request decode failed'],
    ['agent/service/register', {}, 400, 'Missing service name'],
    ['agent/service/register', { Name: 'x', Nonsense: 1 }, 400, 'json: unknown field "Nonsense"'],
    ['agent/service/register', { Name: 'x', Port: '80' }, 400, 'Request decode failed'],
    ['agent/service/register', { Name: 'x', Check: { TTL: 'soon' } }, 400, 'Request decode failed'],
    ['agent/service/register', { Name: 'x', Check: { TTL: '5s', Status: 'odd' } }, 400, 'Status for checks must'],
    ['agent/service/register', { Name: 'x', Check: { HTTP: 'http://x/' } }, 400, 'Interval must be > 0'],
    ['agent/service/register', { Name: 'x', Kind: 'connect-proxy', Port: 1 }, 400, 'DestinationServiceName must be'],
    ['agent/check/register', { TTL: '5s' }, 400, 'Missing check name'],
    ['agent/check/register', { Name: 'x' }, 400, 'TTL must be > 0'],
    ['agent/check/register', { Name: 'x', TTL: '5s', ServiceID: 'none' }, 500, 'ServiceID "none" does not exist'],
    ['agent/check/update/none', { Status: 'odd' }, 400, "Invalid check status: 'odd'"],
    ['agent/service/maintenance/none?enable=true', undefined, 404, 'none'],
    ['agent/maintenance', undefined, 400, 'Missing value for enable'],
    ['agent/maintenance?enable=perhaps', undefined, 400, 'Invalid value for enable: "perhaps"'],
  ])('refuses %s with %j', async (path, body, status, text) => {
    const answer = await client.put(path, body);
    expect(answer).toMatchObject({ status, text: expect.stringContaining(text) });
  });

  it('refuses to speak for a check that has no TTL, or that is not there', async () => {
    await register({ Check: { CheckID: 'tcp', TCP: '127.0.0.1:9', Interval: '10m' } });
    for (const id of ['tcp', 'none']) {
      const { status } = await client.put(`agent/check/pass/${id}`);
      if (exact) expect(status).toBe(500);
      else expect([404, 500]).toContain(status);
    }
  });

  it('does not mind being told to deregister what it does not have', async () => {
    if (!exact) return;
    await put('agent/service/deregister/none');
    await put('agent/check/deregister/none');
    await put('catalog/deregister', { Node: 'none' });
  });
});
