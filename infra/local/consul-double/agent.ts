/**
 * The agent's side: what is registered with it, TTL timers, maintenance. As in Consul a changed output alone reaches the
 * catalog only after `checkUpdateIntervalMs`, a changed status at once; a service registered again keeps status and
 * output of its checks. The agent runs no checks (http, tcp, …): they stay as registered until `reportCheck` speaks for them.
 */
import { parseDurationMs } from '../../../lib/check-restart/duration.ts';
import type { Clock } from '../../../lib/ports.ts';
import { type AgentCheckBody, type AgentServiceBody, refuseBrokenProxy, serviceOf } from './bodies.ts';
import type { CatalogStore } from './catalog.ts';
import type { Registration } from './records.ts';
import { ConsulError } from './records.ts';

type CatalogCheck = NonNullable<Registration['checks']>[number];
type CatalogService = NonNullable<Registration['service']>;

interface LocalCheck {
  check: CatalogCheck;
  readonly ttlMs: number | undefined;
  /** Ends the TTL timer, and the timer of a deferred output. */
  timer?: AbortController;
  deferred?: AbortController;
}

const RUN_BY = { HTTP: 'http', H2PING: 'h2ping', TCP: 'tcp', UDP: 'udp', GRPC: 'grpc' } as const;

/** What the local agent knows, and syncs to the catalog. */
export class LocalAgent {
  readonly #catalog: CatalogStore;
  readonly #clock: Clock;
  readonly #node: Registration['node'];
  readonly #checkUpdateIntervalMs: number;
  readonly #services = new Map<string, CatalogService>();
  readonly #checks = new Map<string, LocalCheck>();

  constructor(parts: {
    readonly catalog: CatalogStore;
    readonly clock: Clock;
    readonly node: Registration['node'];
    readonly checkUpdateIntervalMs: number;
  }) {
    this.#catalog = parts.catalog;
    this.#clock = parts.clock;
    this.#node = parts.node;
    this.#checkUpdateIntervalMs = parts.checkUpdateIntervalMs;
  }

  /** `PUT agent/service/register`. */
  registerService(body: AgentServiceBody, replaceExistingChecks = false): void {
    const { Name: name = '' } = body;
    if (name === '') throw new ConsulError(400, 'Missing service name');
    const broken = refuseBrokenProxy(body);
    if (broken) throw new ConsulError(400, broken);
    const service = serviceOf({ ...body, Name: name });
    const bodies = [...(body.Checks ?? []), ...(body.Check ? [body.Check] : [])].filter(isCheck);
    const checks = bodies.map((check, place) => {
      const fallback = `service:${service.id}${bodies.length > 1 ? `:${place + 1}` : ''}`;
      return this.#localCheck(check, check.CheckID || check.ID || fallback, `Service '${name}' check`, service.id);
    });
    this.#services.set(service.id, service);
    if (replaceExistingChecks) {
      const kept = new Set(checks.map(({ check }) => check.id));
      for (const { check } of this.#checks.values()) {
        if (check.serviceId === service.id && !kept.has(check.id)) this.deregisterCheck(check.id);
      }
    }
    for (const check of checks) this.#adopt(check);
    // The service's earlier checks are written too: their tags are copied from it.
    this.#sync(
      service,
      [...this.#checks.values()].filter(({ check }) => check.serviceId === service.id),
    );
  }

  /** `PUT agent/check/register`. */
  registerCheck(body: AgentCheckBody): void {
    if (!body.Name) throw new ConsulError(400, 'Missing check name');
    const serviceId = body.ServiceID ?? '';
    if (serviceId !== '' && !this.#services.has(serviceId)) {
      throw new ConsulError(500, `ServiceID "${serviceId}" does not exist`);
    }
    const check = this.#localCheck(body, body.CheckID || body.ID || body.Name, body.Name, serviceId);
    this.#adopt(check);
    this.#sync(undefined, [check]);
  }

  /** False where there is no such service. */
  deregisterService(id: string): boolean {
    if (!this.#services.delete(id)) return false;
    for (const { check } of this.#checks.values()) if (check.serviceId === id) this.#forget(check.id);
    this.#catalog.deregister({ ...this.#place(), serviceId: id });
    return true;
  }

  /** False where there is no such check. */
  deregisterCheck(id: string): boolean {
    if (!this.#forget(id)) return false;
    this.#catalog.deregister({ ...this.#place(), checkId: id });
    return true;
  }

  /** `PUT agent/check/pass|warn|fail|update/:id`: TTL checks only. */
  updateTtl(id: string, status: string, output: string): void {
    const local = this.#checks.get(id);
    if (local?.ttlMs === undefined) throw new ConsulError(500, `CheckID "${id}" does not have associated TTL`);
    this.#report(local, status, output);
    this.#armTtl(local);
  }

  /** The result of a check that a real agent would have run (http, tcp, …). Throws for an unknown check. */
  reportCheck(id: string, status: 'passing' | 'warning' | 'critical', output: string): void {
    const local = this.#checks.get(id);
    if (!local) throw new ConsulError(404, `Unknown check ID "${id}"`);
    this.#report(local, status, output);
  }

  /** `PUT agent/service/maintenance/:id`. Throws 404 for an unknown service. */
  setServiceMaintenance(id: string, enable: boolean, reason: string): void {
    if (!this.#services.has(id)) throw new ConsulError(404, `No service registered with ID "${id}"`);
    this.#setMaintenance(
      `_service_maintenance:${id}`,
      'Service Maintenance Mode',
      id,
      enable,
      reason || defaultReason('service'),
    );
  }

  /** `PUT agent/maintenance`. */
  setNodeMaintenance(enable: boolean, reason: string): void {
    this.#setMaintenance('_node_maintenance', 'Node Maintenance Mode', '', enable, reason || defaultReason('node'));
  }

  /** Registered services by ID, and checks by ID. */
  get services(): ReadonlyMap<string, CatalogService> {
    return this.#services;
  }

  get checks(): readonly CatalogCheck[] {
    return [...this.#checks.values()].map(({ check }) => check);
  }

  get nodeName(): string {
    return this.#node.name;
  }

  /** Ends all timers. */
  close(): void {
    for (const { timer, deferred } of this.#checks.values()) {
      timer?.abort();
      deferred?.abort();
    }
  }

  #setMaintenance(id: string, name: string, serviceId: string, enable: boolean, notes: string): void {
    if (!enable) {
      this.deregisterCheck(id);
      return;
    }
    const blank = { namespace: '', output: '', definition: {}, interval: '', timeout: '' };
    const check = { ...blank, id, name, notes, serviceId, status: 'critical', type: 'maintenance' };
    const local: LocalCheck = { check, ttlMs: undefined };
    this.#adopt(local);
    this.#sync(undefined, [local]);
  }

  #localCheck(body: AgentCheckBody, id: string, fallbackName: string, serviceId: string): LocalCheck {
    const { type, ttlMs } = kindOf(body);
    const status = body.Status || 'critical';
    if (!['passing', 'warning', 'critical'].includes(status)) {
      throw new ConsulError(400, "Status for checks must 'passing', 'warning', 'critical'");
    }
    const before = this.#checks.get(id)?.check;
    return {
      check: {
        namespace: this.#services.get(serviceId)?.namespace ?? '',
        id,
        name: body.Name || fallbackName,
        status: before?.status ?? status,
        notes: body.Notes ?? '',
        output: before?.output ?? '',
        serviceId,
        type,
        definition: {},
        interval: body.Interval ?? '',
        timeout: body.Timeout ?? '',
      },
      ttlMs,
    };
  }

  #adopt(local: LocalCheck): void {
    this.#forget(local.check.id);
    this.#checks.set(local.check.id, local);
    this.#armTtl(local);
  }

  #forget(id: string): boolean {
    const local = this.#checks.get(id);
    local?.timer?.abort();
    local?.deferred?.abort();
    return this.#checks.delete(id);
  }

  #armTtl(local: LocalCheck): void {
    local.timer?.abort();
    if (local.ttlMs === undefined) return;
    local.timer = this.#after(local.ttlMs, () => {
      const { output } = local.check;
      const expired = 'TTL expired';
      const text = output === '' ? expired : `${expired} (last output before timeout follows): ${output}`;
      this.#report(local, 'critical', text);
    });
  }

  #report(local: LocalCheck, status: string, output: string): void {
    const before = local.check;
    if (before.status === status && before.output === output) return;
    local.check = { ...before, status, output };
    if (before.status !== status || this.#checkUpdateIntervalMs === 0) {
      this.#sync(undefined, [local]);
      return;
    }
    local.deferred ??= this.#after(this.#checkUpdateIntervalMs, () => this.#sync(undefined, [local]));
  }

  #after(delayMs: number, then: () => void): AbortController {
    const controller = new AbortController();
    void this.#clock.sleepUntil(this.#clock.nowMs() + delayMs, controller.signal).then(() => {
      if (!controller.signal.aborted) then();
    });
    return controller;
  }

  #sync(service: CatalogService | undefined, checks: readonly LocalCheck[]): void {
    for (const local of checks) {
      local.deferred?.abort();
      delete local.deferred;
    }
    const written = checks.map(({ check }) => check);
    const base = { node: this.#node, skipNodeUpdate: true, checks: written };
    this.#catalog.register(service ? { ...base, service } : base);
  }

  #place(): { readonly node: string; readonly partition: string; readonly namespace: string } {
    return { node: this.#node.name, partition: this.#node.partition, namespace: '' };
  }
}

function defaultReason(of: 'service' | 'node'): string {
  return `Maintenance mode is enabled for this ${of}, but no reason was provided. This is a default message.`;
}

/** An empty object is no check. */
function isCheck(body: AgentCheckBody): boolean {
  return Object.values(body).some((value) => value !== undefined && value !== '');
}

function kindOf(body: AgentCheckBody): { readonly type: string; readonly ttlMs: number | undefined } {
  const invalid = (problem: string) => new ConsulError(400, `Invalid check: ${problem}`);
  if (body.AliasService || body.AliasNode) return { type: 'alias', ttlMs: undefined };
  if (body.Args?.length) {
    const refusal = 'Scripts are disabled on this agent from remote calls; to enable, configure';
    throw new ConsulError(500, `${refusal} 'enable_script_checks' to true`);
  }
  const run = (Object.keys(RUN_BY) as (keyof typeof RUN_BY)[]).find((key) => body[key]);
  const ttlMs = parseDurationMs(body.TTL ?? '') ?? 0;
  if (body.Interval && ttlMs > 0) throw invalid('Interval and TTL cannot both be specified');
  if (run) {
    if (!body.Interval) throw invalid('Interval must be > 0 for Script, HTTP, or TCP checks');
    return { type: RUN_BY[run], ttlMs: undefined };
  }
  if (ttlMs <= 0) throw invalid('TTL must be > 0 for TTL checks');
  return { type: 'ttl', ttlMs };
}
