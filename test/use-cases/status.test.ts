/** `status`: OK, or what is wrong and how to mend it; it touches nothing. */
import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../infra/local/ecs-double/faults.ts';
import { statusOf } from '../../lib/use-cases/status.ts';
import { failure, POLICY_KEY, START_MS, WatchWorld } from './watch-world.ts';

/** A world in which all is well. */
async function well(): Promise<WatchWorld> {
  const world = new WatchWorld();
  world.one('web', { status: 'passing' });
  await world.pass();
  return world;
}

const status = (world: WatchWorld) => statusOf(world.deps, world.settings);

test('is OK where all is well, and writes nothing', async () => {
  const world = await well();
  const writesBefore = world.state.writes.length;
  expect(await status(world.at(60_000))).toMatchObject({
    status: 'OK',
    problems: [],
    notes: [],
    consul: { reachable: true, unhealthyChecks: 0 },
    lastGoodPass: { atMs: START_MS, age: '1m' },
    trackedChecks: 0,
    streaks: 0,
    openClaims: [],
    policy: { source: 'consul', rules: 1 },
  });
  expect(world.state.writes).toHaveLength(writesBefore);
  expect(world.writes()).toEqual([]);
});

test('shows streaks and open claims', async () => {
  const world = new WatchWorld({ delays: { stopNoticedMs: 60_000 } });
  const { arn } = world.one('web');
  world.one('api');
  world.policy({
    rules: [
      { match: { service: 'web' }, checkRestart: { limit: 1, interval: '10s', grace: '0s' } },
      { match: { service: 'api' }, checkRestart: { limit: 9, interval: '10s', grace: '0s' } },
    ],
  });
  await world.pass();
  expect(await status(world)).toMatchObject({
    status: 'OK',
    consul: { unhealthyChecks: 2 },
    streaks: 1,
    openClaims: [{ owner: 'prod/service/web', task: arn, action: 'stop-task', outcome: 'accepted' }],
  });
});

interface Wrong {
  readonly what: string;
  readonly make: (world: WatchWorld) => void;
  readonly problem: RegExp;
  readonly remedy: RegExp;
}

const WRONGS: readonly Wrong[] = [
  {
    what: 'Consul unreachable',
    make: (world) =>
      world.consul.fail(['read', 'readKey', 'listServices', 'listInstances'], failure('consul', 'unreachable')),
    problem: /consul is unreachable/,
    remedy: /CONSUL_HTTP_ADDR/,
  },
  {
    what: 'a token that is refused',
    make: (world) =>
      world.consul.fail(['read', 'readKey', 'listServices', 'listInstances'], failure('consul', 'forbidden')),
    problem: /consul is forbidden/,
    remedy: /ACL token/,
  },
  {
    what: 'a token that sees nothing',
    make: (world) => world.consul.services.delete('web'),
    problem: /catalog shows no service/,
    remedy: /token/,
  },
  {
    what: 'a policy document that is not valid',
    make: (world) => world.policy('{"rule": []}'),
    problem: /rule/,
    remedy: /policy document/,
  },
  {
    what: 'a policy document that is gone',
    make: (world) => world.consul.keys.delete(POLICY_KEY),
    problem: /ecs-check-restart\/policy/,
    remedy: /policy document/,
  },
  {
    what: 'no permission to ask ECS',
    make: (world) => world.ecs.faults.add('DescribeTasks', FAULTS.forbidden),
    problem: /^ecs: DescribeTasks: AccessDenied/,
    remedy: /allowedClusters/,
  },
  {
    what: 'no permission for the table',
    make: (world) => world.state.fail(failure('state', 'forbidden')),
    problem: /state is forbidden/,
    remedy: /table/,
  },
  {
    what: 'an item that is not understood',
    make: (world) => world.state.setAside('check#x', 'schema 9 is not known here'),
    problem: /check#x.*schema 9/,
    remedy: /deploy the version/,
  },
  {
    what: 'no pass for long',
    make: (world) => world.at(600_000),
    problem: /last good pass was 10m ago/,
    remedy: /schedule/,
  },
  {
    what: 'an empty list of clusters',
    make: (world) => {
      world.settings = { ...world.settings, mapping: { ...world.settings.mapping, allowedClusters: [] } };
    },
    problem: /ALLOWED_CLUSTERS is empty/,
    remedy: /allowedClusters/,
  },
  {
    what: 'an empty list of services',
    make: (world) => {
      world.settings = { ...world.settings, allowedServices: [] };
    },
    problem: /ALLOWED_SERVICES is empty/,
    remedy: /allowedServices/,
  },
];

test.each(WRONGS)('names $what once, and how to mend it', async ({ make, problem, remedy }) => {
  const world = await well();
  make(world);
  const report = await status(world);
  expect(report.status).toBe('1 problem');
  expect(report.problems).toEqual([{ problem: expect.stringMatching(problem), remedy: expect.stringMatching(remedy) }]);
});

describe('notes', () => {
  test.each<{ what: RegExp; make: (world: WatchWorld) => void }>([
    {
      what: /dry run is on/,
      make: (world) => {
        world.settings = { ...world.settings, dryRun: true };
      },
    },
    { what: /opts a service in/, make: (world) => world.policy('{}') },
  ])('$what is good to know, and no problem', async ({ what, make }) => {
    const world = await well();
    make(world);
    expect(await status(world)).toMatchObject({ status: 'OK', notes: [expect.stringMatching(what)] });
  });

  test('tell of a deployment that has just been made', async () => {
    const world = new WatchWorld();
    world.one('web', { status: 'passing' });
    expect(await status(world)).toMatchObject({
      status: 'OK',
      notes: [expect.stringMatching(/no good pass yet/)],
      lastGoodPass: {},
    });
  });
});
