import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ms, type ProxyScenario, play } from './virtual-world.ts';

// The vectors lie beside the repository, shared with whoever writes another implementation.
const VECTORS = new URL('../../../shared/vectors/proxies.json', import.meta.url);
const scenarios = JSON.parse(readFileSync(VECTORS, 'utf8')) as readonly ProxyScenario[];

describe('every scenario of proxies.json', () => {
  it('has scenarios', () => expect(scenarios.length).toBeGreaterThan(50));

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_name, scenario) => {
    const expected = Object.fromEntries(
      Object.entries(scenario.expect.proxies).map(([id, { launches, stops }]) => {
        return [id, { launches: launches.map(ms), stops: stops.map(ms) }];
      }),
    );
    expect(play(scenario)).toEqual(expected);
  });
});
