/** JSON as Consul gives it out: the fields of 1.8, those of 1.10 and later where asked for. */
import type { KvEntry } from './kv.ts';
import type { CheckRecord, NodeRecord, ServiceRecord } from './records.ts';

/** Which Consul the double speaks like. `current` is 1.17 or so; differences are listed in `double.ts`. */
export type Dialect = '1.8' | 'current';

type Json = Record<string, unknown>;

function placed(record: { readonly namespace?: string; readonly partition: string }): Json {
  return {
    ...(record.namespace ? { Namespace: record.namespace } : {}),
    ...(record.partition ? { Partition: record.partition } : {}),
  };
}

/** As `health/state`, `health/checks` and `health/node` list it. */
export function checkJson(check: CheckRecord, dialect: Dialect): Json {
  return {
    Node: check.node,
    CheckID: check.id,
    Name: check.name,
    Status: check.status,
    Notes: check.notes,
    Output: check.output,
    ServiceID: check.serviceId,
    ServiceName: check.serviceName,
    ServiceTags: check.serviceTags,
    Type: check.type,
    ...(dialect === 'current' ? { Interval: check.interval, Timeout: check.timeout, ExposedPort: 0 } : {}),
    Definition: check.definition,
    ...placed(check),
    CreateIndex: check.createIndex,
    ModifyIndex: check.modifyIndex,
  };
}

/** As `catalog/nodes` lists it. */
export function nodeJson(node: NodeRecord, datacenter: string): Json {
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: datacenter,
    TaggedAddresses: node.taggedAddresses,
    Meta: node.meta,
    ...placed(node),
    CreateIndex: node.createIndex,
    ModifyIndex: node.modifyIndex,
  };
}

/** As `catalog/node-services` and `health/service` show an instance. */
export function nodeServiceJson(service: ServiceRecord): Json {
  return {
    ...(service.kind ? { Kind: service.kind } : {}),
    ID: service.id,
    Service: service.name,
    Tags: service.tags,
    Address: service.address,
    ...(service.taggedAddresses ? { TaggedAddresses: service.taggedAddresses } : {}),
    Meta: service.meta,
    Port: service.port,
    Weights: service.weights,
    EnableTagOverride: service.enableTagOverride,
    Proxy: { ...service.proxy, MeshGateway: {}, Expose: {} },
    Connect: service.connect,
    ...placed(service),
    CreateIndex: service.createIndex,
    ModifyIndex: service.modifyIndex,
  };
}

/** As `catalog/service` lists an instance with its node. */
export function serviceNodeJson(service: ServiceRecord, node: NodeRecord, datacenter: string): Json {
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: datacenter,
    TaggedAddresses: node.taggedAddresses,
    NodeMeta: node.meta,
    ServiceKind: service.kind,
    ServiceID: service.id,
    ServiceName: service.name,
    ServiceTags: service.tags,
    ServiceAddress: service.address,
    ...(service.taggedAddresses ? { ServiceTaggedAddresses: service.taggedAddresses } : {}),
    ServiceWeights: service.weights,
    ServiceMeta: service.meta ?? {},
    ServicePort: service.port,
    ServiceEnableTagOverride: service.enableTagOverride,
    ServiceProxy: { ...service.proxy, MeshGateway: {}, Expose: {} },
    ServiceConnect: service.connect,
    ...placed(service),
    CreateIndex: service.createIndex,
    ModifyIndex: service.modifyIndex,
  };
}

/** As `kv` lists a key. */
export function kvJson(entry: KvEntry): Json {
  return {
    LockIndex: 0,
    Key: entry.key,
    Flags: entry.flags,
    Value: entry.value.length > 0 ? entry.value.toString('base64') : null,
    CreateIndex: entry.createIndex,
    ModifyIndex: entry.modifyIndex,
  };
}
