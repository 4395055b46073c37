/** No exception but its own escapes from any decoder, and nothing that was not understood comes out as something understood. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidInput, parseInput } from '../../functions/watch-checks/input.ts';
import { parseScenarios } from '../../infra/local/scenario/schema.ts';
import { parseDurationMs } from '../../lib/check-restart/duration.ts';
import { globMatches } from '../../lib/check-restart/glob.ts';
import { mapInstance } from '../../lib/check-restart/mapping.ts';
import { stopReason } from '../../lib/check-restart/stop-reason.ts';
import { parseTaskArn } from '../../lib/check-restart/task-arn.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { readSettings } from '../../lib/config/settings.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import {
  decodeInstances,
  decodeKey,
  decodeServiceChecks,
  decodeServices,
  decodeStateChecks,
} from '../../lib/consul/decode.ts';
import { decode, heartbeatData, policyData, serviceData, watchedCheckData } from '../../lib/dynamodb/codec.ts';
import { controlData, proxyData } from '../../lib/dynamodb/proxy-codec.ts';
import { decodeService, decodeTask } from '../../lib/ecs/decode.ts';
import { ReadFailure } from '../../lib/ports.ts';
import { readDeclarations } from '../../lib/proxies/declaration.ts';
import { damaged, jsonLike, RUNS } from './fuzz.ts';
import { CHECK, DOCUMENT, INSTANCE, ITEM, POLICY, SCENARIO } from './samples.ts';

/** Noise of its own kind, and a valid document with one thing wrong. */
function inputsLike(valid: unknown): fc.Arbitrary<unknown> {
  const keys = [...new Set(JSON.stringify(valid).match(/(?<=")[\w-]+(?=":)/g) ?? [])];
  return fc.oneof(jsonLike(keys), damaged(valid, keys), damaged([valid], keys));
}

/** Runs a decoder; only failures of the kind named may escape. */
function escapesOnly<T>(run: () => T, ...kinds: readonly (abstract new (...args: never[]) => Error)[]): T | undefined {
  try {
    return run();
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

describe('Consul', () => {
  test.each([
    ['state checks', decodeStateChecks],
    ['service checks', decodeServiceChecks],
  ])('%s: decoded checks have the fields that decide, whatever came', (_, decodeChecks) => {
    fc.assert(
      fc.property(inputsLike(CHECK), (body) => {
        for (const check of escapesOnly(() => decodeChecks(body, 'GET x'), ReadFailure) ?? []) {
          expect([typeof check.node, typeof check.checkId, typeof check.status]).toEqual([
            'string',
            'string',
            'string',
          ]);
          expect(check.output.length).toBeLessThanOrEqual(256);
          expect(check.intervalMs ?? 0).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('instances, keys and services', () => {
    fc.assert(
      fc.property(inputsLike(INSTANCE), (body) => {
        for (const one of escapesOnly(() => decodeInstances(body, 'GET x'), ReadFailure) ?? []) {
          expect(Object.values(one.meta).every((value) => typeof value === 'string')).toBe(true);
        }
        escapesOnly(() => decodeKey(body, 'GET x'), ReadFailure);
        escapesOnly(() => decodeServices(body, 'GET x'), ReadFailure);
      }),
      { numRuns: RUNS },
    );
  });
});

test('ECS: a task or service that is not understood is never RUNNING', () => {
  const keys = [
    'taskArn',
    'lastStatus',
    'desiredStatus',
    'startedAt',
    'containers',
    'attachments',
    'serviceName',
    'deployments',
  ];
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(undefined, 'RUNNING', 'x', '')), (raw) => {
      const { containers: _, attachments: __, deployments: ___, startedAt: ____, ...plain } = raw;
      const task = decodeTask(plain);
      if (task?.lastStatus === 'RUNNING') expect(plain.lastStatus).toBe('RUNNING');
      decodeService(plain);
    }),
    { numRuns: RUNS },
  );
});

test('items of the table: understood, or one line that says what is wrong', () => {
  const decoders = [
    (item: unknown) => decode(item, watchedCheckData),
    (item: unknown) => decode(item, serviceData),
    (item: unknown) => decode(item, heartbeatData),
    (item: unknown) => decode(item, policyData),
    (item: unknown) => decode(item, proxyData),
    (item: unknown) => decode(item, controlData),
  ];
  fc.assert(
    fc.property(inputsLike(ITEM), fc.constantFrom(...decoders), (item, decoder) => {
      const read = decoder(item);
      if ('problem' in read) expect(read.problem).toMatch(/^.+$/);
      else expect(read.version).toBeGreaterThan(0);
    }),
    { numRuns: RUNS },
  );
});

test('the policy document: valid, or every problem on a line of its own; never a limit or duration that was not written', () => {
  fc.assert(
    fc.property(inputsLike(POLICY), (document) => {
      const read = parsePolicyDocument(JSON.stringify(document) ?? 'undefined');
      if (!read.ok) {
        expect(read.problems.every((problem) => /^.+$/.test(problem))).toBe(true);
        return;
      }
      for (const { set } of read.document.rules) {
        expect(Number.isSafeInteger(set.limit ?? 0) && (set.limit ?? 0) >= 0).toBe(true);
        expect((set.intervalMs ?? 1) > 0 && (set.graceMs ?? 0) >= 0).toBe(true);
      }
    }),
    { numRuns: RUNS },
  );
});

test('any text is refused as a policy document or understood', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const read = parsePolicyDocument(text);
      if (!read.ok) expect(read.problems.length).toBeGreaterThan(0);
    }),
    { numRuns: RUNS },
  );
});

test('Meta: understood whole, or not at all', () => {
  const key = fc.oneof(
    fc.constantFrom('check-restart-limit', 'check-restart-grace', 'check-restart-mode', 'check-restart-'),
    fc.string(),
  );
  const value = fc.oneof(
    fc.constantFrom('1', '-1', '3.5', '', '10s', 'restart', 'off', 'true'),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(fc.dictionary(key, value), (meta) => {
      const read = parseMetaPolicy(meta);
      if (!read.ok) {
        expect(read.problems.length).toBeGreaterThan(0);
        return;
      }
      for (const [name, stated] of Object.entries(meta)) {
        if (name === 'check-restart-limit') expect(read.part.limit).toBe(Number(stated));
      }
    }),
    { numRuns: RUNS },
  );
});

test('settings: valid, or every problem named with its variable', () => {
  const entry = fc.oneof(
    fc.constantFrom('', 'true', 'false', '10s', '-1', 'NaN', '1e3', 'https://x', 'x'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(SETTINGS)), entry), (env) => {
      const read = readSettings(env);
      if (!read.ok) expect(read.problems.every((problem) => /^[A-Z_, ]+: .+$/s.test(problem))).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

describe('invoke input', () => {
  const inputs = [
    { action: 'pass', dryRun: true, service: 'web' },
    { action: 'status' },
    { action: 'window' },
    { action: 'explain', task: 'x', service: 'web', check: 'c' },
    { action: 'hold', service: 'prod/web', for: '2h', why: 'moving' },
    { action: 'release', all: true },
    { source: 'aws.scheduler', 'detail-type': 'Scheduled Event' },
  ];
  test.each(inputs.map((valid) => [JSON.stringify(valid), valid]))(
    '%s, damaged: understood as written, or InvalidInput',
    (_, valid) => {
      fc.assert(
        fc.property(inputsLike(valid), (event) => {
          const read = escapesOnly(() => parseInput(event), InvalidInput);
          if (read === undefined) return;
          const written: { action?: unknown; dryRun?: unknown } = Object(event);
          const isEmpty = event === null || event === '' || Object.keys(written).length === 0;
          // What may restart something is never made of what was not understood.
          if (read.action === 'pass' && !isEmpty)
            expect([written.action, written.dryRun ?? false]).toEqual(['pass', read.dryRun]);
          if (read.action === 'release' || read.action === 'hold') expect(written.action).toBe(read.action);
        }),
        { numRuns: RUNS },
      );
    },
  );
});

test('scenario files', () => {
  fc.assert(
    fc.property(inputsLike(SCENARIO), (scenario) => {
      const read = parseScenarios(JSON.stringify(scenario) ?? 'undefined');
      if (!read.ok) expect(read.problems.length).toBeGreaterThan(0);
    }),
    { numRuns: RUNS },
  );
});

test('declarations of proxies: usable within the allow-list, or every problem', () => {
  const allow = { families: ['envoy'], clusters: ['prod'], commands: ['envoy'], services: [] };
  fc.assert(
    fc.property(inputsLike(DOCUMENT), inputsLike(DOCUMENT), (value, defaults) => {
      const sources = { instances: [], documents: [{ id: 'p1', source: { value } }], defaults: { value: defaults } };
      for (const proxy of readDeclarations(sources, { allow }, (text) => text)) {
        if (!proxy.usable) expect(proxy.problems.length).toBeGreaterThan(0);
        else {
          expect(proxy.spec.cluster).toBe('prod');
          if (proxy.spec.execMode === 'task') expect(proxy.spec.taskDefinition?.split(':')[0]).toBe('envoy');
        }
      }
    }),
    { numRuns: RUNS },
  );
});

test('mapping: whatever a registration says, a task is named only in an allowed cluster of our account', () => {
  const id = '0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';
  const text = fc.oneof(
    fc.constantFrom(
      id,
      `web-${id}`,
      `arn:aws:ecs:eu-west-1:123456789012:task/prod/${id}`,
      `arn:aws:ecs:eu-west-1:999999999999:task/prod/${id}`,
      'prod',
      'stage',
    ),
    fc.string({ unit: 'binary' }),
  );
  const meta = fc.dictionary(fc.constantFrom('task-arn', 'task-id', 'ecs-cluster'), text);
  const context = {
    partition: 'aws',
    region: 'eu-west-1',
    account: '123456789012',
    allowedClusters: ['prod'],
    metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
  };
  fc.assert(
    fc.property(meta, text, text, (given, node, serviceId) => {
      const mapping = mapInstance([{ node, serviceId, meta: given }], context);
      if (mapping.kind !== 'mapped') return;
      const arn = parseTaskArn(mapping.taskArn);
      expect([arn?.account, arn?.region, arn?.cluster]).toEqual(['123456789012', 'eu-west-1', 'prod']);
    }),
    { numRuns: RUNS },
  );
});

test('texts: durations, globs, ARNs and stop reasons take anything', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), fc.string({ maxLength: 60 }), (text, glob) => {
      expect(parseDurationMs(text) ?? 0).toBeGreaterThanOrEqual(0);
      globMatches(glob, text);
      parseTaskArn(text);
      const reason = stopReason(text);
      expect(reason.length).toBeLessThanOrEqual(255);
      expect(reason.isWellFormed()).toBe(true);
      expect(reason).not.toMatch(/\p{Cc}/u);
    }),
    { numRuns: RUNS },
  );
});
