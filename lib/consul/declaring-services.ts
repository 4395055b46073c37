/**
 * The half of `DeclarationPort` that reads the catalog: `declarations.ts` says what its answers are worth. All requests of
 * a read share its end: a slow Consul must not make hundreds of requests out of the budget of one.
 */
import { ReadFailure } from '../ports.ts';
import { type DeclaringInstance, MANAGED_PROXY_TAG } from '../proxies/declaration.ts';
import type { ReadContext } from './by-service.ts';
import { decodeServices, decodeTaggedInstances } from './decode.ts';
import { forEachParallel } from './parallel.ts';
import { pathSegment } from './path.ts';
import { safeText } from './safe-text.ts';

/** Requests that are under way at a time. */
const WIDTH = 8;

/** Names of the services with the tag, by one read of the catalog. Throws `ReadFailure`. */
export async function listDeclaringServices(
  { client, untilMs }: ReadContext,
  mayBeEmpty: boolean,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const path = '/v1/catalog/services';
  const reply = await client.get({ path, untilMs, ...(signal ? { signal } : {}) });
  const services = decodeServices(reply?.body, `GET ${path}`);
  if (services.size === 0 && !mayBeEmpty) {
    const message = 'Consul shows no service at all, not even its own: the token may not read services';
    throw new ReadFailure('consul', 'filtered', message);
  }
  return [...services].filter(([, tags]) => tags.includes(MANAGED_PROXY_TAG)).map(([name]) => name);
}

/**
 * Instances with the tag, of all listed services whose names can be sent. One that has none may have lost it since it
 * was listed: both are asked once more, and if they still disagree it is a `ReadFailure` (`incomplete`).
 */
export async function readDeclaringInstances(
  context: ReadContext,
  mayBeEmpty: boolean,
  listed: readonly string[],
): Promise<readonly DeclaringInstance[]> {
  const found = new Map(await readAll(context, listed));
  const without = [...found].filter(([, instances]) => instances.length === 0).map(([name]) => name);
  if (without.length > 0) {
    const stillListed = new Set(await listDeclaringServices(context, mayBeEmpty));
    const again = without.filter((name) => stillListed.has(name));
    for (const [name, instances] of await readAll(context, again)) {
      if (instances.length === 0) throw disagreement(name);
      found.set(name, instances);
    }
  }
  return [...found.values()].flat();
}

async function readAll(
  { client, untilMs }: ReadContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly DeclaringInstance[]>> {
  const found = new Map<string, readonly DeclaringInstance[]>();
  const requests = names.flatMap((name) => {
    const segment = pathSegment(name);
    return segment === undefined ? [] : [{ name, path: `/v1/catalog/service/${segment}` }];
  });
  await forEachParallel(requests, WIDTH, async ({ name, path }, signal) => {
    const reply = await client.get({ path, signal, untilMs });
    const instances = decodeTaggedInstances(reply?.body, `GET ${path}`);
    const declaring = instances.filter(({ tags }) => tags.includes(MANAGED_PROXY_TAG));
    found.set(name, declaring);
  });
  return found;
}

function disagreement(name: string): ReadFailure {
  const said = `Consul lists the service ${safeText(name, [], 80)} with the tag ${MANAGED_PROXY_TAG}`;
  const message = `${said} and shows no instance with it: the token may not read its nodes, or it changes all the time`;
  return new ReadFailure('consul', 'incomplete', message);
}
