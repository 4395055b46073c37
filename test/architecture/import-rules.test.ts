/**
 * The rules of DESIGN section 8 hold because Biome fails on their violation. Here each rule is violated on purpose, in a
 * tree of planted files under our `biome.json`, so that a rule that no longer bites is noticed.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORTS = 'lint/style/noRestrictedImports';
const GLOBALS = 'lint/style/noRestrictedGlobals';
const ENVIRONMENT = 'lint/style/noProcessEnv';

type Planted = readonly [folder: string, code: string];

const imports = (specifier: string) => `import { x } from '${specifier}';\nexport const y = x;\n`;

/** What must fail, by rule. */
const VIOLATIONS: Readonly<Record<string, readonly Planted[]>> = {
  [IMPORTS]: [
    // Pure folders import nothing from outside themselves.
    ...['lib/check-restart', 'lib/brakes', 'lib/proxies'].flatMap((folder): Planted[] => [
      [folder, imports('../ports.ts')],
      [folder, imports('../clock.ts')],
      [folder, imports('../consul/client.ts')],
      [folder, imports('./../consul/client.ts')],
      [folder, imports('./deeper/../../consul/client.ts')],
      [folder, imports('node:fs')],
      [folder, imports('fs')],
      [folder, imports('undici')],
      [folder, imports('zod/mini')],
      [folder, imports('@aws-sdk/client-ecs')],
      [folder, "import type { X } from '../ports.ts';\nexport type Y = X;\n"],
      [folder, "export { x } from '../ports.ts';\n"],
      [folder, "export const y = () => import('undici');\n"],
    ]),
    ['lib/check-restart', imports('../brakes/budget.ts')],
    ['lib/brakes', imports('../check-restart/policy.ts')],
    // Use cases import ports, event codes and pure folders only.
    ...['consul', 'ecs', 'dynamodb', 'sqs', 'telemetry', 'config'].map(
      (adapter): Planted => ['lib/use-cases', imports(`../${adapter}/x.ts`)],
    ),
    ...['consul', 'ecs', 'dynamodb', 'sqs', 'telemetry', 'config'].map(
      (adapter): Planted => ['lib/use-cases/reconcile', imports(`../../${adapter}/x.ts`)],
    ),
    ['lib/use-cases/reconcile', imports('../../clock.ts')],
    ['lib/use-cases/reconcile', imports('../../proxies/../consul/client.ts')],
    ['lib/use-cases/reconcile', imports('undici')],
    ['lib/use-cases', imports('../clock.ts')],
    ['lib/use-cases', imports('undici')],
    ['lib/use-cases', imports('node:timers')],
    ['lib/use-cases', imports('../check-restart/../consul/client.ts')],
    ['lib/use-cases', imports('../../functions/watch-checks/wiring.ts')],
    // Adapters import neither use cases nor other adapters.
    ...['consul', 'ecs', 'dynamodb', 'sqs', 'telemetry', 'config'].flatMap((adapter): Planted[] => [
      [`lib/${adapter}`, imports('../use-cases/watch.ts')],
      [`lib/${adapter}`, imports(adapter === 'ecs' ? '../consul/client.ts' : '../ecs/client.ts')],
      [`lib/${adapter}`, imports('../brakes/../use-cases/watch.ts')],
      [`lib/${adapter}`, imports('../../infra/local/start.ts')],
      [`lib/${adapter}`, "export const y = () => import('../use-cases/watch.ts');\n"],
    ]),
    // What all share knows no adapter and no use case.
    ['lib', imports('./consul/client.ts')],
    ['lib', imports('./use-cases/watch.ts')],
    ['lib', imports('../functions/watch-checks/wiring.ts')],
    // In functions only wiring.ts imports adapters; nothing that is deployed imports infra or tests.
    ['functions/watch-checks/input.ts', imports('../../lib/consul/client.ts')],
    ['functions/watch-checks/input.ts', imports('../../lib/config/settings.ts')],
    ['functions/watch-checks/report.ts', imports('../../lib/dynamodb/state.ts')],
    ['functions/watch-checks/report.ts', imports('../../lib/sqs/wake-up-port.ts')],
    ['functions/watch-checks/report.ts', imports('../../lib/use-cases/../ecs/client.ts')],
    ['functions/watch-checks/report.ts', imports('../reconcile-proxies/wiring.ts')],
    ['functions/watch-checks/wiring.ts', imports('../../infra/local/start.ts')],
    ['functions/watch-checks/wiring.ts', imports('../reconcile-proxies/wiring.ts')],
    ['functions/watch-checks/input.ts', imports('../shared-wiring.ts')],
    ['functions/shared-wiring.ts', imports('../infra/local/start.ts')],
    ['functions/watch-checks/handler.ts', imports('../../lib/ecs/client.ts')],
    ['functions/watch-checks/handler.ts', imports('../../lib/use-cases/../ecs/client.ts')],
    ['functions/watch-checks/handler.ts', imports('../../lib/clock.ts')],
    ['functions/watch-checks/handler.ts', imports('@aws-sdk/client-ecs')],
  ],
  [GLOBALS]: [
    ['lib/check-restart', 'export const now = () => Date.now();\n'],
    ['lib/use-cases', 'export const now = () => new Date();\n'],
    ['lib/consul', 'export const now = () => new Date();\n'],
    ['lib/config', 'export const now = () => Date.now();\n'],
    ['lib', 'export const now = () => Date.now();\n'],
    ['functions/watch-checks/handler.ts', 'export const now = () => Date.now();\n'],
    ['lib/consul', 'export const { env } = process;\n'],
    ['functions/watch-checks/wiring.ts', 'export const { env } = process;\n'],
  ],
  [ENVIRONMENT]: [
    ['lib/consul', 'export const home = process.env.HOME;\n'],
    ['lib/use-cases', 'export const home = process.env.HOME;\n'],
    ['lib/brakes', 'export const home = process.env.HOME;\n'],
    ['functions/watch-checks/wiring.ts', 'export const home = process.env.HOME;\n'],
  ],
};

/** What must pass. */
const CLEAN: readonly Planted[] = [
  ['lib/check-restart', imports('./policy.ts')],
  ['lib/use-cases', imports('../ports.ts')],
  ['lib/use-cases', imports('../event-codes.ts')],
  ['lib/use-cases', imports('../brakes/budget.ts')],
  ['lib/use-cases', imports('./restart.ts')],
  ['lib/use-cases/reconcile', imports('../../proxy-ports.ts')],
  ['lib/use-cases/reconcile', imports('../../proxies/plan.ts')],
  ['lib/use-cases/reconcile', imports('../say.ts')],
  ['lib/consul', imports('../ports.ts')],
  ['lib/consul', imports('../check-restart/duration.ts')],
  ['lib/consul', imports('undici')],
  ['lib/dynamodb', imports('node:crypto')],
  ['lib/config', 'export const home = process.env.HOME;\n'],
  ['lib', imports('./check-restart/policy.ts')],
  ['lib/clock.ts', 'export const now = () => Date.now();\n'],
  ['functions/watch-checks/wiring.ts', imports('../../lib/consul/client.ts')],
  ['functions/watch-checks/wiring.ts', imports('../../lib/use-cases/watch.ts')],
  ['functions/watch-checks/wiring.ts', imports('../shared-wiring.ts')],
  ['functions/watch-checks/input.ts', imports('zod/mini')],
  ['functions/watch-checks/input.ts', imports('../../lib/sqs/wake-up.ts')],
  ['functions/watch-checks/handler.ts', imports('./wiring.ts')],
  ['functions/watch-checks/handler.ts', imports('@middy/core')],
  ['functions/watch-checks/handler.ts', imports('../../lib/use-cases/watch.ts')],
  ['functions/watch-checks/handler.ts', imports('../../lib/use-cases/reconcile/reconcile.ts')],
  ['infra', `${imports('../lib/consul/client.ts')}export const home = process.env.HOME;\n`],
  ['test/consul', `${imports('../../lib/consul/client.ts')}export const now = () => Date.now();\n`],
];

/** A file of its own for each; every function's folder is under the same rules. */
function fileOf([place]: Planted, index: number): string {
  if (place === 'lib/clock.ts') return place;
  if (place.endsWith('.ts')) return place.replace('/watch-checks/', `/planted-${index}/`);
  return `${place}/planted-${index}.ts`;
}

/** `RULE FILE` of everything that Biome finds in the tree. */
async function findingsIn(tree: string): Promise<ReadonlySet<string>> {
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'lint', '--reporter=json', '--max-diagnostics=none', '--vcs-enabled=false', '.'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: tree, maxBuffer: 50_000_000 }).catch(
    (failure: { stdout: string }) => failure,
  );
  const report: unknown = JSON.parse(stdout.slice(stdout.indexOf('{')));
  const { diagnostics } = report as { diagnostics: { category: string; location: { path: string } }[] };
  return new Set(diagnostics.map(({ category, location }) => `${category} ${location.path}`));
}

describe('the rules of the tree', () => {
  const violations = Object.entries(VIOLATIONS).flatMap(([rule, all]) => all.map((planted) => ({ rule, planted })));
  const all = [...violations.map(({ planted }) => planted), ...CLEAN];
  let found: ReadonlySet<string>;

  beforeAll(async () => {
    const tree = await realpath(await mkdtemp(join(tmpdir(), 'planted-')));
    await Promise.all(
      all.map(async (planted, index) => {
        const file = join(tree, fileOf(planted, index));
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, planted[1]);
      }),
    );
    await writeFile(join(tree, 'lib/cycle-1.ts'), "import { b } from './cycle-2.ts';\nexport const a = b;\n");
    await writeFile(join(tree, 'lib/cycle-2.ts'), "import { a } from './cycle-1.ts';\nexport const b = a;\n");
    await copyFile(join(ROOT, 'biome.json'), join(tree, 'biome.json'));
    found = await findingsIn(tree);
  });

  it.each(violations.map(({ rule, planted: [place, code] }, index) => ({ rule, place, code: code.trim(), index })))(
    'refuse in $place: $code',
    ({ rule, index }) => {
      expect(found).toContain(`${rule} ${fileOf(all[index] ?? ['', ''], index)}`);
    },
  );

  it.each(CLEAN.map(([place, code], index) => ({ place, code: code.trim(), index: violations.length + index })))(
    'allow in $place: $code',
    ({ index }) => {
      const file = fileOf(all[index] ?? ['', ''], index);
      expect(
        [...found].filter((finding) => Object.keys(VIOLATIONS).some((rule) => finding === `${rule} ${file}`)),
      ).toEqual([]);
    },
  );

  it('refuse import cycles', () => {
    expect(found).toContain('lint/suspicious/noImportCycles lib/cycle-1.ts');
  });
});
