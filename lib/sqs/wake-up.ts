/**
 * A wake-up as the body of a message: JSON `{"why", "atMs"}`. The queue carries ECS's events too, and whatever somebody
 * puts there by hand, so a body that is no wake-up is an answer (`undefined`), never an error.
 */
import * as z from 'zod/mini';
import type { WakeUp } from '../proxy-ports.ts';

// A newer deployment may say more: fields that are not known here are left out.
const wakeUp = z.object({
  why: z.enum(['wait-over', 'check-bad']),
  atMs: z.number().check(z.gte(0), z.lte(Number.MAX_SAFE_INTEGER)),
} satisfies { readonly [K in keyof Required<WakeUp>]: z.ZodMiniType<WakeUp[K]> });

/** The body of a message. */
export function wakeUpBody({ why, atMs }: WakeUp): string {
  return JSON.stringify({ why, atMs });
}

/** The wake-up in a message's body; `undefined` for everything else. Never throws. */
export function parseWakeUp(body: string): WakeUp | undefined {
  return wakeUp.safeParse(parsed(body)).data;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
