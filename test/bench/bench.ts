/** `npm run bench`: measures, prints a table, keeps the JSON, and ends with 1 when a bound is not met. */
import { parseArgs } from 'node:util';
import { findConsul, startRealConsul } from '../../infra/local/real-consul.ts';
import { benchEstate } from './estate.ts';
import { type BenchResult, isMet, save, tableOf } from './figures.ts';
import { benchLatency } from './latency.ts';
import { benchMass } from './mass.ts';
import { benchProxies } from './proxies.ts';
import { benchRequests } from './requests.ts';

const HELP = `npm run bench [-- NAME...] [--quick] [--rounds N] [--tries N]

NAME     estate    passes over 100,000 checks, against reading every check (default; 2 min)
         latency   from a check turning critical, or a deadline, to StopTask, idle and under load (4 min)
         requests  what a window of 50 s asks of Consul while others write 50 checks a second (1 min)
         proxies   a reconcile of 1,000 running proxies, and of a burst of events (1 min; on doubles alone)
         mass      10,000 unhealthy tasks that are due in one pass, with the breakers off (1 min; on doubles alone)
         all       the five

--quick        a tenth of it and without bounds, to see that it works
--rounds N     rounds of the estate's passes (default 5)
--tries N      restarts of each kind of the latency (default 50)
--help

All but proxies and mass need a real Consul: $CONSUL_BIN, the PATH, or Debian's package, which is fetched. Results: a table on stdout, JSON
below reports/. Ends with 1 when a bound is not met, with 2 when nothing could be measured.
`;

const NAMES = ['estate', 'latency', 'requests', 'proxies', 'mass'] as const;
/** Those that need no real Consul. */
const ON_DOUBLES: readonly string[] = ['proxies', 'mass'];
type Name = (typeof NAMES)[number];

interface Wanted {
  readonly names: readonly Name[];
  readonly quick: boolean;
  readonly rounds: number;
  readonly tries: number;
}

const progress = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const wanted = wantedFrom(process.argv.slice(2));
  if (wanted === undefined) {
    process.stdout.write(HELP);
    return 0;
  }
  const consulPath = wanted.names.every((name) => ON_DOUBLES.includes(name)) ? '' : await pathOfConsul();
  let allMet = true;
  for (const name of wanted.names) {
    progress(`== ${name}`);
    const result = await measure(name, consulPath, wanted);
    const isAllMet = await tell(wanted.quick ? withoutBounds(result) : result);
    allMet &&= isAllMet;
  }
  return allMet ? 0 : 1;
}

async function pathOfConsul(): Promise<string> {
  const found = await findConsul({ fetch: true, onProblem: progress });
  if (!found) throw new Error('no real Consul: put one on the PATH, or name it in CONSUL_BIN');
  progress(`Consul ${found.version} (${found.how})`);
  return found.path;
}

/** `undefined` = help is wanted. Throws with what is allowed. */
function wantedFrom(args: readonly string[]): Wanted | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      tries: { type: 'string' },
    },
  });
  if (values.help) return undefined;
  const names = positionals.length === 0 ? ['estate'] : positionals;
  const known = names.flatMap((name) => (name === 'all' ? NAMES : NAMES.filter((one) => one === name)));
  const unknown = names.find((name) => name !== 'all' && !NAMES.some((one) => one === name));
  if (unknown !== undefined) throw new Error(`"${unknown}" is no bench; allowed: ${NAMES.join(', ')}, all`);
  return {
    names: known,
    quick: values.quick,
    rounds: countFrom('--rounds', values.rounds, values.quick ? 1 : 5),
    tries: countFrom('--tries', values.tries, values.quick ? 5 : 50),
  };
}

function countFrom(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const count = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(count)) throw new Error(`${name}: "${text}"; allowed: a number from 1 to 9999`);
  return count;
}

async function measure(name: Name, consulPath: string, { quick, rounds, tries }: Wanted): Promise<BenchResult> {
  if (name === 'mass') return benchMass({ tasks: quick ? 1000 : 10_000, progress });
  if (name === 'proxies') return benchProxies({ proxies: quick ? 100 : 1000, rounds, progress });
  if (name === 'latency') return benchLatency({ consul: consulPath, tries, progress });
  if (name === 'requests') return benchRequests({ consul: consulPath, windowMs: quick ? 5000 : 50_000, progress });
  const consul = await startRealConsul(consulPath);
  try {
    return await benchEstate(consul, { checks: quick ? 10_000 : 100_000, rounds, progress });
  } finally {
    await consul.close();
  }
}

/** Where a process's start and a connection's count for more than the estate, a bound would say nothing. */
function withoutBounds(result: BenchResult): BenchResult {
  return { ...result, figures: result.figures.map(({ bound: _, ...figure }) => figure) };
}

async function tell(result: BenchResult): Promise<boolean> {
  process.stdout.write(`\n${result.bench}\n${tableOf(result)}${await save(result)}\n\n`);
  return result.figures.every(isMet);
}

try {
  process.exitCode = await main();
} catch (error) {
  progress(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
