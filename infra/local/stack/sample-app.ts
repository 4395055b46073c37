/**
 * The program inside a sample task: a small HTTP server whose health a person can break.
 *
 *   GET /health   200 or 503      PUT /break, PUT /heal      anything else: what it is, and these paths
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One that runs. */
export interface SampleApp {
  readonly url: string;
  readonly port: number;
  readonly isHealthy: boolean;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1, on the port if it is free, else on any. */
export async function startSampleApp(name: string, wantedPort: number): Promise<SampleApp> {
  let isHealthy = true;
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0];
    const isWrite = request.method === 'PUT' || request.method === 'POST';
    if (isWrite && (path === '/break' || path === '/heal')) isHealthy = path === '/heal';
    const state = isHealthy ? 'healthy' : 'broken';
    response.statusCode = path === '/health' && !isHealthy ? 503 : 200;
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end(path === '/health' ? `${state}\n` : `${name}: ${state}. GET /health, PUT /break, PUT /heal\n`);
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(wantedPort).catch(() => listen(0));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get isHealthy() {
      return isHealthy;
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
