/** `GET` endpoints that list something: what they read, what of it a token sees, what a filter may name. */
import type { Access } from './acl.ts';
import { type Predicate, parseFilter } from './filter.ts';
import {
  CHECK_FIELDS,
  type Fields,
  HEALTH_SERVICE_FIELDS,
  NODE_FIELDS,
  NODE_SERVICE_FIELDS,
  SERVICE_NODE_FIELDS,
} from './filter-fields.ts';
import type { CheckRecord, Reading, ServiceRecord } from './records.ts';
import { ConsulError } from './records.ts';
import { checkJson, nodeJson, nodeServiceJson, serviceNodeJson } from './shapes.ts';
import type { World } from './world.ts';

type Json = Record<string, unknown>;

/** What a listing needs to know of its request. */
export interface ReadQuery {
  /** The rest of the path, decoded. */
  readonly name: string;
  readonly partition: string;
  /** `*` is all namespaces; only of an Enterprise double. */
  readonly namespace: string;
  readonly access: Access;
  readonly select: Predicate;
}

/** A kind of listing. `missing` is the error of a path that ends too early; without it the path has no name. */
export interface Listing {
  readonly path: string;
  readonly missing?: string;
  readonly fields?: Fields;
  read(world: World, query: ReadQuery): Reading<unknown>;
}

/** The filter of a request. Throws as Consul answers; newer versions with 400 where 1.8 says 500. */
export function selectorOf(expression: string, listing: Listing, world: World): Predicate {
  if (expression === '' || !listing.fields) return () => true;
  try {
    return parseFilter(expression, listing.fields);
  } catch (error) {
    if (error instanceof ConsulError && error.status === 500 && world.dialect !== '1.8') {
      throw new ConsulError(400, error.message);
    }
    throw error;
  }
}

function mapReading<T, U>(reading: Reading<T>, map: (value: T) => U): Reading<U> {
  return { value: map(reading.value), index: reading.index, wakes: reading.wakes };
}

function inScope(record: { readonly namespace: string; readonly partition: string }, query: ReadQuery): boolean {
  return record.partition === query.partition && (query.namespace === '*' || record.namespace === query.namespace);
}

function checkListing(world: World, reading: Reading<readonly CheckRecord[]>, query: ReadQuery): Reading<Json[]> {
  return mapReading(reading, (checks) => {
    const scoped = checks.filter((check) => inScope(check, query));
    const seen = query.access.visible(scoped, (check) => ({ node: check.node, service: check.serviceName }));
    return seen.map((check) => checkJson(check, world.dialect)).filter(query.select);
  });
}

function seenServices(services: readonly ServiceRecord[], query: ReadQuery): readonly ServiceRecord[] {
  const scoped = services.filter((service) => inScope(service, query));
  return query.access.visible(scoped, ({ node, name }) => ({ node, service: name }));
}

/** Instances with their node, in the given shape. */
function instances(
  world: World,
  query: ReadQuery,
  withChecks: boolean,
  shape: (service: ServiceRecord, node: NonNullable<ReturnType<World['catalog']['node']>>) => Json,
): Reading<Json[]> {
  return mapReading(world.catalog.instancesOf(query.name, { withChecks }), (services) =>
    seenServices(services, query)
      .flatMap((service) => {
        const node = world.catalog.node(service.node, service.partition);
        return node ? [shape(service, node)] : [];
      })
      .filter(query.select),
  );
}

const SERVICES: Listing = {
  path: 'catalog/services',
  read: (world, query) =>
    mapReading(world.catalog.allServices(), (services) => {
      const tags = new Map<string, Set<string>>();
      const scoped = services.filter((service) => inScope(service, query));
      // By the rights on services alone: a service is listed, with its tags, though its nodes may not be read.
      for (const service of query.access.visible(scoped, ({ name }) => ({ service: name }))) {
        tags.set(service.name, new Set([...(tags.get(service.name) ?? []), ...service.tags]));
      }
      const names = [...tags].sort(([left], [right]) => (left < right ? -1 : 1));
      return Object.fromEntries(names.map(([name, set]) => [name, [...set]]));
    }),
};

const NODE_SERVICES: Listing = {
  path: 'catalog/node-services/',
  missing: 'Missing node name',
  fields: NODE_SERVICE_FIELDS,
  read: (world, query) =>
    mapReading(world.catalog.servicesOfNode(query.name, query.partition), (services) => {
      const node = world.catalog.node(query.name, query.partition);
      const nobody = world.dialect === '1.8' ? null : [];
      if (!services || !node || query.access.visible([node], ({ name }) => ({ node: name })).length === 0) {
        return { Node: null, Services: nobody };
      }
      const shown = seenServices(services, query).map(nodeServiceJson).filter(query.select);
      return { Node: nodeJson(node, world.datacenter), Services: shown.length > 0 ? shown : nobody };
    }),
};

/** All listings. Paths that end in a slash take a name. */
export const LISTINGS: readonly Listing[] = [
  {
    path: 'health/state/',
    missing: 'Missing check state',
    fields: CHECK_FIELDS,
    read: (world, query) => checkListing(world, world.catalog.checksInState(query.name), query),
  },
  {
    path: 'health/checks/',
    missing: 'Missing service name',
    fields: CHECK_FIELDS,
    read: (world, query) => checkListing(world, world.catalog.checksOfService(query.name), query),
  },
  {
    path: 'health/node/',
    missing: 'Missing node name',
    fields: CHECK_FIELDS,
    read: (world, query) => checkListing(world, world.catalog.checksOfNode(query.name, query.partition), query),
  },
  {
    path: 'health/service/',
    missing: 'Missing service name',
    fields: HEALTH_SERVICE_FIELDS,
    read: (world, query) =>
      instances(world, query, true, (service, node) => ({
        Node: nodeJson(node, world.datacenter),
        Service: nodeServiceJson(service),
        Checks: world.catalog.checksOfInstance(service).map((check) => checkJson(check, world.dialect)),
      })),
  },
  {
    path: 'catalog/service/',
    missing: 'Missing service name',
    fields: SERVICE_NODE_FIELDS,
    read: (world, query) =>
      instances(world, query, false, (service, node) => serviceNodeJson(service, node, world.datacenter)),
  },
  {
    path: 'catalog/nodes',
    fields: NODE_FIELDS,
    read: (world, query) =>
      mapReading(world.catalog.allNodes(), (nodes) =>
        query.access
          .visible(nodes, ({ name }) => ({ node: name }))
          .map((node) => nodeJson(node, world.datacenter))
          .filter(query.select),
      ),
  },
  SERVICES,
  NODE_SERVICES,
];
