/** What goes wrong on demand: the next calls of an operation fail in a chosen way. */

/** One way to fail. `afterEffect`: the call does its work first, only its answer is lost. */
export type Fault =
  | { readonly kind: 'error'; readonly code: string; readonly message?: string; readonly status?: number }
  | { readonly kind: 'hang'; readonly afterEffect?: boolean }
  | { readonly kind: 'reset'; readonly afterEffect?: boolean }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'body'; readonly text: string; readonly status?: number }
  | { readonly kind: 'slow'; readonly delayMs: number };

/** Faults under the names that tests use. */
export const FAULTS = {
  throttled: { kind: 'error', code: 'ThrottlingException', message: 'Rate exceeded' },
  forbidden: {
    kind: 'error',
    code: 'AccessDeniedException',
    message: 'User: arn:aws:sts::123456789012:assumed-role/watch/f is not authorized to perform this action',
  },
  broken: {
    kind: 'error',
    code: 'ServerException',
    message: 'Service Unavailable. Please try again later.',
    status: 500,
  },
  hang: { kind: 'hang' },
  hangAfterEffect: { kind: 'hang', afterEffect: true },
  reset: { kind: 'reset' },
  resetAfterEffect: { kind: 'reset', afterEffect: true },
  refuse: { kind: 'refuse' },
  html: { kind: 'body', text: '<html><body>502 Bad Gateway</body></html>', status: 502 },
  truncated: { kind: 'body', text: '{"tasks":[{"taskArn":"arn:aws', status: 200 },
} as const satisfies Record<string, Fault>;

/** To which calls a fault applies. */
export interface FaultScope {
  /** How many calls it hits; default: all, until it is taken back. */
  readonly times?: number;
  /** Only calls whose input it says yes to. */
  readonly when?: (input: Readonly<Record<string, unknown>>) => boolean;
}

/** The faults in force, in the order in which they were put there; the first that fits is used. */
export class Faults {
  readonly #faults = new Set<{
    readonly operation: string;
    readonly fault: Fault;
    readonly scope: FaultScope;
    left: number;
  }>();

  /** `operation` as in the API, or `*`. Returns what takes the fault back. */
  add(operation: string, fault: Fault, scope: FaultScope = {}): () => void {
    const entry = { operation, fault, scope, left: scope.times ?? Number.POSITIVE_INFINITY };
    this.#faults.add(entry);
    return () => this.#faults.delete(entry);
  }

  clear(): void {
    this.#faults.clear();
  }

  /** The fault that hits this call, used up by one. */
  take(operation: string, input: Readonly<Record<string, unknown>>): Fault | undefined {
    for (const entry of this.#faults) {
      if (entry.operation !== '*' && entry.operation !== operation) continue;
      if (entry.scope.when && !entry.scope.when(input)) continue;
      entry.left -= 1;
      if (entry.left <= 0) this.#faults.delete(entry);
      return entry.fault;
    }
    return undefined;
  }
}
