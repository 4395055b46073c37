/**
 * JSON Schema of the policy document, for editors and for whoever writes one. Not part of the functions: `toJSONSchema`
 * would more than double the share of zod in them.
 */
import * as z from 'zod/mini';
import { PolicyDocumentSchema } from './policy-document-schema.ts';

/** The schema as a plain object, of what is written (not of what it is read into). */
export function policyDocumentJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(PolicyDocumentSchema, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title: 'Policy document of ecs-check-restart', ...schema };
}
