/**
 * Proxies with `execMode: service`: an ECS service that somebody else deploys. Only its health is judged, and what is due
 * is a forced deployment, by the watcher's own claims: budget, slots and claims are those of the ECS service's item, which
 * watch-checks shares, so the two never restart it twice, and whichever comes next follows an open claim.
 */
import type { StoredState, UnhealthyAnswer } from '../../ports.ts';
import { runPass } from '../run-pass.ts';
import { rememberedFrom } from '../watch-memory.ts';
import type { PassReport, PolicyDocument, WatchSettings } from '../watch-types.ts';
import { checksOf } from './health-state.ts';
import { type JudgeInput, ofProxies, serviceProxies } from './proxy-watcher.ts';
import type { ReconcileDeps, ReconcileSettings } from './reconcile-types.ts';

/** What was read for all proxies already. */
export interface ServiceJudgeInput extends JudgeInput {
  readonly answer: UnhealthyAnswer;
  readonly stored: StoredState;
  readonly document: PolicyDocument;
}

/** Judges and restarts; `undefined` where there is nothing bad and nothing remembered, which costs nothing. */
export async function judgeServiceProxies(
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  input: ServiceJudgeInput,
): Promise<{ readonly report: PassReport; readonly reported: ReadonlyMap<string, string> } | undefined> {
  const ids = serviceProxies(input.states.values());
  const answer = ofProxies(input.answer, ids);
  const checks = input.stored.checks.filter(({ serviceId }) => ids.has(serviceId));
  if (checks.length === 0 && answer.checks.every(({ serviceId }) => serviceId === '')) return undefined;
  const { services, estate } = await deps.state.load();
  const { heartbeat } = input.stored;
  const memory = rememberedFrom({
    checks,
    // Claims of other services are followed by watch-checks.
    services: services.filter(({ key }) => ownersOf(input).has(key)),
    unreadable: [],
    ...(estate === undefined ? {} : { estate }),
    ...(heartbeat === undefined ? {} : { heartbeat }),
  });
  const watcher = {
    deps: { ...deps, state: checksOf(deps) },
    settings: settingsOf(settings),
    document: redeploying(input.document),
    memory,
  };
  const report = await runPass(watcher, async () => answer, { dryRun: input.dryRun, mayClaim: input.mayAct });
  return { report, reported: memory.reported };
}

function ownersOf({ states }: ServiceJudgeInput): ReadonlySet<string> {
  return new Set(
    [...states.values()].flatMap(({ proxyId, spec }) =>
      spec?.execMode === 'service' ? [`${spec.cluster}/service/${spec.ecsService ?? proxyId}`] : [],
    ),
  );
}

/** The reconciler's allow-list takes the place of the watcher's. */
function settingsOf({ watch, rules: { allow } }: ReconcileSettings): WatchSettings {
  return { ...watch, allowedServices: allow.services, mapping: { ...watch.mapping, allowedClusters: allow.clusters } };
}

/** A rule for single checks is applied last, after Meta. */
function redeploying(document: PolicyDocument): PolicyDocument {
  const rule = { match: { check: '*' }, set: { action: 'force-new-deployment' }, brakes: {} } as const;
  return { ...document, rules: [...document.rules, rule] };
}
