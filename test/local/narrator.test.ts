import { beforeEach, describe, expect, it } from 'vitest';
import { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import type { TaskRecord } from '../../infra/local/ecs-double/model.ts';
import type { Health } from '../../infra/local/stack/health-view.ts';
import { Narrator, type StoryLine } from '../../infra/local/stack/narrator.ts';

const TASK = '0123456789abcdef0123456789abcdef';
const NOW_MS = 1_000_000;

let lines: StoryLine[];
let narrator: Narrator;
beforeEach(() => {
  lines = [];
  narrator = new Narrator({
    nowMs: () => NOW_MS,
    specs: [{ name: 'web', count: 1, check: 'http' }],
    tell: (line) => lines.push(line),
    stoppedReason: () => 'the reason',
  });
});

function health(status: string, task = TASK): Health {
  return new Map([[`web-${task}/c`, { serviceId: `web-${task}`, service: 'web', name: 'web health', status }]]);
}

function logged(code: string, detail: Readonly<Record<string, unknown>>, level = 'INFO'): string {
  return JSON.stringify({ level, message: 'its meaning', code, detail });
}

const told = () => lines.map(({ headline, text }) => `${headline}: ${text}`);

describe('health, as Consul says it', () => {
  it('is told once it is whole, when it goes and when it comes back', () => {
    for (const status of ['critical', 'passing', 'passing', 'critical', 'critical', 'passing']) {
      narrator.hearHealth(health(status));
    }

    expect(told()).toEqual([
      'healthy: web 1 of 1',
      'check critical: web 01234567: "web health", says Consul',
      'check passing: web 01234567: "web health" is well again',
      'healthy: web 1 of 1',
    ]);
  });

  it('of a new task is no news before it has been passing', () => {
    narrator.hearHealth(health('critical'));

    expect(told()).toEqual([]);
    expect(narrator.isHealthy).toBe(false);
  });

  it('is not whole while there is one instance too few or too many', () => {
    narrator.hearHealth(new Map());
    narrator.hearHealth(new Map([...health('passing'), ...health('passing', 'f'.repeat(32))]));

    expect(narrator.isHealthy).toBe(false);
  });
});

describe('what the watcher decided', () => {
  const about = { service: 'web', task: TASK, check: 'web health' };

  it.each([
    [7960, 'due in 8 s'],
    [1960, 'due in 2 s'],
    [1540, 'due in 1.5 s'],
    [-5, 'due in 0 s'],
    [75_000, 'due in 1 m 15 s'],
  ])('a streak that has %d ms left is told as "%s"', (leftMs, headline) => {
    narrator.hearLog(logged('verdict-changed', { ...about, reason: 'counting', untilMs: NOW_MS + leftMs }));

    expect(lines.map((line) => line.headline)).toEqual([headline]);
  });

  it('another verdict is told of a check that Consul has called bad, and of no other', () => {
    narrator.hearLog(logged('verdict-changed', { ...about, reason: 'in-grace', untilMs: NOW_MS + 3000 }));
    narrator.hearHealth(health('passing'));
    narrator.hearHealth(health('critical'));
    lines.length = 0;
    narrator.hearLog(logged('verdict-changed', { ...about, reason: 'in-grace', untilMs: NOW_MS + 3000 }));

    expect(told()).toEqual(['not restarted: web 01234567: in-grace, 3 s more']);
  });

  it.each(['restart-withheld', 'dry-run'])('%s is told with its reason', (code) => {
    narrator.hearLog(logged(code, { ...about, reason: 'rate-cap', why: '10 restarts a minute' }));

    expect(told()).toEqual(['not restarted: web 01234567: rate-cap (10 restarts a minute)']);
  });

  it.each(['WARN', 'ERROR'])('a line of level %s is told, whatever it is', (level) => {
    narrator.hearLog(logged('consul-degraded', { problem: 'no answer' }, level));

    expect(told()).toEqual(['the log reports: consul-degraded: no answer']);
  });

  it.each(['', 'no JSON', '{"_aws":{}}', '[]', logged('pass-done', {})])('nothing is told of %j', (line) => {
    narrator.hearLog(line);

    expect(told()).toEqual([]);
  });

  it('a restart is told from its event, with the reason that ECS keeps; then the task is no news any more', () => {
    const detail = { ...about, action: 'stop-task', outcome: 'accepted' };
    narrator.hearEvent({ id: '1', source: 'ecs-check-restart', 'detail-type': 'Restart', time: '', detail });
    narrator.hearLog(logged('verdict-changed', { ...about, reason: 'task-stopping' }));

    expect(told()).toEqual(['restarted: web 01234567: StopTask accepted; the reason']);
  });

  it('a window is told with its passes, or why there was none', () => {
    narrator.hearWindow({ outcome: 'done', passes: 3, restarts: [{}] });
    narrator.hearWindow({ outcome: 'lease-held' });

    expect(told()).toEqual([
      'window over: 3 passes, 1 restart; the next window opens with the minute',
      'window over: lease-held',
    ]);
  });
});

describe('proxies', () => {
  const ID = `worker-${TASK}-proxy`;
  const ecs = new EcsDouble({ nowMs: () => NOW_MS });
  const overrides = { containerOverrides: [{ environment: [{ name: 'CONNECT_PROXY_ID', value: ID }] }] };
  const pending = (): Readonly<TaskRecord> => {
    const task = ecs.world.task(ecs.world.addTask({ family: 'sidecar', overrides }));
    if (!task) throw new Error('no task');
    return { ...task, lastStatus: 'PENDING' };
  };

  it('run and stop when ECS says so, and why', () => {
    const before = pending();
    narrator.hearTask({ ...before, lastStatus: 'RUNNING' }, before);
    narrator.hearTask({ ...before, lastStatus: 'STOPPED', stoppedReason: `proxy ${ID}: no longer declared` }, before);

    const name = `worker-01234567…-proxy: task ${before.id.slice(0, 8)}`;
    expect(told()).toEqual([`proxy running: ${name}, says ECS`, `proxy stopped: ${name}; no longer declared`]);
    expect(lines.map(({ task }) => task)).toEqual([ID, ID]);
  });

  it('have checks, too, which are called by their ID', () => {
    for (const status of ['passing', 'critical']) {
      narrator.hearHealth(new Map([['c', { serviceId: ID, service: 'sidecar', name: 'sidecar health', status }]]));
    }

    expect(told()).toEqual(['check critical: worker-01234567…-proxy: "sidecar health", says Consul']);
    expect(narrator.isHealthy).toBe(false);
  });

  it('that end are told once, by ECS', () => {
    narrator.hearLog(logged('proxy-ended', { proxyId: ID }, 'WARN'));

    expect(told()).toEqual([]);
  });
});
