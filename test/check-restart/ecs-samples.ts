/** A healthy service and a task of it, as ECS describes them; tests change what they are about. */
import type { EcsService, EcsTask } from '../../lib/check-restart/ecs-facts.ts';
import { type EligibilityContext, eligibility, type TaskFacts } from '../../lib/check-restart/eligibility.ts';

export const NOW_MS = 1_800_000_000_000;

export const TASK: EcsTask = {
  arn: 'arn:aws:ecs:eu-west-1:123456789012:task/prod/0f3c9a4be1d24c0f9f4b2f6b1b7c8d90',
  clusterArn: 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod',
  lastStatus: 'RUNNING',
  desiredStatus: 'RUNNING',
  startedAtMs: NOW_MS - 600_000,
  startedBy: 'ecs-svc/1111111111111111111',
  group: 'service:orders',
  taskDefinitionArn: 'arn:aws:ecs:eu-west-1:123456789012:task-definition/orders-family:42',
  awsvpc: true,
  addresses: ['10.20.4.77'],
  connectivity: 'CONNECTED',
  hostPorts: [],
};

export const SERVICE: EcsService = {
  arn: 'arn:aws:ecs:eu-west-1:123456789012:service/prod/orders',
  name: 'orders',
  clusterArn: 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod',
  status: 'ACTIVE',
  desiredCount: 4,
  runningCount: 4,
  deploymentController: 'ECS',
  deployments: [{ id: 'ecs-svc/1', status: 'PRIMARY', rolloutState: 'COMPLETED', desiredCount: 4, runningCount: 4 }],
  taskSets: 0,
  events: [],
};

export const STANDALONE_TASK: EcsTask = { ...TASK, group: 'family:report', startedBy: 'nightly' };

const CONTEXT: EligibilityContext = {
  policy: { action: 'stop-task', standalone: 'skip', protection: 'respect' },
  address: '10.20.4.77',
  requireAddress: false,
  allowedServices: ['*'],
  proxyStartedBy: 'ecs-check-restart-proxy',
  nowMs: NOW_MS,
};

/** What may be changed about an eligible task. */
export interface Changes {
  readonly task?: Partial<EcsTask>;
  readonly service?: Partial<EcsService>;
  readonly facts?: Partial<TaskFacts>;
  readonly context?: Partial<EligibilityContext>;
  readonly policy?: Partial<EligibilityContext['policy']>;
}

/** `eligible`, or the reason why not. */
export function verdictOn(changes: Changes): string {
  const verdict = judge(changes);
  return verdict.eligible ? 'eligible' : verdict.reason;
}

/** The whole verdict. */
export function judge({ task, service, facts, context, policy }: Changes) {
  return eligibility(
    {
      task: { ...TASK, ...task },
      service: { ...SERVICE, ...service },
      protection: 'unprotected',
      ...facts,
    },
    { ...CONTEXT, ...context, policy: { ...CONTEXT.policy, ...policy } },
  );
}
