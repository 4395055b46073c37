/**
 * `UnhealthyWatch`: immediate reads and long waits for what is bad, over one or two lists (`status-list.ts`).
 *
 * The bucket of DESIGN section 3 (10 requests, 4 a second) is split between the lists, not raced for: with a shared one
 * both lists, while empty, would take turns, and a check that turns critical would be seen up to 500 ms late under load.
 */
import { type Clock, ReadFailure, type UnhealthyAnswer, type UnhealthyCheck, type UnhealthyWatch } from '../ports.ts';
import { isBefore } from './blocking-query.ts';
import type { ConsulClient } from './client.ts';
import { forEachParallel } from './parallel.ts';
import { type ListAnswer, StatusList } from './status-list.ts';

const ALONE = { capacity: 10, perSecond: 4 };
const CRITICAL_OF_TWO = { capacity: 7, perSecond: 3.5 };
const WARNING_OF_TWO = { capacity: 3, perSecond: 0.5 };

/** What a watch needs; `marginMs` is added to the own limit of a blocking query. */
export interface WatchOptions {
  readonly client: ConsulClient;
  readonly clock: Clock;
  readonly warnings: boolean;
  readonly marginMs: number;
}

/**
 * Opens a watch; nothing is sent before its first call. When its signal aborts or the watch is closed, `change` ends
 * with `undefined` and `read` with a `ReadFailure` (`timeout`).
 */
export function watchUnhealthy(options: WatchOptions): UnhealthyWatch {
  const { client, clock, marginMs } = options;
  const closing = new AbortController();
  const list = (status: 'critical' | 'warning', pace: typeof ALONE) =>
    new StatusList({ client, clock, status, pace, marginMs, closed: closing.signal });
  const critical = list('critical', options.warnings ? CRITICAL_OF_TWO : ALONE);
  const lists = options.warnings ? [critical, list('warning', WARNING_OF_TWO)] : [critical];

  function giveOut(): UnhealthyAnswer {
    for (const each of lists) each.giveOut();
    return { checks: merge(lists.map((each) => each.latest)) };
  }

  return {
    async read(signal) {
      if (closing.signal.aborted) throw new ReadFailure('consul', 'timeout', 'The watch on Consul is closed');
      await forEachParallel(lists, lists.length, (each, otherFailed) =>
        each.readNow(AbortSignal.any([signal, closing.signal, otherFailed])),
      );
      return giveOut();
    },

    async change(untilMs, signal) {
      const waiting = new AbortController();
      const stop = () => waiting.abort();
      for (const each of lists) each.forgetFailure();
      for (const source of [signal, closing.signal]) {
        source.addEventListener('abort', stop, { once: true });
        if (source.aborted) stop();
      }
      let ended = clock.nowMs() >= untilMs;
      const end = clock.sleepUntil(untilMs, waiting.signal).then(() => {
        ended = true;
      });
      try {
        for (;;) {
          for (const each of lists) each.takeUp();
          if (lists.every((each) => each.latest !== undefined) && lists.some((each) => each.differs)) return giveOut();
          if (ended || waiting.signal.aborted) return undefined;
          await Promise.race([...lists.map((each) => each.ended(untilMs)), end]);
        }
      } finally {
        for (const source of [signal, closing.signal]) source.removeEventListener('abort', stop);
        stop();
      }
    },

    async close() {
      closing.abort();
      await Promise.all(lists.map((each) => each.settled()));
    },
  };
}

/**
 * All lists as one. A check that moved from one list to the other between their answers is in both: the newer answer
 * knows better; where that cannot be told, the milder status counts (the lists come with the worst first).
 */
function merge(answers: readonly (ListAnswer | undefined)[]): readonly UnhealthyCheck[] {
  const merged = new Map<string, { readonly check: UnhealthyCheck; readonly index: string | undefined }>();
  for (const answer of answers) {
    for (const check of answer?.checks ?? []) {
      const key = JSON.stringify([check.partition, check.namespace, check.node, check.checkId]);
      const other = merged.get(key);
      const index = answer?.index;
      if (other?.index !== undefined && index !== undefined && isBefore(index, other.index)) continue;
      merged.set(key, { check, index });
    }
  }
  return [...merged.values()].map(({ check }) => check);
}
