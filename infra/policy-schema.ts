/** Writes `infra/policy.schema.json`, the JSON Schema of the policy document: `npm run schema`. A test keeps it current. */
import { writeFileSync } from 'node:fs';
import { policyDocumentJsonSchema } from '../lib/config/policy-json-schema.ts';

writeFileSync(
  new URL('policy.schema.json', import.meta.url),
  `${JSON.stringify(policyDocumentJsonSchema(), null, 2)}\n`,
);
