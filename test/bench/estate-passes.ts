/**
 * Child process: the watcher's passes over the estate, with the real adapters and telemetry. The first one begins with
 * nothing, as the first invocation of a deployment does; the next ones follow at once in the same open window.
 */
import { MemoryState } from '../../infra/local/memory-state.ts';
import { countsWarnings } from '../../lib/check-restart/policy.ts';
import type { StatePort, UnhealthyWatch } from '../../lib/ports.ts';
import { createRedactor } from '../../lib/telemetry/redact.ts';
import { createTelemetry } from '../../lib/telemetry/telemetry.ts';
import type { Watcher } from '../../lib/use-cases/decide-pass.ts';
import { policyInForce } from '../../lib/use-cases/policy-in-force.ts';
import { runPass } from '../../lib/use-cases/run-pass.ts';
import { rememberedFrom } from '../../lib/use-cases/watch-memory.ts';
import { SETTINGS, tableState, wire } from '../e2e/watch-stage.ts';
import { peakMb, taskOfChild, tell } from './estate-messages.ts';

const never = new AbortController().signal;
const telemetry = createTelemetry({ serviceName: 'bench', logLevel: 'info', redactor: createRedactor() });

void main();

async function main(): Promise<void> {
  const { consulUrl, ecsUrl, tableUrl, next } = taskOfChild();
  const state = tableUrl === undefined ? new MemoryState() : tableState(tableUrl);
  const writesMeasured = timeWrites(state);
  const { deps, close } = wire({ consulUrl, ecsUrl, state, telemetry });

  const startMs = performance.now();
  const memory = rememberedFrom(await deps.state.load());
  const policy = await policyInForce(deps, SETTINGS, memory, { save: true });
  const watcher: Watcher = { deps, settings: SETTINGS, memory, document: policy.document };
  const watch = deps.consul.watchUnhealthy({ warnings: countsWarnings(SETTINGS.defaults, policy.document.rules) });
  await pass(watcher, watch);
  const firstMs = performance.now() - startMs;

  const nextMs: number[] = [];
  for (let n = 0; n < next; n++) {
    const atMs = performance.now();
    await pass(watcher, watch);
    nextMs.push(performance.now() - atMs);
  }
  const loadStartMs = performance.now();
  await deps.state.load();
  const loadMs = performance.now() - loadStartMs;
  telemetry.flush();
  await watch.close();
  await close();
  const tracked = [...memory.tracked.values()];
  tell({
    firstMs,
    nextMs,
    tracked: tracked.length,
    counting: tracked.filter(({ current }) => current?.streak).length,
    ...writesMeasured(),
    loadMs,
    peakMb: await peakMb(),
  });
}

async function pass(watcher: Watcher, watch: UnhealthyWatch): Promise<void> {
  const report = await runPass(watcher, () => watch.read(never), { dryRun: false, mayClaim: async () => true });
  if (!report.ok || report.failures.length > 0 || report.restarts.length > 0) {
    throw new Error(`this was to be a pass that only counts: ${JSON.stringify(report.failures)}`);
  }
}

/** Puts a watch on the state's writes of checks. */
function timeWrites(state: StatePort) {
  const save = state.saveCheck.bind(state);
  let firstAtMs: number | undefined;
  let lastAtMs = 0;
  let writes = 0;
  state.saveCheck = async (check) => {
    firstAtMs ??= performance.now();
    const result = await save(check);
    lastAtMs = performance.now();
    writes += 1;
    return result;
  };
  return () => ({ writes, writesMs: lastAtMs - (firstAtMs ?? lastAtMs) });
}
