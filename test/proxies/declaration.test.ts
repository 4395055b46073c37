import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeclarationSources, type DeclaredProxy, readDeclarations } from '../../lib/proxies/declaration.ts';
import type { DocumentRules } from '../../lib/proxies/document-fields.ts';

const RULES: DocumentRules = {
  allow: { families: ['envoy-*'], clusters: ['prod'], commands: ['envoy *', 'envoy'], services: ['gw-*'] },
  home: { region: 'eu-west-1', account: '123456789012' },
};
const GOOD = { service: 'web', execMode: 'task', taskDefinition: 'envoy-web:3', cluster: 'prod', command: ['envoy'] };

function read(sources: Partial<DeclarationSources>, rules: DocumentRules = RULES): readonly DeclaredProxy[] {
  return readDeclarations({ instances: [], documents: [], ...sources }, rules, (text) => text);
}

function readOne(document: unknown, defaults?: unknown): DeclaredProxy {
  const documents = [{ id: 'gw', source: { value: document } }];
  const [proxy] = read({ documents, ...(defaults === undefined ? {} : { defaults: { value: defaults } }) });
  if (proxy === undefined) throw new Error('no entry');
  return proxy;
}

function fieldsOf(proxy: DeclaredProxy): readonly string[] {
  return proxy.usable ? [] : proxy.problems.map((problem) => problem.field);
}

const instance = {
  node: 'n1',
  serviceId: 'web-1',
  serviceName: 'web',
  tags: ['v1', 'managed-proxy'],
  meta: { 'proxy-task-definition': 'envoy-web:3', 'proxy-cluster': 'prod', other: 'x' },
};

describe('a service instance', () => {
  it('with the tag declares <service ID>-proxy', () => {
    expect(read({ instances: [instance] })).toMatchObject([
      {
        proxyId: 'web-1-proxy',
        usable: true,
        spec: { service: 'web', execMode: 'task', taskDefinition: 'envoy-web:3', cluster: 'prod' },
      },
    ]);
  });

  it('without the tag declares nothing', () =>
    expect(read({ instances: [{ ...instance, tags: ['v1'] }] })).toEqual([]));

  it('takes command and placement from the defaults', () => {
    const defaults = { value: { command: ['envoy', '-x'], launchType: 'FARGATE', config: { a: 1 } } };
    expect(read({ instances: [instance], defaults })).toMatchObject([
      { spec: { command: ['envoy', '-x'], launchType: 'FARGATE' }, config: { a: 1 } },
    ]);
  });

  it.each([
    ['empty', ''],
    ['not filled in', '$' + '{TASK_DEF}'],
  ])('with a Meta value that is %s is unusable', (_name, value) => {
    const [proxy] = read({ instances: [{ ...instance, meta: { ...instance.meta, 'proxy-task-definition': value } }] });
    expect(proxy && fieldsOf(proxy)).toEqual(['taskDefinition']);
  });
});

describe('an ID', () => {
  it('declared twice is unusable, and names both places', () => {
    const documents = [{ id: 'web-1-proxy', source: { value: GOOD } }];
    const [proxy, ...others] = read({ instances: [instance], documents });
    expect(others).toEqual([]);
    expect(proxy?.usable).toBe(false);
    expect(proxy?.origin).toBe('KV document "web-1-proxy" and service instance "web-1" on node "n1"');
  });

  it.each(['', 'a\nb', 'x'.repeat(129), ' x', 'a"b'])('%j is refused', (id) => {
    const [proxy] = read({ documents: [{ id, source: { value: GOOD } }] });
    expect(proxy && fieldsOf(proxy)).toEqual(['id']);
  });
});

describe('a document', () => {
  it.each<[string, object, string]>([
    ['execMode', { execMode: 'script' }, 'execMode'],
    ['a missing task definition', { taskDefinition: undefined }, 'taskDefinition'],
    ['a family that is not allowed', { taskDefinition: 'other:1' }, 'taskDefinition'],
    ['revision 0', { taskDefinition: 'envoy-web:0' }, 'taskDefinition'],
    [
      'an ARN of another account',
      { taskDefinition: 'arn:aws:ecs:eu-west-1:999999999999:task-definition/envoy-web:3' },
      'taskDefinition',
    ],
    ['an ARN of something else', { cluster: 'arn:aws:ecs:eu-west-1:123456789012:service/prod' }, 'cluster'],
    ['a cluster that is not allowed', { cluster: 'stage' }, 'cluster'],
    ['a missing cluster (never "default" by silence)', { cluster: undefined }, 'cluster'],
    ['a command that is not allowed', { command: ['sh', '-c', 'x'] }, 'command'],
    ['a command that is one text', { command: 'envoy' }, 'command'],
    ['a word that is a number', { command: ['envoy', 1] }, 'command[1]'],
    ['a misspelt field', { comand: ['envoy'] }, 'comand'],
    ['a variable that is a number', { environment: { A: 1 } }, 'environment.A'],
    ['our own variable', { environment: { CONNECT_PROXY_ID: 'x' } }, 'environment.CONNECT_PROXY_ID'],
    [
      '"false" for false',
      { network: { subnets: ['subnet-0123abcd'], assignPublicIp: 'false' } },
      'network.assignPublicIp',
    ],
    ['no subnet', { network: {} }, 'network.subnets'],
    [
      'both launch type and providers',
      { launchType: 'EC2', capacityProviders: [{ capacityProvider: 'a' }] },
      'launchType',
    ],
    ['a provider without a name', { capacityProviders: [{ weight: 1 }] }, 'capacityProviders[0].capacityProvider'],
    ['an ECS service of a task', { ecsService: 'gw-1' }, 'ecsService'],
    [
      'overrides that RunTask would refuse',
      { environment: { A: 'x'.repeat(4000), B: 'x'.repeat(4000) } },
      'command and environment',
    ],
    [
      'many short variables, which RunTask gets as {name, value} each',
      { environment: Object.fromEntries(Array.from({ length: 300 }, (_, number) => [`V${number}`, 'x'])) },
      'command and environment',
    ],
    ['overrides that are too long in bytes', { environment: { A: 'ü'.repeat(4000) } }, 'command and environment'],
    ['config that is a list', { config: [] }, 'config'],
  ])('is unusable for %s', (_name, change, field) => {
    expect(fieldsOf(readOne({ ...GOOD, ...change }))).toEqual([field]);
  });

  it('names all problems at once, with value and what is allowed', () => {
    const proxy = readOne({ execMode: 'script', cluster: 'stage', taskDefinition: 'x/y' });
    expect(proxy.usable ? [] : proxy.problems).toEqual([
      { field: 'execMode', value: '"script"', allowed: '"task" or "service"' },
      { field: 'cluster', value: '"stage"', allowed: 'clusters on the allow-list: prod' },
      {
        field: 'taskDefinition',
        value: '"x/y"',
        allowed: '"family", "family:revision" or an ARN of our region and account',
      },
    ]);
  });

  it.each([[null], ['x'], [[]], [7]])('%j is none', (value) => expect(fieldsOf(readOne(value))).toEqual(['document']));

  it('that is no JSON is an unusable entry, and its neighbour is not held up', () => {
    const documents = [
      { id: 'a', source: { malformed: 'Unexpected end' } },
      { id: 'b', source: { value: GOOD } },
    ];
    expect(read({ documents }).map(({ proxyId, usable }) => [proxyId, usable])).toEqual([
      ['a', false],
      ['b', true],
    ]);
  });

  it('may be started from nothing where the allow-list is empty', () => {
    const rules = { allow: { families: [], clusters: [], commands: [], services: [] } };
    const [proxy] = read({ documents: [{ id: 'gw', source: { value: GOOD } }] }, rules);
    expect(proxy && fieldsOf(proxy)).toEqual(['cluster', 'taskDefinition', 'command']);
  });

  it('needs no allowed command where it states none', () => {
    const rules = { ...RULES, allow: { ...RULES.allow, commands: [] } };
    const [proxy] = read({ documents: [{ id: 'gw', source: { value: { ...GOOD, command: [] } } }] }, rules);
    expect(proxy?.usable).toBe(true);
  });

  it('never shows a value of the environment, nor a secret word of the command', () => {
    const proxy = readOne({
      ...GOOD,
      command: ['envoy', '--token', 'tok-SECRET-1'],
      environment: { DB_PASSWORD: 'tok-SECRET-1', X: ['SECRET'] },
    });
    expect(fieldsOf(proxy)).toEqual(['command[2]', 'environment.DB_PASSWORD', 'environment.X']);
    expect(JSON.stringify(proxy)).not.toContain('SECRET');
  });

  it('makes no exception escape, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.string(), (value, defaults, id) => {
        const documents = [{ id, source: { value } }];
        expect(read({ documents, defaults: { value: defaults } })).toHaveLength(1);
      }),
    );
  });
});

describe('execMode service', () => {
  it('takes nothing of the defaults for tasks, and is named by the ID unless it says otherwise', () => {
    const defaults = { taskDefinition: 'envoy-x', command: ['envoy'], cluster: 'prod' };
    expect(readOne({ execMode: 'service', ecsService: 'gw-1' }, defaults)).toMatchObject({
      usable: true,
      spec: { execMode: 'service', cluster: 'prod', ecsService: 'gw-1' },
    });
    expect(fieldsOf(readOne({ execMode: 'service' }, defaults))).toEqual(['ecsService']); // "gw" is not on the list
  });

  it('may not state how a task runs', () => {
    expect(fieldsOf(readOne({ execMode: 'service', ecsService: 'gw-1', cluster: 'prod', command: ['envoy'] }))).toEqual(
      ['command'],
    );
  });
});

describe('the defaults', () => {
  it('lie under the document, config key by key', () => {
    const proxy = readOne(
      { ...GOOD, config: { b: 2 } },
      { cluster: 'stage', launchType: 'EC2', config: { a: 1, b: 1 } },
    );
    expect(proxy).toMatchObject({ usable: true, spec: { cluster: 'prod', launchType: 'EC2' }, config: { a: 1, b: 2 } });
  });

  it('that are unusable make every declaration unusable, so that nothing changes', () => {
    expect(fieldsOf(readOne(GOOD, { enviroment: {} }))).toEqual(['proxy-defaults.enviroment']);
    expect(fieldsOf(readOne(GOOD, 'x'))).toEqual(['proxy-defaults']);
  });

  it('give no launch type to a document with capacity providers', () => {
    const proxy = readOne({ ...GOOD, capacityProviders: [{ capacityProvider: 'spot' }] }, { launchType: 'EC2' });
    expect(proxy).toMatchObject({
      usable: true,
      spec: { capacityProviders: [{ capacityProvider: 'spot', weight: 1, base: 0 }] },
    });
  });
});

describe('the fingerprint', () => {
  const fingerprint = (document: object): string => {
    const proxy = readOne({ ...GOOD, ...document });
    return proxy.usable ? proxy.fingerprint : 'unusable';
  };
  const plain = fingerprint({});

  it.each<[string, object]>([
    ['config', { config: { a: 1 } }],
    ['what Consul fills in', { ModifyIndex: 7, CreateIndex: 3, LockIndex: 0, Flags: 0 }],
    ['an ARN instead of a name', { cluster: 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod' }],
    ['an empty environment', { environment: {} }],
  ])('does not change with %s', (_name, change) => expect(fingerprint(change)).toBe(plain));

  it.each<[string, object]>([
    ['the revision', { taskDefinition: 'envoy-web:4' }],
    ['a word of the command', { command: ['envoy', '-a'] }],
    ['the service', { service: 'web2' }],
    ['a variable', { environment: { A: '1' } }],
    ['the network', { network: { subnets: ['subnet-0123abcd'] } }],
    ['capacity', { capacityProviders: [{ capacityProvider: 'spot' }] }],
  ])('changes with %s', (_name, change) => expect(fingerprint(change)).not.toBe(plain));

  it('is the same for every order of keys, and another for another order of the command', () => {
    const full = {
      ...GOOD,
      environment: { A: '1', B: '2' },
      network: { subnets: ['subnet-0123abcd', 'subnet-1123abcd'] },
    };
    fc.assert(
      fc.property(fc.shuffledSubarray(Object.entries(full), { minLength: Object.keys(full).length }), (entries) => {
        expect(fingerprint(Object.fromEntries(entries))).toBe(fingerprint(full));
      }),
    );
    expect(fingerprint({ environment: { B: '2', A: '1' } })).toBe(fingerprint({ environment: { A: '1', B: '2' } }));
    expect(fingerprint({ command: ['envoy', 'a', 'b'] })).not.toBe(fingerprint({ command: ['envoy', 'b', 'a'] }));
  });
});
