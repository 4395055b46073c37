/** What others write into Consul: instances and checks through `catalog/register`, keys, and traffic that is not ours. */
import { Agent } from 'undici';

/** Writes to one Consul over connections of its own. */
export interface ConsulWriter {
  /** `PUT /v1/PATH`; throws with Consul's words. */
  put(path: string, body: unknown): Promise<void>;
  close(): Promise<void>;
}

/** `connections`: requests on their way at the same time. */
export function consulWriter(url: string, connections = 4): ConsulWriter {
  const agent = new Agent({ connections });
  return {
    async put(path, body) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await agent.request({ origin: url, path: `/v1/${path}`, method: 'PUT', body: text });
      const words = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`Consul answered ${answer.statusCode} to ${path}: ${words}`);
    },
    close: () => agent.destroy(),
  };
}

/** A service instance of one task, with one check. */
export interface Registration {
  readonly node: string;
  readonly service: string;
  readonly serviceId: string;
  readonly address: string;
  readonly taskArn: string;
}

/** Writes an instance and the status of its check `SERVICE_ID:alive`. */
export function register(writer: ConsulWriter, instance: Registration, status: string): Promise<void> {
  const { node, service, serviceId, address, taskArn } = instance;
  return writer.put('catalog/register', {
    Node: node,
    Address: '10.0.0.1',
    Service: { ID: serviceId, Service: service, Address: address, Port: 8080, Meta: { 'task-arn': taskArn } },
    Check: {
      Node: node,
      CheckID: `${serviceId}:alive`,
      Name: 'alive',
      Status: status,
      ServiceID: serviceId,
      Output: `HTTP GET http://${address}:8080/health: ${status}`,
    },
  });
}

/** Takes an instance and its checks out of the catalog. */
export function deregister(writer: ConsulWriter, { node, serviceId }: Registration): Promise<void> {
  return writer.put('catalog/deregister', { Node: node, ServiceID: serviceId });
}

/** Check writes that concern nobody: 50 a second, each with a new output of a check that passes. */
export function startUnrelatedWrites(url: string, perSecond = 50): { readonly stop: () => Promise<number> } {
  const writer = consulWriter(url, 8);
  const onItsWay = new Set<Promise<void>>();
  let written = 0;
  let failed: unknown;
  const timer = setInterval(() => {
    const Check = { CheckID: 'noise', Name: 'noise', Status: 'passing', Output: `write ${written}` };
    const write = writer.put('catalog/register', { Node: 'elsewhere', Address: '10.0.0.9', Check }).then(
      () => {
        written += 1;
      },
      (error: unknown) => {
        failed = error;
      },
    );
    onItsWay.add(write);
    void write.finally(() => onItsWay.delete(write));
  }, 1000 / perSecond);
  return {
    /** Ends it and tells how many were written. Throws when one was refused. */
    stop: async () => {
      clearInterval(timer);
      await Promise.all(onItsWay);
      await writer.close();
      if (failed !== undefined) throw failed;
      return written;
    },
  };
}
