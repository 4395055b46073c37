import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A check that is due at 4s, and one whose task ECS drains. */
const SCENARIO = {
  name: 'one of each',
  duration: '5s',
  policy: { limit: 2, interval: '3s', grace: '0s' },
  tasks: { 'web-1': { service: 'web' }, 'web-2': { service: 'web', desiredStatus: [['0s', 'STOPPED']] } },
  checks: [
    { id: 'http', task: 'web-1', timeline: [['0s', 'critical']] },
    { id: 'http', task: 'web-2', timeline: [['0s', 'critical']] },
  ],
};
const MET = { ...SCENARIO, expect: { restarts: [{ task: 'web-1', at: '4000ms' }] } };
const UNMET = { ...SCENARIO, name: 'too early', expect: { restarts: [{ task: 'web-1', at: '3s' }] } };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simulate-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('simulate --json', () => {
  test('prints one object a scenario and line, `met` only where something is expected', async () => {
    const { stdout, status } = await simulate('--json', await file('two.json', [SCENARIO, MET]));
    const [first, second, ...rest] = stdout.split('\n');
    expect(rest).toEqual(['']);
    const played = {
      name: 'one of each',
      restarts: [{ task: 'web-1', service: 'web', check: 'http', at: '4s', action: 'stop-task' }],
      skipped: ['4s', '5s'].map((at) => ({ task: 'web-2', check: 'http', at, reason: 'task-stopping' })),
      proxies: {},
    };
    expect(JSON.parse(first ?? '')).toMatchObject({ ...played, skipped: expect.arrayContaining(played.skipped) });
    expect(JSON.parse(first ?? '')).not.toHaveProperty('met');
    expect(JSON.parse(second ?? '')).toMatchObject({ name: 'one of each', met: true });
    expect(status).toBe(0);
  });

  test('names a scenario without a name after its file', async () => {
    const { name: _, ...nameless } = SCENARIO;
    const { stdout } = await simulate('--json', await file('nameless.json', nameless));
    expect(JSON.parse(stdout)).toMatchObject({ name: 'nameless.json' });
  });

  test('plays every file that is named, in their order', async () => {
    const files = [await file('b.json', UNMET), await file('a.json', MET)];
    const { stdout, status } = await simulate('--json', ...files);
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => Reflect.get(JSON.parse(line), 'name'));
    expect(names).toEqual(['too early', 'one of each']);
    expect(status).toBe(1);
  });
});

describe('simulate', () => {
  test('prints a timeline that says what was done, when, and whether it was expected', async () => {
    const { stdout, status } = await simulate(await file('unmet.json', UNMET));
    expect(stdout).toContain('too early  NOT AS EXPECTED');
    expect(stdout).toMatch(/^ +4s {2}stop-task web-1 \(web\): check http$/m);
    expect(stdout.match(/skipped web-2 http: task-stopping/g)).toHaveLength(1);
    expect(status).toBe(1);
  });

  test('goes through npm, as documented', async () => {
    const { stdout, status } = await run('npm', ['run', '--silent', 'simulate', '--', await file('met.json', MET)]);
    expect(stdout).toContain('one of each  as expected');
    expect(status).toBe(0);
  });

  test('explains itself', async () => {
    const { stdout, stderr, status } = await simulate('--help');
    expect(stdout).toContain('--json');
    expect(stdout).toContain('Exit status: 0');
    expect([stderr, status]).toEqual(['', 0]);
  });

  test.each([
    { why: 'no file', args: [] },
    { why: 'an unknown option', args: ['--jsn', 'x.json'] },
  ])('ends with status 2 and its help for $why', async ({ args }) => {
    const { stderr, stdout, status } = await simulate(...args);
    expect(stderr).toContain('Exit status: 0');
    expect([stdout, status]).toEqual(['', 2]);
  });
});

describe('a file that is not a scenario', () => {
  test('has every problem listed with its place, and nothing is played', async () => {
    const wrong = await file('wrong.json', [
      MET,
      {
        duration: '5 s',
        pol: '1s',
        policy: { limit: -1, interval: '3s', grace: '0s' },
        brakes: { inFlight: 'many' },
        tasks: { 'web-1': { desiredStatus: [['0s', 'DRAINING']] } },
        checks: [{ id: 'http', task: 'web-1', policy: { limit: 'x' }, timeline: [['later', 'critical']] }],
        consul: [{ from: '0s', to: '1s', answer: 'shrug' }],
      },
      { duration: '5s', policy: { limt: 3 }, brakes: { inFlight: 'many' } },
    ]);
    const text = await file('text.json', 'duration: 5s');
    const { stdout, stderr, status } = await simulate('--json', wrong, text, join(folder, 'nowhere.json'));
    expect(status).toBe(2);
    expect(stdout).toBe('');
    const places = [
      '[1].duration: "5 s"',
      '[1].pol: ',
      '[1].tasks.web-1.desiredStatus[0]',
      '[1].checks[0].timeline[0]',
      '[1].consul[0].answer: "shrug"',
      '[2].policy.limt: ',
      '[2].brakes.inFlight: "many"',
    ];
    for (const place of places) expect(stderr, stderr).toContain(`wrong.json: ${place}`);
    expect(stderr).toContain('text.json: not valid JSON');
    expect(stderr).toContain('nowhere.json: ENOENT');
  });

  test.each([
    { why: 'no duration', scenario: {}, place: 'duration' },
    { why: 'a poll of 0', scenario: { duration: '5s', poll: '0s' }, place: 'poll' },
    {
      why: 'a timeline entry without a status',
      scenario: { duration: '5s', checks: [{ id: 'c', task: 't', timeline: [['0s']] }] },
      place: 'checks[0].timeline[0]',
    },
    {
      why: 'an expectation of an unknown kind',
      scenario: { duration: '5s', expect: { restart: [] } },
      place: 'expect.restart',
    },
    {
      why: 'a check without a task',
      scenario: { duration: '5s', checks: [{ id: 'c', timeline: [] }] },
      place: 'checks[0].task',
    },
  ])('is refused for $why', async ({ scenario, place }) => {
    const { stderr, status } = await simulate(await file('wrong.json', scenario));
    expect(stderr).toContain(`wrong.json: ${place}`);
    expect(status).toBe(2);
  });
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function simulate(...args: string[]): Promise<Ended> {
  return run(process.execPath, ['infra/local/simulate.ts', ...args]);
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

function run(command: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: new URL('../..', import.meta.url) }, (error, stdout, stderr) => {
      const { code } = error ?? { code: 0 };
      resolve({ stdout, stderr, status: typeof code === 'number' ? code : -1 });
    });
  });
}
