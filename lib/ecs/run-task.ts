/**
 * RunTask, idempotent by its client token: the same launch may be asked for again and again and makes one task. An HTTP
 * 200 with `failures[]` is a failed launch; no answer is no proof of anything.
 */
import { createHash } from 'node:crypto';
import {
  DescribeTaskDefinitionCommand,
  RunTaskCommand,
  type RunTaskCommandInput,
  type RunTaskCommandOutput,
} from '@aws-sdk/client-ecs';
import type { LaunchOutcome } from '../proxies/outcome.ts';
import { PROXY_ID_VARIABLE, type ProxySpec } from '../proxies/spec.ts';
import type { LaunchRequest } from '../proxy-ports.ts';
import { abort, type Calls, reading } from './calls.ts';
import { refusal, safeText } from './failures.ts';
import { TAGS } from './own-tasks.ts';
import { watchTries } from './write.ts';

/** Launches a proxy's task; never throws. */
export async function runTask(calls: Calls, startedBy: string, request: LaunchRequest): Promise<LaunchOutcome> {
  const of = { proxyId: request.proxyId, generation: request.generation };
  let container: string;
  try {
    container = request.spec.container ?? (await essentialContainer(calls, request.spec));
  } catch (error) {
    return { ...of, kind: 'launch-refused', ...refusal(error) };
  }
  const command = new RunTaskCommand(inputOf(request, startedBy, container));
  const tries = watchTries(command, { repeatUnanswered: true });
  try {
    return { ...of, ...outcomeOf(await calls.client.send(command, abort(calls))) };
  } catch (error) {
    const made = madeBefore(error);
    if (made !== undefined) return { ...of, kind: 'launched', taskArn: made };
    const { code, message } = refusal(error);
    if (tries.mayHaveTakenEffect) return { ...of, kind: 'launch-unknown', message: safeText(`${code}: ${message}`) };
    return { ...of, kind: 'launch-refused', code, message };
  }
}

/** What RunTask is asked for. Secrets come from the task definition; overrides hold none. */
function inputOf(request: LaunchRequest, startedBy: string, container: string): RunTaskCommandInput {
  const { spec, proxyId, fingerprint, generation } = request;
  const { network, capacityProviders } = spec;
  const environment = Object.entries({ ...spec.environment, [PROXY_ID_VARIABLE]: proxyId });
  return {
    cluster: spec.cluster,
    taskDefinition: spec.taskDefinition,
    count: 1,
    startedBy,
    clientToken: createHash('sha256').update(request.clientTokenText).digest('hex'),
    tags: [
      { key: TAGS.proxyId, value: proxyId },
      { key: TAGS.fingerprint, value: fingerprint },
      { key: TAGS.generation, value: String(generation) },
    ],
    overrides: {
      containerOverrides: [
        {
          name: container,
          environment: environment.map(([name, value]) => ({ name, value })),
          ...(spec.command === undefined ? {} : { command: [...spec.command] }),
        },
      ],
    },
    ...(spec.launchType === undefined ? {} : { launchType: spec.launchType }),
    ...(spec.platformVersion === undefined ? {} : { platformVersion: spec.platformVersion }),
    ...(capacityProviders === undefined
      ? {}
      : { capacityProviderStrategy: capacityProviders.map((one) => ({ ...one })) }),
    ...(network === undefined
      ? {}
      : {
          networkConfiguration: {
            awsvpcConfiguration: {
              subnets: [...network.subnets],
              securityGroups: [...network.securityGroups],
              assignPublicIp: network.assignPublicIp ? 'ENABLED' : 'DISABLED',
            },
          },
        }),
  };
}

/** Overrides name a container: the first essential one, unless the declaration names another. */
async function essentialContainer(calls: Calls, spec: ProxySpec): Promise<string> {
  const command = new DescribeTaskDefinitionCommand({ taskDefinition: spec.taskDefinition });
  const { taskDefinition } = await reading('DescribeTaskDefinition', calls.client.send(command, abort(calls)));
  const containers = taskDefinition?.containerDefinitions ?? [];
  const name = (containers.find(({ essential }) => essential !== false) ?? containers[0])?.name;
  if (name === undefined) throw new Error(`task definition ${spec.taskDefinition} has no container`);
  return name;
}

type Answered =
  | { readonly kind: 'launched'; readonly taskArn: string }
  | { readonly kind: 'launch-failed'; readonly reason: string }
  | { readonly kind: 'launch-unknown'; readonly message: string };

function outcomeOf({ tasks, failures }: RunTaskCommandOutput): Answered {
  const taskArn = tasks?.[0]?.taskArn;
  if (taskArn) return { kind: 'launched', taskArn };
  const [failure] = failures ?? [];
  if (!failure) return { kind: 'launch-unknown', message: 'RunTask answered with neither a task nor a failure' };
  return { kind: 'launch-failed', reason: safeText(failure.reason ?? 'no reason') };
}

/** The task that this token made when it was asked for in other words: its launch is ours all the same. */
function madeBefore(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ConflictException') return undefined;
  const { resourceIds } = error as { resourceIds?: unknown };
  const [first]: unknown[] = Array.isArray(resourceIds) ? resourceIds : [];
  return typeof first === 'string' ? first : undefined;
}
