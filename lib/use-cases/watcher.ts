import type { WatchMemory } from './watch-memory.ts';
import type { PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** What all passes of an invocation share. */
export interface Watcher {
  readonly deps: WatchDeps;
  readonly settings: WatchSettings;
  readonly document: PolicyDocument;
  readonly memory: WatchMemory;
  /** How many services count for the estate breaker. Absent: those of the catalog. */
  readonly considered?: number;
}
