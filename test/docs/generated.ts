/**
 * The parts of the documents that are made of the code. `write-tables.ts` writes them; a test holds the documents to
 * them.
 */
import { existsSync } from 'node:fs';
import { settingsTable } from '../../infra/settings-table.ts';
import type { Setting } from '../../lib/config/settings-table.ts';
import { SETTINGS } from '../../lib/config/settings-table.ts';
import { EVENT_CODES, METRICS } from '../../lib/event-codes.ts';
import { ROOT, textOf } from './documents.ts';

/** One marked part of a document. */
export interface GeneratedPart {
  readonly document: string;
  readonly name: string;
  readonly markdown: string;
}

/** What no setting says, since the function does not see it. */
const OTHER_PARAMETERS: Readonly<Record<string, string>> = {
  kmsKeyArns: 'customer managed keys of the parameters and secrets: the role may decrypt with them',
  vpcSubnetIds: 'subnets of the function, together with its security groups; none: outside any VPC',
  vpcSecurityGroupIds: 'security groups of the function',
  proxyRoleArns: 'task and execution roles of the task definitions of proxies, which may be passed to ECS',
  alarmTopicArn: 'SNS topic that alarms notify; none: they only show their state',
};

const CONSUL_POLICY = 'infra/consul-policy.hcl';

/** Defaults of the stage parameters, by name, from `serverless.yml`. */
export function stageParameters(): ReadonlyMap<string, string> {
  const [, params = ''] = /^params:\n {2}default:\n([\s\S]*?)^\S/m.exec(textOf('serverless.yml')) ?? [];
  const lines = params.matchAll(/^ {4}(\w+): (?:"([^"]*)"|(\S+))/gm);
  return new Map([...lines].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']));
}

/** The function's variables that a stage parameter sets: variable → parameter. */
export function parameterOfVariable(): ReadonlyMap<string, string> {
  const lines = textOf('serverless.yml').matchAll(/^ +([A-Z_]+): \$\{param:(\w+)\}/gm);
  return new Map([...lines].map(([, variable = '', parameter = '']) => [variable, parameter]));
}

/** All of them, as they should be now. */
export function generatedParts(): readonly GeneratedPart[] {
  const consulPolicy = existsSync(`${ROOT}${CONSUL_POLICY}`)
    ? [{ document: 'README.md', name: 'consul-policy', markdown: `\`\`\`hcl\n${textOf(CONSUL_POLICY)}\`\`\`` }]
    : [];
  return [
    { document: 'README.md', name: 'settings', markdown: settingsTable() },
    ...consulPolicy,
    { document: 'docs/deploying.md', name: 'stage-parameters', markdown: parametersTable() },
    { document: 'docs/operating.md', name: 'event-codes', markdown: codesTable() },
    { document: 'docs/operating.md', name: 'metrics', markdown: metricsTable() },
  ];
}

function parametersTable(): string {
  const variables = new Map([...parameterOfVariable()].map(([variable, parameter]) => [parameter, variable]));
  const settings: Readonly<Record<string, Setting<unknown> | undefined>> = SETTINGS;
  const rows = [...stageParameters()].map(([name, standard]) => {
    const variable = variables.get(name);
    const setting = variable === undefined ? undefined : settings[variable];
    const fallback = standard === '' ? (setting?.fallback ?? '') : standard;
    return [
      `\`${name}\``,
      variable === undefined ? '' : `\`${variable}\``,
      setting?.required ? 'required' : fallback === '' ? 'none' : `\`${fallback}\``,
      setting?.effect ?? OTHER_PARAMETERS[name] ?? '',
    ];
  });
  return markdownTable(['parameter', 'variable', 'default', 'effect'], rows);
}

function codesTable(): string {
  const rows = Object.entries(EVENT_CODES).map(([code, { level, alarm, meaning }]) => [
    `\`${code}\``,
    level,
    alarm ? `[alarm](../infra/RUNBOOK.md#${code})` : '',
    meaning,
  ]);
  return markdownTable(['code', 'level', 'alarm', 'meaning'], rows);
}

function metricsTable(): string {
  const rows = Object.entries(METRICS).map(([metric, meaning]) => [`\`${metric}\``, meaning]);
  return markdownTable(['metric', 'meaning'], rows);
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
