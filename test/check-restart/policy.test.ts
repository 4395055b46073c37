import { describe, expect, it } from 'vitest';
import {
  countsWarnings,
  DEFAULT_POLICY,
  effectiveIntervalMs,
  FALLBACK_INTERVAL_MS,
  MODES,
  type Mode,
  type Policy,
  type PolicyPart,
  type PolicyRule,
  type PolicySubject,
  resolvePolicy,
  timeLimitMs,
} from '../../lib/check-restart/policy.ts';

const SUBJECT: PolicySubject = {
  service: 'web',
  namespace: 'default',
  cluster: 'prod',
  checkId: 'service:web-1:http',
  checkName: 'HTTP on /health',
};

/** A rule for the service, and one for the check. */
const ofService = (set: PolicyPart): PolicyRule => ({ match: { service: 'web' }, set });
const ofCheck = (set: PolicyPart): PolicyRule => ({ match: { service: 'web', check: '*http*' }, set });

const resolve = (rules: readonly PolicyRule[], meta: PolicyPart = {}, defaults: Partial<Policy> = {}) =>
  resolvePolicy({ ...DEFAULT_POLICY, ...defaults }, rules, meta, SUBJECT);

describe('the defaults', () => {
  it('are Nomad’s, with watching off', () => {
    expect(resolve([]).policy).toStrictEqual({
      limit: 0,
      graceMs: 1000,
      ignoreWarnings: false,
      mode: 'restart',
      action: 'stop-task',
      standalone: 'skip',
      protection: 'respect',
    });
  });

  it('are the origin of every field, and no rule matched', () => {
    const { origins, matched } = resolve([], {}, { intervalMs: 5000 });
    expect(new Set(Object.values(origins))).toStrictEqual(new Set(['default']));
    expect(Object.keys(origins).sort()).toStrictEqual(
      ['action', 'graceMs', 'ignoreWarnings', 'intervalMs', 'limit', 'mode', 'protection', 'standalone'].sort(),
    );
    expect(matched).toStrictEqual([]);
  });
});

/** Four different values of each field but `mode`: of the defaults, a rule of the service, Meta, a rule of the check. */
const FIELDS: readonly (readonly [keyof Policy, readonly PolicyPart[]])[] = [
  ['limit', [{ limit: 1 }, { limit: 2 }, { limit: 3 }, { limit: 4 }]],
  ['intervalMs', [{ intervalMs: 1 }, { intervalMs: 2 }, { intervalMs: 3 }, { intervalMs: 4 }]],
  ['graceMs', [{ graceMs: 1 }, { graceMs: 2 }, { graceMs: 3 }, { graceMs: 4 }]],
  [
    'ignoreWarnings',
    [{ ignoreWarnings: false }, { ignoreWarnings: true }, { ignoreWarnings: false }, { ignoreWarnings: true }],
  ],
  [
    'action',
    [
      { action: 'stop-task' },
      { action: 'force-new-deployment' },
      { action: 'stop-task' },
      { action: 'force-new-deployment' },
    ],
  ],
  ['standalone', [{ standalone: 'skip' }, { standalone: 'stop' }, { standalone: 'skip' }, { standalone: 'stop' }]],
  [
    'protection',
    [{ protection: 'respect' }, { protection: 'ignore' }, { protection: 'respect' }, { protection: 'ignore' }],
  ],
];

describe.each(FIELDS)('the field %s', (field, [fromDefaults = {}, fromService = {}, fromMeta = {}, fromCheck = {}]) => {
  it('comes from a rule of the service rather than from the defaults', () => {
    const { policy, origins } = resolve([ofService(fromService)], {}, fromDefaults);
    expect(policy[field]).toBe(fromService[field]);
    expect(origins[field]).toBe('rule 1');
  });

  it('comes from Meta rather than from a rule of the service', () => {
    const { policy, origins } = resolve([ofService(fromService)], fromMeta, fromDefaults);
    expect(policy[field]).toBe(fromMeta[field]);
    expect(origins[field]).toBe('meta');
  });

  it('comes from a rule of the check rather than from Meta, even if that rule is written first', () => {
    const { policy, origins } = resolve([ofCheck(fromCheck), ofService(fromService)], fromMeta, fromDefaults);
    expect(policy[field]).toBe(fromCheck[field]);
    expect(origins[field]).toBe('rule 1');
  });

  it('comes from the later of two rules', () => {
    const { policy, origins } = resolve([ofService(fromMeta), ofService(fromService)], {}, fromDefaults);
    expect(policy[field]).toBe(fromService[field]);
    expect(origins[field]).toBe('rule 2');
  });

  it('stays what it was where a later source says nothing of it', () => {
    const { policy, origins } = resolve([ofService(fromService), ofService({})], {}, fromDefaults);
    expect(policy[field]).toBe(fromService[field]);
    expect(origins[field]).toBe('rule 1');
  });

  it('is never overwritten by an undefined one', () => {
    const hole = { [field]: undefined } as PolicyPart;
    const { policy, origins } = resolve([ofService(fromService), ofService(hole), ofCheck(hole)], hole, fromDefaults);
    expect(policy[field]).toBe(fromService[field]);
    expect(origins[field]).toBe('rule 1');
  });
});

describe('fields of one policy', () => {
  it('may come from four sources', () => {
    const { policy, origins } = resolve([ofService({ limit: 3 }), ofCheck({ intervalMs: 7000 })], { graceMs: 90_000 });
    expect(policy).toMatchObject({ limit: 3, intervalMs: 7000, graceMs: 90_000, ignoreWarnings: false });
    expect(origins).toMatchObject({
      limit: 'rule 1',
      intervalMs: 'rule 2',
      graceMs: 'meta',
      ignoreWarnings: 'default',
    });
  });
});

describe('the mode', () => {
  const every = MODES.flatMap((one) => MODES.map((other) => [one, other] as const));

  it.each(every)('is the most cautious one, whoever sets it: %s and %s', (one, other) => {
    const cautious = MODES[Math.min(MODES.indexOf(one), MODES.indexOf(other))];
    const results = [
      resolve([ofService({ mode: other })], {}, { mode: one }),
      resolve([], { mode: other }, { mode: one }),
      resolve([ofCheck({ mode: other })], {}, { mode: one }),
      resolve([ofService({ mode: one }), ofService({ mode: other })]),
      resolve([ofService({ mode: one })], { mode: other }),
      resolve([ofCheck({ mode: one })], { mode: other }),
      resolve([ofCheck({ mode: one }), ofService({ mode: other })]),
    ];
    expect(results.map(({ policy }) => policy.mode)).toStrictEqual(results.map(() => cautious));
  });

  it('is off before notify before restart', () => {
    expect(MODES).toStrictEqual(['off', 'notify', 'restart']);
  });

  it.each<[string, PolicyRule[], PolicyPart, Mode, string]>([
    ['of the rule that made it more cautious', [ofService({ mode: 'notify' })], {}, 'restart', 'rule 1'],
    ['of the defaults where a rule is bolder', [ofService({ mode: 'restart' })], {}, 'notify', 'default'],
    ['of Meta where that is the most cautious', [ofService({ mode: 'notify' })], { mode: 'off' }, 'restart', 'meta'],
    ['of the rule where Meta is bolder', [ofService({ mode: 'off' })], { mode: 'restart' }, 'restart', 'rule 1'],
    ['of a rule of the check', [ofCheck({ mode: 'off' })], { mode: 'notify' }, 'restart', 'rule 1'],
  ])('has the origin %s', (_, rules, meta, mode, origin) => {
    expect(resolve(rules, meta, { mode }).origins.mode).toBe(origin);
  });

  it('of a bolder rule does not take the rest of that rule away', () => {
    expect(resolve([ofService({ mode: 'restart', limit: 3 })], {}, { mode: 'notify' }).policy).toMatchObject({
      mode: 'notify',
      limit: 3,
    });
  });
});

describe('limit 0', () => {
  it('in Meta is final, whatever a rule of the check says', () => {
    const { policy, origins } = resolve([ofService({ limit: 3 }), ofCheck({ limit: 5 })], { limit: 0 });
    expect(policy.limit).toBe(0);
    expect(origins.limit).toBe('meta');
  });

  it('in Meta leaves the other fields to later sources', () => {
    expect(resolve([ofCheck({ graceMs: 5000 })], { limit: 0 }).policy).toMatchObject({ limit: 0, graceMs: 5000 });
  });

  it('in a rule of the check switches off what Meta switched on', () => {
    expect(resolve([ofCheck({ limit: 0 })], { limit: 3 })).toMatchObject({
      policy: { limit: 0 },
      origins: { limit: 'rule 1' },
    });
  });

  it('in a rule of the service is not final', () => {
    expect(resolve([ofService({ limit: 0 })], { limit: 3 }).policy.limit).toBe(3);
    expect(resolve([ofService({ limit: 0 }), ofCheck({ limit: 2 })]).policy.limit).toBe(2);
  });
});

describe('a rule matches', () => {
  it.each<[string, PolicyRule['match'], boolean]>([
    ['everything, without any glob', {}, true],
    ['by service', { service: 'w?b' }, true],
    ['not another service', { service: 'api*' }, false],
    ['by cluster', { cluster: 'pr*' }, true],
    ['not another cluster', { cluster: 'stage' }, false],
    ['by namespace', { namespace: 'def*' }, true],
    ['not another namespace', { namespace: 'team-*' }, false],
    ['by check ID', { check: 'service:*:http' }, true],
    ['by check name', { check: 'HTTP on *' }, true],
    ['not another check', { check: 'warmup' }, false],
    ['when all its globs match', { service: 'web', cluster: 'prod', namespace: 'default', check: '*http' }, true],
    ['not when one of them does not: service', { service: 'api', cluster: 'prod', check: '*http' }, false],
    ['not when one of them does not: cluster', { service: 'web', cluster: 'stage', check: '*http' }, false],
    ['not when one of them does not: namespace', { service: 'web', namespace: 'x' }, false],
    ['not when one of them does not: check', { service: 'web', cluster: 'prod', check: 'warmup' }, false],
    ['the whole name only', { service: 'we' }, false],
  ])('%s', (_, match, expected) => {
    const { policy, matched } = resolve([{ match, set: { limit: 9 } }]);
    expect(policy.limit).toBe(expected ? 9 : 0);
    expect(matched).toStrictEqual(expected ? [0] : []);
  });

  it('in the order of application: those of the service, then those of the check', () => {
    const other: PolicyRule = { match: { service: 'api' }, set: { limit: 7 } };
    const { matched } = resolve([ofCheck({}), other, ofService({}), ofCheck({}), ofService({})]);
    expect(matched).toStrictEqual([2, 4, 0, 3]);
  });

  it('a cluster that is not known yet only by a glob that matches everything', () => {
    const rules: PolicyRule[] = [
      { match: { cluster: 'prod' }, set: { limit: 3 } },
      { match: { cluster: '*' }, set: { graceMs: 7 } },
    ];
    expect(resolvePolicy(DEFAULT_POLICY, rules, {}, { ...SUBJECT, cluster: '' }).matched).toStrictEqual([1]);
  });
});

describe('warnings are read', () => {
  it.each<[string, boolean, PolicyPart[], boolean]>([
    ['when the defaults count them', false, [], true],
    ['not when the defaults ignore them', true, [], false],
    ['when one rule counts them', true, [{ ignoreWarnings: true }, { ignoreWarnings: false }], true],
    ['not when rules ignore them too', true, [{ ignoreWarnings: true }], false],
    ['not when rules say nothing of them', true, [{ limit: 3 }], false],
    ['when a rule ignores them but the defaults do not', false, [{ ignoreWarnings: true }], true],
  ])('%s', (_, ignoreWarnings, parts, expected) => {
    expect(countsWarnings({ ...DEFAULT_POLICY, ignoreWarnings }, parts.map(ofService))).toBe(expected);
  });
});

describe('the interval that applies', () => {
  it.each<[number | undefined, number | undefined, number]>([
    [undefined, undefined, 30_000],
    [10_000, undefined, 10_000],
    [undefined, 5000, 5000],
    [10_000, 5000, 10_000],
    [5000, 10_000, 10_000],
    [5000, 5000, 5000],
    [40_000, undefined, 40_000],
    [undefined, 40_000, 40_000],
  ])('policy %s, check %s: %d ms', (policyMs, checkMs, expectedMs) => {
    const policy = policyMs === undefined ? {} : { intervalMs: policyMs };
    expect(effectiveIntervalMs(policy, checkMs)).toBe(expectedMs);
  });

  it('falls back to 30 s', () => {
    expect(FALLBACK_INTERVAL_MS).toBe(30_000);
  });
});

describe('the time limit is interval * (limit - 1)', () => {
  it.each<[number, number | undefined, number | undefined, number]>([
    [0, 10_000, undefined, 0],
    [1, 10_000, undefined, 0],
    [2, 10_000, undefined, 10_000],
    [3, 10_000, undefined, 20_000],
    [5, 6000, undefined, 24_000],
    [3, 10_000, 60_000, 120_000],
    [2, undefined, undefined, 30_000],
  ])('limit %d, policy %s, check %s: %d ms', (limit, policyMs, checkMs, expectedMs) => {
    const policy = policyMs === undefined ? { limit } : { limit, intervalMs: policyMs };
    expect(timeLimitMs(policy, checkMs)).toBe(expectedMs);
  });
});
