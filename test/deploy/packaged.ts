/** Packages the service as `npx osls package` does, and reads what comes out. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OSLS = createRequire(import.meta.url).resolve('osls/bin/serverless.js');

/** One resource of the template. Its properties are whatever CloudFormation says they are. */
export interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

/** A packaged service. */
export interface Packaged {
  readonly resources: Readonly<Record<string, Resource>>;
  /** By function. */
  readonly zips: { readonly 'watch-checks': Buffer; readonly 'reconcile-proxies': Buffer };
}

/** Every stage parameter that changes what is deployed, set. */
export const FULL: Readonly<Record<string, string>> = {
  allowedClusters: 'prod, stage-*',
  allowedServices: 'web,prod/api-*',
  proxyFamilies: 'envoy-*,gateway',
  proxyClusters: 'prod,edge-*',
  proxyServices: 'ingress,mesh-*',
  proxyCommands: '["envoy *"]',
  proxyRoleArns: 'arn:aws:iam::123456789012:role/proxy-task,arn:aws:iam::123456789012:role/proxy-execution',
  consulAddresses: 'https://consul.internal:8501',
  consulTokenSsmParameter: '/prod/consul/token',
  consulCaSecret: 'prod/consul-ca',
  consulClientKeySecret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-Ab12Cd',
  consulClientCertSsmParameter: 'arn:aws:ssm:eu-west-1:123456789012:parameter/prod/cert',
  kmsKeyArns: 'arn:aws:kms:eu-west-1:123456789012:key/1',
  vpcSubnetIds: 'subnet-1,subnet-2',
  vpcSecurityGroupIds: 'sg-1',
  alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:ops',
};

/** Runs `osls package` with stage parameters. */
export async function packaged(params: Readonly<Record<string, string>> = {}): Promise<Packaged> {
  const out = await mkdtemp(join(tmpdir(), 'packaged-'));
  const flags = Object.entries(params).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
  const args = [OSLS, 'package', '--package', out, '--region', 'eu-west-1', ...flags];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT }).catch(
    (failure: { stdout: string; stderr: string }) => {
      throw new Error(`osls package failed:\n${failure.stdout}${failure.stderr}`);
    },
  );
  const template: unknown = JSON.parse(await readFile(join(out, 'cloudformation-template-update-stack.json'), 'utf8'));
  const zip = (functionKey: string) => readFile(join(out, `${functionKey}.zip`));
  const zips = { 'watch-checks': await zip('watchChecks'), 'reconcile-proxies': await zip('reconcileProxies') };
  return { resources: resourcesOf(template), zips };
}

function resourcesOf(template: unknown): Packaged['resources'] {
  if (typeof template !== 'object' || template === null || !('Resources' in template)) throw new Error('no template');
  return template.Resources as Packaged['resources'];
}

/** Names of the files in a ZIP archive, from its central directory, with their uncompressed sizes in bytes. */
export function filesIn(zip: Buffer): ReadonlyMap<string, number> {
  const files = new Map<string, number>();
  const END = 0x06054b50;
  const ENTRY = 0x02014b50;
  const end = zip.lastIndexOf(Buffer.from([END & 0xff, (END >> 8) & 0xff, (END >> 16) & 0xff, END >> 24]));
  let at = zip.readUInt32LE(end + 16);
  while (zip.readUInt32LE(at) === ENTRY) {
    const nameLength = zip.readUInt16LE(at + 28);
    files.set(zip.toString('utf8', at + 46, at + 46 + nameLength), zip.readUInt32LE(at + 24));
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return files;
}

/** A statement of a role's policy, `Fn::Sub` taken for its text. */
export interface Statement {
  readonly Sid?: string;
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: unknown;
}

/** All statements of a role. */
export function statementsOf(resource: Resource | undefined): readonly Statement[] {
  const policies = resource?.Properties.Policies as readonly {
    PolicyDocument: { Statement: readonly Statement[] };
  }[];
  return policies.flatMap((policy) => withoutSub(policy.PolicyDocument.Statement) as readonly Statement[]);
}

function withoutSub(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSub);
  if (typeof value !== 'object' || value === null) return value;
  if ('Fn::Sub' in value) return value['Fn::Sub'];
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSub(inner)]));
}
