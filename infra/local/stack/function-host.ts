/**
 * Runs a function's real handler as Lambda would: in a thread with an environment of its own, so that nothing of this
 * machine (a profile, a region, a token) gets in and its log lines can be told from everybody else's; with a context, a
 * timeout, and a new thread after one that died. Invocations may overlap.
 */
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../../lib/clock.ts';

/** What the thread is given. */
export interface WorkerSetup {
  readonly handlerUrl: string;
  readonly functionName: string;
  readonly functionArn: string;
}

/** To the thread. */
export interface InvocationMessage {
  readonly requestId: string;
  readonly event: unknown;
  readonly endsAtMs: number;
}

/** From the thread; `result` is JSON, or `undefined` where the function returned nothing. */
export type InvocationAnswer =
  | { readonly requestId: string; readonly ok: true; readonly result: string | undefined }
  | { readonly requestId: string; readonly ok: false; readonly problem: string };

/** What is run, and how. */
export interface FunctionHostOptions {
  /** Folder below `functions/`. */
  readonly name: string;
  readonly region: string;
  readonly account: string;
  /** All of its variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Gets every line that the function writes. */
  readonly onLine: (line: string) => void;
}

/** A function that can be invoked. */
export interface FunctionHost {
  /** Its result. Throws what the handler threw (its message), at the timeout, and when the host is closed. */
  invoke(event: unknown): Promise<unknown>;
  /** Ends it, whatever it is doing. */
  close(): Promise<void>;
}

interface Environment {
  readonly worker: Worker;
  readonly pending: Map<string, (answer: InvocationAnswer) => void>;
}

/** Nothing runs before the first invocation. */
export function createFunctionHost(options: FunctionHostOptions): FunctionHost {
  const { name, region, account, timeoutMs } = options;
  const functionName = `ecs-check-restart-local-${name}`;
  const setup: WorkerSetup = {
    handlerUrl: new URL(`../../../functions/${name}/handler.ts`, import.meta.url).href,
    functionName,
    functionArn: `arn:aws:lambda:${region}:${account}:function:${functionName}`,
  };
  let current: Environment | undefined;
  let isClosed = false;
  const environment = () => {
    current ??= startEnvironment(setup, options, () => {
      current = undefined;
    });
    return current;
  };
  return {
    async invoke(event) {
      if (isClosed) throw new Error(`${name} is closed`);
      const { worker, pending } = environment();
      const requestId = randomUUID();
      const answered = new Promise<InvocationAnswer>((resolve) => pending.set(requestId, resolve));
      const message: InvocationMessage = { requestId, event, endsAtMs: systemClock.nowMs() + timeoutMs };
      worker.postMessage(message);
      const timer = setTimeout(() => {
        pending.get(requestId)?.({ requestId, ok: false, problem: `timed out after ${timeoutMs / 1000} s` });
        void worker.terminate();
      }, timeoutMs);
      const answer = await answered.finally(() => clearTimeout(timer));
      if (!answer.ok) throw new Error(answer.problem);
      return answer.result === undefined ? undefined : JSON.parse(answer.result);
    },
    async close() {
      isClosed = true;
      await current?.worker.terminate();
    },
  };
}

function startEnvironment(setup: WorkerSetup, options: FunctionHostOptions, onEnd: () => void): Environment {
  const worker = new Worker(new URL('./function-worker.ts', import.meta.url), {
    workerData: setup,
    env: { ...options.environment },
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  for (const input of [worker.stdout, worker.stderr]) createInterface({ input }).on('line', options.onLine);
  const pending: Environment['pending'] = new Map();
  worker.on('message', (answer: InvocationAnswer) => {
    pending.get(answer.requestId)?.(answer);
    pending.delete(answer.requestId);
  });
  let cause = 'ended';
  worker.on('error', (error) => {
    cause = error instanceof Error ? error.message : String(error);
  });
  worker.on('exit', () => {
    onEnd();
    for (const [requestId, settle] of pending) settle({ requestId, ok: false, problem: `${options.name}: ${cause}` });
  });
  return { worker, pending };
}
