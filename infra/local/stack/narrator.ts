/**
 * Turns what happens in the stack into the lines of the story. Each kind of line has one source, and it is the party
 * that knows: Consul for the health of checks, the watcher's own log lines and events for what it decided, ECS for
 * tasks. Nothing is foretold.
 */
import { formatDurationMs } from '../../../lib/check-restart/duration.ts';
import type { TaskBefore } from '../ecs-double/lifecycle.ts';
import type { TaskRecord } from '../ecs-double/model.ts';
import type { BusEvent } from './event-bus.ts';
import type { Health } from './health-view.ts';
import { parseLogLine } from './log-line.ts';
import { proxyIdOf } from './proxy-fleet.ts';
import type { SampleSpec } from './sample-task.ts';

/** What a line is about, for whoever waits for it. */
export type LineKind =
  | 'healthy'
  | 'critical'
  | 'due'
  | 'withheld'
  | 'restarted'
  | 'stopped'
  | 'replaced'
  | 'proxy-running'
  | 'proxy-stopped'
  | 'other';

/** One line. */
export interface StoryLine {
  readonly kind: LineKind;
  /** ID of the task; of a `replaced` the one that was replaced; of a proxy the proxy's. */
  readonly task?: string;
  /** Such as `check critical`. */
  readonly headline: string;
  readonly text: string;
}

/** What a narrator is given. */
export interface NarratorOptions {
  readonly nowMs: () => number;
  readonly specs: readonly SampleSpec[];
  readonly tell: (line: StoryLine) => void;
  /** Why ECS says that a task was stopped. */
  readonly stoppedReason: (taskId: string) => string | undefined;
}

/** `web 085f68aa` */
export function taskName(service: string, taskId: string): string {
  return `${service} ${taskId.slice(0, 8)}`;
}

/** A proxy's ID, with the task ID that may be in it as short as elsewhere. */
export function proxyName(proxyId: string): string {
  return proxyId.replace(/([0-9a-f]{8})[0-9a-f]{24}/, '$1…');
}

/** What another party's line tells already. */
const TOLD_OTHERWISE = new Set(['proxy-ended']);

/** Listens to everybody, and tells. */
export class Narrator {
  readonly #options: NarratorOptions;
  readonly #restarted = new Set<string>();
  /** Checks that were passing, by their key: a new task's check is critical at first, which is no news. */
  readonly #passed = new Set<string>();
  readonly #bad = new Set<string>();
  #isHealthy = false;

  constructor(options: NarratorOptions) {
    this.#options = options;
  }

  /** Whether Consul's last answer had all checks of all samples passing. */
  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Consul's answer. */
  hearHealth(health: Health): void {
    for (const [key, { service, serviceId, status, name }] of health) {
      const isSample = serviceId.startsWith(`${service}-`) && this.#options.specs.some((spec) => spec.name === service);
      const task = isSample ? serviceId.slice(service.length + 1) : serviceId;
      const about = `${isSample ? taskName(service, task) : proxyName(serviceId)}: "${name}"`;
      if (status === 'passing') {
        if (this.#bad.delete(key)) this.#tell('other', 'check passing', `${about} is well again`, task);
        this.#passed.add(key);
      } else if (this.#passed.has(key) && !this.#bad.has(key)) {
        this.#bad.add(key);
        this.#tell('critical', `check ${status}`, `${about}, says Consul`, task);
      }
    }
    for (const key of this.#passed) if (!health.has(key)) this.#passed.delete(key);
    for (const key of this.#bad) if (!health.has(key)) this.#bad.delete(key);
    const counts = this.#options.specs.map(({ name, count }) => {
      const checks = [...health.values()].filter(({ service }) => service === name);
      const passing = checks.filter(({ status }) => status === 'passing').length;
      return { text: `${name} ${passing} of ${count}`, isWhole: passing === count && checks.length === count };
    });
    const isHealthy = counts.every(({ isWhole }) => isWhole);
    if (isHealthy && !this.#isHealthy) this.#tell('healthy', 'healthy', counts.map(({ text }) => text).join(', '));
    this.#isHealthy = isHealthy;
  }

  /** A line that the watcher logged. */
  hearLog(text: string): void {
    const line = parseLogLine(text);
    if (!line) return;
    const { code, detail = {} } = line;
    const { service = '', task = '', reason = '', why, untilMs } = detail;
    const name = taskName(service, task);
    if (code === 'verdict-changed' || code === 'restart-withheld' || code === 'dry-run') {
      // A new task's check is critical before it has run; a stopped one's until it has left.
      const isNews = [...this.#bad].some((key) => key.startsWith(`${service}-${task}/`)) && !this.#restarted.has(task);
      const leftMs = untilMs === undefined ? undefined : untilMs - this.#options.nowMs();
      const because = why === undefined ? reason : `${reason} (${why})`;
      if (reason === 'counting' && leftMs !== undefined) {
        this.#tell('due', `due in ${rounded(leftMs)}`, `${name}, unless its check gets well`, task);
      } else if (isNews || code !== 'verdict-changed') {
        const until = leftMs === undefined ? '' : `, ${rounded(leftMs)} more`;
        this.#tell('withheld', 'not restarted', `${name}: ${because}${until}`, task);
      }
    } else if ((line.level === 'ERROR' || line.level === 'WARN') && !TOLD_OTHERWISE.has(code)) {
      this.#tell('other', 'the log reports', `${code}: ${detail.problem ?? detail.message ?? why ?? line.message}`);
    }
  }

  /** An event that the watcher published. */
  hearEvent({ 'detail-type': type, detail }: BusEvent): void {
    if (type !== 'Restart') return;
    const { service, task, action, outcome } = detail;
    const taskId = String(task);
    this.#restarted.add(taskId);
    const reason = this.#options.stoppedReason(taskId);
    const call = action === 'stop-task' ? 'StopTask' : 'UpdateService';
    const name = taskName(String(service), taskId);
    const said = reason?.replace(/^proxy \S+: unhealthy: /, '') ?? 'no reason kept';
    this.#tell('restarted', 'restarted', `${name}: ${call} ${outcome}; ${said}`, taskId);
  }

  /** A change of a task in ECS. */
  hearTask(task: Readonly<TaskRecord>, before: TaskBefore): void {
    if (before.lastStatus === task.lastStatus) return;
    const name = taskName(task.service ?? task.family, task.id);
    const proxyId = proxyIdOf(task);
    if (proxyId !== undefined) this.#hearProxy(task, proxyId);
    else if (task.lastStatus === 'STOPPED') this.#tell('stopped', 'task stopped', `${name}, says ECS`, task.id);
    else if (task.lastStatus === 'RUNNING' && task.replaces !== undefined) {
      const old = task.replaces.split('/').at(-1) ?? '';
      this.#tell('replaced', 'replacement running', `${name}, for ${old.slice(0, 8)}`, old);
    }
  }

  #hearProxy(task: Readonly<TaskRecord>, proxyId: string): void {
    const about = `${proxyName(proxyId)}: task ${task.id.slice(0, 8)}`;
    if (task.lastStatus === 'RUNNING') this.#tell('proxy-running', 'proxy running', `${about}, says ECS`, proxyId);
    if (task.lastStatus === 'STOPPED') {
      const reason = task.stoppedReason?.replace(`proxy ${proxyId}: `, '') ?? 'no reason kept';
      this.#tell('proxy-stopped', 'proxy stopped', `${about}; ${reason}`, proxyId);
    }
  }

  /** What a window came to. */
  hearWindow(result: unknown): void {
    const { outcome, passes, restarts } = windowOf(result);
    const text =
      outcome === 'done'
        ? `${passes} passes, ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}; the next window opens with the minute`
        : outcome;
    this.#tell('other', 'window over', text);
  }

  #tell(kind: LineKind, headline: string, text: string, task?: string): void {
    this.#options.tell({ kind, headline, text, ...(task === undefined ? {} : { task }) });
  }
}

/** To a second, and below two of them to a tenth. */
function rounded(durationMs: number): string {
  const stepMs = durationMs < 2000 ? 100 : 1000;
  const roundedMs = Math.max(0, Math.round(durationMs / stepMs) * stepMs);
  return formatDurationMs(roundedMs)
    .replace(/([a-z]+)/g, ' $1 ')
    .trim();
}

function windowOf(result: unknown): { outcome: string; passes: number; restarts: number } {
  const { outcome, passes, restarts } = result as { outcome?: unknown; passes?: unknown; restarts?: unknown };
  return {
    outcome: String(outcome),
    passes: Number(passes),
    restarts: Array.isArray(restarts) ? restarts.length : 0,
  };
}
