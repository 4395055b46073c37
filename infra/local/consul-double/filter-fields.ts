/** Fields that a filter may name, for each kind of listing. Any other one is an error, in Consul and here. */

/** `map` has keys of the user's; an object is a struct, or a list of structs. */
export type FieldKind = 'string' | 'number' | 'boolean' | 'list' | 'map' | Fields;

/** Fields by name. */
export interface Fields {
  readonly [name: string]: FieldKind;
}

/** Of `health/state`, `health/checks`, `health/node`. */
export const CHECK_FIELDS: Fields = {
  Node: 'string',
  CheckID: 'string',
  Name: 'string',
  Status: 'string',
  Notes: 'string',
  Output: 'string',
  ServiceID: 'string',
  ServiceName: 'string',
  ServiceTags: 'list',
  Type: 'string',
};

/** Of `catalog/nodes`. */
export const NODE_FIELDS: Fields = {
  ID: 'string',
  Node: 'string',
  Address: 'string',
  Datacenter: 'string',
  TaggedAddresses: 'map',
  Meta: 'map',
};

const PROXY_FIELDS: Fields = {
  DestinationServiceName: 'string',
  DestinationServiceID: 'string',
  LocalServiceAddress: 'string',
  LocalServicePort: 'number',
};

/** Of `catalog/service`. */
export const SERVICE_NODE_FIELDS: Fields = {
  ID: 'string',
  Node: 'string',
  Address: 'string',
  Datacenter: 'string',
  TaggedAddresses: 'map',
  NodeMeta: 'map',
  ServiceKind: 'string',
  ServiceID: 'string',
  ServiceName: 'string',
  ServiceTags: 'list',
  ServiceAddress: 'string',
  ServiceMeta: 'map',
  ServicePort: 'number',
  ServiceEnableTagOverride: 'boolean',
  ServiceProxy: PROXY_FIELDS,
};

/** Of `catalog/node-services`. */
export const NODE_SERVICE_FIELDS: Fields = {
  Kind: 'string',
  ID: 'string',
  Service: 'string',
  Tags: 'list',
  Address: 'string',
  Meta: 'map',
  Port: 'number',
  EnableTagOverride: 'boolean',
  Proxy: PROXY_FIELDS,
};

/** Of `health/service`. */
export const HEALTH_SERVICE_FIELDS: Fields = {
  Node: NODE_FIELDS,
  Service: NODE_SERVICE_FIELDS,
  Checks: CHECK_FIELDS,
};
