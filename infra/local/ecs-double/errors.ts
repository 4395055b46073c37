/** An error that ECS answers with: HTTP 400 (500 for its own), `{"__type": code, "message": …}`. */
export class EcsError extends Error {
  readonly code: string;
  readonly status: number;
  /** More members of the answer, such as ConflictException's `resourceIds`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, status = 400, fields: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = 'EcsError';
    this.code = code;
    this.status = status;
    this.fields = fields;
  }
}

/** The commonest: a request that ECS does not accept. */
export function invalid(message: string): EcsError {
  return new EcsError('InvalidParameterException', message);
}
