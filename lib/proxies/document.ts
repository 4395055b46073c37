/**
 * Reads one proxy document (defaults already merged under it) into a `ProxySpec`, and the defaults themselves. Lenient in
 * nothing: an unknown field is a problem, because a misspelt one would be ignored in silence.
 */
import { isAllowed, showGlobs } from './allow-list.ts';
import {
  type DocumentRules,
  NAME,
  readCapacity,
  readCluster,
  readCommand,
  readEnvironment,
  readNetwork,
  readTaskDefinition,
} from './document-fields.ts';
import {
  type JsonObject,
  type Problems,
  readChoice,
  readObject,
  readText,
  refuseUnknownKeys,
  showValue,
  type TextForm,
} from './shape.ts';
import { EXEC_MODES, LAUNCH_TYPES, type ProxySpec } from './spec.ts';

const TASK_FIELDS = [
  'taskDefinition',
  'container',
  'command',
  'environment',
  'network',
  'launchType',
  'capacityProviders',
  'platformVersion',
] as const;
/** Fields of a proxy document. */
export const DOCUMENT_FIELDS: readonly string[] = [
  'service',
  'execMode',
  'cluster',
  'ecsService',
  ...TASK_FIELDS,
  'config',
];
/** Fields of the defaults. Command and placement make sense for many proxies; service and environment are one's own. */
export const DEFAULT_FIELDS: readonly string[] = [
  'execMode',
  'cluster',
  'taskDefinition',
  'container',
  'command',
  'network',
  'launchType',
  'capacityProviders',
  'platformVersion',
  'config',
];
/** What Consul adds to what was written; neither a problem nor part of a declaration. */
export const SERVER_FILLED: readonly string[] = [
  'CreateIndex',
  'ModifyIndex',
  'LockIndex',
  'Key',
  'Flags',
  'Session',
  'Namespace',
  'Partition',
];

const SERVICE: TextForm = { pattern: /^[^\p{C}]{1,255}$/u, allowed: 'a text of 1 to 255 characters' };
const PLATFORM: TextForm = { pattern: /^(?:LATEST|\d+\.\d+\.\d+)$/, allowed: '"LATEST" or a version such as "1.4.0"' };
/** RunTask refuses overrides of more than 8192 characters; the rest is room for the frame and our own variable. */
const OVERRIDES_BYTES = 7500;

/** A merged document as a spec; `undefined` exactly when problems were added. */
export function readSpec(problems: Problems, document: JsonObject, rules: DocumentRules): ProxySpec | undefined {
  const before = problems.length;
  refuseUnknownKeys(problems, document, DOCUMENT_FIELDS, '');
  const service = readText(problems, 'service', document.service, SERVICE);
  const execMode = readChoice(problems, 'execMode', document.execMode ?? 'task', EXEC_MODES);
  const cluster = readCluster(problems, document.cluster, rules);
  const common = { ...(service === undefined ? {} : { service }), cluster: cluster ?? '' };
  const spec =
    execMode === 'service'
      ? { ...common, execMode, ...readServiceMode(problems, document, rules) }
      : { ...common, execMode: 'task' as const, ...readTaskMode(problems, document, rules) };
  return problems.length === before ? spec : undefined;
}

/** Problems of the defaults on their own: types and names; what they are allowed to be is seen with each proxy. */
export function checkDefaults(problems: Problems, defaults: JsonObject): void {
  const prefix = 'proxy-defaults.';
  refuseUnknownKeys(problems, defaults, DEFAULT_FIELDS, prefix);
  readObject(problems, `${prefix}config`, defaults.config);
}

function readServiceMode(problems: Problems, document: JsonObject, rules: DocumentRules): { ecsService?: string } {
  for (const field of TASK_FIELDS) {
    if (document[field] !== undefined) {
      problems.push({ field, value: 'present', allowed: 'absent where execMode is "service": its deployer owns that' });
    }
  }
  const ecsService = readText(problems, 'ecsService', document.ecsService, NAME);
  if (ecsService === undefined) return {};
  if (!isAllowed(rules.allow.services, ecsService)) {
    problems.push({
      field: 'ecsService',
      value: showValue(ecsService),
      allowed: showGlobs('services', rules.allow.services),
    });
  }
  return { ecsService };
}

function readTaskMode(problems: Problems, document: JsonObject, rules: DocumentRules): Partial<ProxySpec> {
  if (document.ecsService !== undefined) {
    problems.push({ field: 'ecsService', value: 'present', allowed: 'absent unless execMode is "service"' });
  }
  const fields = {
    taskDefinition: readTaskDefinition(problems, document.taskDefinition, rules),
    container: readText(problems, 'container', document.container, NAME),
    command: readCommand(problems, document.command, rules),
    environment: readEnvironment(problems, document.environment),
    network: readNetwork(problems, document.network),
    launchType: readChoice(problems, 'launchType', document.launchType, LAUNCH_TYPES),
    capacityProviders: readCapacity(problems, document.capacityProviders),
    platformVersion: readText(problems, 'platformVersion', document.platformVersion, PLATFORM),
  };
  if (fields.launchType !== undefined && fields.capacityProviders !== undefined) {
    problems.push({ field: 'launchType', value: 'present', allowed: 'absent where capacityProviders are given' });
  }
  // As RunTask gets them. In bytes, since a text that is not ASCII may be counted so.
  const variables = Object.entries(fields.environment ?? {}).map(([name, value]) => ({ name, value }));
  if (new TextEncoder().encode(JSON.stringify([fields.command, variables])).length > OVERRIDES_BYTES) {
    const allowed = `together at most ${OVERRIDES_BYTES} bytes as JSON`;
    problems.push({ field: 'command and environment', value: 'too long', allowed });
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
