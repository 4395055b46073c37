/** Which Consuls `--consul` is tried with: the double, and a real one. In CI there must be a real one. */
import { findConsul } from '../../infra/local/real-consul.ts';

/** Values for `--consul`. */
export async function consulsToTry(): Promise<readonly ('double' | 'real')[]> {
  const problems: string[] = [];
  const found = await findConsul({ fetch: true, onProblem: (problem) => problems.push(problem) });
  if (found) return ['double', 'real'];
  const why = `no real Consul: ${problems.join('; ')}`;
  if (process.env.CI && process.env.CI !== 'false') throw new Error(why);
  process.stdout.write(`${why}\nThe local stack is tried with the double only.\n`);
  return ['double'];
}
