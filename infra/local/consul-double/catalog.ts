/**
 * The catalog: nodes, services, checks, with the indexes and wake-ups of Consul's state store. Copied from what a real
 * Consul 1.8.7 does (the contract suite compares):
 *
 * - every write of a check, an identical one too, advances the index of all check listings; unchanged nodes and
 *   services advance nothing, and an identical check keeps its ModifyIndex;
 * - a listing by status, service or node wakes for changes of its own set; while the set is empty, for every check write;
 * - keys are compared without regard to case; lists come in the order of node and ID.
 */
import { TableIndexes } from './catalog-indexes.ts';
import { bySortedKey, identityOf, nodeKeyOf, RecordIndex, sameBut } from './catalog-keys.ts';
import type { ChangeFeed } from './feed.ts';
import type {
  Changes,
  CheckRecord,
  Deregistration,
  NodeRecord,
  Reading,
  Registration,
  ServiceRecord,
} from './records.ts';
import { ConsulError } from './records.ts';

/** The state behind `/v1/catalog` and `/v1/health`. */
export class CatalogStore {
  readonly #feed: ChangeFeed;
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #services = new RecordIndex<ServiceRecord>((s) => [nodeKeyOf(s.partition, s.node), s.name.toLowerCase()]);
  readonly #checks = new RecordIndex<CheckRecord>((c) => [
    nodeKeyOf(c.partition, c.node),
    `status:${c.status}`,
    `service:${c.serviceName.toLowerCase()}`,
  ]);
  readonly #indexes = new TableIndexes();

  constructor(feed: ChangeFeed) {
    this.#feed = feed;
  }

  /** One transaction. Throws `ConsulError` before anything is changed. */
  register(registration: Registration): void {
    this.#refuseOrphans(registration);
    this.#feed.commit((index, changes) => {
      const node = this.#putNode(registration, index, changes);
      if (registration.service) this.#putService(node, registration.service, index, changes);
      for (const check of registration.checks ?? []) this.#putCheck(node, check, index, changes);
    });
  }

  /** One transaction; what is not there is no error. */
  deregister({ node, partition, namespace, serviceId, checkId }: Deregistration): void {
    const nodeKey = nodeKeyOf(partition, node);
    this.#feed.commit((index, changes) => {
      if (serviceId !== undefined) {
        this.#removeService(this.#services.get(identityOf(nodeKey, namespace, serviceId)), index, changes);
      } else if (checkId !== undefined) {
        this.#removeCheck(this.#checks.get(identityOf(nodeKey, namespace, checkId)), index, changes);
      } else if (this.#nodes.has(nodeKey)) {
        for (const service of this.#services.group(nodeKey)) this.#removeService(service, index, changes);
        for (const check of this.#checks.group(nodeKey)) this.#removeCheck(check, index, changes);
        this.#nodes.delete(nodeKey);
        changes.nodes.add(node.toLowerCase());
        this.#indexes.nodes = index;
      }
    });
  }

  /** `any` is all of them; any other text is compared as it is. */
  checksInState(state: string): Reading<readonly CheckRecord[]> {
    if (state === 'any') return this.#checkReading(this.#checks.all(), () => true);
    const value = this.#checks.group(`status:${state}`);
    return this.#checkReading(value, (changes) => changes.statuses.has(state));
  }

  checksOfService(name: string): Reading<readonly CheckRecord[]> {
    const key = name.toLowerCase();
    const value = this.#checks.group(`service:${key}`);
    const reading = this.#checkReading(value, (changes) => changes.checkedServices.has(key));
    if (value.length > 0) return reading;
    // Checks of nodes are in no service's index, so they don't wake who waits for an empty part of it.
    return { ...reading, wakes: ({ checkedServices }) => [...checkedServices].some((service) => service !== '') };
  }

  checksOfNode(name: string, partition: string): Reading<readonly CheckRecord[]> {
    const value = this.#checks.group(nodeKeyOf(partition, name));
    return this.#checkReading(value, (changes) => changes.checkedNodes.has(name.toLowerCase()));
  }

  /**
   * Instances of a service. Consul keeps one index a service, which its checks advance too; but only a listing with the
   * checks wakes for them. While there is no instance, it wakes for every changed service.
   */
  instancesOf(name: string, { withChecks }: { readonly withChecks: boolean }): Reading<readonly ServiceRecord[]> {
    const key = name.toLowerCase();
    const value = this.#services.group(key);
    const hosts = new Set(value.map(({ node }) => node.toLowerCase()));
    const checked = ({ checkedServices, checkedNodes }: Changes) =>
      checkedServices.has(key) || (checkedServices.has('') && meet(hosts, checkedNodes));
    return {
      value,
      index: this.#indexes.ofService(key, { exists: value.length > 0, withChecks }),
      wakes: (changes) =>
        value.length === 0
          ? changes.services.size > 0
          : changes.services.has(key) || meet(hosts, changes.nodes) || (withChecks && checked(changes)),
    };
  }

  allServices(): Reading<readonly ServiceRecord[]> {
    const value = this.#services.all();
    return { value, index: this.#indexes.services, wakes: ({ services }) => services.size > 0 };
  }

  allNodes(): Reading<readonly NodeRecord[]> {
    const value = bySortedKey(this.#nodes);
    return { value, index: this.#indexes.nodes, wakes: ({ nodes }) => nodes.size > 0 };
  }

  servicesOfNode(name: string, partition: string): Reading<readonly ServiceRecord[] | undefined> {
    const key = nodeKeyOf(partition, name);
    const wakes = ({ nodes, servingNodes }: Changes) =>
      nodes.has(name.toLowerCase()) || servingNodes.has(name.toLowerCase());
    if (!this.#nodes.has(key)) return { value: undefined, index: 0, wakes };
    const index = Math.max(this.#indexes.nodes, this.#indexes.services);
    return { value: this.#services.group(key), index, wakes };
  }

  node(name: string, partition: string): NodeRecord | undefined {
    return this.#nodes.get(nodeKeyOf(partition, name));
  }

  /** Checks that count for an instance: its own, and its node's. */
  checksOfInstance(service: ServiceRecord): readonly CheckRecord[] {
    return this.#checks
      .group(nodeKeyOf(service.partition, service.node))
      .filter(({ serviceId }) => serviceId === '' || serviceId === service.id);
  }

  #checkReading(value: readonly CheckRecord[], own: Reading<unknown>['wakes']): Reading<readonly CheckRecord[]> {
    const empty = value.length === 0;
    return {
      value,
      index: this.#indexes.checks,
      wakes: (changes) => changes.statuses.size > 0 && (empty || own(changes)),
    };
  }

  #refuseOrphans({ node, service, checks = [] }: Registration): void {
    const nodeKey = nodeKeyOf(node.partition, node.name);
    for (const { serviceId, namespace } of checks) {
      const known = serviceId === '' || service?.id.toLowerCase() === serviceId.toLowerCase();
      if (!known && !this.#services.get(identityOf(nodeKey, namespace, serviceId))) {
        const problem = `failed inserting check: Missing service registration on node "${node.name}"`;
        throw new ConsulError(500, problem);
      }
    }
  }

  #putNode({ node, skipNodeUpdate }: Registration, index: number, changes: Changes): NodeRecord {
    const key = nodeKeyOf(node.partition, node.name);
    const before = this.#nodes.get(key);
    if (before && (skipNodeUpdate || sameBut(before, node))) return before;
    const after: NodeRecord = { ...node, createIndex: before?.createIndex ?? index, modifyIndex: index };
    this.#nodes.set(key, after);
    changes.nodes.add(node.name.toLowerCase());
    this.#indexes.nodes = index;
    for (const { name } of this.#services.group(key)) this.#indexes.touchService(name, index);
    return after;
  }

  #putService(node: NodeRecord, service: NonNullable<Registration['service']>, index: number, changes: Changes): void {
    const identity = identityOf(nodeKeyOf(node.partition, node.name), service.namespace, service.id);
    const before = this.#services.get(identity);
    const placed = { ...service, node: node.name, partition: node.partition };
    if (before && sameBut(before, placed)) return;
    this.#services.set(identity, { ...placed, createIndex: before?.createIndex ?? index, modifyIndex: index });
    if (before && before.name.toLowerCase() !== service.name.toLowerCase()) this.#noteService(before, index, changes);
    this.#noteService(placed, index, changes);
  }

  #putCheck(
    node: NodeRecord,
    check: NonNullable<Registration['checks']>[number],
    index: number,
    changes: Changes,
  ): void {
    const nodeKey = nodeKeyOf(node.partition, node.name);
    const identity = identityOf(nodeKey, check.namespace, check.id);
    const service = this.#services.get(identityOf(nodeKey, check.namespace, check.serviceId));
    const before = this.#checks.get(identity);
    const placed = {
      ...check,
      node: node.name,
      partition: node.partition,
      serviceName: service?.name ?? '',
      serviceTags: service?.tags ?? [],
    };
    const same = before !== undefined && sameBut(before, placed);
    const modifyIndex = same ? before.modifyIndex : index;
    this.#checks.set(identity, { ...placed, createIndex: before?.createIndex ?? index, modifyIndex });
    if (before) this.#noteCheck(before, index, changes, !same);
    this.#noteCheck(placed, index, changes, !same);
  }

  #removeService(service: ServiceRecord | undefined, index: number, changes: Changes): void {
    if (!service) return;
    const nodeKey = nodeKeyOf(service.partition, service.node);
    for (const check of this.#checks.group(nodeKey)) {
      const own = check.serviceId.toLowerCase() === service.id.toLowerCase() && check.namespace === service.namespace;
      if (own) this.#removeCheck(check, index, changes);
    }
    this.#services.delete(identityOf(nodeKey, service.namespace, service.id));
    this.#noteService(service, index, changes);
  }

  #removeCheck(check: CheckRecord | undefined, index: number, changes: Changes): void {
    if (!check) return;
    this.#checks.delete(identityOf(nodeKeyOf(check.partition, check.node), check.namespace, check.id));
    this.#noteCheck(check, index, changes, true);
  }

  #noteService(service: Pick<ServiceRecord, 'name' | 'node'>, index: number, changes: Changes): void {
    const key = service.name.toLowerCase();
    changes.services.add(key);
    changes.servingNodes.add(service.node.toLowerCase());
    this.#indexes.services = index;
    this.#indexes.noteService(key, index, this.#services.group(key).length > 0);
  }

  #noteCheck(
    check: Pick<CheckRecord, 'status' | 'serviceName' | 'node' | 'partition'>,
    index: number,
    changes: Changes,
    modified: boolean,
  ): void {
    changes.statuses.add(check.status);
    changes.checkedServices.add(check.serviceName.toLowerCase());
    this.#indexes.checks = index;
    const node = check.node.toLowerCase();
    changes.checkedNodes.add(node);
    if (!modified) return;
    if (check.serviceName !== '') this.#indexes.touchService(check.serviceName, index);
    else
      for (const { name } of this.#services.group(nodeKeyOf(check.partition, node)))
        this.#indexes.touchService(name, index);
  }
}

function meet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return [...right].some((name) => left.has(name));
}
