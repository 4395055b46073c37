/** Every command line of the documents is one that works: it is run here, or what it names is compared with the code. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { parseInput as parseProxyInput } from '../../functions/reconcile-proxies/input.ts';
import { parseInput } from '../../functions/watch-checks/input.ts';
import { readArguments } from '../../infra/local/stack/arguments.ts';
import { readSettings } from '../../lib/config/settings.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { DOCUMENTS, FENCES, fencesOf, proseOf, ROOT, textOf } from './documents.ts';
import { parameterOfVariable, stageParameters } from './generated.ts';

const scripts: Readonly<Record<string, string | undefined>> = packageJson.scripts;

/** Command lines of all `sh` blocks: continued lines joined, those that `&&` joins apart. */
const COMMANDS = FENCES.filter(({ info }) => info === 'sh').flatMap(({ document, text }) =>
  text
    .replaceAll('\\\n', ' ')
    .split(/\n|&&/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => [line, document] as const),
);

/** A shell's words, as far as the documents use them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:[^\s'"$]|\$\([^)]*\)|\$\w+|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  );
}

/** Values of an option that may occur several times. */
function valuesOf(words: readonly string[], option: string): string[] {
  return words.flatMap((word, index) => (word === option ? [words[index + 1] ?? ''] : []));
}

function expectParameters(words: readonly string[]): void {
  const given = new Map(valuesOf(words, '--param').map((text) => text.split('=') as [string, string]));
  const parameters = stageParameters();
  expect([...given.keys()].filter((name) => !parameters.has(name))).toEqual([]);
  if (!given.has('consulAddresses')) return;
  const environment = Object.fromEntries(
    [...parameterOfVariable()].map(([variable, name]) => [variable, given.get(name) ?? parameters.get(name)]),
  );
  const [region] = valuesOf(words, '--region');
  expect(readSettings({ ...environment, AWS_REGION: region, TABLE_NAME: 'table' })).toMatchObject({ ok: true });
}

function expectInvocation(words: readonly string[]): void {
  const [functionName = ''] = valuesOf(words, '-f');
  expect(textOf('serverless.yml')).toContain(`\n  ${functionName}:\n`);
  const parse = functionName === 'reconcileProxies' ? parseProxyInput : parseInput;
  for (const data of valuesOf(words, '--data')) parse(JSON.parse(data));
  for (const pair of valuesOf(words, '-e')) expect(SETTINGS).toHaveProperty(pair.split('=')[0] ?? '');
  expectParameters(words);
}

const { POLICY_KEY, PROXY_DEFAULTS_KEY, PROXY_KEY_PREFIX } = SETTINGS;
/** What people write into Consul KV. */
const KEYS = [
  new RegExp(`^${POLICY_KEY.fallback}$`),
  new RegExp(`^${PROXY_DEFAULTS_KEY.fallback}$`),
  new RegExp(`^${PROXY_KEY_PREFIX.fallback}/[^/]+$`),
];

/** Each kind of command, and what is demanded of it. Programs of others are named only. */
const KINDS: readonly (readonly [RegExp, (words: readonly string[]) => void])[] = [
  [/^npm ci$/, () => expect(existsSync(`${ROOT}package-lock.json`)).toBe(true)],
  [
    /^npm (?:start|test)\b/,
    ([, script = '', , ...rest]) => {
      expect(scripts).toHaveProperty(script);
      if (script === 'start') expect(readArguments(rest)).toMatchObject({ kind: 'start' });
    },
  ],
  [/^npm run --silent simulate -- \S+$/, (words) => expect(fencesOf(`text simulate ${words.at(-1)}`)).toHaveLength(1)],
  [/^npx osls (?:deploy|package|remove) /, expectParameters],
  [/^npx osls invoke (?:local )?-f /, expectInvocation],
  [
    /^consul kv put /,
    ([, , , key = '']) =>
      expect(
        KEYS.some((pattern) => pattern.test(key)),
        key,
      ).toBe(true),
  ],
  [/^(?:consul acl|aws ssm) /, () => {}],
];

describe('command lines', () => {
  it('are found', () => expect(COMMANDS.length).toBeGreaterThan(15));

  test.each(COMMANDS)('%s (%s)', (line) => {
    const kinds = KINDS.filter(([pattern]) => pattern.test(line));
    expect(kinds, 'a kind of command that this test knows').toHaveLength(1);
    for (const [, check] of kinds) check(wordsOf(line));
  });

  it('in prose name scripts of package.json', () => {
    const named = DOCUMENTS.flatMap((document) =>
      [...proseOf(document).matchAll(/`npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script),
    );
    expect(named).toContain('settings-table');
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });
});

describe('inputs', () => {
  const inputs = DOCUMENTS.flatMap((document) =>
    [...textOf(document).matchAll(/\{"action":[^`'}]*\}/g)].map(([input]) => [input, document] as const),
  );

  it('are found', () => expect(inputs.length).toBeGreaterThan(15));
  test.each(inputs)('%s (%s) is accepted by one of the functions', (input) => {
    const refusals = [parseInput, parseProxyInput].flatMap((parse) => {
      try {
        parse(JSON.parse(input));
        return [];
      } catch (error) {
        return [error];
      }
    });
    expect(refusals.length, refusals.join('\n')).toBeLessThan(2);
  });
});

test.each(['docs/examples/web.json', 'docs/examples/proxies.json'])(
  'simulate prints of %s what is shown',
  async (file) => {
    const [shown] = fencesOf(`text simulate ${file}`);
    const { stdout } = await promisify(execFile)(process.execPath, ['infra/local/simulate.ts', file], { cwd: ROOT });
    expect(stdout).toBe(shown?.text);
  },
);
