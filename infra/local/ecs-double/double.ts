/**
 * The ECS double: the world, its API, what goes wrong, and a record of every call. Two ways lead to it: HTTP (`listen`
 * in `http.ts`), and `requestHandler`, which the real SDK uses in place of a socket, so that `simulate` runs the real
 * adapter on a virtual clock.
 */
import { EcsError } from './errors.ts';
import { type Fault, Faults } from './faults.ts';
import type { Input } from './input.ts';
import { type Launches, type Limits, OPERATIONS, type OperationContext } from './operations.ts';
import { type Paging, PLAIN_PAGING } from './paging.ts';
import { EcsWorld, type EcsWorldOptions } from './world.ts';

/** A call that reached the double, also one that a fault then hit. */
export interface RecordedCall {
  readonly operation: string;
  readonly input: Input;
  readonly atMs: number;
}

/** What the transport has to do. */
export type Reply =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly delayMs: number }
  | { readonly kind: 'hang' | 'reset' | 'refuse' };

/** ECS in a box. */
export class EcsDouble {
  readonly world: EcsWorld;
  /** Every call, oldest first; empty it with `calls.length = 0`. */
  readonly calls: RecordedCall[] = [];
  readonly faults = new Faults();
  /** Change it at will. */
  readonly paging: Paging = { ...PLAIN_PAGING };
  readonly limits: Limits = { stopReason: 255 };
  /** Reasons that the next RunTask calls answer with in `failures[]`, such as `RESOURCE:MEMORY`. */
  readonly launchFailures: string[] = [];
  /** Containers of task definitions by family; default: one that bears the family's name. */
  readonly containers: Launches['containers'] = new Map();
  readonly #context: OperationContext;

  constructor(options: EcsWorldOptions) {
    this.world = new EcsWorld(options);
    const launches = { tokens: new Map(), failures: this.launchFailures, containers: this.containers };
    this.#context = { world: this.world, paging: this.paging, limits: this.limits, launches };
  }

  /** Carries an operation out and returns its output. Throws `EcsError`. No faults, no record: that is `call`. */
  handle(operation: string, input: Input): Record<string, unknown> {
    this.world.advance();
    const run = OPERATIONS[operation];
    if (!run) throw new EcsError('UnknownOperationException', `The ECS double has no operation ${operation}.`);
    return run(this.#context, input);
  }

  /** One call as it comes over the wire. */
  call(operation: string, body: string): Reply {
    const input = parse(body);
    this.calls.push({ operation, input: input ?? {}, atMs: this.world.nowMs() });
    const fault = this.faults.take(operation, input ?? {});
    if (fault && (fault.kind === 'hang' || fault.kind === 'reset')) {
      if (fault.afterEffect) this.#answer(operation, input, 0);
      return { kind: fault.kind };
    }
    return fault ? this.#faulty(operation, input, fault) : this.#answer(operation, input, 0);
  }

  /** Calls of one operation, oldest first. */
  callsOf(operation: string): RecordedCall[] {
    return this.calls.filter((call) => call.operation === operation);
  }

  #faulty(operation: string, input: Input | undefined, fault: Exclude<Fault, { kind: 'hang' | 'reset' }>): Reply {
    if (fault.kind === 'slow') return this.#answer(operation, input, fault.delayMs);
    if (fault.kind === 'body') return { kind: 'answer', status: fault.status ?? 200, body: fault.text, delayMs: 0 };
    if (fault.kind === 'refuse') return { kind: 'refuse' };
    return errorReply(new EcsError(fault.code, fault.message ?? fault.code, fault.status ?? 400), 0);
  }

  #answer(operation: string, input: Input | undefined, delayMs: number): Reply {
    try {
      if (input === undefined) throw new EcsError('SerializationException', 'The body is not a JSON object.');
      return { kind: 'answer', status: 200, body: JSON.stringify(this.handle(operation, input)), delayMs };
    } catch (error) {
      if (error instanceof EcsError) return errorReply(error, delayMs);
      throw error;
    }
  }
}

function errorReply(error: EcsError, delayMs: number): Reply {
  const body = JSON.stringify({ __type: error.code, message: error.message, ...error.fields });
  return { kind: 'answer', status: error.status, body, delayMs };
}

function parse(body: string): Input | undefined {
  try {
    const value: unknown = JSON.parse(body === '' ? '{}' : body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Input) : undefined;
  } catch {
    return undefined;
  }
}
