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
  /** Those of a part that does not exist yet. */
  const NOT_YET = ['removalDelay', 'proxies'];
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
    expect(fieldsIn(tables[0]).sort()).toEqual(allowed.filter((name) => !NOT_YET.includes(name)).sort());
  });

  it('of a task are, too', () => {
    const allowed = allowedIn(problemsOf({ duration: '1s', tasks: { a: { unknown: 1 } } }));
    expect(fieldsIn(tables[1]).sort()).toEqual(allowed.sort());
  });
});

describe('the permissions', () => {
  type Statement = { readonly Sid: string; readonly Action: string | readonly string[] };
  type Role = { readonly Properties: { readonly Policies: readonly { PolicyDocument: { Statement: Statement[] } }[] } };
  type Template = { readonly Resources: { readonly WatchChecksRole: Role } };
  type Variables = Readonly<Record<string, () => Promise<unknown>>>;
  const makeRole = createRequire(import.meta.url)('../../infra/watch-checks-role.cjs') as (
    variables: Variables,
  ) => Promise<Template>;

  it('are the statements of the role, action by action', async () => {
    const { Resources } = await makeRole({
      resolveVariable: async () => 'anything',
      resolveConfigurationProperty: async () => 'anything',
    });
    const statements = Resources.WatchChecksRole.Properties.Policies.flatMap(
      ({ PolicyDocument }) => PolicyDocument.Statement,
    );
    const made = Object.fromEntries(statements.map(({ Sid, Action }) => [Sid, [Action].flat()]));
    const rows = tableIn('docs/deploying.md', 'statement');
    const written = Object.fromEntries(rows.map(([sid, actions]) => [word(sid), word(actions).split(', ')]));
    expect(made).toEqual({ ...written, ButNotFromCode: made.AttachToVpc });
  });
});

describe('the events', () => {
  it('are those that the use cases publish', () => {
    const sources = ['tell-pass', 'hold'].map((name) => textOf(`lib/use-cases/${name}.ts`)).join('\n');
    const published = [...sources.matchAll(/'((?:[A-Z][a-z]+)(?: [A-Z][a-z]+)*)'/g)].map(([, type]) => type);
    const written = rowsOf(markedIn('docs/operating.md', 'events')).map(([type]) => word(type));
    expect(written.toSorted()).toEqual([...new Set(published)].sort());
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
