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
import { parseTaskArn } from '../check-restart/task-arn.ts';
import type { LaunchOutcome } from '../proxies/outcome.ts';
import { PROXY_ID_VARIABLE, type ProxySpec } from '../proxies/spec.ts';
import type { LaunchRequest } from '../proxy-ports.ts';
import { abort, type Calls } from './calls.ts';
import { refusal, safeText } from './failures.ts';
import { TAGS } from './own-tasks.ts';
import { watchTries } from './write.ts';

/** Limit of the API on all overrides together, as JSON. It says characters; bytes are never fewer. */
const MOST_OVERRIDES_BYTES = 8192;

/** Launches a proxy's task; never throws. */
export async function runTask(calls: Calls, startedBy: string, request: LaunchRequest): Promise<LaunchOutcome> {
  const of = { proxyId: request.proxyId, generation: request.generation };
  let container: string | undefined;
  try {
    container = request.spec.container ?? (await essentialContainer(calls, request.spec));
  } catch (error) {
    // The error itself, not a `ReadFailure`: its name says whether trying again can help.
    const { code, message } = refusal(error);
    return { ...of, kind: 'launch-refused', code, message: safeText(`DescribeTaskDefinition: ${message}`) };
  }
  if (container === undefined) {
    const message = `task definition ${request.spec.taskDefinition} has no container`;
    return { ...of, kind: 'launch-refused', code: 'NoContainer', message };
  }
  const input = inputOf(request, startedBy, container);
  const bytes = Buffer.byteLength(JSON.stringify(input.overrides));
  if (bytes > MOST_OVERRIDES_BYTES) {
    const message = `command and environment make overrides of ${bytes} bytes; at most ${MOST_OVERRIDES_BYTES}`;
    return { ...of, kind: 'launch-refused', code: 'OverridesTooLarge', message };
  }
  const command = new RunTaskCommand(input);
  const tries = watchTries(command, { repeatUnanswered: true });
  try {
    return { ...of, ...outcomeOf(await calls.client.send(command, abort(calls))) };
  } catch (error) {
    const isConflict = error instanceof Error && error.name === 'ConflictException';
    const made = isConflict ? madeBefore(error) : undefined;
    if (made !== undefined) return { ...of, kind: 'launched', taskArn: made };
    const { code, message } = refusal(error);
    // A conflict that names no task still says that this token has made one.
    if (tries.mayHaveTakenEffect || isConflict)
      return { ...of, kind: 'launch-unknown', message: safeText(`${code}: ${message}`) };
    return { ...of, kind: 'launch-refused', code, message };
  }
}

/** What RunTask is asked for. Secrets come from the task definition; overrides hold none. */
function inputOf(request: LaunchRequest, startedBy: string, container: string): RunTaskCommandInput {
  const { spec, proxyId, fingerprint, generation } = request;
  const { network, capacityProviders } = spec;
  const declared = Object.entries(spec.environment ?? {}).filter(([name]) => name !== PROXY_ID_VARIABLE);
  const environment = [...declared, [PROXY_ID_VARIABLE, proxyId] as const];
  return {
    cluster: spec.cluster,
    taskDefinition: spec.taskDefinition,
    count: 1,
    startedBy,
    clientToken: clientToken(startedBy, request.clientTokenText),
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

/** 64 hexadecimal digits. Two deployments in one cluster never share a token, whatever their proxies are called. */
function clientToken(startedBy: string, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([startedBy, text]))
    .digest('hex');
}

/** Overrides name a container: the first essential one, unless the declaration names another. */
async function essentialContainer(calls: Calls, spec: ProxySpec): Promise<string | undefined> {
  const command = new DescribeTaskDefinitionCommand({ taskDefinition: spec.taskDefinition });
  const { taskDefinition } = await calls.client.send(command, abort(calls));
  const containers = taskDefinition?.containerDefinitions ?? [];
  return (containers.find(({ essential }) => essential !== false) ?? containers[0])?.name;
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

/**
 * The task that this token made when it was asked for in other words (a new revision has another container, say): its
 * launch is ours all the same.
 */
function madeBefore(conflict: Error): string | undefined {
  const { resourceIds } = conflict as { resourceIds?: unknown };
  const [first]: unknown[] = Array.isArray(resourceIds) ? resourceIds : [];
  return typeof first === 'string' && parseTaskArn(first) ? first : undefined;
}
