/** The double over HTTP: AWS JSON 1.1, as the SDK and the AWS command line speak it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EcsDouble, Reply } from './double.ts';

const TARGET = /^AmazonEC2ContainerServiceV20141113\.(\w+)$/;
const CONTENT_TYPE = 'application/x-amz-json-1.1';

/** A double that listens. */
export interface ListeningDouble {
  /** To be the SDK's `endpoint`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1; port 0 takes a free one. */
export async function listen(double: EcsDouble, port = 0): Promise<ListeningDouble> {
  const server = createServer((request, response) => {
    serve(double, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(double: EcsDouble, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const target = TARGET.exec(String(request.headers['x-amz-target'] ?? ''));
  const isCall = request.method === 'POST' && request.headers['content-type'] === CONTENT_TYPE;
  if (!target || !isCall) {
    send(response, 400, JSON.stringify({ __type: 'UnknownOperationException', message: 'Not a call of ECS.' }));
    return;
  }
  if (!request.headers.authorization) {
    const body = { __type: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' };
    send(response, 403, JSON.stringify(body));
    return;
  }
  carryOut(double.call(target[1] ?? '', Buffer.concat(chunks).toString()), response);
}

/** A refused connection can't be shown on a port that listens: it is reset, as a hang stays without an answer. */
function carryOut(reply: Reply, response: ServerResponse): void {
  if (reply.kind === 'hang') return;
  if (reply.kind !== 'answer') {
    response.destroy();
    return;
  }
  if (reply.delayMs > 0) setTimeout(() => send(response, reply.status, reply.body), reply.delayMs);
  else send(response, reply.status, reply.body);
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': CONTENT_TYPE, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
