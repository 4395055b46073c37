/** The form of a scenario file, and every problem with one. Messages are what is allowed at their place. */
import * as z from 'zod/mini';
import { parseDurationMs } from '../../../lib/check-restart/duration.ts';
import { parsePolicyDocument } from '../../../lib/config/policy-document.ts';
import { schemaProblems } from '../../../lib/config/schema-problems.ts';

const durationError = 'a duration with a unit such as "90s" or "100ms"';
const duration = z.pipe(
  z
    .string({ error: durationError })
    .check(z.refine((text) => parseDurationMs(text) !== undefined, { error: durationError })),
  z.transform((text) => parseDurationMs(text) ?? Number.NaN),
);
const name = z
  .string({ error: 'a text that is not empty' })
  .check(z.minLength(1, { error: 'a text that is not empty' }));
const text = z.string({ error: 'a text' });
const flag = z.boolean({ error: 'true or false' });
const number = z.int({ error: 'a whole number, 0 or more' }).check(z.gte(0, { error: 'a whole number, 0 or more' }));

function timeline<T extends z.ZodMiniType>(entry: T, what: string) {
  const error = `a list of [instant, ${what}]`;
  return z.array(z.tuple([duration, entry], { error }), { error });
}

function shape<T extends Record<string, z.core.SomeType>>(fields: T) {
  return z.strictObject(fields, { error: `an object with any of ${Object.keys(fields).join(', ')}` });
}

const desired = z.enum(['RUNNING', 'STOPPED'], { error: '"RUNNING" or "STOPPED"' });
const controllers = ['ECS', 'CODE_DEPLOY', 'EXTERNAL'] as const;

const task = shape({
  service: z.exactOptional(name),
  cluster: z.exactOptional(name),
  startedAt: z.exactOptional(duration),
  desiredStatus: z.exactOptional(timeline(desired, '"RUNNING" or "STOPPED"')),
  protected: z.exactOptional(flag),
  replaceAfter: z.exactOptional(duration),
  standalone: z.exactOptional(flag),
  deploying: z.exactOptional(flag),
  deploymentController: z.exactOptional(
    z.enum(controllers, { error: controllers.map((one) => `"${one}"`).join(', ') }),
  ),
});

const check = shape({
  id: name,
  task: name,
  policy: z.exactOptional(z.unknown()),
  timeline: timeline(text, 'status'),
});

/** What Consul may answer instead of the truth. */
export const ANSWERS = ['error', 'no-leader', 'forbidden', 'empty', 'filtered', 'truncated', 'rate-limited'] as const;

const fault = shape({
  from: duration,
  to: duration,
  answer: z.enum(ANSWERS, { error: ANSWERS.map((one) => `"${one}"`).join(', ') }),
});

const declaration = z.nullable(z.looseObject({}, { error: 'a declaration (an object), or null' }));
const proxy = shape({
  id: name,
  declared: timeline(declaration, 'declaration or null'),
  exitsAfter: z.exactOptional(z.array(duration, { error: 'a list of durations' })),
});

const restartEntry = shape({
  task: name,
  at: duration,
  check: z.exactOptional(name),
  service: z.exactOptional(name),
  action: z.exactOptional(name),
});
const skippedEntry = shape({
  task: name,
  at: duration,
  check: z.exactOptional(name),
  reason: z.exactOptional(name),
});
const proxyEntry = shape({
  launches: z.array(duration, { error: 'a list of instants' }),
  stops: z.array(duration, { error: 'a list of instants' }),
});

const scenario = shape({
  name: z.exactOptional(text),
  duration,
  poll: z.exactOptional(
    duration.check(z.refine((ms) => ms > 0, { error: 'a duration above 0 with a unit such as "1s"' })),
  ),
  maxObservationGap: z.exactOptional(z.nullable(duration)),
  policy: z.exactOptional(z.unknown()),
  settle: z.exactOptional(duration),
  removalDelay: z.exactOptional(duration),
  brakes: z.exactOptional(z.unknown()),
  tasks: z.exactOptional(z.record(name, task, { error: 'an object of tasks by ID' })),
  checks: z.exactOptional(z.array(check, { error: 'a list of checks' })),
  consul: z.exactOptional(z.array(fault, { error: 'a list of faults' })),
  proxies: z.exactOptional(z.array(proxy, { error: 'a list of proxies' })),
  expect: z.exactOptional(
    shape({
      restarts: z.exactOptional(z.array(restartEntry, { error: 'a list of restarts' })),
      restartCount: z.exactOptional(number),
      skipped: z.exactOptional(z.array(skippedEntry, { error: 'a list of skipped checks' })),
      proxies: z.exactOptional(z.record(name, proxyEntry, { error: 'an object of proxies by ID' })),
    }),
  ),
});

/** A scenario; durations and instants are milliseconds. `policy` and `brakes` are as in the policy document. */
export type Scenario = z.infer<typeof scenario>;

/** Scenarios, or every problem with its place. */
export type ScenariosResult =
  | { readonly ok: true; readonly scenarios: readonly Scenario[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a file's text: one scenario or an array of them. Never throws. */
export function parseScenarios(fileText: string): ScenariosResult {
  let json: unknown;
  try {
    json = JSON.parse(fileText);
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unreadable';
    return { ok: false, problems: [`not valid JSON (${cause})`] };
  }
  const isList = Array.isArray(json);
  const scenarios: Scenario[] = [];
  const problems: string[] = [];
  for (const [index, one] of (Array.isArray(json) ? json : [json]).entries()) {
    const at = isList ? `[${index}].` : '';
    const read = scenario.safeParse(one);
    if (read.success) {
      scenarios.push(read.data);
      problems.push(...policyProblems(read.data).map((problem) => at + problem));
    } else problems.push(...schemaProblems(read.error.issues, one, 'scenario').map((problem) => at + problem));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, scenarios };
}

/** The policy document that a scenario stands for. Everything that it does not state is off. */
export function documentOf({ policy, brakes = {}, checks = [] }: Scenario): string {
  const { restart = null, inFlight = null, ...estate } = brakes as Record<string, unknown>;
  const off = { perMinute: null, serviceBreaker: null, estateBreaker: null };
  return JSON.stringify({
    rules: [
      { match: {}, ...(policy === undefined ? {} : { checkRestart: policy }), brakes: { restart, inFlight } },
      ...checks.flatMap((one) =>
        one.policy === undefined ? [] : [{ match: { check: checkIdOf(one) }, checkRestart: one.policy }],
      ),
    ],
    brakes: { ...off, ...estate },
  });
}

/** The ID of a check in the scenario's Consul: unique, and known to no other task; maintenance keeps its own. */
export function checkIdOf({ id, task: of }: { readonly id: string; readonly task: string }): string {
  return isMaintenance(id) ? id : `${of}/${id}`;
}

/** True for the check that Consul registers while a service or node is in maintenance. */
export function isMaintenance(id: string): boolean {
  return id.startsWith('_service_maintenance:') || id === '_node_maintenance';
}

/** Problems of the parts that the policy document's own parser judges, named by the scenario's fields. */
function policyProblems(read: Scenario): string[] {
  const { brakes } = read;
  if (brakes !== undefined && (typeof brakes !== 'object' || brakes === null || Array.isArray(brakes))) {
    return ['brakes: allowed: an object with any of restart, inFlight, perMinute, serviceBreaker, estateBreaker'];
  }
  const parsed = parsePolicyDocument(documentOf(read));
  if (parsed.ok) return [];
  const places = [
    'policy',
    ...(read.checks ?? []).flatMap((one, at) => (one.policy === undefined ? [] : [`checks[${at}].policy`])),
  ];
  return parsed.problems.map((problem) =>
    problem
      .replace(/^rules\[0\]\.brakes/, 'brakes')
      .replace(/^rules\[(\d+)\]\.checkRestart/, (_, index: string) => places[Number(index)] ?? 'policy'),
  );
}
