/** Bodies of writes, decoded as strictly as Consul does: an unknown field or a wrong type is 400. */
import * as z from 'zod/mini';
import { parseDurationMs } from '../../../lib/check-restart/duration.ts';
import type { Registration } from './records.ts';
import { ConsulError } from './records.ts';

const text = z.optional(z.string());
const texts = z.optional(z.nullable(z.array(z.string())));
const textMap = z.optional(z.nullable(z.record(z.string(), z.string())));
const anyMap = z.optional(z.nullable(z.record(z.string(), z.unknown())));
const flag = z.optional(z.boolean());
const count = z.optional(z.number());
const duration = z.optional(
  z.string().check(z.refine((value) => value === '' || parseDurationMs(value) !== undefined)),
);

const weights = z.optional(z.nullable(z.strictObject({ Passing: z.number(), Warning: z.number() })));

const agentCheck = z.strictObject({
  ID: text,
  CheckID: text,
  Name: text,
  ServiceID: text,
  Namespace: text,
  Partition: text,
  Notes: text,
  Status: text,
  TTL: duration,
  Interval: duration,
  Timeout: duration,
  DeregisterCriticalServiceAfter: duration,
  HTTP: text,
  H2PING: text,
  TCP: text,
  UDP: text,
  GRPC: text,
  GRPCUseTLS: flag,
  Args: texts,
  DockerContainerID: text,
  Shell: text,
  AliasNode: text,
  AliasService: text,
  Method: text,
  Header: anyMap,
  Body: text,
  TLSServerName: text,
  TLSSkipVerify: flag,
  SuccessBeforePassing: count,
  FailuresBeforeWarning: count,
  FailuresBeforeCritical: count,
  OutputMaxSize: count,
  DisableRedirects: flag,
});

/** A check as `agent/check/register` and the `Check` of `agent/service/register` have it. */
export type AgentCheckBody = z.infer<typeof agentCheck>;

const agentService = z.strictObject({
  ID: text,
  Name: text,
  Kind: text,
  Tags: texts,
  Address: text,
  TaggedAddresses: anyMap,
  Meta: textMap,
  Port: count,
  EnableTagOverride: flag,
  Weights: weights,
  Proxy: anyMap,
  Connect: anyMap,
  Namespace: text,
  Partition: text,
  Token: text,
  Check: z.optional(z.nullable(agentCheck)),
  Checks: z.optional(z.nullable(z.array(agentCheck))),
});

/** The body of `agent/service/register`. */
export type AgentServiceBody = z.infer<typeof agentService>;

const agentUpdate = z.strictObject({ Status: text, Output: text });

const catalogCheck = z.strictObject({
  Node: text,
  CheckID: text,
  Name: text,
  Status: text,
  Notes: text,
  Output: text,
  ServiceID: text,
  ServiceName: text,
  ServiceTags: texts,
  Type: text,
  Interval: text,
  Timeout: text,
  Namespace: text,
  Partition: text,
  Definition: anyMap,
  ExposedPort: count,
  CreateIndex: count,
  ModifyIndex: count,
});

const catalogService = z.strictObject({
  ID: text,
  Service: text,
  Kind: text,
  Tags: texts,
  Address: text,
  TaggedAddresses: anyMap,
  Meta: textMap,
  Port: count,
  Weights: weights,
  EnableTagOverride: flag,
  Proxy: anyMap,
  Connect: anyMap,
  Namespace: text,
  Partition: text,
});

const catalogRegister = z.strictObject({
  ID: text,
  Node: text,
  Address: text,
  Datacenter: text,
  TaggedAddresses: textMap,
  NodeMeta: textMap,
  SkipNodeUpdate: flag,
  Namespace: text,
  Partition: text,
  Service: z.optional(z.nullable(catalogService)),
  Check: z.optional(z.nullable(catalogCheck)),
  Checks: z.optional(z.nullable(z.array(catalogCheck))),
});

const catalogDeregister = z.strictObject({
  Node: text,
  Address: text,
  Datacenter: text,
  ServiceID: text,
  CheckID: text,
  Namespace: text,
  Partition: text,
});

/** Schemas by the endpoint that takes them. */
export const BODIES = { agentCheck, agentService, agentUpdate, catalogRegister, catalogDeregister };

/** Throws 400 as Consul does. */
export function decodeBody<T>(schema: z.ZodMiniType<T>, body: string): T {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (error) {
    const problem = body === '' ? 'EOF' : error instanceof Error ? error.message : 'not JSON';
    throw new ConsulError(400, `Request decode failed: ${problem}`);
  }
  const decoded = schema.safeParse(json);
  if (decoded.success) return decoded.data;
  const [issue] = decoded.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? `json: unknown field "${issue.keys[0]}"` : undefined;
  const problem = unknown ?? `wrong type at "${issue?.path.join('.')}"`;
  throw new ConsulError(400, `Request decode failed: ${problem}`);
}

/** Sidecars need a destination and a port. Message as Consul's. */
export function refuseBrokenProxy(service: {
  readonly Kind?: string | undefined;
  readonly Port?: number | undefined;
  readonly Proxy?: Record<string, unknown> | null | undefined;
}): string | undefined {
  if (service.Kind !== 'connect-proxy') return undefined;
  if (!service.Proxy?.DestinationServiceName) {
    return '1 error occurred:\n\t* Proxy.DestinationServiceName must be non-empty for Connect proxy services\n\n';
  }
  return service.Port ? undefined : '1 error occurred:\n\t* Port must be set for a Connect proxy\n\n';
}

/** What `catalog/register` asks for. Throws 500 with Consul's words for what is missing. */
export function registrationOf(body: z.infer<typeof catalogRegister>, datacenter: string): Registration {
  if (!body.Node) throw new ConsulError(500, 'Must provide node');
  if (!body.Address && !body.SkipNodeUpdate) {
    throw new ConsulError(500, 'Must provide address if SkipNodeUpdate is not set');
  }
  if (body.Datacenter && body.Datacenter !== datacenter) throw new ConsulError(500, 'No path to datacenter');
  const service = body.Service;
  if (service?.ID && !service.Service) throw new ConsulError(500, 'Must provide service name with ID');
  const proxyProblem = service && refuseBrokenProxy(service);
  if (proxyProblem) throw new ConsulError(500, proxyProblem);
  const checks = [...(body.Checks ?? []), ...(body.Check ? [body.Check] : [])];
  return {
    node: {
      id: body.ID ?? '',
      name: body.Node,
      address: body.Address ?? '',
      taggedAddresses: body.TaggedAddresses ?? null,
      meta: body.NodeMeta ?? null,
      partition: body.Partition ?? '',
    },
    ...(body.SkipNodeUpdate ? { skipNodeUpdate: true } : {}),
    ...(service?.Service ? { service: serviceOf({ ...service, Name: service.Service }) } : {}),
    checks: checks.map((check) => ({
      namespace: check.Namespace ?? '',
      id: check.CheckID || check.Name || '',
      name: check.Name ?? '',
      status: check.Status || 'critical',
      notes: check.Notes ?? '',
      output: check.Output ?? '',
      serviceId: check.ServiceID ?? '',
      type: check.Type ?? '',
      definition: check.Definition ?? {},
      interval: check.Interval ?? '',
      timeout: check.Timeout ?? '',
    })),
  };
}

/** A service of either kind of registration, as the catalog keeps it. */
export function serviceOf(
  body: Omit<AgentServiceBody, 'Check' | 'Checks' | 'Token'> & { readonly Name: string },
): NonNullable<Registration['service']> {
  return {
    namespace: body.Namespace ?? '',
    id: body.ID || body.Name,
    name: body.Name,
    kind: body.Kind ?? '',
    tags: body.Tags ?? [],
    address: body.Address ?? '',
    taggedAddresses: body.TaggedAddresses ?? undefined,
    meta: body.Meta ?? null,
    port: body.Port ?? 0,
    weights: body.Weights ?? { Passing: 1, Warning: 1 },
    enableTagOverride: body.EnableTagOverride ?? false,
    proxy: body.Proxy ?? {},
    connect: body.Connect ?? {},
  };
}
