/** Two stages reconcile one cluster through the real adapter: neither ever touches what the other has started. */
import { expect, test } from 'vitest';
import { CALLER, mustBeDone, ReconcileWorld, told } from './reconcile-world.ts';

const OPTIONS = { proxies: { removalDelayMs: 0 } };

/** Both declare a proxy `shared`, each its own, and one more. */
async function stages() {
  const dev = new ReconcileWorld({ ...OPTIONS, startedBy: 'ecs-check-restart/dev' }).declare(['shared', 'only-dev']);
  const prod = stage('prod', dev).declare(['shared', 'only-prod']);
  await both(dev, prod);
  return { dev, prod };
}

function stage(name: string, beside: ReconcileWorld): ReconcileWorld {
  return new ReconcileWorld({ ...OPTIONS, startedBy: `ecs-check-restart/${name}`, beside });
}

async function both(dev: ReconcileWorld, prod: ReconcileWorld): Promise<string[]> {
  const reports = [...(await dev.passes(2, 30_000)), ...(await prod.passes(2, 30_000))];
  return reports.flatMap(told);
}

const arnsOf = (world: ReconcileWorld) => world.running().map(({ arn }) => arn);

test('each runs its own, also under one proxy ID, and has nothing to do after that', async () => {
  const { dev, prod } = await stages();
  expect(await both(dev, prod)).toEqual([]);
  expect([arnsOf(dev).length, arnsOf(prod).length, dev.ecs.world.tasks().length]).toEqual([2, 2, 4]);
  expect(prod.one('shared').arn).not.toBe(dev.one('shared').arn);
});

test('what one no longer declares, replaces or restarts is its own only', async () => {
  const { dev, prod } = await stages();
  const untouched = arnsOf(prod);
  dev.declare('shared', 'b').declared.delete('only-dev');
  await both(dev, prod);
  await dev.operations.restart(CALLER, { proxyId: 'shared' });
  await both(dev, prod);
  expect(arnsOf(prod)).toEqual(untouched);
  expect(dev.running()).toHaveLength(1);
});

test('one that has lost its state finds its own tasks again, and nothing of the other', async () => {
  const { dev, prod } = await stages();
  const before = [arnsOf(dev), arnsOf(prod)];
  const forgetful = stage('prod', dev).declare(['shared', 'only-prod']);
  expect(await both(dev, forgetful)).toEqual([]);
  expect([arnsOf(dev), arnsOf(forgetful)]).toEqual(before);
  expect((await forgetful.stateOf('shared'))?.task?.taskArn).toBe(prod.one('shared').arn);
});

test('one that has lost its state and declares less, or kills all, stops its own tasks alone', async () => {
  const { dev, prod } = await stages();
  const untouched = arnsOf(dev);
  const forgetful = stage('prod', dev).declare('shared');
  expect(await both(dev, forgetful)).toEqual(['stop only-prod removed done']);
  const killed = mustBeDone(await stage('prod', dev).operations.kill(CALLER));
  expect(told(killed)).toEqual(['stop shared killed done']);
  expect(await both(dev, stage('prod', dev))).toEqual([]);
  expect([arnsOf(dev), arnsOf(prod)]).toEqual([untouched, []]);
});
