/** Samples for the tests of the state. */
import type { ServiceState, WatchedCheck } from '../../lib/ports.ts';

/** 2026-11-30T12:00:00Z. */
export const NOW_MS = 1_796_040_000_000;

const TASK_ARN = 'arn:aws:ecs:eu-west-1:123456789012:task/prod/0f3c9a4be1d24c0f9f4b2f6b1b7c8d90';

/** A check in the middle of a streak, with every field. */
export function watchedCheck(changes: Partial<WatchedCheck> = {}): WatchedCheck {
  return {
    node: 'n1',
    checkId: 'http',
    checkName: 'HTTP on 8080',
    serviceId: 'web-1',
    serviceName: 'web',
    namespace: '',
    partition: '',
    version: 0,
    state: {
      taskArn: TASK_ARN,
      startedAtMs: NOW_MS - 90_000,
      seenMs: NOW_MS,
      streak: { sinceMs: NOW_MS - 20_000, countedFromMs: NOW_MS - 10_000 },
      absentSinceMs: NOW_MS - 6,
      frozenSinceMs: NOW_MS - 5,
      settleUntilMs: NOW_MS - 4,
      unrunSinceMs: NOW_MS - 3,
      goneSinceMs: NOW_MS - 2,
    },
    ...changes,
  };
}

/** A service with an open claim and a refused try. */
export function service(changes: Partial<ServiceState> = {}): ServiceState {
  return {
    key: 'prod/service/web',
    version: 0,
    claims: [
      {
        taskArn: TASK_ARN,
        action: 'force-new-deployment',
        checkName: 'HTTP on 8080',
        consulService: 'web',
        claimedAtMs: NOW_MS - 1000,
        tries: 1,
        triedAtMs: NOW_MS - 1000,
        outcome: 'accepted',
        deploymentId: 'ecs-svc/2222222222222222222',
        primaryBefore: 'ecs-svc/1111111111111111111',
      },
    ],
    brakes: {
      budget: { windowStartMs: NOW_MS - 60_000, used: 3, eventSent: true },
      lastRestartMs: NOW_MS - 1000,
      hold: { untilMs: NOW_MS + 60_000, why: 'restart budget spent', byBudget: true },
      breaker: {
        openedMs: NOW_MS - 9000,
        waitFromMs: NOW_MS - 8000,
        failedProbes: 1,
        ready: true,
        probe: { id: TASK_ARN, atMs: NOW_MS - 1000 },
        announced: true,
      },
      inFlight: [
        {
          id: TASK_ARN,
          sinceMs: NOW_MS - 1000,
          places: 4,
          windowStartMs: NOW_MS - 60_000,
          previousRestartMs: NOW_MS - 50_000,
          reported: true,
        },
      ],
      fullSinceMs: NOW_MS - 500,
    },
    graceMs: 90_000,
    failedDeployment: 'ecs-svc/3333333333333333333',
    refused: [{ taskArn: TASK_ARN, tries: 2, nextTryMs: NOW_MS + 20_000 }],
    ...changes,
  };
}
