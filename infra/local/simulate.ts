/** `npm run --silent simulate -- [--json] FILE...`: plays scenario files; see `--help`. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDurationMs } from '../../lib/check-restart/duration.ts';
import { type PlayedScenario, playScenario } from './scenario/play.ts';
import { parseScenarios, type Scenario } from './scenario/schema.ts';

const HELP = `Plays scenarios (what Consul reports, which tasks run, what goes wrong) through the real watcher on a virtual clock,
and prints what it did. Use it to try a policy before the watcher is turned on.

  npm run --silent simulate -- [--json] FILE...

  --json   one JSON object a scenario and line, instead of a timeline
  --help   this text

Exit status: 0 every expectation met (or none stated), 1 some not met, 2 a file that is not a scenario.
The format is described in the README, section "Try a policy".
`;

const { values, positionals, problem } = readArguments(process.argv.slice(2));
if (values.help) {
  process.stdout.write(HELP);
} else if (problem !== undefined || positionals.length === 0) {
  process.stderr.write(`simulate: ${problem ?? 'no file named'}\n\n${HELP}`);
  process.exitCode = 2;
} else {
  process.exitCode = await simulate(positionals, values.json === true);
}

function readArguments(args: string[]): {
  values: { json?: boolean; help?: boolean };
  positionals: string[];
  problem?: string;
} {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    return { values: {}, positionals: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

async function simulate(files: readonly string[], asJson: boolean): Promise<number> {
  const read = await Promise.all(files.map(readScenarios));
  const problems = read.flatMap((one) => one.problems);
  if (problems.length > 0) {
    for (const problem of problems) process.stderr.write(`${problem}\n`);
    return 2;
  }
  let unmet = 0;
  for (const { file, scenarios } of read) {
    for (const scenario of scenarios) {
      const played = await playScenario(scenario, basename(file));
      if (played.met === false) unmet += 1;
      process.stdout.write(asJson ? `${JSON.stringify(played)}\n` : timelineOf(played));
    }
  }
  return unmet > 0 ? 1 : 0;
}

interface ReadFile {
  readonly file: string;
  readonly scenarios: readonly Scenario[];
  readonly problems: readonly string[];
}

async function readScenarios(file: string): Promise<ReadFile> {
  try {
    const result = parseScenarios(await readFile(file, 'utf8'));
    if (result.ok) return { file, scenarios: result.scenarios, problems: [] };
    return { file, scenarios: [], problems: result.problems.map((problem) => `${file}: ${problem}`) };
  } catch (error) {
    return { file, scenarios: [], problems: [`${file}: ${error instanceof Error ? error.message : String(error)}`] };
  }
}

function timelineOf({ name, restarts, skipped, proxies, met }: PlayedScenario): string {
  const lines = [
    ...restarts.map(({ at, task, service, check, action }) => ({
      at,
      text: `${action} ${task} (${service}): check ${check}`,
    })),
    ...firstOfEach(skipped).map(({ at, task, check, reason }) => ({ at, text: `skipped ${task} ${check}: ${reason}` })),
    ...Object.entries(proxies).flatMap(([id, { launches, stops }]) => [
      ...launches.map((at) => ({ at, text: `launch ${id}` })),
      ...stops.map((at) => ({ at, text: `stop ${id}` })),
    ]),
  ];
  const verdict = met === undefined ? '' : met ? '  as expected' : '  NOT AS EXPECTED';
  lines.sort((one, other) => (parseDurationMs(one.at) ?? 0) - (parseDurationMs(other.at) ?? 0));
  const body = lines.map(({ at, text }) => `  ${at.padStart(8)}  ${text}\n`).join('');
  return `${name}${verdict}\n${body === '' ? '  nothing was done\n' : body}`;
}

/** A check that is skipped in pass after pass for one reason is one line of the timeline. */
function firstOfEach(skipped: PlayedScenario['skipped']): PlayedScenario['skipped'] {
  const seen = new Set<string>();
  return skipped.filter(({ task, check, reason }) => {
    const key = JSON.stringify([task, check, reason]);
    return !seen.has(key) && seen.add(key);
  });
}
