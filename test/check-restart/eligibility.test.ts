import { describe, expect, it } from 'vitest';
import type { EcsService, EcsTask } from '../../lib/check-restart/ecs-facts.ts';
import { isDeploying, isSetAside, ownerKey, ownerOf, parseOwnerKey } from '../../lib/check-restart/eligibility.ts';
import { type Changes, judge, NOW_MS, SERVICE, STANDALONE_TASK, TASK, verdictOn } from './ecs-samples.ts';

const DISCONNECTED = { connectivity: 'DISCONNECTED' };
const OLD = { id: 'ecs-svc/0', status: 'ACTIVE', desiredCount: 0, runningCount: 4 };
const DEPLOYING = { deployments: [...SERVICE.deployments, OLD] };

describe('a task of a healthy service', () => {
  it('is eligible', () => {
    expect(judge({})).toStrictEqual({ eligible: true, action: 'stop-task' });
  });
});

describe('each reason', () => {
  it.each<[string, Changes]>([
    ['task-not-found', { facts: { task: undefined } }],
    ['proxy', { task: { startedBy: 'ecs-check-restart-proxy' } }],
    ['already-stopped', { task: { lastStatus: 'STOPPED', desiredStatus: 'STOPPED' } }],
    ['task-stopping', { task: { desiredStatus: 'STOPPED' } }],
    ['task-stopping', { task: { lastStatus: 'STOPPING', desiredStatus: 'STOPPED' } }],
    ['not-running', { task: { lastStatus: 'PENDING' } }],
    ['not-running', { task: { lastStatus: 'ACTIVATING' } }],
    ['not-running', { task: { desiredStatus: 'PENDING' } }],
    ['ambiguous', { task: { addresses: ['10.0.0.1'] } }],
    ['foreign-task', { context: { allowedServices: [] } }],
    ['standalone', { facts: { task: STANDALONE_TASK } }],
    ['service-impaired', { facts: { service: undefined } }],
    ['service-impaired', { service: { status: 'DRAINING' } }],
    ['service-impaired', { service: { status: 'INACTIVE' } }],
    ['deploying', { service: DEPLOYING }],
    ['agent-disconnected', { task: DISCONNECTED }],
    ['protected', { facts: { protection: 'protected' } }],
  ])('%s', (reason, changes) => {
    expect(verdictOn(changes)).toBe(reason);
  });

  it.each<[string | undefined, string | null, boolean]>([
    ['mine', 'mine', true],
    ['ecs-check-restart/dev', 'ecs-check-restart/dev', true],
    ['ecs-check-restart/prod', 'ecs-check-restart/dev', true],
    ['ecs-check-restart', 'ecs-check-restart/dev', true],
    ['ecs-check-restart/dev', 'mine', true],
    ['ecs-check-restarts', 'mine', false],
    ['ops/ecs-check-restart/dev', 'mine', false],
    ['minesweeper', 'mine', false],
    ['', 'mine', false],
    [undefined, 'mine', false],
    ['ecs-check-restart/dev', null, false],
    ['', null, false],
  ])('a task that %j started, beside a reconciler called %j, is set aside: %j', (startedBy, ours, expected) => {
    expect(isSetAside(startedBy === undefined ? {} : { startedBy }, ours)).toBe(expected);
  });

  it('says for people what it is about', () => {
    expect(judge({ task: { lastStatus: 'PENDING' } })).toMatchObject({ why: 'the task is PENDING, wanted RUNNING' });
    expect(judge({ context: { allowedServices: [] } })).toMatchObject({ why: expect.stringContaining('"orders"') });
    expect(judge({ service: { status: 'DRAINING' } })).toMatchObject({ why: expect.stringContaining('DRAINING') });
  });
});

describe('of several reasons the one to mend first is given', () => {
  /** Each with all that come after it. */
  const inOrder: readonly (readonly [string, Partial<EcsTask>, Changes])[] = [
    ['proxy', { startedBy: 'ecs-check-restart-proxy' }, {}],
    ['already-stopped', { lastStatus: 'STOPPED' }, {}],
    ['task-stopping', { desiredStatus: 'STOPPED' }, {}],
    ['not-running', { lastStatus: 'PENDING' }, {}],
    ['ambiguous', { addresses: [] }, {}],
    ['foreign-task', {}, { context: { allowedServices: [] } }],
    ['service-impaired', {}, { service: { status: 'DRAINING' } }],
    ['deploying', {}, { service: DEPLOYING }],
    ['agent-disconnected', DISCONNECTED, {}],
    ['protected', {}, { facts: { protection: 'protected' } }],
  ];

  it.each(inOrder.map(([reason], at) => [reason, at] as const))('%s before all that follow', (reason, at) => {
    // The later ones first, so that where two concern one field the earlier reason has it.
    const together = inOrder
      .slice(at)
      .reverse()
      .reduce<Changes>(
        (all, [, task, changes]) => ({
          task: { ...all.task, ...task },
          service: { ...all.service, ...changes.service },
          facts: { ...all.facts, ...changes.facts },
          context: { ...all.context, ...changes.context },
        }),
        {},
      );
    expect(verdictOn(together)).toBe(reason);
  });

  it('a stand-alone task that is not allowed is foreign before it is stand-alone', () => {
    expect(verdictOn({ facts: { task: STANDALONE_TASK }, context: { allowedServices: ['orders'] } })).toBe(
      'foreign-task',
    );
  });
});

describe('C29: a service that is deploying', () => {
  const C29: EcsService = {
    ...SERVICE,
    desiredCount: 4,
    runningCount: 5,
    deployments: [
      { id: 'ecs-svc/2', status: 'PRIMARY', rolloutState: 'IN_PROGRESS', desiredCount: 4, runningCount: 1 },
      { id: 'ecs-svc/1', status: 'ACTIVE', rolloutState: 'COMPLETED', desiredCount: 3, runningCount: 4 },
    ],
  };

  it.each(['stop-task', 'force-new-deployment'] as const)('C29: %s is not for old and new tasks', (action) => {
    for (const startedBy of ['ecs-svc/1', 'ecs-svc/2']) {
      expect(verdictOn({ task: { startedBy }, facts: { service: C29 }, policy: { action } })).toBe('deploying');
    }
  });

  it('C29: is eligible again when the deployment has completed', () => {
    const [primary] = C29.deployments;
    const deployments = primary ? [{ ...primary, rolloutState: 'COMPLETED', runningCount: 4 }] : [];
    expect(verdictOn({ service: { deployments } })).toBe('eligible');
  });

  const PRIMARY = { id: 'ecs-svc/2', status: 'PRIMARY', desiredCount: 4, runningCount: 4 };
  it.each<[string, Pick<EcsService, 'deployments' | 'taskSets'>, boolean]>([
    ['one that says nothing of its rollout', { deployments: [PRIMARY], taskSets: 0 }, false],
    ['one completed', { deployments: [{ ...PRIMARY, rolloutState: 'COMPLETED' }], taskSets: 0 }, false],
    ['one failed', { deployments: [{ ...PRIMARY, rolloutState: 'FAILED' }], taskSets: 0 }, false],
    ['one in progress', { deployments: [{ ...PRIMARY, rolloutState: 'IN_PROGRESS' }], taskSets: 0 }, true],
    ['two', { deployments: [PRIMARY, OLD], taskSets: 0 }, true],
    ['a second that is inactive', { deployments: [PRIMARY, { ...OLD, status: 'INACTIVE' }], taskSets: 0 }, false],
    ['none, of a service of task sets', { deployments: [], taskSets: 1 }, false],
    ['two task sets', { deployments: [], taskSets: 2 }, true],
  ])('deployments: %s', (_, service, expected) => {
    expect(isDeploying(service)).toBe(expected);
  });
});

describe('C30: the action that ECS can carry out', () => {
  it.each<['stop-task' | 'force-new-deployment', string, string]>([
    ['stop-task', 'ECS', 'stop-task'],
    ['force-new-deployment', 'ECS', 'force-new-deployment'],
    ['force-new-deployment', 'CODE_DEPLOY', 'stop-task'],
    ['force-new-deployment', 'EXTERNAL', 'stop-task'],
  ])('C30: %s with the controller %s is %s', (action, deploymentController, expected) => {
    expect(judge({ policy: { action }, service: { deploymentController, taskSets: 1 } })).toStrictEqual({
      eligible: true,
      action: expected,
    });
  });

  it('C30: two task sets are a deployment', () => {
    const service = { deploymentController: 'CODE_DEPLOY', deployments: [], taskSets: 2 };
    expect(verdictOn({ policy: { action: 'force-new-deployment' }, service })).toBe('deploying');
  });

  it('C30: a stand-alone task has no deployment', () => {
    const policy = { action: 'force-new-deployment', standalone: 'stop' } as const;
    expect(judge({ facts: { task: STANDALONE_TASK, service: undefined }, policy })).toStrictEqual({
      eligible: true,
      action: 'stop-task',
    });
  });
});

describe('C31: whose task it is', () => {
  it.each<[string, Partial<EcsTask>]>([
    ['(a) a task of nobody', { group: 'family:report', startedBy: 'nightly' }],
    ['(b) a group set by hand', { group: 'service:report', startedBy: 'ops' }],
    ['a group set by hand, without anybody', { group: 'service:report' }],
    ['a starter set by hand', { group: 'family:report', startedBy: 'ecs-svc/1' }],
    ['a starter that only begins like the scheduler', { group: 'service:report', startedBy: 'ecs-svc' }],
  ])('C31: %s is stand-alone', (_, task) => {
    const { startedBy: __, group: ___, ...rest } = TASK;
    const facts = { task: { ...rest, ...task } };
    expect(verdictOn({ facts })).toBe('standalone');
    expect(verdictOn({ facts, policy: { standalone: 'stop' } })).toBe('eligible');
  });

  it('C31: a service task has both', () => {
    expect(ownerOf(TASK)).toStrictEqual({ kind: 'service', cluster: 'prod', name: 'orders' });
  });

  it('C31: a stand-alone one belongs to its cluster and family', () => {
    expect(ownerOf(STANDALONE_TASK)).toStrictEqual({ kind: 'family', cluster: 'prod', name: 'orders-family' });
  });

  it('a cluster that is no ARN is its own name', () => {
    expect(ownerOf({ ...TASK, clusterArn: 'prod' }).cluster).toBe('prod');
    expect(ownerOf({ ...TASK, clusterArn: 'odd/one' }).cluster).toBe('odd/one');
  });

  it.each([TASK, STANDALONE_TASK])('the key of an owner tells the owner', (task) => {
    const owner = ownerOf(task);
    expect(ownerKey(owner)).toBe(`prod/${owner.kind}/${owner.name}`);
    expect(parseOwnerKey(ownerKey(owner))).toStrictEqual({ cluster: 'prod', kind: owner.kind, ownerName: owner.name });
  });
});

describe('C32: task protection', () => {
  it.each<['protected' | 'unprotected' | 'missing' | 'unknown', string]>([
    ['protected', 'protected'],
    ['unprotected', 'eligible'],
    ['unknown', 'protected'],
    ['missing', 'task-not-found'],
  ])('C32: %s: %s', (protection, expected) => {
    expect(verdictOn({ facts: { protection } })).toBe(expected);
  });

  it.each(['protected', 'unknown'] as const)('C32: %s is ignored where the policy says so', (protection) => {
    expect(verdictOn({ facts: { protection }, policy: { protection: 'ignore' } })).toBe('eligible');
  });

  it('C32: is not for stand-alone tasks, which cannot have it', () => {
    const facts = { task: STANDALONE_TASK, protection: 'unknown' } as const;
    expect(verdictOn({ facts, policy: { standalone: 'stop' } })).toBe('eligible');
  });
});

describe('a service whose tasks cannot be started', () => {
  const message = '(service orders) is unable to consistently start tasks successfully. For more information, see …';
  const minutesAgo = (minutes: number) => NOW_MS - minutes * 60_000;

  it.each<[string, number, string]>([
    ['said just now', NOW_MS, 'service-impaired'],
    ['said within 15 minutes', minutesAgo(15) + 1, 'service-impaired'],
    ['said 15 minutes ago', minutesAgo(15), 'eligible'],
    ['said by a clock that is ahead', NOW_MS + 5000, 'service-impaired'],
  ])('%s', (_, atMs, expected) => {
    expect(verdictOn({ service: { events: [{ atMs, message }] } })).toBe(expected);
  });

  it('is told by one message of many', () => {
    const others = { atMs: NOW_MS, message: '(service orders) has started 1 tasks: (task abc).' };
    expect(verdictOn({ service: { events: [others, { atMs: minutesAgo(1), message }, others] } })).toBe(
      'service-impaired',
    );
    expect(verdictOn({ service: { events: [others] } })).toBe('eligible');
  });

  it('does not hold back a stand-alone task', () => {
    const events = [{ atMs: NOW_MS, message }];
    const facts = { task: STANDALONE_TASK };
    expect(verdictOn({ facts, service: { events }, policy: { standalone: 'stop' } })).toBe('eligible');
  });
});
