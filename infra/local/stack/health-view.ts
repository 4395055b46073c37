/**
 * What Consul says of the sample services, followed with a blocking query: the story's own eyes, so that it tells what
 * Consul says and not what the watcher believes.
 */
import * as z from 'zod/mini';
import { systemClock } from '../../../lib/clock.ts';

/** One check of a sample service. */
export interface SeenCheck {
  readonly serviceId: string;
  readonly service: string;
  readonly name: string;
  readonly status: string;
}

/** All service checks by `SERVICE ID/CHECK ID`. */
export type Health = ReadonlyMap<string, SeenCheck>;

const WAIT = '30s';
const RETRY_MS = 500;

const answer = z.array(
  z.object({
    CheckID: z.string(),
    Name: z.string(),
    Status: z.string(),
    ServiceID: z.string(),
    ServiceName: z.string(),
  }),
);

/** Calls back with every answer until the signal aborts. Resolves then. */
export async function followHealth(
  consulUrl: string,
  onHealth: (health: Health) => void,
  signal: AbortSignal,
): Promise<void> {
  let index = '0';
  while (!signal.aborted) {
    try {
      const url = `${consulUrl}/v1/health/state/any?index=${index}&wait=${WAIT}`;
      const response = await fetch(url, { signal });
      if (!response.ok) throw new Error(`Consul answered ${response.status}`);
      const checks = answer.parse(await response.json());
      const next = response.headers.get('x-consul-index') ?? '0';
      // An index that goes back is that of a Consul that was restarted.
      index = Number(next) < Number(index) ? '0' : next;
      onHealth(healthOf(checks));
    } catch {
      index = '0';
      await systemClock.sleepUntil(systemClock.nowMs() + RETRY_MS, signal);
    }
  }
}

function healthOf(checks: z.infer<typeof answer>): Health {
  const ofServices = checks.filter(({ ServiceID }) => ServiceID !== '');
  return new Map(
    ofServices.map(({ CheckID, Name, Status, ServiceID, ServiceName }) => [
      `${ServiceID}/${CheckID}`,
      { serviceId: ServiceID, service: ServiceName, name: Name, status: Status },
    ]),
  );
}
