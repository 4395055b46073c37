/**
 * Registrations that consul-ecs left behind: its mark, its synthetic node, and a task that ECS says is STOPPED or MISSING
 * in two passes. Consul was read before ECS each time, so a task that starts in between is never called gone. They are
 * reported with the command that removes them; nothing is written to Consul.
 */
import { instanceKey } from '../ports.ts';
import type { Decision } from './decide-pass.ts';
import type { Judged } from './judge.ts';
import type { Leftover } from './watch-types.ts';
import type { Watcher } from './watcher.ts';

/** What was seen of a registration so far, kept among the reports: first `gone AT`, then `told`. */
const GONE = 'gone ';
const TOLD = 'told';

/** Key of an instance's report. */
export function leftoverKey(key: string): string {
  return `leftover ${key}`;
}

/**
 * Leftovers that are certain by now. `said` receives what is to be remembered of each, so that one reading of ECS is
 * marked and a second, later one is told; `news` are those that were not told before.
 */
export function leftoversOf(
  watcher: Watcher,
  decision: Pick<Decision, 'judged'>,
): {
  readonly all: readonly Leftover[];
  readonly said: ReadonlyMap<string, string>;
  readonly news: readonly Leftover[];
} {
  const all: Leftover[] = [];
  const news: Leftover[] = [];
  const said = new Map<string, string>();
  for (const one of decision.judged) {
    const leftover = leftoverOf(watcher, one);
    if (!leftover) continue;
    const key = leftoverKey(instanceKey(one.subject.sighting.ref));
    const before = said.get(key) ?? watcher.memory.reported.get(key);
    const isCertain =
      before === TOLD || (before?.startsWith(GONE) && Number(before.slice(GONE.length)) < leftover.readAtMs);
    const isFirstOfPass = !said.has(key);
    said.set(key, isCertain ? TOLD : (before ?? `${GONE}${leftover.readAtMs}`));
    if (!isCertain || !isFirstOfPass) continue;
    all.push(leftover.entry);
    if (before !== TOLD) news.push(leftover.entry);
  }
  return { all, said, news };
}

function leftoverOf(
  { memory }: Watcher,
  { subject, finding }: Judged,
): { readonly entry: Leftover; readonly readAtMs: number } | undefined {
  const { mapping, sighting } = subject;
  const isGone =
    finding.kind === 'skipped' && (finding.reason === 'task-not-found' || finding.reason === 'already-stopped');
  if (!isGone || mapping.kind !== 'mapped') return undefined;
  const details = memory.instances.get(instanceKey(sighting.ref))?.details;
  const readAtMs = memory.tasks.get(mapping.taskArn)?.readAtMs;
  const isFromConsulEcs = details?.meta.source === 'consul-ecs' && details.nodeMeta['synthetic-node'] === 'true';
  if (!isFromConsulEcs || readAtMs === undefined) return undefined;
  const { node, serviceId, namespace, partition } = sighting.ref;
  const body = {
    Node: node,
    ServiceID: serviceId,
    ...(namespace === '' ? {} : { Namespace: namespace }),
    ...(partition === '' ? {} : { Partition: partition }),
  };
  const header = '-H "X-Consul-Token: $CONSUL_HTTP_TOKEN"';
  const remedy = `curl -X PUT ${header} -d ${quoted(JSON.stringify(body))} "$CONSUL_HTTP_ADDR/v1/catalog/deregister"`;
  return { entry: { service: subject.service, node, serviceId, task: mapping.taskArn, remedy }, readAtMs };
}

/** For a POSIX shell: the names come from Consul and may hold anything. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
