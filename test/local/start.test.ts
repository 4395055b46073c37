import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { consulsToTry } from './real-consul-for-tests.ts';

const START = fileURLToPath(new URL('../../infra/local/start.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

interface Running {
  readonly ended: Promise<Ended>;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Resolves when the text has been printed. */
  readonly prints: (text: string) => Promise<void>;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const beganMs = performance.now();
  const child = spawn(process.execPath, [START, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
    for (const listener of listeners) listener();
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (status) => resolve({ status, stdout, stderr, tookMs: performance.now() - beganMs }));
  });
  return {
    ended,
    signal: (name) => child.kill(name),
    prints: async (text) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (stdout.includes(text)) resolve();
      };
      listeners.add(look);
      look();
      await Promise.race([promise, ended]);
    },
  };
}

/** What stands after the time: the lines' first words. */
function headlines(stdout: string): string[] {
  return [...stdout.matchAll(/^ *\d+\.\d s {2}(.{20}) /gm)].map(([, headline = '']) => headline.trim());
}

/** The lines about one proxy: headlines, and why it was stopped. */
function storyOf(stdout: string, proxy: string): string[] {
  const lines = stdout.matchAll(new RegExp(`^ *\\d+\\.\\d s {2}(.{20}) ${proxy}: (?:task [0-9a-f]{8}; (.*))?`, 'gm'));
  return [...lines].map(([, headline = '', why]) => headline.trim() + (why ? `: ${why}` : ''));
}

const CONSULS = await consulsToTry();

describe('npm start -- --once', () => {
  it.concurrent.each(CONSULS)(
    'tells how a broken check becomes a restart and a healthy replacement, and what proxies do (Consul: %s)',
    async (consul) => {
      const { status, stdout, stderr, tookMs } = await start(['--once', '--consul', consul]).ended;

      const told = headlines(stdout).map((headline) => headline.replace(/^due in \d+ s$/, 'due in … s'));
      expect({ status, stderr, told: told.slice(0, told.indexOf('declaring')) }).toEqual({
        status: 0,
        stderr: '',
        told: [
          'stack up',
          'healthy',
          'breaking',
          'check critical',
          'due in … s',
          'restarted',
          'task stopped',
          'replacement running',
          'healthy',
        ],
      });
      expect(stdout).toMatch(/due in 8 s +web /);
      expect(stdout).toMatch(/restarted +web .*: StopTask accepted; healthcheck: check "web health" unhealthy/);
      expect(stdout).toContain(consul === 'double' ? 'built-in double\n  ECS' : 'real ');
      // declared → started; changed → replaced; crashed → started again, in the end with backoff; gone → stopped.
      expect(storyOf(stdout, 'gateway').slice(0, 6)).toEqual([
        'declaring',
        'proxy running',
        'changing',
        'proxy stopped: its declaration has changed',
        'proxy running',
        'crashing',
      ]);
      expect(storyOf(stdout, 'gateway').slice(-5)).toEqual([
        'proxy stopped: Essential container in task exited',
        'backing off',
        'proxy running',
        'removing',
        'proxy stopped: no longer declared',
      ]);
      // unhealthy → restarted; it was declared by the registration of the instance that it belongs to.
      expect(storyOf(stdout, 'worker-[0-9a-f]{8}…-proxy')).toEqual([
        'proxy running',
        'breaking',
        'check critical',
        'proxy stopped: unhealthy: healthcheck: check "sidecar health" unhealthy',
        'proxy running',
      ]);
      expect(told).not.toContain('the log reports');
      expect(tookMs).toBeLessThan(75_000);
    },
    90_000,
  );
});

describe('npm start', () => {
  it('says how to break a sample and how to ask the watcher, and ends with 0 when it is told to', async () => {
    const running = start(['--consul', 'double']);
    await running.prints('Ctrl-C ends it.');
    running.signal('SIGINT');
    const { status, stdout, stderr } = await running.ended;

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.match(/curl -X PUT http:\/\/127\.0\.0\.1:\d+\/break +# (?:web|api|worker)/g)).toHaveLength(6);
    expect(stdout).toContain('npx osls invoke local -f watchChecks');
    expect(stdout).toContain('npx osls invoke local -f reconcileProxies');
    expect(stdout).not.toContain('FAILED');
  });

  it('fails where a real Consul is asked for and there is none, and says what to do', async () => {
    const nowhere = { PATH: '', CONSUL_BIN: '', CONSUL_CACHE_DIR: fileURLToPath(new URL('none', import.meta.url)) };
    const { status, stdout } = await start(['--consul', 'real'], nowhere).ended;

    expect(status).toBe(1);
    expect(stdout).toContain('FAILED: no Consul found: put one on the PATH, name it in CONSUL_BIN');
  });

  it('tells its options with --help', async () => {
    const { status, stdout } = await start(['--help']).ended;

    expect(status).toBe(0);
    for (const option of ['--once', '--consul', '--verbose']) expect(stdout).toContain(option);
  });

  it.each([
    [['--twice'], "Unknown option '--twice'"],
    [['--consul', 'etcd'], '--consul: "etcd" is not allowed; allowed: auto, real, double, fetch'],
    [['--consul'], "Option '--consul <value>' argument missing"],
    [['now'], "Unexpected argument 'now'"],
  ])('refuses %j, and says what is wrong', async (args, problem) => {
    const { status, stdout, stderr } = await start(args).ended;

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(problem);
  });
});
