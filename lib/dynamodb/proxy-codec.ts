/** How items of the reconciler look; the envelope and the rules are those of `codec.ts`. */
import * as z from 'zod/mini';
import { PROXY_STATE_SCHEMA, type ProxyState } from '../proxies/proxy-state.ts';
import type { ProxySpec } from '../proxies/spec.ts';
import type { ReconcileControl } from '../proxy-ports.ts';
import { count, ms, optionalMs, type Shape, text } from './codec.ts';

const spec = z.looseObject({
  service: z.exactOptional(text),
  execMode: z.enum(['task', 'service']),
  cluster: text,
  taskDefinition: z.exactOptional(text),
  ecsService: z.exactOptional(text),
  container: z.exactOptional(text),
  command: z.exactOptional(z.array(text)),
  environment: z.exactOptional(z.record(text, text)),
  network: z.exactOptional(
    z.looseObject({ subnets: z.array(text), securityGroups: z.array(text), assignPublicIp: z.boolean() }),
  ),
  launchType: z.exactOptional(z.enum(['EC2', 'FARGATE', 'EXTERNAL'])),
  capacityProviders: z.exactOptional(
    z.array(z.looseObject({ capacityProvider: text, weight: z.number(), base: z.number() })),
  ),
  platformVersion: z.exactOptional(text),
} satisfies Shape<ProxySpec>);

const task = z.looseObject({
  taskArn: text,
  cluster: text,
  fingerprint: z.exactOptional(text),
  generation: z.exactOptional(count),
  launchedAtMs: ms,
  startedAtMs: optionalMs,
} satisfies Shape<NonNullable<ProxyState['task']>>);

const launch = z.looseObject({
  generation: count,
  fingerprint: text,
  cluster: text,
  tries: count,
  triedAtMs: ms,
  outcome: z.enum(['open', 'unknown', 'refused']),
  maybeMadeAtMs: optionalMs,
} satisfies Shape<NonNullable<ProxyState['launch']>>);

const why = z.enum(['removed', 'replaced', 'unhealthy', 'operator', 'duplicate', 'killed']);

const stop = z.looseObject({
  taskArn: text,
  why,
  tries: count,
  triedAtMs: ms,
  outcome: z.enum(['open', 'accepted', 'failed']),
  nextTryMs: optionalMs,
  problem: z.exactOptional(text),
} satisfies Shape<NonNullable<ProxyState['stop']>>);

const end = z.looseObject({
  atMs: ms,
  reason: text,
  exitCode: z.exactOptional(z.number()),
} satisfies Shape<NonNullable<ProxyState['lastEnd']>>);

/** One proxy. */
export const proxyData = z.looseObject({
  schema: z.literal(PROXY_STATE_SCHEMA),
  proxyId: text.check(z.minLength(1)),
  spec: z.exactOptional(spec),
  fingerprint: z.exactOptional(text),
  generation: count,
  task: z.exactOptional(task),
  launch: z.exactOptional(launch),
  stop: z.exactOptional(stop),
  counted: count,
  launches: count,
  exits: count,
  nextAttemptMs: optionalMs,
  absentSinceMs: optionalMs,
  lastEnd: z.exactOptional(end),
  phase: z.enum(['waiting', 'launching', 'running', 'stopping', 'service', 'idle']),
  reason: text,
} satisfies Shape<ProxyState>);

/** What all proxies share, without its version. */
export const controlData = z.looseObject({
  runState: z.looseObject({ phase: z.enum(['running', 'stopping', 'stopped']), kill: z.boolean() }),
  memory: z.looseObject({
    emptyAtMs: optionalMs,
    stops: z.array(z.looseObject({ proxyId: text, atMs: ms })),
  }),
  lastStartMs: optionalMs,
} satisfies Shape<Omit<ReconcileControl, 'version'>>);
