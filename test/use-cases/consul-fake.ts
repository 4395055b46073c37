/**
 * Consul as the use cases see it, scripted by the test: what is registered, what each check says, what fails. Every call
 * is recorded. `change` waits on the clock, and is woken by `wake` or by a change of what is bad.
 */
import {
  type CheckRef,
  type Clock,
  type ConsulPort,
  checkKey,
  type InstanceDetails,
  type InstanceRef,
  instanceKey,
  type ReadFailure,
  type UnhealthyAnswer,
  type UnhealthyCheck,
  type UnhealthyWatch,
} from '../../lib/ports.ts';

/** Methods of the port, those of its watch included. */
export type ConsulMethod =
  | 'read'
  | 'change'
  | 'lookUpChecks'
  | 'describeInstances'
  | 'listChecks'
  | 'listInstances'
  | 'readKey'
  | 'listServices'
  | 'listInstances';

export interface ConsulCall {
  readonly method: ConsulMethod;
  readonly atMs: number;
  readonly argument: unknown;
}

export class ConsulFake implements ConsulPort {
  readonly calls: ConsulCall[] = [];
  readonly instances = new Map<string, InstanceDetails>();
  readonly keys = new Map<string, { text: string; modifyIndex: string }>();
  readonly services = new Map<string, readonly string[]>([['consul', []]]);
  readonly #clock: Clock;
  readonly #checks = new Map<string, UnhealthyCheck>();
  readonly #faults: { readonly method: ConsulMethod; readonly failure: ReadFailure; left: number }[] = [];
  readonly #wakers = new Set<() => void>();
  #createIndex = 100;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Registers a check, or registers it anew; it keeps its place in Consul's order. */
  register(check: Partial<UnhealthyCheck> & Pick<UnhealthyCheck, 'checkId'>): UnhealthyCheck {
    const whole: UnhealthyCheck = {
      node: 'n1',
      name: check.checkId,
      status: 'critical',
      serviceId: '',
      serviceName: '',
      namespace: '',
      partition: '',
      type: 'ttl',
      output: 'down',
      createIndex: ++this.#createIndex,
      ...check,
    };
    this.#checks.set(checkKey(whole), whole);
    this.wake();
    return whole;
  }

  /** Registers an instance. */
  addInstance(instance: Partial<InstanceDetails> & Pick<InstanceDetails, 'serviceId' | 'serviceName'>): void {
    const whole: InstanceDetails = {
      node: 'n1',
      namespace: '',
      partition: '',
      kind: '',
      address: '',
      port: 8080,
      meta: {},
      nodeMeta: {},
      ...instance,
    };
    this.instances.set(instanceKey(whole), whole);
    this.services.set(whole.serviceName, []);
  }

  /** Alters all checks of an ID; `absent` keeps them out of every answer, any other status brings them back. */
  set(checkId: string, change: string | Partial<UnhealthyCheck>): void {
    const found = [...this.#checks].filter(([, check]) => check.checkId === checkId);
    if (found.length === 0) throw new Error(`no check ${checkId}`);
    for (const [key, check] of found) {
      this.#checks.set(key, { ...check, ...(typeof change === 'string' ? { status: change } : change) });
    }
    this.wake();
  }

  /** Makes a method throw, `times` times (until `heal` by default). */
  fail(method: ConsulMethod | readonly ConsulMethod[], failure: ReadFailure, times = Number.POSITIVE_INFINITY): void {
    for (const one of [method].flat()) this.#faults.push({ method: one as ConsulMethod, failure, left: times });
    this.wake();
  }

  heal(): void {
    this.#faults.length = 0;
  }

  /** Makes waiting `change`s look again. */
  wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  callsOf(method: ConsulMethod): readonly ConsulCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  watchUnhealthy({ warnings }: { readonly warnings: boolean }): UnhealthyWatch {
    const closing = new AbortController();
    let given = '';
    const answer = (): UnhealthyAnswer => {
      const isListed = ({ status }: UnhealthyCheck) => status === 'critical' || (warnings && status === 'warning');
      return { checks: [...this.#checks.values()].filter(isListed) };
    };
    const giveOut = (): UnhealthyAnswer => {
      const given_ = answer();
      given = fingerprint(given_);
      return given_;
    };
    return {
      read: async () => {
        this.#called('read', { warnings });
        return giveOut();
      },
      change: async (untilMs, signal) => {
        this.#called('change', untilMs);
        while (fingerprint(answer()) === given) {
          if (this.#clock.nowMs() >= untilMs || signal.aborted || closing.signal.aborted) return undefined;
          await this.#sleep(untilMs, AbortSignal.any([signal, closing.signal]));
          this.#failIfPlanned('change');
        }
        return giveOut();
      },
      close: async () => closing.abort(),
    };
  }

  async lookUpChecks(checks: readonly CheckRef[]): Promise<ReadonlyMap<string, UnhealthyCheck>> {
    this.#called('lookUpChecks', checks);
    return new Map(
      checks.flatMap((check) => {
        const found = this.#checks.get(checkKey(check));
        return found && found.status !== 'absent' ? [[checkKey(check), found] as const] : [];
      }),
    );
  }

  async describeInstances(instances: readonly InstanceRef[]) {
    this.#called('describeInstances', instances);
    const refused = instances.filter(({ serviceName }) => serviceName === '.' || serviceName === '..');
    const found = new Map<string, InstanceDetails>();
    for (const ref of instances) {
      const details = refused.includes(ref) ? undefined : this.instances.get(instanceKey(ref));
      if (details) found.set(instanceKey(ref), details);
    }
    return { found, refused };
  }

  async listChecks(serviceName: string) {
    this.#called('listChecks', serviceName);
    return [...this.#checks.values()].filter((check) => check.serviceName === serviceName && check.status !== 'absent');
  }

  async listInstances(serviceName: string) {
    this.#called('listInstances', serviceName);
    return [...this.instances.values()].filter((instance) => instance.serviceName === serviceName);
  }

  async readKey(key: string) {
    this.#called('readKey', key);
    return this.keys.get(key);
  }

  async listServices() {
    this.#called('listServices', undefined);
    return this.services;
  }

  #called(method: ConsulMethod, argument: unknown): void {
    this.calls.push({ method, atMs: this.#clock.nowMs(), argument });
    this.#failIfPlanned(method);
  }

  #failIfPlanned(method: ConsulMethod): void {
    const fault = this.#faults.find((one) => one.method === method && one.left > 0);
    if (!fault) return;
    fault.left -= 1;
    throw fault.failure;
  }

  async #sleep(untilMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#wakers.add(wake);
    await this.#clock.sleepUntil(untilMs, AbortSignal.any([signal, woken.signal]));
    this.#wakers.delete(wake);
  }
}

function fingerprint({ checks }: UnhealthyAnswer): string {
  return JSON.stringify(checks.map((check) => [checkKey(check), check.status, check.serviceId, check.createIndex]));
}
