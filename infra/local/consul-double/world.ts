/** The parts of one double, and how it speaks. */
import type { Clock } from '../../../lib/ports.ts';
import type { TokenList } from './acl.ts';
import type { LocalAgent } from './agent.ts';
import type { CatalogStore } from './catalog.ts';
import type { FaultPlan } from './faults.ts';
import type { ChangeFeed } from './feed.ts';
import type { KvStore } from './kv.ts';
import type { Logins } from './login.ts';
import type { Dialect } from './shapes.ts';

/** State and settings behind the HTTP facade. */
export interface World {
  readonly feed: ChangeFeed;
  readonly catalog: CatalogStore;
  readonly kv: KvStore;
  readonly agent: LocalAgent;
  readonly faults: FaultPlan;
  readonly clock: Clock;
  readonly datacenter: string;
  readonly dialect: Dialect;
  /** Takes `ns` and `partition`. */
  readonly enterprise: boolean;
  readonly tokens: TokenList | undefined;
  /** Tokens that were given by login. */
  readonly logins: Logins;
  /** Says in a header that ACLs filtered the answer; 1.8 does not. */
  readonly filteredHeader: boolean;
  /** From 0 to below 1: how much of wait/16 a blocking query waits longer. */
  readonly jitter: () => number;
}
