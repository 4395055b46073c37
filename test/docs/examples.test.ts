/** Examples are taken by the product's own parsers, and the entrypoint is run. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import * as z from 'zod/mini';
import { playScenario } from '../../infra/local/scenario/play.ts';
import { parseScenarios } from '../../infra/local/scenario/schema.ts';
import { mapInstance } from '../../lib/check-restart/mapping.ts';
import { parseMetaPolicy } from '../../lib/config/meta-policy.ts';
import { parsePolicyDocument } from '../../lib/config/policy-document.ts';
import { type DeclarationSources, readDeclarations } from '../../lib/proxies/declaration.ts';
import { FENCES, fencesOf } from './documents.ts';

const KINDS = [
  'registration',
  'consul-ecs',
  'policy',
  'proxy-registration',
  'proxy',
  'proxy-defaults',
  'scenario',
  'auth-method',
  'output',
];
const TASK = 'arn:aws:ecs:eu-west-1:123456789012:task/prod/0f9de17a6465404e8b1b2356dc13c2f8';
const PART = { limit: 3, intervalMs: 10_000, graceMs: 90_000 };

const Meta = z.record(z.string(), z.string());
const Registration = z.object({
  ID: z.string(),
  Name: z.string(),
  Address: z.string(),
  Meta,
  Check: z.looseObject({}),
});
/** The fields that consul-ecs requires, and those of ours. */
const ConsulEcs = z.object({
  bootstrapDir: z.string(),
  consulServers: z.strictObject({ hosts: z.string() }),
  healthSyncContainers: z.array(z.string()),
  service: z.strictObject({ name: z.string(), port: z.int(), meta: Meta }),
});

const Declaring = z.object({ ID: z.string(), Name: z.string(), Tags: z.array(z.string()), Meta });
/** Lists under which all examples are allowed. */
const ALLOW = { families: ['envoy-*'], clusters: ['prod'], commands: ['envoy *'], services: ['ingress'] };
const NOTHING = { families: [], clusters: [], commands: [], services: [] };

/** What an example declares, with or without the defaults of the documents. */
function declaredBy(sources: Partial<DeclarationSources>, allow = ALLOW) {
  const home = { region: 'eu-west-1', account: '123456789012' };
  return readDeclarations({ instances: [], documents: [], ...sources }, { allow, home }, (text) => text);
}

function instanceOf(text: string): DeclarationSources['instances'][number] {
  const { ID, Name, Tags, Meta: meta } = Declaring.parse(JSON.parse(text));
  return { node: 'ip-10-0-2-1', serviceId: ID, serviceName: Name, tags: Tags, meta };
}

function documentOf(text: string): DeclarationSources['documents'][number] {
  const value: unknown = JSON.parse(text);
  const { service } = z.object({ service: z.string() }).parse(value);
  return { id: service, source: { value } };
}

function expectRegistration(text: string): void {
  const { ID, Meta: meta } = Registration.parse(JSON.parse(text));
  expect(parseMetaPolicy(meta)).toEqual({ ok: true, part: PART });
  const mapped = mapInstance([{ node: 'ip-10-0-2-1', serviceId: ID, meta }], {
    partition: 'aws',
    region: 'eu-west-1',
    account: '123456789012',
    metaKeys: { taskArn: 'task-arn', taskId: 'task-id', cluster: 'ecs-cluster' },
    allowedClusters: ['prod'],
  });
  expect(mapped).toMatchObject({ kind: 'mapped', taskArn: TASK, cluster: 'prod' });
}

describe('JSON', () => {
  const examples = FENCES.filter(({ info }) => /^json\b/.test(info));

  test.each(examples.map(({ info, document, text }) => [info, document, text] as const))(
    '%s of %s',
    (info, _, text) => {
      expect(KINDS).toContain(info.replace(/^json /, ''));
      expect(() => JSON.parse(text)).not.toThrow();
    },
  );

  test.each(fencesOf('json registration'))('a registration is mapped to its task and watched', ({ text }) => {
    expectRegistration(text);
  });

  test.each(fencesOf('json consul-ecs'))('the configuration of consul-ecs opts in', ({ text }) => {
    expect(parseMetaPolicy(ConsulEcs.parse(JSON.parse(text)).service.meta)).toEqual({ ok: true, part: PART });
  });

  test.each(fencesOf('json policy'))('the policy document of $document is accepted', ({ text }) => {
    const parsed = parsePolicyDocument(text);
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && parsed.document.rules.length).toBeGreaterThan(0);
  });

  test.each(fencesOf('json proxy-registration'))('the registration of $document declares a proxy', ({ text }) => {
    const instances = [instanceOf(text)];
    expect(declaredBy({ instances })).toMatchObject([
      {
        proxyId: 'web-1-proxy',
        usable: true,
        spec: { taskDefinition: 'envoy-web:3', cluster: 'prod', service: 'web' },
      },
    ]);
    expect(declaredBy({ instances }, NOTHING)).toMatchObject([{ usable: false }]);
  });

  test.each(fencesOf('json proxy'))('the document of $document declares a proxy', ({ text }) => {
    const documents = [documentOf(text)];
    expect(declaredBy({ documents })).toMatchObject([{ usable: true, spec: { cluster: 'prod' } }]);
    expect(declaredBy({ documents }, NOTHING)).toMatchObject([{ usable: false }]);
  });

  test.each(fencesOf('json proxy-defaults'))(
    'the defaults of $document lie under declarations of both kinds',
    ({ text }) => {
      const defaults = { value: JSON.parse(text) as unknown };
      const instances = fencesOf('json proxy-registration')
        .slice(0, 1)
        .map((fence) => instanceOf(fence.text));
      const documents = fencesOf('json proxy')
        .slice(1)
        .map((fence) => documentOf(fence.text));
      const declared = declaredBy({ instances, documents, defaults });
      expect(declared.filter(({ usable }) => !usable)).toEqual([]);
      expect(declared.map(({ proxyId }) => proxyId)).toEqual(['edge', 'ingress', 'web-1-proxy']);
      expect(declared.at(-1)).toMatchObject({ spec: { launchType: 'FARGATE' }, config: { connectTimeout: '5s' } });
      expect(declared[0]).toMatchObject({ config: { connectTimeout: '5s', listeners: [8443] } });
    },
  );

  test.each(fencesOf('json scenario'))('the scenario of $document is met', async ({ text }) => {
    const parsed = parseScenarios(text);
    expect(parsed).toMatchObject({ ok: true });
    for (const scenario of parsed.ok ? parsed.scenarios : []) {
      expect(await playScenario(scenario, '')).toMatchObject({ met: true });
    }
  });

  test('the result of the first scenario is the one shown', async () => {
    const [example] = fencesOf('json scenario');
    const parsed = parseScenarios(example?.text ?? '');
    const [scenario] = parsed.ok ? parsed.scenarios : [];
    if (!scenario || !example) throw new Error(parsed.ok ? 'no scenario' : parsed.problems.join('\n'));
    const played = await playScenario(scenario, '');
    const output = FENCES.find(({ info, document }) => info === 'json output' && document === example.document);
    const shown: unknown = JSON.parse(output?.text ?? '');
    expect({ ...played, skipped: played.skipped.slice(0, 1) }).toEqual(shown);
  });
});

describe('the entrypoint', () => {
  const metadata = (white: string) =>
    `{"Cluster":${white}"prod",${white}"TaskARN":${white}"${TASK}",${white}"Containers":[{"Name":"web","Labels":{
      "com.amazonaws.ecs.task-arn":"${TASK}"},"Networks":[{"NetworkMode":"awsvpc","IPv4Addresses":${white}[${white}"10.0.2.106"${white}]}]}]}`;

  async function run(answer: string): Promise<{ readonly body: string; readonly stdout: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'entrypoint-'));
    const [fence] = fencesOf('sh entrypoint');
    await writeFile(join(folder, 'entrypoint.sh'), fence?.text ?? '');
    await writeFile(join(folder, 'metadata.json'), answer);
    // Stands for the metadata endpoint, and for the agent.
    const curl = `#!/bin/sh
case "$*" in
  *'http://metadata/v4/abc/task'*) cat metadata.json ;;
  *'-X PUT http://agent:8500/v1/agent/service/register --data @-'*) cat > body.json ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
`;
    await writeFile(join(folder, 'curl'), curl);
    await chmod(join(folder, 'curl'), 0o755);
    const { stdout } = await promisify(execFile)('sh', ['entrypoint.sh', 'echo', 'the program'], {
      cwd: folder,
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        ECS_CONTAINER_METADATA_URI_V4: 'http://metadata/v4/abc',
        CONSUL_HTTP_ADDR: 'http://agent:8500',
      },
    });
    return { body: await readFile(join(folder, 'body.json'), 'utf8'), stdout };
  }

  it.each([
    ['compact', ''],
    ['with spaces', ' '],
  ])('registers its task, whose metadata are %s, and becomes the program', async (_, white) => {
    const { body, stdout } = await run(metadata(white));
    expectRegistration(body);
    expect(JSON.parse(body)).toMatchObject({ Address: '10.0.2.106', Check: { HTTP: 'http://10.0.2.106:8080/health' } });
    expect(stdout).toBe('the program\n');
  });
});
