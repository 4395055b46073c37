/** `npm start`: the local stack, and a story told about it in the terminal; see `--help`. */
import { systemClock } from '../../lib/clock.ts';
import { HELP, readArguments, type StartArguments } from './stack/arguments.ts';
import { followHealth } from './stack/health-view.ts';
import type { StoryLine } from './stack/narrator.ts';
import { tellProxies } from './stack/proxy-story.ts';
import { SCHEDULE_MS, startSchedule } from './stack/schedule.ts';
import { openSessionFiles, type SessionFiles } from './stack/session-files.ts';
import { type Stack, startStack } from './stack/stack.ts';
import { beginStory, StepMissing, type Story } from './stack/story.ts';

/** In which the first restart must have happened. */
const PATIENCE_MS = 60_000;
/** In which all of the proxies' story must have been told, from there on. */
const PROXY_PATIENCE_MS = 45_000;
/** After the start: by then the samples are out of their grace, and the first window has most of its time left. */
const FIRST_BREAK_MS = 10_000;
/** Services in the order in which they are broken. */
const VICTIMS = ['web', 'api', 'worker'];

const startMs = systemClock.nowMs();
const closers: (() => unknown)[] = [];
let closing: Promise<void> | undefined;

process.stdout.on('error', () => end(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (closing) process.exit(130);
    print('\nending\n');
    end(0);
  });
}

const told = readArguments(process.argv.slice(2));
if (told.kind === 'help') print(HELP);
else if (told.kind === 'wrong') {
  process.stderr.write(`npm start: ${told.problem}\nnpm start -- --help tells what there is.\n`);
  process.exitCode = 2;
} else {
  run(told).then(
    () => end(0),
    (error: unknown) => {
      // What breaks while everything is being closed is no news.
      if (!closing) print(`\nFAILED: ${error instanceof Error ? error.message : String(error)}\n`);
      end(1);
    },
  );
}

async function run({ once, verbose, consul }: Extract<StartArguments, { kind: 'start' }>): Promise<void> {
  const files = await openSessionFiles();
  closers.unshift(() => files.close());
  let story: Story | undefined;
  const stack = await startStack({
    consul,
    onLine: (line) => {
      files.log(line);
      if (verbose) print(`  ${line}\n`);
      story?.narrator.hearLog(line);
    },
    onProblem: (text) => tell({ kind: 'other', headline: 'problem', text }),
  });
  closers.unshift(() => stack.close());
  await files.writeInvokeOptions(stack.environment);
  introduce(stack, files);
  story = beginStory(stack, { tell });
  const { narrator } = story;
  const view = new AbortController();
  const viewed = followHealth(stack.consul.url, (health) => narrator.hearHealth(health), view.signal);
  closers.unshift(
    () => view.abort(),
    () => viewed,
  );
  // A catalog without a service could as well be a token that sees nothing; the functions would say so at once.
  await story.untilHealthy(startMs + PATIENCE_MS);
  schedule(stack, narrator);
  await play(story, stack, files, once);
}

/** Both functions, at once and every minute. */
function schedule(stack: Stack, narrator: Story['narrator']): void {
  closers.unshift(
    startSchedule(stack.watchChecks, 'window', {
      onResult: (result) => narrator.hearWindow(result),
      onFailure: (text) => tell({ kind: 'other', headline: 'window failed', text }),
    }),
    startSchedule(stack.reconcileProxies, 'sync', {
      onResult: () => {},
      onFailure: (text) => tell({ kind: 'other', headline: 'sync failed', text }),
    }),
  );
}

/** Once, or every minute until the process is told to end. */
async function play(story: Story, stack: Stack, files: SessionFiles, once: boolean): Promise<void> {
  if (!once) explain(stack, files);
  for (let round = 0; ; round += 1) {
    const atMs = startMs + FIRST_BREAK_MS + round * SCHEDULE_MS;
    await systemClock.sleepUntil(atMs);
    const victim = VICTIMS[round % VICTIMS.length] ?? 'web';
    try {
      await story.breakOne(victim, once ? startMs + PATIENCE_MS : atMs + SCHEDULE_MS - 1);
    } catch (error) {
      if (once || !(error instanceof StepMissing)) throw error;
      tell({ kind: 'other', headline: 'no restart', text: error.message });
    }
    if (round === 0) await playProxies(story, stack, once);
    if (once) return;
  }
}

async function playProxies(story: Story, stack: Stack, once: boolean): Promise<void> {
  try {
    await tellProxies(stack, story, systemClock.nowMs() + PROXY_PATIENCE_MS);
  } catch (error) {
    if (once || !(error instanceof StepMissing)) throw error;
    tell({ kind: 'other', headline: 'not as it should be', text: error.message });
  }
}

function introduce({ consul, ecsUrl, dynamoDbUrl, events }: Stack, { logPath }: SessionFiles): void {
  print(`ecs-check-restart on this machine

  Consul       ${consul.url}  ${consul.name}
  ECS          ${ecsUrl}  built-in double
  DynamoDB     ${dynamoDbUrl}  dynalite
  EventBridge  ${events.url}  built-in double
  SQS          a queue between ECS's events and reconcile-proxies
  watch-checks       functions/watch-checks/handler.ts, a window every minute
  reconcile-proxies  functions/reconcile-proxies/handler.ts, by ECS's events and every minute; log: ${logPath}

`);
  tell({ kind: 'other', headline: 'stack up', text: 'sample tasks are starting' });
}

function explain({ samples, consul }: Stack, { invokePath }: SessionFiles): void {
  const byService = [...samples.tasks.values()].sort(
    (one, other) => one.service.localeCompare(other.service) || one.port - other.port,
  );
  const apps = byService.map(({ service, url }) => `  curl -X PUT ${url}/break    # ${service}; /heal mends it\n`);
  print(`
Break one yourself (a replacement keeps its address):
${apps.join('')}Declare a proxy yourself (DELETE ends it), then ask for a sync, or wait for the minute:
  curl -X PUT ${consul.url}/v1/kv/ecs-check-restart/proxies/mine --data '{"taskDefinition":"gateway","cluster":"default"}'
Ask the functions:
  npx osls invoke local -f watchChecks $(cat ${invokePath}) --data '{"action":"status"}'
  npx osls invoke local -f reconcileProxies $(cat ${invokePath}) --data '{"action":"sync"}' # or status, restart, …
Ctrl-C ends it.

`);
}

function tell({ headline, text }: StoryLine): void {
  const seconds = ((systemClock.nowMs() - startMs) / 1000).toFixed(1).padStart(6);
  print(`${seconds} s  ${headline.padEnd(20)} ${text}\n`);
}

function print(text: string): void {
  process.stdout.write(text);
}

/** Closes what is open, the last first, and ends. */
function end(status: number): void {
  closing ??= (async () => {
    for (const closer of closers) await closer();
  })().then(
    () => process.exit(status),
    () => process.exit(1),
  );
}
