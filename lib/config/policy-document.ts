/**
 * The policy document (DESIGN section 1): JSON that operators keep in Consul KV, read into the form that the pure code
 * uses. A document with any problem is refused whole, with all of its problems: half a policy is nobody's policy.
 */
import type * as z from 'zod/mini';
import type { EstateBrakesPart, ServiceBrakesPart } from '../brakes/settings.ts';
import type { PolicyPart, PolicyRule } from '../check-restart/policy.ts';
import { PolicyDocumentSchema } from './policy-document-schema.ts';
import { notAllowed, shown } from './problem.ts';
import { schemaProblems } from './schema-problems.ts';

/** A rule of the document: policy, and brakes beside it. */
export interface DocumentRule extends PolicyRule {
  readonly brakes: ServiceBrakesPart;
}

/** A valid policy document. `{}` is one: no rules, all brakes at their defaults. */
export interface PolicyDocument {
  readonly rules: readonly DocumentRule[];
  readonly brakes: EstateBrakesPart;
}

/** The document, or everything that is wrong with it: `PLACE: VALUE is not allowed; allowed: …`. */
export type PolicyDocumentResult =
  | { readonly ok: true; readonly document: PolicyDocument }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The last good document is kept in one item of the table, which takes 400 KB. */
const LONGEST_DOCUMENT = 100_000;

type Written = z.infer<typeof PolicyDocumentSchema>;
type WrittenRule = NonNullable<Written['rules']>[number];

/** Reads a policy document. Never throws, whatever the text is. */
export function parsePolicyDocument(text: string): PolicyDocumentResult {
  if (text.length > LONGEST_DOCUMENT) {
    return { ok: false, problems: [`policy document: ${text.length} characters; allowed: up to ${LONGEST_DOCUMENT}`] };
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const cause = error instanceof Error ? shown(error.message) : 'unreadable';
    return { ok: false, problems: [`policy document: not valid JSON (${cause}); allowed: one JSON object`] };
  }
  const read = PolicyDocumentSchema.safeParse(json);
  if (!read.success) return { ok: false, problems: schemaProblems(read.error.issues, json, 'policy document') };
  const { rules = [], brakes = {} } = read.data;
  const problems = rules.flatMap((rule, index) => contradictions(rule, index));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, document: { rules: rules.map(ruleOf), brakes: documentBrakesOf(brakes) } };
}

/** Brakes belong to an ECS service; a rule for single checks cannot set them. */
function contradictions(rule: WrittenRule, index: number): string[] {
  if (rule.brakes === undefined || rule.match.check === undefined) return [];
  return [notAllowed(`rules[${index}].brakes`, rule.brakes, 'only in a rule whose `match` has no `check`')];
}

function ruleOf(rule: WrittenRule): DocumentRule {
  const { interval, grace, ...limits } = rule.checkRestart ?? {};
  const { match, checkRestart: _, brakes, ...rest } = rule;
  const set: PolicyPart = {
    ...limits,
    ...rest,
    ...(interval === undefined ? {} : { intervalMs: interval }),
    ...(grace === undefined ? {} : { graceMs: grace }),
  };
  return { match, set, brakes: ruleBrakesOf(brakes) };
}

function ruleBrakesOf(brakes: NonNullable<WrittenRule['brakes']> = {}): ServiceBrakesPart {
  const { restart, ...others } = brakes;
  if (restart === undefined) return others;
  if (restart === null) return { ...others, restart: null };
  const { interval, delay, ...rest } = restart;
  return {
    ...others,
    restart: {
      ...rest,
      ...(interval === undefined ? {} : { intervalMs: interval }),
      ...(delay === undefined ? {} : { delayMs: delay }),
    },
  };
}

function documentBrakesOf(brakes: NonNullable<Written['brakes']>): EstateBrakesPart {
  const { serviceBreaker, ...others } = brakes;
  if (serviceBreaker === undefined) return others;
  if (serviceBreaker === null) return { ...others, serviceBreaker: null };
  const { retry, ...rest } = serviceBreaker;
  return { ...others, serviceBreaker: { ...rest, ...(retry === undefined ? {} : { retryMs: retry }) } };
}
