/**
 * Which policy document is in force: the one in Consul KV if it is valid, else the last good one, so that a slip of the
 * pen or an outage neither switches watching off nor changes what is restarted.
 */
import { ReadFailure } from '../ports.ts';
import { isReadFailure } from './failure.ts';
import { say } from './say.ts';
import type { WatchMemory } from './watch-memory.ts';
import type { PolicyDocument, WatchDeps, WatchSettings } from './watch-types.ts';

/** The document in force, where it comes from, and what is wrong with the newest one. */
export interface PolicyInForce {
  readonly document: PolicyDocument;
  readonly source: 'consul' | 'last-good' | 'none';
  readonly problems: readonly string[];
  /** Why the newest one is not known. */
  readonly unread?: ReadFailure;
}

const EMPTY: PolicyDocument = { rules: [], brakes: {} };

/**
 * Reads the document once an invocation. `save` false = a look only: a new document is used, but not kept as the last
 * good one. Throws `ReadFailure` when nothing is known: no answer from Consul and no last good document.
 */
export async function policyInForce(
  deps: WatchDeps,
  settings: WatchSettings,
  memory: WatchMemory,
  options: { readonly save: boolean },
): Promise<PolicyInForce> {
  const lastGood = lastGoodOf(deps, memory);
  let stored: { readonly text: string; readonly modifyIndex: string } | undefined;
  try {
    stored = await deps.consul.readKey(settings.policyKey);
  } catch (error) {
    const failure = isReadFailure(error);
    // There may be a document that could not be kept, and it may switch off what the defaults switch on.
    if (!lastGood) throw failure;
    return { ...fallBack(lastGood, [`${settings.policyKey}: ${failure.message}`]), unread: failure };
  }
  if (stored === undefined) {
    if (!lastGood) return { document: EMPTY, source: 'none', problems: [] };
    const problem = `${settings.policyKey}: the key is gone, the last good document stays in force ("{}" empties it)`;
    say(deps, 'policy-missing', { problem });
    return fallBack(lastGood, [problem]);
  }
  const parsed = deps.parsePolicy(stored.text);
  if (!parsed.ok) {
    say(deps, 'policy-refused', { problems: parsed.problems });
    return fallBack(lastGood, parsed.problems);
  }
  if (options.save && memory.policy?.text !== stored.text) await keep(deps, stored);
  return { document: parsed.value, source: 'consul', problems: [] };
}

function lastGoodOf(deps: WatchDeps, memory: WatchMemory): PolicyDocument | undefined {
  const parsed = memory.policy && deps.parsePolicy(memory.policy.text);
  return parsed?.ok ? parsed.value : undefined;
}

function fallBack(lastGood: PolicyDocument | undefined, problems: readonly string[]): PolicyInForce {
  return lastGood
    ? { document: lastGood, source: 'last-good', problems }
    : { document: EMPTY, source: 'none', problems };
}

async function keep(deps: WatchDeps, stored: { text: string; modifyIndex: string }): Promise<void> {
  try {
    await deps.state.savePolicy(stored);
    say(deps, 'policy-changed', { modifyIndex: stored.modifyIndex });
  } catch (error) {
    if (!(error instanceof ReadFailure)) throw error;
    say(deps, 'state-failed', { problem: error.message });
  }
}
