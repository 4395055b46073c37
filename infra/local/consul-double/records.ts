/** What the double's catalog holds, and how its readings are answered. Names follow Consul's, indexes are Raft's. */

/** A node. `meta` and `taggedAddresses` stay `null` where the registration had none, as Consul shows them. */
export interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly taggedAddresses: Readonly<Record<string, string>> | null;
  readonly meta: Readonly<Record<string, string>> | null;
  readonly partition: string;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

/** A service instance on a node. */
export interface ServiceRecord {
  readonly node: string;
  readonly partition: string;
  readonly namespace: string;
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly address: string;
  readonly taggedAddresses: Readonly<Record<string, unknown>> | undefined;
  readonly meta: Readonly<Record<string, string>> | null;
  readonly port: number;
  readonly weights: { readonly Passing: number; readonly Warning: number };
  readonly enableTagOverride: boolean;
  readonly proxy: Readonly<Record<string, unknown>>;
  readonly connect: Readonly<Record<string, unknown>>;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

/** A check. `serviceTags` are those of its service when the check was last written, as in Consul. */
export interface CheckRecord {
  readonly node: string;
  readonly partition: string;
  readonly namespace: string;
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly notes: string;
  readonly output: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly serviceTags: readonly string[];
  readonly type: string;
  readonly definition: Readonly<Record<string, unknown>>;
  /** Go durations as Consul 1.10 and later show them; empty where there is none. */
  readonly interval: string;
  readonly timeout: string;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

type Unindexed<T> = Omit<T, 'createIndex' | 'modifyIndex'>;

/** One `catalog/register`: a node, with a service of it and checks of it. One transaction. */
export interface Registration {
  readonly node: Unindexed<NodeRecord>;
  /** The node is taken as it is, if there is one. */
  readonly skipNodeUpdate?: boolean;
  readonly service?: Omit<Unindexed<ServiceRecord>, 'node' | 'partition'>;
  readonly checks?: readonly Omit<Unindexed<CheckRecord>, 'node' | 'partition' | 'serviceName' | 'serviceTags'>[];
}

/** One `catalog/deregister`. A service ID goes before a check ID; with neither, the whole node goes. */
export interface Deregistration {
  readonly node: string;
  readonly partition: string;
  readonly namespace: string;
  readonly serviceId?: string;
  readonly checkId?: string;
}

/** What one transaction touched. Names are in lower case: Consul's indexes are. */
export interface Changes {
  /** Statuses of written and removed checks, before and after. Not empty = some check was written. */
  readonly statuses: Set<string>;
  /** Services whose checks were written; and nodes. */
  readonly checkedServices: Set<string>;
  readonly checkedNodes: Set<string>;
  /** Services and nodes that changed themselves. */
  readonly services: Set<string>;
  readonly nodes: Set<string>;
  /** Nodes one of whose services changed. */
  readonly servingNodes: Set<string>;
  readonly keys: Set<string>;
}

/** The answer to a read: its value, its `X-Consul-Index`, and which transactions wake a blocking query on it. */
export interface Reading<T> {
  readonly value: T;
  readonly index: number;
  readonly wakes: (changes: Changes) => boolean;
}

/** An error that Consul answers with this HTTP status and text. */
export class ConsulError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ConsulError';
    this.status = status;
  }
}
