/**
 * Mass failure with the breakers off: every task of an estate is unhealthy and due in one pass. Only the cap a minute may be
 * stopped, every other must have a reason, and the function must live through it.
 */
import { startConsulDouble } from '../../infra/local/consul-double/double.ts';
import { CLUSTER, POLICY_KEY } from '../e2e/watch-stage.ts';
import type { BenchResult } from './figures.ts';
import { bundle } from './function-process.ts';
import { type MassMeasured, type MassTask, serviceOf, taskId } from './mass-messages.ts';

/** How much of it. */
export interface MassOptions {
  readonly tasks: number;
  readonly progress: (line: string) => void;
}

const CHILD = 'mass-child.ts';
const PASSES = 3;
const PER_MINUTE = 10;
const MOST_MB = 256;
const POLICY = { rules: [{ match: {}, checkRestart: { limit: 1, interval: '10s', grace: '0s' } }] };

/** Runs it. Throws when a task without a restart has no reason. */
export async function benchMass({ tasks, progress }: MassOptions): Promise<BenchResult> {
  const bundled = await bundle([CHILD]);
  const consul = await startConsulDouble();
  try {
    progress(`${tasks} tasks are registered, all critical`);
    await put(`${consul.url}/v1/kv/${POLICY_KEY}`, POLICY);
    for (let n = 0; n < tasks; n += 1) await put(`${consul.url}/v1/catalog/register`, registrationOf(n));
    progress(`${PASSES} passes`);
    const task: MassTask = { consulUrl: consul.url, passes: PASSES, perMinute: PER_MINUTE };
    const measured = await bundled.run<MassMeasured>(CHILD, task);
    for (const { restarts, skipped } of measured.passes) {
      if (restarts + skipped < tasks) throw new Error(`${tasks - restarts - skipped} tasks have no reason`);
    }
    return {
      bench: 'mass',
      setting: { tasks, passes: PASSES, perMinute: PER_MINUTE, memoryMb: bundled.memoryMb },
      figures: figuresOf(measured),
      raw: { measured },
    };
  } finally {
    await consul.close();
    await bundled.remove();
  }
}

function figuresOf({ passes, peakMb }: MassMeasured): BenchResult['figures'] {
  const stopped = passes.reduce((sum, { restarts }) => sum + restarts, 0);
  const reasons = [...new Set(passes.flatMap((pass) => pass.reasons))].join(', ');
  return [
    { name: 'stopped within a minute', value: stopped, unit: 'tasks', bound: PER_MINUTE, note: `others: ${reasons}` },
    { name: 'most memory', value: peakMb, unit: 'MB', bound: MOST_MB, below: true },
    { name: 'first pass', value: passes[0]?.ms ?? 0, unit: 'ms' },
    { name: 'a pass after that', value: passes.at(-1)?.ms ?? 0, unit: 'ms' },
  ];
}

function registrationOf(number: number) {
  const id = taskId(number);
  const service = serviceOf(id);
  const arn = `arn:aws:ecs:eu-west-1:123456789012:task/${CLUSTER}/${id}`;
  return {
    Node: 'estate',
    Address: '10.0.0.1',
    SkipNodeUpdate: number > 0,
    Service: { ID: `${service}-${id}`, Service: service, Meta: { 'task-arn': arn } },
    Check: {
      Node: 'estate',
      CheckID: `c${number}`,
      Name: 'http',
      Status: 'critical',
      Output: 'down',
      ServiceID: `${service}-${id}`,
    },
  };
}

async function put(url: string, body: unknown): Promise<void> {
  const answer = await fetch(url, { method: 'PUT', body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`PUT ${url}: ${answer.status} ${text}`);
}
