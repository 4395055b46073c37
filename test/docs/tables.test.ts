/** Tables of the documents are those of the code. */
import { createRequire } from 'node:module';
import { describe, expect, it, test } from 'vitest';
import { parseScenarios } from '../../infra/local/scenario/schema.ts';
import { DEFAULT_ESTATE_BRAKES, DEFAULT_SERVICE_BRAKES } from '../../lib/brakes/settings.ts';
import { DEFAULT_POLICY } from '../../lib/check-restart/policy.ts';
import { REASONS } from '../../lib/check-restart/reason.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import { METRICS } from '../../lib/event-codes.ts';
import { DEFAULT_BACKOFF, launchDelayMs } from '../../lib/proxies/backoff.ts';
import { META_CLUSTER, META_EXEC_MODE, META_TASK_DEFINITION } from '../../lib/proxies/declaration.ts';
import { DEFAULT_FIELDS, DOCUMENT_FIELDS } from '../../lib/proxies/document.ts';
import { cellsOf, fencesOf, markedIn, rowsOf, tableIn, textOf } from './documents.ts';
import { generatedParts, parameterOfVariable, stageParameters } from './generated.ts';

const word = (cell = '') => cell.replaceAll('`', '');

describe('parts that are made of the code (npx node test/docs/write-tables.ts writes them)', () => {
  const parts = generatedParts();

  test.each(parts.map((part) => [part.document, part.name, part.markdown] as const))(
    '%s: %s',
    (document, name, made) => {
      const written = markedIn(document, name);
      if (made.startsWith('|')) expect(cellsOf(written)).toEqual(cellsOf(made));
      else expect(written.trim()).toBe(made.trim());
    },
  );

  it('know every stage parameter, and what each of them is for', () => {
    expect(stageParameters().size).toBeGreaterThan(40);
    const known = new Set(stageParameters().keys());
    expect([...parameterOfVariable().values()].filter((name) => !known.has(name))).toEqual([]);
    for (const [name, , , effect] of rowsOf(markedIn('docs/deploying.md', 'stage-parameters'))) {
      expect(effect, name).not.toBe('');
    }
  });
});

describe('the reason words', () => {
  const rows = rowsOf(markedIn('docs/operating.md', 'reasons'));

  it('are those of the code, in its order', () => expect(rows.map(([reason]) => word(reason))).toEqual(REASONS));
  it('each have a meaning', () => expect(rows.filter(([, meaning]) => !meaning)).toEqual([]));
});

describe('the brakes', () => {
  const defaults = new Map(
    tableIn('README.md', 'brake').map(([brake = '', , standard = '']) => [brake, word(standard)]),
  );
  const json = (brake: string) => defaults.get(brake) ?? '';

  it('have the defaults of the code', () => {
    const parsed = parsePolicyDocument(`{
      "rules": [{ "match": {}, "brakes": { "restart": ${json('restart budget')}, "inFlight": ${json('in flight')} } }],
      "brakes": { "perMinute": ${json('rate')}, "serviceBreaker": ${json('service breaker')},
                  "estateBreaker": ${json('estate breaker')} }
    }`);
    expect(parsed).toMatchObject({
      document: { rules: [{ brakes: DEFAULT_SERVICE_BRAKES }], brakes: DEFAULT_ESTATE_BRAKES },
    });
    expect(word(json('rate'))).toBe(SETTINGS.RESTARTS_PER_MINUTE.fallback);
  });

  it('are all of them', () => {
    expect([...defaults.keys()]).toEqual([
      'restart budget',
      'in flight',
      'rate',
      'service breaker',
      'estate breaker',
      'hold',
    ]);
  });
});

describe('the fields of a policy', () => {
  const rows = tableIn('docs/policy.md', 'field');

  it('are those of the code, with its defaults', () => {
    const defaults = Object.fromEntries(rows.map(([field = '', , , standard]) => [field, standard]));
    expect(Object.keys(defaults).sort()).toEqual(
      ['limit', 'interval', 'grace', ...Object.keys(DEFAULT_POLICY).filter((name) => !/^limit$|Ms$/.test(name))].sort(),
    );
    const { limit, graceMs, ignoreWarnings, mode, action, standalone, protection } = DEFAULT_POLICY;
    expect(defaults).toMatchObject({
      limit: String(limit),
      grace: `${graceMs / 1000}s`,
      ignoreWarnings: String(ignoreWarnings),
      mode,
      action,
      standalone,
      protection,
    });
  });

  it('have the Meta keys that are understood', () => {
    const keys = rows.map(([, key]) => word(key)).filter((key) => key !== '');
    const refused = parseMetaPolicy({ 'check-restart-unknown': '' });
    const allowed = refused.ok ? [] : (refused.problems[0] ?? '').split('allowed: ')[1]?.split(', ');
    expect(keys.sort()).toEqual(allowed?.toSorted());
  });
});

describe('the fields of a scenario', () => {
  const allowedIn = (problems: readonly string[]) => (problems.join().split('any of ').at(-1) ?? '').split(', ');
  const problemsOf = (scenario: unknown) => {
    const parsed = parseScenarios(JSON.stringify(scenario));
    return parsed.ok ? [] : parsed.problems;
  };
  const [, ...tables] = textOf('docs/simulate.md').split(/^\| field .*$/m);
  const fieldsIn = (table = '') =>
    cellsOf(table.split('\n\n')[0] ?? '').flatMap(([fields = '']) => word(fields).split(', '));

  it('are those of the code', () => {
    const allowed = allowedIn(problemsOf({ duration: '1s', unknown: 1 }));
    expect(fieldsIn(tables[0]).sort()).toEqual(allowed.sort());
  });

  it('of a task are, too', () => {
    const allowed = allowedIn(problemsOf({ duration: '1s', tasks: { a: { unknown: 1 } } }));
    expect(fieldsIn(tables[1]).sort()).toEqual(allowed.sort());
  });
});

describe('the permissions', () => {
  type Statement = { readonly Sid: string; readonly Action: string | readonly string[] };
  type Role = { readonly Properties: { readonly Policies: readonly { PolicyDocument: { Statement: Statement[] } }[] } };
  type Template = { readonly Resources: Readonly<Record<string, Role>> };
  type Variables = Readonly<Record<string, () => Promise<unknown>>>;
  const require = createRequire(import.meta.url);

  const writtenIn = (name: string) =>
    rowsOf(markedIn('docs/deploying.md', name)).map(
      ([sid, actions]) => [word(sid), word(actions).split(', ')] as const,
    );

  test.each([
    ['watch-checks', 'WatchChecksRole'],
    ['reconcile-proxies', 'ReconcileProxiesRole'],
  ])('are the statements of the role of %s, action by action', async (name, role) => {
    const makeRole = require(`../../infra/${name}-role.cjs`) as (variables: Variables) => Promise<Template>;
    const { Resources } = await makeRole({
      resolveVariable: async () => 'anything',
      resolveConfigurationProperty: async () => 'anything',
    });
    const policies = Resources[role]?.Properties.Policies ?? [];
    const statements = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    const made = Object.fromEntries(statements.map(({ Sid, Action }) => [Sid, [Action].flat()]));
    const written = Object.fromEntries([...writtenIn('permissions'), ...writtenIn(`permissions-${name}`)]);
    expect(made).toEqual({ ...written, ButNotFromCode: made.AttachToVpc });
  });
});

describe('the events', () => {
  /** Made of a success's type and a word. */
  const FAILURES = ['Proxy Launch Failed', 'Proxy Stop Failed', 'Proxy Redeploy Failed'];

  it('are those that the use cases publish', () => {
    const files = ['tell-pass', 'hold', 'reconcile/tell-reconcile'];
    const sources = files.map((name) => textOf(`lib/use-cases/${name}.ts`)).join('\n');
    const named = [...sources.matchAll(/'((?:[A-Z][a-z]+)(?: [A-Z][a-z]+)*)'/g)].map(([, type = '']) => type);
    const published = named.filter((name) => !(name in METRICS));
    const written = rowsOf(markedIn('docs/operating.md', 'events')).map(([type]) => word(type));
    expect(written.toSorted()).toEqual([...new Set([...published, ...FAILURES])].sort());
  });
});

describe('proxies', () => {
  it('have the fields of the code, in declarations and in defaults', () => {
    const rows = rowsOf(markedIn('docs/proxies.md', 'proxy-fields'));
    const fields = rows.map(([field]) => word(field));
    expect(fields.toSorted()).toEqual(DOCUMENT_FIELDS.toSorted());
    const inDefaults = rows.filter(([, inDefault]) => inDefault === 'yes').map(([field]) => word(field));
    expect(inDefaults.sort()).toEqual(DEFAULT_FIELDS.toSorted());
  });

  it('have the Meta keys of the code', () => {
    const keys = tableIn('docs/proxies.md', 'Meta key').map((cells) => cells.map(word));
    expect(Object.fromEntries(keys)).toEqual({
      [META_TASK_DEFINITION]: 'taskDefinition',
      [META_EXEC_MODE]: 'execMode',
      [META_CLUSTER]: 'cluster',
    });
  });

  it('have the settings and parameters of the lists', () => {
    const rows = tableIn('docs/proxies.md', 'setting').map(([setting, parameter]) => [word(setting), word(parameter)]);
    const parameters = parameterOfVariable();
    expect(rows).toHaveLength(4);
    for (const [setting = '', parameter] of rows) expect(parameters.get(setting)).toBe(parameter);
  });

  it('have the reason words of the code', () => {
    const written = rowsOf(markedIn('docs/proxies.md', 'proxy-reasons')).map(([reason]) => word(reason));
    const wordsOf = (file: string, type: string) => {
      const [, union = ''] =
        new RegExp(`^export type ${type} =([^;]*);`, 'm').exec(textOf(file).replace(/ *\/\/.*$/gm, '')) ?? [];
      return [...union.matchAll(/'([a-z-]+)'/g)].map(([, reason]) => reason);
    };
    const stops = wordsOf('lib/proxies/proxy-state.ts', 'StopWhy');
    const others = wordsOf('lib/proxies/action.ts', 'ProxyReason');
    expect(stops.length).toBeGreaterThan(4);
    expect(others.length).toBeGreaterThan(20);
    expect(written.toSorted()).toEqual([...stops, ...others].sort());
  });

  it('wait as the documents say', () => {
    const waits = Array.from({ length: 9 }, (_, counted) => launchDelayMs(counted, DEFAULT_BACKOFF) / 1000);
    expect(waits).toEqual([0, 0, 0, 2, 4, 8, 16, 32, 60]);
    expect(textOf('docs/proxies.md')).toContain('Three launches at once, then 2, 4, 8, 16, 32 and 60 s');
  });
});

describe('the Consul ACL policy', () => {
  it('lets read what is read, and nothing be written', () => {
    const [fence] = fencesOf('hcl');
    const rules = [...(fence?.text ?? '').matchAll(/^(\w+) "([^"]*)" \{\s*policy = "(\w+)"\s*\}$/gm)];
    expect(rules.map(([, kind, name, policy]) => `${kind} ${name} ${policy}`)).toEqual([
      'node_prefix  read',
      'service_prefix  read',
      `key ${SETTINGS.POLICY_KEY.fallback} read`,
      `key_prefix ${SETTINGS.PROXY_KEY_PREFIX.fallback}/ read`,
      `key ${SETTINGS.PROXY_DEFAULTS_KEY.fallback} read`,
    ]);
  });
});
