/** Filter expressions: quoting of odd IDs, what is selected, what is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BareClient, bareClient, filtered } from './consul-client.ts';
import { consulServers, type RunningConsul } from './consul-servers.ts';

const ODD_IDS = [
  'plain',
  'quo"te',
  'back\\slash',
  'tick`x',
  'both"`\\',
  'nl\nx',
  'ünï注',
  'a b',
  'tab\tx',
  'sl/ash',
  '50%',
];

/** As the adapter writes them: go-bexpr has no `\"`. */
function literal(text: string): string {
  const hex = (character: string) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return `"${text.replaceAll(/["\\\n\t]/g, hex)}"`;
}

describe.each(await consulServers())('filters of $name', ({ start, exact }) => {
  let consul: RunningConsul;
  let client: BareClient;
  const instances = async (expression: string) =>
    (await client.list(filtered('catalog/service/odd', expression))).map(({ ServiceID }) => ServiceID);

  beforeAll(async () => {
    consul = await start();
    client = bareClient(consul.url);
    for (const id of ODD_IDS) {
      const service = { ID: id, Service: 'odd', Meta: { 'task-arn': id }, Port: id.length };
      const check = { CheckID: `c:${id}`, Name: 'C', Status: 'critical', ServiceID: id };
      await client.register({ Node: 'n2', Service: service, Check: check });
    }
  });
  afterAll(() => consul.close());

  it.each(ODD_IDS)('finds the instance and the check of %j by its ID', async (id) => {
    expect(await instances(`ServiceID == ${literal(id)}`)).toEqual([id]);
    const checks = await client.list(filtered('health/checks/odd', `CheckID == ${literal(`c:${id}`)}`));
    expect(checks).toMatchObject([{ ServiceID: id }]);
    const critical = await client.list(filtered('health/state/critical', `ServiceID == ${literal(id)}`));
    expect(critical).toMatchObject([{ CheckID: `c:${id}` }]);
  });

  it('finds many at once, joined by or', async () => {
    const all = ODD_IDS.map((id) => `ServiceID == ${literal(id)}`).join(' or ');
    expect(new Set(await instances(all))).toEqual(new Set(ODD_IDS));
  });

  it('takes an expression of 50 kB', async () => {
    const long = `${'ServiceID == "nobody" or '.repeat(2000)}ServiceID == "a b"`;
    expect(await instances(long)).toEqual(['a b']);
  });

  it.each([
    ['ServiceID == `quo"te`', ['quo"te']],
    ['ServiceID == `back\\slash`', ['back\\slash']],
    ['ServiceID == `nl\nx`', ['nl\nx']],
    ['ServiceID == "\\u00fcn\\u00ef\\u6ce8"', ['ünï注']],
    ['ServiceID == "\\U000000fcnï注"', ['ünï注']],
    ['ServiceID == "\\xc3\\xbcnï注"', ['ünï注']],
    ['ServiceID == "\\141 b"', ['a b']],
    ['ServiceID == plain', ['plain']],
    ['ServiceID=="plain"', ['plain']],
    ['ServiceID == "plain"\nor ServiceID == "a b"', ['a b', 'plain']],
    ['(ServiceID == "plain" or ServiceID == "a b") and ServiceName == "odd"', ['a b', 'plain']],
    ['ServiceName == "none" and ServiceID == "plain" or ServiceID == "a b"', ['a b']],
    ['((ServiceID == "plain"))', ['plain']],
    ['not ServiceID != "plain"', ['plain']],
    ['not (ServiceID != "plain") and Node == "n2"', ['plain']],
    ['ServiceMeta["task-arn"] == "plain"', ['plain']],
    ['ServiceMeta.nothing == "plain"', []],
    ['"plain" in ServiceID', ['plain']],
    ['ServiceID contains "lai"', ['plain']],
    ['"x" in ServiceTags', []],
    ['ServicePort == 5 and ServiceTags is empty', ['nl\nx', 'plain', 'tab\tx'].filter((id) => id.length === 5)],
    ['Node == "N2"', []],
    ['ServiceID == 5', []],
  ] as const)('selects by %j', async (expression, ids) => {
    expect(await instances(expression)).toEqual(ids);
  });

  it('selects by fields of node, instance and checks in health/service', async () => {
    const expression = 'Node.Node == "n2" and Checks.Status == "critical" and Service.ID == "plain"';
    expect(await client.list(filtered('health/service/odd', expression))).toMatchObject([{ Service: { ID: 'plain' } }]);
  });

  it('filters the services of a node', async () => {
    const { text } = await client.get(filtered('catalog/node-services/n2', 'ID == "plain"'));
    expect(JSON.parse(text)).toMatchObject({ Node: { Node: 'n2' }, Services: [{ ID: 'plain' }] });
  });

  it.each([
    'ServiceID == "quo\\"te"',
    'ServiceID == "nl\nx"',
    'ServiceID == "\\q"',
    'ServiceID == "\\u00"',
    "ServiceID == 'plain'",
    'ServiceID == web-1',
    'ServiceID == "plain',
    'ServiceID = "plain"',
    'ServiceID == "plain" or',
    'ServiceID == "plain" || ServiceID == "a b"',
    'ServiceID == "plain" OR ServiceID == "a b"',
    '(ServiceID == "plain")or(ServiceID == "a b")',
    '(ServiceID == "plain"',
    '"plain" == ServiceID',
    ' ',
    'Nonsense == "plain"',
    'serviceid == "plain"',
    'CreateIndex == 5',
    'ServiceTags == "x"',
    'ServiceMeta == "x"',
    'ServicePort == "x"',
    'ServiceID is empty',
  ])('refuses %j', async (expression) => {
    const { status, text } = await client.get(filtered('catalog/service/odd', expression));
    if (exact) expect(status).toBe(500);
    else expect([400, 500]).toContain(status);
    expect(text).toMatch(/^Failed to create boolean expression evaluator: /);
  });
});
