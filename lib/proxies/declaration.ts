/**
 * The declared set, from its two sources: service instances tagged `managed-proxy` (as managed proxies were declared),
 * and documents in KV. Input is JSON that somebody else wrote; nothing here throws. A bad declaration is an entry of its
 * own with all its problems, never a reason to doubt the others; it keeps its place in the set, so that the proxy that
 * runs under its ID stays.
 */
import { checkDefaults, DEFAULT_FIELDS, DOCUMENT_FIELDS, readSpec, SERVER_FILLED } from './document.ts';
import type { DocumentRules } from './document-fields.ts';
import { fingerprintText, type Hash } from './fingerprint.ts';
import { type FieldProblem, isObject, type JsonObject, type Problems, readObject, showValue } from './shape.ts';
import type { ProxySpec } from './spec.ts';

/** Marks the candidates among the services, so that one read of the catalog's names finds them. */
export const MANAGED_PROXY_TAG = 'managed-proxy';
/** Meta keys of a service instance. */
export const META_TASK_DEFINITION = 'proxy-task-definition';
export const META_EXEC_MODE = 'proxy-exec-mode';
export const META_CLUSTER = 'proxy-cluster';

/** A JSON text, parsed; or why it could not be. */
export type JsonSource = { readonly value: unknown } | { readonly malformed: string };

/** A service instance of the catalog, as far as it matters here. */
export interface DeclaringInstance {
  readonly node: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, string>>;
}

/** A document under `…/proxies/<id>`. */
export interface DeclaringDocument {
  readonly id: string;
  readonly source: JsonSource;
}

/** Everything that declares proxies, from good and complete answers. */
export interface DeclarationSources {
  readonly instances: readonly DeclaringInstance[];
  readonly documents: readonly DeclaringDocument[];
  /** Absent: there is no such document. */
  readonly defaults?: JsonSource;
}

/** One declared proxy. `origin` says where it was read. */
export type DeclaredProxy =
  | {
      readonly proxyId: string;
      readonly origin: string;
      readonly usable: true;
      readonly spec: ProxySpec;
      readonly fingerprint: string;
      /** Opaque; never in the fingerprint, never stored. */
      readonly config: JsonObject;
    }
  | {
      readonly proxyId: string;
      readonly origin: string;
      readonly usable: false;
      readonly problems: readonly FieldProblem[];
    };

// What ECS takes as the value of a tag; an ID is one.
const PROXY_ID = /^[\p{L}\p{N}_.:/=+@-][\p{L}\p{N} _.:/=+@-]{0,127}$/u;

interface Raw {
  readonly proxyId: string;
  readonly origin: string;
  readonly source: JsonSource;
}

/** All declared proxies, ordered by ID. Two declarations of one ID are one entry, unusable. */
export function readDeclarations(
  sources: DeclarationSources,
  rules: DocumentRules,
  hash: Hash,
): readonly DeclaredProxy[] {
  const defaults = readDefaults(sources.defaults);
  const byId = new Map<string, Raw[]>();
  for (const raw of [...sources.documents.map(fromDocument), ...sources.instances.flatMap(fromInstance)]) {
    byId.set(raw.proxyId, [...(byId.get(raw.proxyId) ?? []), raw]);
  }
  return [...byId.values()]
    .map((raws) => readOne(raws, defaults, rules, hash))
    .sort((one, other) => (one.proxyId < other.proxyId ? -1 : 1));
}

function fromDocument(document: DeclaringDocument): Raw {
  return { proxyId: document.id, origin: `KV document ${showValue(document.id)}`, source: document.source };
}

function fromInstance(instance: DeclaringInstance): Raw[] {
  if (!instance.tags.includes(MANAGED_PROXY_TAG)) return [];
  const { meta } = instance;
  const stated = {
    service: instance.serviceName,
    taskDefinition: meta[META_TASK_DEFINITION],
    execMode: meta[META_EXEC_MODE],
    cluster: meta[META_CLUSTER],
  };
  const value = Object.fromEntries(Object.entries(stated).filter(([, text]) => text !== undefined));
  const origin = `service instance ${showValue(instance.serviceId)} on node ${showValue(instance.node)}`;
  return [{ proxyId: `${instance.serviceId}-proxy`, origin, source: { value } }];
}

interface Defaults {
  readonly document: JsonObject;
  readonly problems: readonly FieldProblem[];
}

function readDefaults(source: JsonSource | undefined): Defaults {
  if (source === undefined) return { document: {}, problems: [] };
  const problems: Problems = [];
  const document = readSource(problems, source, 'proxy-defaults');
  if (document !== undefined) checkDefaults(problems, document);
  // An unknown field is a problem of the defaults alone, not one of each document that they lie under.
  const known = Object.entries(document ?? {}).filter(([field]) => DEFAULT_FIELDS.includes(field));
  return { document: Object.fromEntries(known), problems };
}

function readSource(problems: Problems, source: JsonSource, field: string): JsonObject | undefined {
  if ('malformed' in source) {
    problems.push({ field, value: showValue(source.malformed), allowed: 'JSON' });
    return undefined;
  }
  const document = readObject(problems, field, source.value ?? null);
  if (document === undefined) return undefined;
  return Object.fromEntries(Object.entries(document).filter(([key]) => !SERVER_FILLED.includes(key)));
}

function readOne(raws: readonly Raw[], defaults: Defaults, rules: DocumentRules, hash: Hash): DeclaredProxy {
  const proxyId = raws[0]?.proxyId ?? '';
  const origin = raws.map((raw) => raw.origin).join(' and ');
  const problems: Problems = [...defaults.problems];
  if (!PROXY_ID.test(proxyId)) {
    const allowed = 'at most 128 letters, digits, spaces and _ . : / = + @ -, no space first';
    problems.push({ field: 'id', value: showValue(proxyId), allowed });
  }
  // Which of them the running task belongs to cannot be known, so none of them is believed.
  if (raws.length > 1) problems.push({ field: 'id', value: `declared by ${origin}`, allowed: 'one declaration an ID' });
  let spec: ProxySpec | undefined;
  let config: JsonObject = {};
  for (const raw of raws) {
    const document = readSource(problems, raw.source, 'document');
    if (document === undefined) continue;
    const merged = merge(defaults.document, document, proxyId);
    config = mergeConfig(problems, defaults.document.config, document.config);
    spec = readSpec(problems, merged, rules);
  }
  if (spec === undefined || problems.length > 0) return { proxyId, origin, usable: false, problems };
  return { proxyId, origin, usable: true, spec, config, fingerprint: hash(fingerprintText(spec)) };
}

const TASK_ONLY = DOCUMENT_FIELDS.filter(
  (field) => !['service', 'execMode', 'cluster', 'ecsService', 'config'].includes(field),
);

/** Defaults under a document, field by field. */
function merge(defaults: JsonObject, document: JsonObject, proxyId: string): JsonObject {
  const execMode = document.execMode ?? defaults.execMode;
  // An ECS service is its deployer's: defaults for tasks say nothing about it.
  const dropped = new Set(execMode === 'service' ? TASK_ONLY : []);
  // Launch type and capacity providers exclude each other: whoever states one does not inherit the other.
  if (document.launchType !== undefined) dropped.add('capacityProviders');
  if (document.capacityProviders !== undefined) dropped.add('launchType');
  const inherited = Object.fromEntries(Object.entries(defaults).filter(([field]) => !dropped.has(field)));
  const named = execMode === 'service' ? { ecsService: proxyId } : {};
  return { ...named, ...inherited, ...document };
}

function mergeConfig(problems: Problems, defaults: unknown, own: unknown): JsonObject {
  const document = readObject(problems, 'config', own) ?? {};
  return { ...(isObject(defaults) ? defaults : {}), ...document };
}
