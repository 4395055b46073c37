/** `ConsulPort` over Consul's HTTP API, read only. */
import { type ConsulPort, ReadFailure } from '../ports.ts';
import { describeInstances, lookUpChecks } from './by-service.ts';
import { type ConsulClient, createConsulClient } from './client.ts';
import { decodeInstances, decodeKey, decodeServiceChecks, decodeServices } from './decode.ts';
import { type ConsulOptions, endOfReadMs, REQUEST_TIMEOUT_MS } from './options.ts';
import { keyPath, pathSegment } from './path.ts';
import { watchUnhealthy } from './unhealthy-watch.ts';

export type { BearerToken, ConsulLogin, ConsulOptions, ConsulTls, Log, TokenSource } from './options.ts';

/** The port, with what only this adapter offers. */
export interface ConsulAdapter extends ConsulPort {
  /** Logs out what was logged in, and ends everything in flight and all connections. */
  close(): Promise<void>;
}

/** Nothing is sent before the first read. Throws an `Error` that contains no value when an address is not usable. */
export function createConsulPort(options: ConsulOptions): ConsulAdapter {
  return consulPortOn(createConsulClient(options), options);
}

/** The port on a client that others use, too: one token, one set of connections. */
export function consulPortOn(
  client: ConsulClient,
  options: Pick<ConsulOptions, 'clock' | 'requestTimeoutMs'>,
): ConsulAdapter {
  const marginMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const context = () => ({ client, untilMs: endOfReadMs(options) });
  return {
    watchUnhealthy: ({ warnings }) => watchUnhealthy({ client, clock: options.clock, warnings, marginMs }),
    lookUpChecks: (checks) => lookUpChecks(context(), checks),
    describeInstances: (instances) => describeInstances(context(), instances),

    async readKey(key) {
      const path = `/v1/kv/${keyPath(key) ?? unsendable('KV key')}`;
      const reply = await client.get({ path, absentOn404: true });
      return reply === undefined ? undefined : decodeKey(reply.body, `GET ${path}`);
    },

    async listServices() {
      const reply = await client.get({ path: '/v1/catalog/services' });
      return decodeServices(reply?.body, 'GET /v1/catalog/services');
    },

    async listChecks(serviceName) {
      const path = `/v1/health/checks/${pathSegment(serviceName) ?? unsendable('service name')}`;
      const reply = await client.get({ path });
      return decodeServiceChecks(reply?.body, `GET ${path}`);
    },

    async listInstances(serviceName) {
      const path = `/v1/catalog/service/${pathSegment(serviceName) ?? unsendable('service name')}`;
      const reply = await client.get({ path });
      return decodeInstances(reply?.body, `GET ${path}`);
    },

    close: () => client.close(),
  };
}

function unsendable(what: string): never {
  throw new ReadFailure('consul', 'malformed', `The ${what} cannot be sent: a part of it is empty, "." or ".."`);
}
