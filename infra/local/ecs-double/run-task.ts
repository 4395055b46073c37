/** RunTask: stand-alone tasks, with the idempotency and the failures of the real one. */
import { EcsError, invalid } from './errors.ts';
import { clusterOf, type Input, text, wholeNumber } from './input.ts';
import type { Launches, OperationContext } from './operations.ts';
import { taskOnWire } from './wire.ts';

/** Limit of all overrides together, as JSON. */
const MAX_OVERRIDES = 8192;

/** A client token stands for its first request for ever (ECS: at least 24 hours); another one with it is a conflict. */
export function runTask({ world, launches }: OperationContext, input: Input) {
  const cluster = clusterOf(world, input);
  const { family, revision } = definition(text(input, 'taskDefinition'));
  const count = wholeNumber(input, 'count') ?? 1;
  if (count < 1 || count > 10) throw invalid('Count must be between 1 and 10.');
  const startedBy = text(input, 'startedBy');
  if (startedBy !== undefined && !/^[A-Za-z0-9_/-]{1,128}$/.test(startedBy)) throw invalid('startedBy is not valid.');
  const overrides = JSON.stringify(input.overrides ?? {});
  if (overrides.length > MAX_OVERRIDES) throw invalid(`Overrides cannot be larger than ${MAX_OVERRIDES} bytes.`);
  for (const { name } of overridden(input.overrides)) {
    if (containersOf(launches, family).some((container) => container.name === name)) continue;
    throw invalid(`Override for container named ${name} is not a container in the TaskDefinition.`);
  }
  const token = text(input, 'clientToken');
  if (token !== undefined && (token.length > 64 || !/^[\x21-\x7e]+$/.test(token)))
    throw invalid('clientToken is not valid.');
  const { clientToken: _, ...rest } = input;
  const request = JSON.stringify(rest, Object.keys(rest).sort()) + overrides;
  const earlier = token === undefined ? undefined : launches.tokens.get(`${cluster}/${token}`);
  if (earlier && earlier.request !== request) {
    const message = 'The client token is in use with other parameters.';
    throw new EcsError('ConflictException', message, 400, { resourceIds: earlier.arns });
  }
  const answer = (arns: readonly string[]) => ({
    tasks: arns.flatMap((arn) => world.task(arn) ?? []).map((task) => taskOnWire(task, world.names, true)),
    failures: [],
  });
  if (earlier) return answer(earlier.arns);
  const failure = launches.failures.shift();
  if (failure !== undefined)
    return { tasks: [], failures: [{ arn: world.names.clusterArn(cluster), reason: failure }] };
  const arns = Array.from({ length: count }, () =>
    world.addTask({
      cluster,
      family,
      revision,
      launch: true,
      networkMode: input.networkConfiguration === undefined ? 'bridge' : 'awsvpc',
      overrides: input.overrides ?? { containerOverrides: [] },
      tags: tagsOf(input.tags),
      ...(startedBy === undefined ? {} : { startedBy }),
      ...(text(input, 'group') === undefined ? {} : { group: text(input, 'group') ?? '' }),
    }),
  );
  if (token !== undefined) launches.tokens.set(`${cluster}/${token}`, { request, arns });
  return answer(arns);
}

/** Every family that is well-formed exists here. */
export function describeTaskDefinition({ world, launches }: OperationContext, input: Input) {
  const { family, revision } = definition(text(input, 'taskDefinition'));
  return {
    taskDefinition: {
      taskDefinitionArn: world.names.taskDefinitionArn(family, revision),
      family,
      revision,
      containerDefinitions: containersOf(launches, family),
    },
  };
}

function containersOf(launches: Launches, family: string) {
  return launches.containers.get(family) ?? [{ name: family, essential: true }];
}

function overridden(overrides: unknown): { name?: unknown }[] {
  const { containerOverrides = [] } = (overrides ?? {}) as { containerOverrides?: unknown };
  return Array.isArray(containerOverrides) ? containerOverrides : [];
}

function definition(reference: string | undefined): { family: string; revision: number } {
  const match = /^(?:arn:[^/]+:task-definition\/)?([A-Za-z0-9_-]{1,255})(?::(\d+))?$/.exec(reference ?? '');
  if (!match) throw new EcsError('ClientException', 'Unable to describe task definition.');
  return { family: match[1] ?? '', revision: Number(match[2] ?? 1) };
}

function tagsOf(value: unknown): { key: string; value: string }[] {
  if (!Array.isArray(value)) return [];
  return value.map((tag: { key?: unknown; value?: unknown }) => ({
    key: String(tag.key),
    value: String(tag.value ?? ''),
  }));
}
