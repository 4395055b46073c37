/**
 * Policy that an instance states in its own Consul Meta. Whoever may register a service may write this, so it is not
 * trusted: one wrong value, or an unknown key of ours, makes the instance not watched and is reported; a guess could
 * restart what its owner meant to keep.
 */
import { parseDurationMs } from '../check-restart/duration.ts';
import type { PolicyPart } from '../check-restart/policy.ts';
import { ACTIONS, MODES } from '../check-restart/policy.ts';
import { notAllowed, shown } from './problem.ts';

/** What the instance states, or why it cannot be believed. */
export type MetaPolicyResult =
  | { readonly ok: true; readonly part: PolicyPart }
  | { readonly ok: false; readonly problems: readonly string[] };

const PREFIX = 'check-restart-';
const WEEK_MS = 604_800_000;

interface MetaField {
  readonly allowed: string;
  read(text: string): PolicyPart | undefined;
}

const FIELDS: Readonly<Record<string, MetaField>> = {
  limit: {
    allowed: 'a whole number, 0 to 1000',
    read: (text) => (/^\d{1,4}$/.test(text) && Number(text) <= 1000 ? { limit: Number(text) } : undefined),
  },
  interval: {
    allowed: 'a duration with a unit such as "10s", "1ms" to "168h"',
    read: (text) => durationPart(text, 1, (intervalMs) => ({ intervalMs })),
  },
  grace: {
    allowed: 'a duration with a unit such as "90s", "0s" to "168h"',
    read: (text) => durationPart(text, 0, (graceMs) => ({ graceMs })),
  },
  'ignore-warnings': {
    allowed: '"true" or "false"',
    read: (text) => (text === 'true' || text === 'false' ? { ignoreWarnings: text === 'true' } : undefined),
  },
  mode: {
    allowed: MODES.map((mode) => `"${mode}"`).join(', '),
    read: (text) => {
      const mode = MODES.find((one) => one === text);
      return mode && { mode };
    },
  },
  action: {
    allowed: ACTIONS.map((action) => `"${action}"`).join(', '),
    read: (text) => {
      const action = ACTIONS.find((one) => one === text);
      return action && { action };
    },
  },
};

/** Reads the Meta keys that begin with `check-restart-`; all others are none of our business. */
export function parseMetaPolicy(meta: Readonly<Record<string, string>>): MetaPolicyResult {
  let part: PolicyPart = {};
  const problems: string[] = [];
  for (const [key, text] of Object.entries(meta)) {
    if (!key.startsWith(PREFIX)) continue;
    const name = key.slice(PREFIX.length);
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    const stated = field?.read(text);
    if (stated) part = { ...part, ...stated };
    else if (field) problems.push(notAllowed(`Meta ${key}`, text, field.allowed));
    else
      problems.push(
        `Meta ${shown(key)}: unknown key; allowed: ${Object.keys(FIELDS)
          .map((one) => PREFIX + one)
          .join(', ')}`,
      );
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, part };
}

function durationPart(text: string, minMs: number, partOf: (valueMs: number) => PolicyPart): PolicyPart | undefined {
  const valueMs = text === '0' ? undefined : parseDurationMs(text);
  return valueMs === undefined || valueMs < minMs || valueMs > WEEK_MS ? undefined : partOf(valueMs);
}
