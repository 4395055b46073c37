/**
 * Access by token, as far as readers notice it: an unknown token is refused (403 "ACL not found"); a known one without
 * rights gets 200 with an empty listing, from old servers without any sign, from newer ones with a header.
 */
import { ConsulError } from './records.ts';

/** What a token may do. The words mean: everything, read everything, nothing. */
export type TokenRights = 'write' | 'read' | 'none' | ReadRights;

/** Reads only what matches. Node checks and nodes need no pattern but `nodes`. */
export interface ReadRights {
  readonly services: RegExp;
  readonly nodes?: RegExp;
  readonly keys?: RegExp;
}

/** Tokens by their secret. The request without a token has no rights, unless `''` is listed. */
export type TokenList = Readonly<Record<string, TokenRights>>;

/** Rights of one request. */
export class Access {
  readonly #rights: TokenRights;
  /** Something was kept from the caller. */
  filtered = false;

  private constructor(rights: TokenRights) {
    this.#rights = rights;
  }

  /** Without a list ACLs are off. Tokens that are not listed may come from a login. Throws for an unknown token. */
  static of(
    tokens: TokenList | undefined,
    token: string,
    fromLogin: (token: string) => TokenRights | undefined = () => undefined,
  ): Access {
    if (!tokens) return new Access('write');
    const rights = Object.hasOwn(tokens, token) ? tokens[token] : fromLogin(token);
    if (rights === undefined && token !== '') throw new ConsulError(403, 'ACL not found');
    return new Access(rights ?? 'none');
  }

  /** Throws where the token may not write. */
  requireWrite(): void {
    if (this.#rights !== 'write') throw new ConsulError(403, 'Permission denied');
  }

  /** Throws where the token may not read this key; listings of keys are filtered instead. */
  requireKey(key: string): void {
    if (!this.#may('keys', key)) throw new ConsulError(403, 'Permission denied');
  }

  /** Throws where the token reads nothing of the agent. */
  requireAgent(): void {
    if (this.#rights !== 'write' && this.#rights !== 'read') throw new ConsulError(403, 'Permission denied');
  }

  /** What the token may see of a listing. An entry names a node, and a service unless it is of the node itself. */
  visible<T>(entries: readonly T[], namesOf: (entry: T) => { node?: string; service?: string; key?: string }): T[] {
    const seen = entries.filter((entry) => {
      const { node, service, key } = namesOf(entry);
      return (
        (node === undefined || this.#may('nodes', node)) &&
        (service === undefined || service === '' || this.#may('services', service)) &&
        (key === undefined || this.#may('keys', key))
      );
    });
    if (seen.length < entries.length) this.filtered = true;
    return seen;
  }

  #may(kind: keyof ReadRights, name: string): boolean {
    if (typeof this.#rights === 'string') return this.#rights !== 'none';
    const pattern = this.#rights[kind];
    return pattern ? pattern.test(name) : kind === 'nodes';
  }
}
