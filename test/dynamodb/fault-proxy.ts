/** An HTTP server between the SDK and dynalite that records requests and answers some of them wrongly. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to one request instead of being passed on. */
export type Fault =
  /** Passed on, takes effect, and the connection breaks before the answer. */
  | 'lose-answer'
  /** Never answered. */
  | 'hang'
  /** Connection closed at once. */
  | 'reset'
  /** Answered like this. */
  | { readonly status: number; readonly body: string };

/** One request that came in: `PutItem`, and its JSON. */
export interface SeenRequest {
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A running one. */
export interface FaultProxy {
  readonly endpoint: string;
  readonly seen: SeenRequest[];
  /** Looked at for each request; `undefined` = pass on. */
  fault: (request: SeenRequest) => Fault | undefined;
  close(): Promise<void>;
}

/** Answers as DynamoDB words an error. */
export function errorAnswer(type: string, message: string, status = 400): Fault {
  return { status, body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }) };
}

/** The first request of an operation meets the fault, all others pass. */
export function once(operation: string, fault: Fault): FaultProxy['fault'] {
  let met = false;
  return (request) => {
    if (met || request.operation !== operation) return undefined;
    met = true;
    return fault;
  };
}

/** Starts one in front of an endpoint. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: FaultProxy = {
    endpoint: `http://127.0.0.1:${port}`,
    seen: [],
    fault: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const text = Buffer.concat(chunks).toString();
    const operation = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
    const seen = { operation, body: JSON.parse(text) };
    proxy.seen.push(seen);
    const fault = proxy.fault(seen);
    if (fault === 'hang') return;
    if (fault === 'reset') return void response.destroy();
    if (typeof fault === 'object') {
      response.writeHead(fault.status, { 'content-type': 'application/x-amz-json-1.0' });
      return void response.end(fault.body);
    }
    const passedOn = await fetch(target, {
      method: 'POST',
      body: text,
      headers: pick(request, ['x-amz-target', 'content-type', 'authorization', 'x-amz-date']),
    });
    const body = await passedOn.text();
    if (fault === 'lose-answer') return void response.destroy();
    response.writeHead(passedOn.status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(body);
  }
  return proxy;
}

function pick(request: IncomingMessage, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, String(request.headers[name] ?? '')]));
}
