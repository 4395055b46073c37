/** Binds watch-checks to the real world. Nothing happens at import; see `shared-wiring.ts`. */
import { systemClock } from '../../lib/clock.ts';
import { ReadFailure } from '../../lib/ports.ts';
import type { Telemetry } from '../../lib/telemetry/telemetry.ts';
import type { ExplainRequest, Explanation } from '../../lib/use-cases/explain.ts';
import { type HoldReport, type HoldRequest, type HoldTarget, hold, release } from '../../lib/use-cases/hold.ts';
import { say } from '../../lib/use-cases/say.ts';
import { type StatusReport, statusOf } from '../../lib/use-cases/status.ts';
import { explainByHand, passByHand, type WindowResult, watchWindow } from '../../lib/use-cases/watch.ts';
import { type Shared, wiredOnce } from '../shared-wiring.ts';

/** What the handler can do, bound to the real world. */
export interface Watch {
  readonly telemetry: Telemetry;
  window(request: { readonly holder: string; readonly remainingMs: number }): Promise<WindowResult>;
  pass(request: {
    readonly dryRun: boolean;
    readonly service?: string;
    readonly remainingMs: number;
  }): ReturnType<typeof passByHand>;
  status(): Promise<StatusReport>;
  explain(request: ExplainRequest): Promise<Explanation>;
  hold(request: HoldRequest): Promise<HoldReport>;
  release(target: HoldTarget): Promise<HoldReport>;
  /** Says what ended an invocation: the table, or a fault of ours. */
  failed(error: unknown): void;
}

/** Wires once a process. Throws `InvalidSettings` or `SecretUnavailable`; neither holds a secret. */
export const wire = wiredOnce(bind);

function bind({ deps, telemetry, watchSettings: settings, settings: { windowMs } }: Shared): Watch {
  const endsAtMs = (remainingMs: number) => systemClock.nowMs() + remainingMs;
  return {
    telemetry,
    window: ({ holder, remainingMs }) =>
      watchWindow(deps, settings, { holder, windowMs, endsAtMs: endsAtMs(remainingMs) }),
    pass: ({ dryRun, service, remainingMs }) =>
      passByHand(deps, settings, {
        dryRun,
        endsAtMs: endsAtMs(remainingMs),
        ...(service === undefined ? {} : { service }),
      }),
    status: () => statusOf(deps, settings),
    explain: (request) => explainByHand(deps, settings, request),
    hold: (request) => hold(deps, request),
    release: (target) => release(deps, target),
    failed: (error) => say(deps, error instanceof ReadFailure ? 'state-failed' : 'pass-failed', { error }),
  };
}
