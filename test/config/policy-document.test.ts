import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { policyDocumentJsonSchema } from '../../lib/config/policy-json-schema.ts';

function documentOf(json: unknown) {
  const result = parsePolicyDocument(JSON.stringify(json));
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.document;
}

function problemsOf(json: unknown): readonly string[] {
  const result = parsePolicyDocument(JSON.stringify(json));
  return result.ok ? [] : result.problems;
}

/** A document with one rule. */
function withRule(rule: Record<string, unknown>) {
  return { rules: [{ match: {}, ...rule }] };
}

const DESIGN_EXAMPLE = {
  rules: [
    {
      match: { service: 'web-*' },
      checkRestart: { limit: 3, interval: '10s', grace: '90s', ignoreWarnings: false },
      mode: 'restart',
      action: 'stop-task',
      standalone: 'skip',
      protection: 'respect',
      brakes: { restart: { attempts: 2, interval: '30m', delay: '15s', mode: 'delay' }, inFlight: '10%' },
    },
    { match: { service: 'web-*', check: 'warmup' }, checkRestart: { limit: 0 } },
  ],
  brakes: {
    perMinute: 10,
    serviceBreaker: { share: 0.5, minInstances: 4, retry: '10m' },
    estateBreaker: { share: 0.5, minServices: 5 },
  },
};

describe('the policy document', () => {
  it('is read into milliseconds and rules', () => {
    expect(documentOf(DESIGN_EXAMPLE)).toEqual({
      rules: [
        {
          match: { service: 'web-*' },
          set: {
            limit: 3,
            intervalMs: 10_000,
            graceMs: 90_000,
            ignoreWarnings: false,
            mode: 'restart',
            action: 'stop-task',
            standalone: 'skip',
            protection: 'respect',
          },
          brakes: {
            restart: { attempts: 2, intervalMs: 1_800_000, delayMs: 15_000, mode: 'delay' },
            inFlight: { share: 0.1 },
          },
        },
        { match: { service: 'web-*', check: 'warmup' }, set: { limit: 0 }, brakes: {} },
      ],
      brakes: {
        perMinute: 10,
        serviceBreaker: { share: 0.5, minInstances: 4, retryMs: 600_000 },
        estateBreaker: { share: 0.5, minServices: 5 },
      },
    });
  });

  it.each([{}, { rules: [] }, { $schema: './policy.schema.json', brakes: {} }])('may be empty: %j', (json) => {
    expect(documentOf(json)).toEqual({ rules: [], brakes: {} });
  });

  it('keeps a brake that is switched off apart from one that is not mentioned', () => {
    const off = { restart: null, inFlight: null };
    const { rules, brakes } = documentOf({
      rules: [{ match: {}, brakes: off }],
      brakes: { perMinute: null, serviceBreaker: null, estateBreaker: null },
    });
    expect(rules[0]?.brakes).toEqual(off);
    expect(brakes).toEqual({ perMinute: null, serviceBreaker: null, estateBreaker: null });
    expect(documentOf({ brakes: { serviceBreaker: { retry: null } } }).brakes).toEqual({
      serviceBreaker: { retryMs: null },
    });
  });

  it('takes a number of tasks in flight', () => {
    expect(documentOf(withRule({ brakes: { inFlight: 3 } })).rules[0]?.brakes.inFlight).toEqual({ count: 3 });
  });

  it('names every problem at once, with its place and what is allowed', () => {
    const problems = problemsOf({
      rules: [
        {
          match: { servic: 'x' },
          checkRestart: { limit: -1, interval: '10', grace: 5, ignoreWarnings: 'false' },
          mode: 'Restart',
          brakes: { inFlight: '150%', restart: { interval: '0s', attempts: 1.5 } },
        },
        { checkRestart: null },
        5,
      ],
      brakes: [],
      rulez: 1,
    });
    expect(problems).toEqual([
      'rules[0].match.servic: unknown key; allowed: an object with any of service, cluster, namespace, check',
      'rules[0].checkRestart.limit: -1 is not allowed; allowed: a whole number, 0 to 1000',
      'rules[0].checkRestart.interval: "10" is not allowed; allowed: a duration with a unit such as "90s", "1ms" to "168h"',
      'rules[0].checkRestart.grace: 5 is not allowed; allowed: a duration with a unit such as "90s", "0s" to "168h"',
      'rules[0].checkRestart.ignoreWarnings: "false" is not allowed; allowed: true or false',
      'rules[0].mode: "Restart" is not allowed; allowed: "off", "notify", "restart"',
      'rules[0].brakes.restart.attempts: 1.5 is not allowed; allowed: a whole number, 0 to 1000',
      'rules[0].brakes.restart.interval: "0s" is not allowed; allowed: a duration with a unit such as "90s", "1ms" to "168h"',
      'rules[0].brakes.inFlight: "150%" is not allowed; allowed: a whole number of at least 1, a percentage above "0%" and up to "100%", or null',
      'rules[1].match: missing; allowed: an object with any of service, cluster, namespace, check',
      'rules[1].checkRestart: null is not allowed; allowed: an object with any of limit, interval, grace, ignoreWarnings',
      'rules[2]: 5 is not allowed; allowed: an object with any of match, checkRestart, mode, action, standalone, protection, brakes',
      'brakes: a list is not allowed; allowed: an object with any of perMinute, serviceBreaker, estateBreaker',
      'rulez: unknown key; allowed: an object with any of $schema, rules, brakes',
    ]);
  });

  it.each([
    ['', 'not valid JSON'],
    ['{"rules":[', 'not valid JSON'],
    ['{"rules":[]} x', 'not valid JSON'],
    ['<html>\u001b[31m', 'not valid JSON'],
    ['null', 'policy document: null is not allowed'],
    ['[]', 'policy document: a list is not allowed'],
    ['"{}"', 'policy document: "{}" is not allowed'],
  ])('%j is one clear problem', (text, message) => {
    const result = parsePolicyDocument(text);
    const problems = result.ok ? [] : result.problems;
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(problems.join()).not.toMatch(/\p{Cc}/u);
  });

  it('C42: percent "150" and "NaN" are refused, with and without a percent sign', () => {
    for (const inFlight of ['150', 'NaN', '150%', 'NaN%', '100.1%', '0%', '0.0%', '-5%', '1e1%', '', ' 10%']) {
      expect(problemsOf(withRule({ brakes: { inFlight } })), inFlight).toHaveLength(1);
    }
    for (const inFlight of ['100%', '0.5%', '12.5%', '1%']) {
      expect(problemsOf(withRule({ brakes: { inFlight } })), inFlight).toEqual([]);
    }
  });

  // The two sides of each bound.
  it.each([
    [withRule({ checkRestart: { limit: 0 } }), withRule({ checkRestart: { limit: -1 } })],
    [withRule({ checkRestart: { limit: 1000 } }), withRule({ checkRestart: { limit: 1001 } })],
    [withRule({ checkRestart: { limit: 3 } }), withRule({ checkRestart: { limit: '3' } })],
    [withRule({ checkRestart: { interval: '1ms' } }), withRule({ checkRestart: { interval: '0s' } })],
    [withRule({ checkRestart: { interval: '168h' } }), withRule({ checkRestart: { interval: '168h1ms' } })],
    [withRule({ checkRestart: { grace: '0s' } }), withRule({ checkRestart: { grace: '0' } })],
    [withRule({ checkRestart: { grace: '1h30m' } }), withRule({ checkRestart: { grace: '-1s' } })],
    [withRule({ brakes: { inFlight: 1 } }), withRule({ brakes: { inFlight: 0 } })],
    [withRule({ brakes: { restart: { attempts: 0 } } }), withRule({ brakes: { restart: { attempts: -1 } } })],
    [withRule({ brakes: { restart: { delay: '0s' } } }), withRule({ brakes: { restart: { interval: '0s' } } })],
    [{ brakes: { perMinute: 1 } }, { brakes: { perMinute: 0 } }],
    [{ brakes: { serviceBreaker: { share: 0 } } }, { brakes: { serviceBreaker: { share: -0.1 } } }],
    [{ brakes: { serviceBreaker: { share: 1 } } }, { brakes: { serviceBreaker: { share: 50 } } }],
    [{ brakes: { estateBreaker: { minServices: 1 } } }, { brakes: { estateBreaker: { minServices: 0 } } }],
    [{ rules: [{ match: { service: 'x' } }] }, { rules: [{ match: { service: '' } }] }],
  ])('allows %j and refuses %j', (good, bad) => {
    expect(problemsOf(good)).toEqual([]);
    expect(problemsOf(bad)).toHaveLength(1);
  });

  it('refuses brakes in a rule for single checks: they belong to a service', () => {
    expect(problemsOf({ rules: [{ match: { check: 'x' }, brakes: { inFlight: 1 } }] })).toEqual([
      'rules[0].brakes: an object is not allowed; allowed: only in a rule whose `match` has no `check`',
    ]);
  });

  it('refuses keys that are special to JavaScript', () => {
    const result = parsePolicyDocument('{"__proto__": {"rules": []}, "constructor": 1}');
    expect(result.ok ? [] : result.problems).toHaveLength(2);
  });

  it('never throws, whatever it is given', () => {
    fc.assert(fc.property(fc.string(), (text) => parsePolicyDocument(text) !== undefined));
    fc.assert(fc.property(fc.json({ maxDepth: 6 }), (text) => parsePolicyDocument(text) !== undefined));
    const deep = `{"rules":[{"match":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`;
    expect(parsePolicyDocument(deep).ok).toBe(false);
  });
});

describe('the published JSON Schema', () => {
  it('is that of the code (npm run schema writes it)', () => {
    const published = readFileSync(new URL('../../infra/policy.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(published)).toEqual(policyDocumentJsonSchema());
  });
});
