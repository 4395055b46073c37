/** The token in use. Parallel requests that are refused together refetch it together, once. */
import { ReadFailure } from '../ports.ts';
import type { TokenSource } from './options.ts';

/** Tokens for the client. Both reads throw `ReadFailure` when the source fails. */
export interface Tokens {
  current(): Promise<string | undefined>;
  /** After a 403 with `refused`; does nothing when another request has fetched a newer one meanwhile. */
  refetch(refused: string | undefined): Promise<void>;
  /** Every token seen so far, to be removed from texts. */
  known(): readonly string[];
}

/** White space around a token (a secret's trailing newline) is removed. */
export function createTokens(source: TokenSource): Tokens {
  const seen = new Set<string>();
  /** What `source.current()` last said. */
  let stated: string | undefined;
  /** The refetched token, used for as long as the source goes on stating the one that it replaces. */
  let fetched: { readonly insteadOf: string | undefined; readonly token: string | undefined } | undefined;
  let underway: Promise<void> | undefined;

  async function ask(read: () => Promise<string | undefined>): Promise<string | undefined> {
    let token: string | undefined;
    try {
      token = (await read())?.trim() || undefined;
    } catch (error) {
      if (error instanceof ReadFailure) throw error;
      // Nothing of the error: whoever reads secrets may quote them.
      throw new ReadFailure('consul', 'forbidden', 'The Consul token could not be read from its source');
    }
    if (token !== undefined) seen.add(token);
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new ReadFailure('consul', 'forbidden', 'The Consul token contains characters that no HTTP header may hold');
    }
    return token;
  }

  async function current(): Promise<string | undefined> {
    stated = await ask(() => source.current());
    if (fetched !== undefined && fetched.insteadOf !== stated) fetched = undefined;
    return fetched === undefined ? stated : fetched.token;
  }

  async function fetchAgain(): Promise<void> {
    const token = await ask(() => source.refetch());
    fetched = { insteadOf: stated, token };
  }

  return {
    current,
    known: () => [...seen],
    async refetch(refused) {
      const newest = fetched === undefined ? stated : fetched.token;
      if (newest !== refused) return;
      underway ??= fetchAgain().finally(() => {
        underway = undefined;
      });
      await underway;
    },
  };
}
