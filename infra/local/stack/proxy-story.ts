/**
 * What `npm start` tells of proxies: declared → started; changed → replaced; crashed → started again, with backoff;
 * unhealthy → restarted; no longer declared → stopped. It writes to Consul and breaks; who mends it is reconcile-proxies.
 * Consul's keys wake nobody, so a sync by hand follows each write; all else comes by ECS's events and the watcher's messages.
 */
import { systemClock } from '../../../lib/clock.ts';
import type { ReconcileReport } from '../../../lib/use-cases/reconcile/reconcile-types.ts';
import { deleteFromConsul, putToConsul } from './consul-api.ts';
import { proxyName } from './narrator.ts';
import { proxyIdOf } from './proxy-fleet.ts';
import type { SampleTask } from './sample-task.ts';
import { GATEWAY, SIDECARS } from './samples.ts';
import type { Stack } from './stack.ts';
import { type Step, StepMissing, type Story } from './story.ts';

const KEY = `ecs-check-restart/proxies/${GATEWAY.id}`;
/** Three launches are free; by the fourth crash in a row the next one waits. */
const MOST_CRASHES = 4;
const LOOK_MS = 250;

/** Tells all five; every step must come before the deadline. Throws `StepMissing`. */
export async function tellProxies(stack: Stack, story: Story, deadlineMs: number): Promise<void> {
  const sidecar = sidecarOf(stack);
  await declare(stack, story, deadlineMs, sidecar);
  await change(stack, story, deadlineMs);
  await Promise.all([crash(stack, story, deadlineMs), spoil(stack, story, deadlineMs, sidecar)]);
  await remove(stack, story, deadlineMs);
}

async function declare(stack: Stack, story: Story, deadlineMs: number, sidecar: string): Promise<void> {
  const { service, declaration } = SIDECARS;
  const act = async () => {
    await putToConsul(stack.consul.url, `kv/${KEY}`, GATEWAY.document);
    await stack.samples.declareProxies(service, declaration);
    await sync(stack);
  };
  const text = `${GATEWAY.id}: PUT kv/${KEY}; ${proxyName(sidecar)}: ${service} has the tag ${declaration.tags.join()}`;
  await story.follow({ headline: 'declaring', text, act }, deadlineMs, [running(GATEWAY.id), running(sidecar)]);
}

async function change(stack: Stack, story: Story, deadlineMs: number): Promise<void> {
  const document = { ...GATEWAY.document, environment: { LOG_LEVEL: 'debug' } };
  const act = async () => {
    await putToConsul(stack.consul.url, `kv/${KEY}`, document);
    await sync(stack);
  };
  const text = `${GATEWAY.id}: PUT kv/${KEY}, with another environment`;
  await story.follow({ headline: 'changing', text, act }, deadlineMs, [stopped(GATEWAY.id), running(GATEWAY.id)]);
}

/** Crashes it, again and again, until its next start has to wait; then it starts all the same. */
async function crash(stack: Stack, story: Story, deadlineMs: number): Promise<void> {
  for (let crashes = 1; crashes <= MOST_CRASHES; crashes += 1) {
    const task = stack.ecs.world
      .tasks()
      .find((one) => proxyIdOf(one) === GATEWAY.id && one.lastStatus === 'RUNNING' && one.desiredStatus === 'RUNNING');
    if (!task) throw new StepMissing(`${GATEWAY.id} does not run`, undefined);
    const deed = {
      headline: 'crashing',
      text: `${GATEWAY.id}: its program exits with 1`,
      act: async () => stack.ecs.world.exitTask(task.arn, { exitCode: 1 }),
    };
    const again = story.follow(deed, deadlineMs, [stopped(GATEWAY.id), running(GATEWAY.id)]);
    const waitMs = await waitOf(stack, again);
    if (waitMs !== undefined) {
      story.say('backing off', `${GATEWAY.id}: crashed too often to be started at once; ${seconds(waitMs)} more`);
    }
    await again;
    if (waitMs !== undefined) return;
  }
  throw new StepMissing(`${GATEWAY.id} was started again without a wait ${MOST_CRASHES} times`, undefined);
}

function seconds(durationMs: number): string {
  return `${(Math.max(0, durationMs) / 1000).toFixed(1)} s`;
}

/** For how long its next launch is put off; `undefined`: it is running again without a wait. */
async function waitOf(stack: Stack, running: Promise<void>): Promise<number | undefined> {
  let isOver = false;
  running.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  while (!isOver) {
    const waitMs = await backoffOf(stack);
    if (waitMs !== undefined) return waitMs;
    await systemClock.sleepUntil(systemClock.nowMs() + LOOK_MS);
  }
  return undefined;
}

async function spoil(stack: Stack, story: Story, deadlineMs: number, sidecar: string): Promise<void> {
  const program = programOf(stack, sidecar);
  if (!program) throw new StepMissing(`${proxyName(sidecar)} does not run`, undefined);
  const url = `${program.url}/break`;
  const act = () => fetch(url, { method: 'PUT' });
  await story.follow({ headline: 'breaking', text: `${proxyName(sidecar)}: PUT ${url}`, act }, deadlineMs, [
    { kind: 'critical', task: sidecar, missing: `Consul did not find the check of ${proxyName(sidecar)} critical` },
    stopped(sidecar),
    running(sidecar),
  ]);
}

async function remove(stack: Stack, story: Story, deadlineMs: number): Promise<void> {
  const act = async () => {
    await deleteFromConsul(stack.consul.url, `kv/${KEY}`);
    await sync(stack);
  };
  const text = `${GATEWAY.id}: DELETE kv/${KEY}`;
  await story.follow({ headline: 'removing', text, act }, deadlineMs, [stopped(GATEWAY.id)]);
}

const running = (proxyId: string): Step => ({
  kind: 'proxy-running',
  task: proxyId,
  missing: `${proxyName(proxyId)} did not come to run`,
});
const stopped = (proxyId: string): Step => ({
  kind: 'proxy-stopped',
  task: proxyId,
  missing: `${proxyName(proxyId)} was not stopped`,
});

/** The proxy of the only instance of its service. */
function sidecarOf({ samples }: Stack): string {
  const parent = [...samples.tasks.values()].find(({ service }) => service === SIDECARS.service);
  if (!parent) throw new StepMissing(`no task of ${SIDECARS.service} runs`, undefined);
  return `${parent.serviceId}-proxy`;
}

function programOf({ proxies }: Stack, proxyId: string): SampleTask | undefined {
  return [...proxies.tasks.values()].find(({ serviceId }) => serviceId === proxyId);
}

async function sync({ reconcileProxies }: Stack): Promise<void> {
  const result = (await reconcileProxies.invoke({ action: 'sync' })) as { readonly outcome?: unknown };
  if (result.outcome !== 'done') throw new StepMissing(`a sync came to ${String(result.outcome)}`, undefined);
}

/** How long the gateway still has to wait, in ms, as a plan says it. */
async function backoffOf({ reconcileProxies }: Stack): Promise<number | undefined> {
  const plan = await reconcileProxies.invoke({ action: 'sync', dryRun: true });
  const { waiting } = plan as Pick<ReconcileReport, 'waiting'>;
  const wait = waiting.find(({ proxyId, reason }) => proxyId === GATEWAY.id && reason === 'backoff');
  return wait && (wait.untilMs ?? 0) - systemClock.nowMs();
}
