/**
 * Single fields of a proxy document: those that decide what is run and where. Each reader returns `undefined` where the
 * field is absent or wrong, and adds a problem where it is wrong.
 */
import { type AllowList, isAllowed, showGlobs } from './allow-list.ts';
import { NO_SECRETS, nameLooksSecret, secretWords, valueLooksSecret } from './secret.ts';
import {
  isObject,
  type Problems,
  readFlag,
  readObject,
  readText,
  readTextList,
  readWhole,
  refuseUnknownKeys,
  showValue,
  type TextForm,
  WITHHELD,
} from './shape.ts';
import { type CapacityProvider, familyOf, type NetworkSettings, PROXY_ID_VARIABLE } from './spec.ts';

/** Where the deployment lives; ARNs of elsewhere are refused. Absent: only plain names are accepted. */
export interface Home {
  readonly region: string;
  readonly account: string;
}

/** What a document is held against. */
export interface DocumentRules {
  readonly allow: AllowList;
  readonly home?: Home;
}

/** Names of clusters, containers, services and capacity providers. */
export const NAME: TextForm = {
  pattern: /^[A-Za-z0-9_-]{1,255}$/,
  allowed: 'a name of letters, digits, "-" and "_", at most 255',
};
const WORD: TextForm = { pattern: /^[^\0]{0,4096}$/su, allowed: 'a text of at most 4096 characters' };
const SUBNET: TextForm = { pattern: /^subnet-[0-9a-f]{8,17}$/, allowed: 'a subnet ID ("subnet-…")' };
const GROUP: TextForm = { pattern: /^sg-[0-9a-f]{8,17}$/, allowed: 'a security group ID ("sg-…")' };
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/;
const TASK_DEFINITION = /^[A-Za-z0-9_-]{1,255}(?::[1-9]\d{0,9})?$/;

/** A cluster's name, from a name or an ARN of our own region and account; on the allow-list. */
export function readCluster(problems: Problems, value: unknown, rules: DocumentRules): string | undefined {
  const field = 'cluster';
  const allowed = rules.home
    ? `a cluster's name, or its ARN in ${rules.home.region} and our account`
    : "a cluster's name";
  const name = typeof value === 'string' ? localName(value, 'cluster', rules.home) : undefined;
  if (name === undefined || !NAME.pattern.test(name)) {
    problems.push({ field, value: showValue(value), allowed });
    return undefined;
  }
  if (!isAllowed(rules.allow.clusters, name)) {
    problems.push({ field, value: showValue(name), allowed: showGlobs('clusters', rules.allow.clusters) });
  }
  return name;
}

/** `family` or `family:revision`; the family is on the allow-list. Always required. */
export function readTaskDefinition(problems: Problems, value: unknown, rules: DocumentRules): string | undefined {
  const field = 'taskDefinition';
  const name = typeof value === 'string' ? localName(value, 'task-definition', rules.home) : undefined;
  if (name === undefined || !TASK_DEFINITION.test(name)) {
    const allowed = '"family", "family:revision" or an ARN of our region and account';
    problems.push({ field, value: showValue(value), allowed });
    return undefined;
  }
  if (!isAllowed(rules.allow.families, familyOf(name))) {
    problems.push({ field, value: showValue(name), allowed: showGlobs('families', rules.allow.families) });
  }
  return name;
}

/** The name in an ARN of our own region and account, a plain name as it is, `undefined` for anything else. */
function localName(text: string, kind: string, home: Home | undefined): string | undefined {
  if (!text.startsWith('arn:')) return text;
  const [, partition = '', service, region, account, ...rest] = text.split(':');
  const resource = rest.join(':');
  const ours = /^aws[a-z-]*$/.test(partition) && service === 'ecs' && region === home?.region;
  return ours && account === home?.account && resource.startsWith(`${kind}/`)
    ? resource.slice(kind.length + 1)
    : undefined;
}

/** Words of the command; together on the allow-list, and none of them a secret. An empty list is as good as none. */
export function readCommand(problems: Problems, value: unknown, rules: DocumentRules): readonly string[] | undefined {
  const words = readTextList(problems, 'command', value, WORD, 100);
  // An empty command is no override: so a document can undo the defaults' one.
  if (words === undefined || words.length === 0) return undefined;
  const secrets = secretWords(words);
  for (const index of secrets) problems.push({ field: `command[${index}]`, value: WITHHELD, allowed: NO_SECRETS });
  if (secrets.length === 0 && !isAllowed(rules.allow.commands, words.join(' '))) {
    const allowed = showGlobs('commands', rules.allow.commands);
    problems.push({ field: 'command', value: showValue(words.join(' ')), allowed });
  }
  return words;
}

/** Variables; never our own one, never a secret. */
export function readEnvironment(problems: Problems, value: unknown): Readonly<Record<string, string>> | undefined {
  const variables = readObject(problems, 'environment', value);
  if (variables === undefined) return undefined;
  const entries: [string, string][] = [];
  for (const [name, content] of Object.entries(variables)) {
    const field = `environment.${showValue(name).slice(1, -1)}`;
    // Values are never shown: a secret in the wrong place must not get into a log as well.
    const refuse = (allowed: string): unknown => problems.push({ field, value: WITHHELD, allowed });
    if (!VARIABLE.test(name)) refuse('names of letters, digits, "_", "." and "-", at most 255, no digit first');
    else if (name === PROXY_ID_VARIABLE) refuse('absent: it is set to the ID of the proxy');
    else if (typeof content !== 'string' || !WORD.pattern.test(content)) refuse(WORD.allowed);
    else if (nameLooksSecret(name) || valueLooksSecret(content)) refuse(NO_SECRETS);
    else entries.push([name, content]);
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** awsvpc settings. */
export function readNetwork(problems: Problems, value: unknown): NetworkSettings | undefined {
  const network = readObject(problems, 'network', value);
  if (network === undefined) return undefined;
  refuseUnknownKeys(problems, network, ['subnets', 'securityGroups', 'assignPublicIp'], 'network.');
  const subnets = readTextList(problems, 'network.subnets', network.subnets ?? null, SUBNET, 16) ?? [];
  const securityGroups = readTextList(problems, 'network.securityGroups', network.securityGroups, GROUP, 5) ?? [];
  const assignPublicIp = readFlag(problems, 'network.assignPublicIp', network.assignPublicIp) ?? false;
  if (Array.isArray(network.subnets) && network.subnets.length === 0) {
    problems.push({ field: 'network.subnets', value: '[]', allowed: 'at least one subnet' });
  }
  return {
    subnets: [...new Set(subnets)].sort(),
    securityGroups: [...new Set(securityGroups)].sort(),
    assignPublicIp,
  };
}

/** A capacity provider strategy; weight 1 and base 0 where not stated, as in ECS. */
export function readCapacity(problems: Problems, value: unknown): readonly CapacityProvider[] | undefined {
  if (value === undefined) return undefined;
  const field = 'capacityProviders';
  if (!Array.isArray(value) || value.length === 0 || value.length > 20) {
    const allowed = 'a list of 1 to 20 objects {capacityProvider, weight, base}';
    problems.push({ field, value: showValue(value), allowed });
    return undefined;
  }
  const items: readonly unknown[] = value;
  return items.map((item, index) => {
    const at = `${field}[${index}]`;
    if (!isObject(item)) problems.push({ field: at, value: showValue(item), allowed: 'a JSON object' });
    const entry = isObject(item) ? item : {};
    refuseUnknownKeys(problems, entry, ['capacityProvider', 'weight', 'base'], `${at}.`);
    return {
      capacityProvider:
        readText(
          problems,
          `${at}.capacityProvider`,
          entry.capacityProvider ?? (isObject(item) ? null : undefined),
          NAME,
        ) ?? '',
      weight: readWhole(problems, `${at}.weight`, entry.weight, 0, 1000) ?? 1,
      base: readWhole(problems, `${at}.base`, entry.base, 0, 100_000) ?? 0,
    };
  });
}
