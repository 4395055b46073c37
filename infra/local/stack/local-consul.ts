/** Which Consul the stack runs: a real one where there is one, else the double that runs in this process. */
import { type ConsulDouble, startConsulDouble } from '../consul-double/double.ts';
import { findConsul, startRealConsul } from '../real-consul.ts';

/** `auto`: real if one is found, else the double. `fetch`: as `real`, and one is downloaded if none is found. */
export const CONSUL_CHOICES = ['auto', 'real', 'double', 'fetch'] as const;

/** One of them. */
export type ConsulChoice = (typeof CONSUL_CHOICES)[number];

/** A Consul that runs. */
export interface LocalConsul {
  readonly url: string;
  /** For people: `real 1.8.7 (PATH)`, or `built-in double`. */
  readonly name: string;
  /** The double, where it is one: it runs no checks by itself. */
  readonly double?: ConsulDouble;
  close(): Promise<void>;
}

/** Starts it on free ports. Throws with what to do where a real one is asked for and there is none. */
export async function startLocalConsul(choice: ConsulChoice): Promise<LocalConsul> {
  const problems: string[] = [];
  const found =
    choice === 'double'
      ? undefined
      : await findConsul({ fetch: choice === 'fetch', onProblem: (problem) => problems.push(problem) });
  if (found) {
    const { url, close } = await startRealConsul(found.path);
    return { url, name: `real ${found.version} (${found.how})`, close };
  }
  if (choice === 'real') {
    throw new Error('no Consul found: put one on the PATH, name it in CONSUL_BIN, or let --consul fetch download one');
  }
  if (choice === 'fetch') throw new Error(`Consul could not be fetched: ${problems.join('; ')}`);
  const double = await startConsulDouble();
  return { url: double.url, name: 'built-in double', double, close: () => double.close() };
}
