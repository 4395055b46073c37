/**
 * The estate that the passes are measured on: services whose instances have ten checks each and are tasks of the ECS
 * double. One check of every tenth instance is critical: 1 % of all checks, spread over all services.
 */
import type { EcsDouble } from '../../infra/local/ecs-double/double.ts';
import { inParallel } from '../../lib/in-parallel.ts';
import { consulWriter } from '../e2e/consul-writes.ts';
import { CLUSTER, POLICY_KEY } from '../e2e/watch-stage.ts';

/** Checks of an instance. */
export const CHECKS_EACH = 10;
const SERVICES = 100;
const NODES = 500;
/** Instances that lie between two with a critical check. */
const BAD_EVERY = 10;
const RUNS_FOR_MS = 3_600_000;

/** How large it is. */
export interface EstateSize {
  readonly services: number;
  readonly instances: number;
  readonly checks: number;
  readonly critical: number;
}

/** An estate of so many checks. */
export function estateOf(checks: number): EstateSize {
  const instances = checks / CHECKS_EACH;
  return { services: SERVICES, instances, checks, critical: instances / BAD_EVERY };
}

/** Makes the tasks and registers everything, a policy document included that counts for ever and restarts nothing. */
export async function buildEstate(
  consulUrl: string,
  ecs: EcsDouble,
  size: EstateSize,
  onProgress: (done: number) => void,
): Promise<void> {
  const each = size.instances / size.services;
  for (let n = 0; n < size.services; n++) {
    ecs.world.addService({ name: nameOf(n), cluster: CLUSTER, desiredCount: each, startTasks: false });
  }
  const writer = consulWriter(consulUrl, 32);
  try {
    const checkRestart = { limit: 1000, interval: '1h', grace: '0s' };
    await writer.put(`kv/${POLICY_KEY}`, { rules: [{ match: { service: 'service-*' }, checkRestart }] });
    await inParallel(
      Array.from({ length: size.instances }, (_, n) => n),
      32,
      async (n) => {
        await writer.put('catalog/register', instanceOf(n, size, ecs));
        if ((n + 1) % 1000 === 0) onProgress(n + 1);
      },
    );
  } finally {
    await writer.close();
  }
}

function nameOf(service: number): string {
  return `service-${String(service).padStart(3, '0')}`;
}

/** Instances go round the services and nodes; the bad ones are chosen so that they, too, are spread evenly. */
function instanceOf(n: number, size: EstateSize, ecs: EcsDouble): unknown {
  const service = nameOf(n % size.services);
  const startedAtMs = Date.now() - RUNS_FOR_MS;
  const arn = ecs.world.addTask({ cluster: CLUSTER, service, startedAtMs, replaceAfterMs: null });
  const task = ecs.world.task(arn);
  if (!task) throw new Error('a task that was added is not there');
  const serviceId = `${service}-${task.id}`;
  const isBad = Math.floor(n / size.services) % BAD_EVERY === 0;
  const node = `node-${String(n % NODES).padStart(3, '0')}`;
  const bad = n % CHECKS_EACH;
  return {
    Node: node,
    Address: `10.1.${(n % NODES) >> 8}.${(n % NODES) & 255}`,
    Service: {
      ID: serviceId,
      Service: service,
      Address: task.address,
      Port: 8080,
      Tags: ['http', 'v1'],
      Meta: { 'task-arn': arn, team: `team-${n % 7}` },
    },
    Checks: Array.from({ length: CHECKS_EACH }, (_, c) => {
      const status = isBad && c === bad ? 'critical' : 'passing';
      return {
        Node: node,
        CheckID: `service:${serviceId}:${c}`,
        Name: `Service '${service}' check ${c}`,
        Status: status,
        ServiceID: serviceId,
        Output: `HTTP GET http://${task.address}:8080/health/${c}: ${status === 'passing' ? '200 OK' : '503 Service Unavailable'}`,
      };
    }),
  };
}
