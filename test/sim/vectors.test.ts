import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { playScenario } from '../../infra/local/scenario/play.ts';
import { parseScenarios, type Scenario } from '../../infra/local/scenario/schema.ts';

/** The vectors lie in the folder `shared` beside the repository. */
const VECTORS = new URL('../../../shared/vectors/check-restart.json', import.meta.url);
const PROXIES = new URL('../../../shared/vectors/proxies.json', import.meta.url);
/** The scenarios of cases.md, word for word. */
const CASES = new URL('cases.json', import.meta.url);

describe('vectors of check-restart', () => {
  const scenarios = scenariosOf(VECTORS);

  test('are all read', () => expect(scenarios.length).toBeGreaterThanOrEqual(36));
  test.each(scenarios.map((scenario) => [scenario.name ?? '', scenario] as const))('%s', isMet);
});

describe('vectors of proxies', () => {
  const scenarios = scenariosOf(PROXIES);

  test('are all read', () => expect(scenarios.length).toBeGreaterThanOrEqual(69));
  test.each(scenarios.map((scenario) => [scenario.name ?? '', scenario] as const))('%s', isMet);
});

describe('scenarios of the cases', () => {
  const scenarios = scenariosOf(CASES);

  test('are all there', () => expect(scenarios).toHaveLength(18));
  test.each(scenarios.map((scenario) => [scenario.name ?? '', scenario] as const))('%s: is met', isMet);
});

test('C22: the timer is frozen during maintenance: restart at 57s, one pass either way', async () => {
  const [scenario] = scenariosOf(CASES).filter(({ name }) => name === 'C22b');
  if (!scenario) throw new Error('no scenario C22b');
  const { restarts } = await playScenario(scenario, '');
  expect(restarts.map(({ at }) => at)).toEqual([expect.stringMatching(/^5[678]s$/)]);
});

test('a check of a proxy is judged by the reconciler: its task is restarted, and not by the watcher as well', async () => {
  const declared = [['0s', { taskDefinition: 'envoy:1', execMode: 'task' }]];
  const timeline = [
    ['0s', 'passing'],
    ['20s', 'critical'],
    ['45s', 'passing'],
  ];
  const file = JSON.stringify({
    duration: '60s',
    policy: { limit: 3, interval: '5s', grace: '10s' },
    tasks: { 'web-1': {} },
    proxies: [{ id: 'web-proxy', declared }],
    checks: [{ id: 'ready', task: 'web-proxy', timeline }],
  });
  const read = parseScenarios(file);
  if (!read.ok || !read.scenarios[0]) throw new Error('no scenario');
  const { restarts, skipped, proxies } = await playScenario(read.scenarios[0], '');
  expect(restarts).toMatchObject([{ task: 'web-proxy', check: 'ready', at: '30s', action: 'stop-task' }]);
  expect([skipped, proxies]).toEqual([[], { 'web-proxy': { launches: ['1s', '30s'], stops: ['30s'] } }]);
});

describe('an expectation that is not what happens', () => {
  const [first] = scenariosOf(CASES).filter(({ name }) => name === 'C01a');

  test.each<[string, Scenario['expect']]>([
    ['another instant', { restarts: [{ task: 'web-1', at: 32_000 }] }],
    ['another task', { restarts: [{ task: 'web-2', at: 31_000 }] }],
    ['another check', { restarts: [{ task: 'web-1', at: 31_000, check: 'other' }] }],
    ['no restart', { restarts: [] }],
    ['another number', { restartCount: 2 }],
    ['a skip that does not occur', { skipped: [{ task: 'web-1', at: 31_000, reason: 'deploying' }] }],
    ['a proxy', { proxies: { p: { launches: [1000], stops: [] } } }],
  ])('is not met: %s', async (_, expected) => {
    if (!first || expected === undefined) throw new Error('no scenario C01a');
    expect((await playScenario({ ...first, expect: expected }, '')).met).toBe(false);
  });
});

async function isMet(_name: string, scenario: Scenario): Promise<void> {
  const played = await playScenario(scenario, '');
  expect(played.met, JSON.stringify({ expected: scenario.expect, played })).toBe(true);
}

function scenariosOf(file: URL): readonly Scenario[] {
  const read = parseScenarios(readFileSync(file, 'utf8'));
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.scenarios;
}
