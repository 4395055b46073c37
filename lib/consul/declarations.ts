/**
 * `DeclarationPort` over Consul's HTTP API: all that declares proxies, from good and complete answers, or a `ReadFailure`.
 *
 * What an answer leaves out would stop a proxy, and with ACLs Consul 1.8 leaves out without a word:
 *
 *   kv/KEY                    no rights: 403                                 the key is not there: 404
 *   kv/PREFIX?recurse         no rights: 404, or the keys one may read       no keys: 404
 *   catalog/services          no rights: 200 {}, or the services one may read
 *   catalog/service/NAME      no rights on the node: 200 []
 *
 * So two keys are read singly beside the listing of documents: that of the defaults, and the one that is the folder
 * itself, which every `key_prefix` rule for the folder covers. A 403 to either makes the whole read `forbidden`. A catalog
 * without any service is `filtered`: the servers themselves are the service `consul` (but not in every namespace and
 * partition of Consul Enterprise, whose answers say when they are filtered). A service that is listed with the tag and
 * has no instance with it may have lost it between the two answers: both are read once more, and if they still disagree
 * nothing is believed. A token that may read some services and not others cannot be told on 1.8: see the README's policy.
 */
import { ReadFailure } from '../ports.ts';
import type { DeclarationSources, DeclaringDocument } from '../proxies/declaration.ts';
import type { DeclarationPort } from '../proxy-ports.ts';
import type { ConsulClient } from './client.ts';
import { listDeclaringServices, readDeclaringInstances } from './declaring-services.ts';
import { decodeKeysBelow } from './decode.ts';
import { readDocument } from './document-text.ts';
import { type ConsulOptions, endOfReadMs } from './options.ts';
import { forEachParallel } from './parallel.ts';
import { keyPath, pathSegment } from './path.ts';
import { safeText } from './safe-text.ts';

/** Where documents and defaults lie, unless a deployment says otherwise. */
export const PROXIES_PREFIX = 'ecs-check-restart/proxies/';
export const PROXY_DEFAULTS_KEY = 'ecs-check-restart/proxy-defaults';

/** More are taken for something else than declarations. */
const MOST_DOCUMENTS = 10_000;

/** What the port is made of. */
export interface DeclarationPortOptions extends Pick<ConsulOptions, 'clock' | 'requestTimeoutMs'> {
  /** From `createConsulClient`; it belongs to whoever made it. */
  readonly client: ConsulClient;
  /** Those of the client: in others than `default` there may be no service at all. */
  readonly namespace?: string;
  readonly partition?: string;
  /** Folder of the documents, with or without a slash at its end. Default `ecs-check-restart/proxies/`. */
  readonly proxiesPrefix?: string;
  /** Default `ecs-check-restart/proxy-defaults`. */
  readonly defaultsKey?: string;
}

/** Nothing is sent before the first read. Throws an `Error` when a key cannot be sent. */
export function createDeclarationPort(options: DeclarationPortOptions): DeclarationPort {
  const { client } = options;
  const folder = `${(options.proxiesPrefix ?? PROXIES_PREFIX).replace(/\/+$/, '')}/`;
  const folderPath = `${kvPath(folder.slice(0, -1))}/`;
  const defaultsPath = kvPath(options.defaultsKey ?? PROXY_DEFAULTS_KEY);
  const mayBeEmpty = [options.namespace, options.partition].some((name) => name && name !== 'default');

  async function readDocuments(signal: AbortSignal): Promise<readonly DeclaringDocument[]> {
    const reply = await client.get({ path: folderPath, query: { recurse: 'true' }, absentOn404: true, signal });
    return reply === undefined ? [] : documentsOf(decodeKeysBelow(reply.body, `GET ${folderPath}`), folder);
  }

  return {
    async readDeclarations() {
      const context = { client, untilMs: endOfReadMs(options) };
      let defaults: string | undefined;
      let documents: readonly DeclaringDocument[] = [];
      let listed: readonly string[] = [];
      const reads: readonly ((signal: AbortSignal) => Promise<void>)[] = [
        async (signal) => {
          defaults = await readKey(client, defaultsPath, signal);
        },
        async (signal) => {
          await readKey(client, folderPath, signal);
        },
        async (signal) => {
          documents = await readDocuments(signal);
        },
        async (signal) => {
          listed = await listDeclaringServices(context, mayBeEmpty, signal);
        },
      ];
      await forEachParallel(reads, reads.length, (read, signal) => read(signal));
      const unsendable = listed.filter((name) => pathSegment(name) === undefined);
      const sources: DeclarationSources = {
        instances: await readDeclaringInstances(context, mayBeEmpty, listed),
        documents: [...documents, ...unsendable.map(unsendableService)],
      };
      return defaults === undefined ? sources : { ...sources, defaults: readDocument(defaults) };
    },
  };
}

/** A single key's value in base64: 403 to whoever may not read it, there or not. */
async function readKey(client: ConsulClient, path: string, signal: AbortSignal): Promise<string | undefined> {
  const reply = await client.get({ path, absentOn404: true, signal });
  if (reply === undefined) return undefined;
  const [entry, ...more] = decodeKeysBelow(reply.body, `GET ${path}`);
  if (entry === undefined || more.length > 0) {
    throw new ReadFailure('consul', 'malformed', `Consul's answer to GET ${path}: not the one key asked for`);
  }
  return entry.value;
}

function kvPath(key: string): string {
  const path = keyPath(key);
  if (path === undefined) throw new Error('A KV key of proxies cannot be sent: a part of it is empty, "." or ".."');
  return `/v1/kv/${path}`;
}

/** The folder's own key, which Consul's UI makes without a value, declares nothing. */
function documentsOf(
  keys: readonly { readonly key: string; readonly value: string }[],
  folder: string,
): readonly DeclaringDocument[] {
  if (keys.length > MOST_DOCUMENTS) {
    throw new ReadFailure('consul', 'malformed', `More than ${MOST_DOCUMENTS} keys below ${safeText(folder, [], 100)}`);
  }
  return keys.flatMap(({ key, value }) => {
    if (!key.startsWith(folder)) {
      throw new ReadFailure('consul', 'malformed', `Consul answered with a key that is not below ${safeText(folder)}`);
    }
    const id = key.slice(folder.length);
    return id === '' && value === '' ? [] : [{ id, source: problemOfId(id) ?? readDocument(value) }];
  });
}

function problemOfId(id: string): DeclaringDocument['source'] | undefined {
  if (id === '') return { malformed: 'a key without an ID' };
  if (id.includes('/')) return { malformed: 'a key below a folder of its own: an ID has no slash' };
  return pathSegment(id) === undefined ? { malformed: 'a key that cannot be asked for by its name' } : undefined;
}

/** Keeps its place among the declarations, so that it is told: what its instances declare cannot be known. */
function unsendableService(name: string): DeclaringDocument {
  return { id: name, source: { malformed: 'the name of a service, which cannot be asked for' } };
}
