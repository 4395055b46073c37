/** The double as the SDK's `requestHandler`: no socket, no port, the same bytes. */
import type { EcsDouble } from './double.ts';

/** What we use of the SDK's request. */
interface SdkRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What we use of the SDK's options for a request. */
interface SdkOptions {
  readonly abortSignal?: { readonly aborted: boolean; readonly addEventListener?: unknown; onabort?: unknown };
}

/** An answer in the SDK's form. */
interface SdkResponse {
  readonly response: {
    readonly statusCode: number;
    readonly headers: Record<string, string>;
    readonly body: Uint8Array;
  };
}

/** Give it to `new ECSClient({ requestHandler })`. */
export interface InProcessHandler {
  handle(request: SdkRequest, options?: SdkOptions): Promise<SdkResponse>;
  destroy(): void;
  updateHttpClientConfig(): void;
  httpHandlerConfigs(): Record<string, never>;
}

/** A handler that hands requests to the double. A fault's delay takes real time. */
export function requestHandler(double: EcsDouble): InProcessHandler {
  return {
    async handle(request, options) {
      const target = request.headers['x-amz-target'] ?? request.headers['X-Amz-Target'] ?? '';
      const { body } = request;
      const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body ?? '');
      const signal = options?.abortSignal instanceof AbortSignal ? options.abortSignal : undefined;
      const reply = double.call(target.split('.').at(-1) ?? '', text);
      if (reply.kind === 'hang') await aborted(signal);
      if (reply.kind !== 'answer') {
        const [code, word] = reply.kind === 'refuse' ? ['ECONNREFUSED', 'connect'] : ['ECONNRESET', 'read'];
        throw Object.assign(new Error(`${word} ${code}`), { code });
      }
      if (reply.delayMs > 0) await Promise.race([new Promise((go) => setTimeout(go, reply.delayMs)), aborted(signal)]);
      const headers = { 'content-type': 'application/x-amz-json-1.1' };
      return { response: { statusCode: reply.status, headers, body: new TextEncoder().encode(reply.body) } };
    },
    destroy() {},
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

/** Never fulfilled; rejected as the SDK's own handlers do when the signal aborts. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }));
    if (signal?.aborted) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });
}
