/** `PUT` endpoints of the catalog and of the agent. A path that ends in a slash takes an ID. */
import { BODIES, decodeBody, registrationOf } from './bodies.ts';
import { type Answer, bareAnswer, type Exchange, jsonAnswer, textAnswer } from './exchange.ts';
import { ConsulError } from './records.ts';
import type { World } from './world.ts';

type Write = (world: World, exchange: Exchange, id: string) => Answer;

const STATUS_WORDS = { pass: 'passing', warn: 'warning', fail: 'critical' } as const;

function bodyOf(exchange: Exchange): string {
  return exchange.body.toString('utf8');
}

function ttl(word: keyof typeof STATUS_WORDS): Write {
  return (world, exchange, id) => {
    world.agent.updateTtl(id, STATUS_WORDS[word], exchange.query.get('note') ?? '');
    return bareAnswer();
  };
}

/** 1.8 does not mind that there is nothing; later versions answer 404. */
function removed(world: World, found: boolean, problem: string): Answer {
  return found || world.dialect === '1.8' ? bareAnswer() : textAnswer(404, problem);
}

function maintenance(query: URLSearchParams): { readonly enable: boolean; readonly reason: string } {
  const enable = query.get('enable');
  if (!enable) throw new ConsulError(400, 'Missing value for enable');
  const truth = { true: true, '1': true, t: true, false: false, '0': false, f: false }[enable.toLowerCase()];
  if (truth === undefined) throw new ConsulError(400, `Invalid value for enable: "${enable}"`);
  return { enable: truth, reason: query.get('reason') ?? '' };
}

/** Endpoints by their path below `/v1/`. */
export const WRITES: Readonly<Record<string, Write>> = {
  'catalog/register': (world, exchange) => {
    world.catalog.register(registrationOf(decodeBody(BODIES.catalogRegister, bodyOf(exchange)), world.datacenter));
    return jsonAnswer(true);
  },
  'catalog/deregister': (world, exchange) => {
    const body = decodeBody(BODIES.catalogDeregister, bodyOf(exchange));
    if (!body.Node) throw new ConsulError(500, 'Must provide node');
    world.catalog.deregister({
      node: body.Node,
      partition: body.Partition ?? '',
      namespace: body.Namespace ?? '',
      ...(body.ServiceID ? { serviceId: body.ServiceID } : {}),
      ...(body.CheckID ? { checkId: body.CheckID } : {}),
    });
    return jsonAnswer(true);
  },
  'agent/service/register': (world, exchange) => {
    const replace = exchange.query.has('replace-existing-checks');
    world.agent.registerService(decodeBody(BODIES.agentService, bodyOf(exchange)), replace);
    return bareAnswer();
  },
  'agent/check/register': (world, exchange) => {
    world.agent.registerCheck(decodeBody(BODIES.agentCheck, bodyOf(exchange)));
    return bareAnswer();
  },
  'agent/service/deregister/': (world, _exchange, id) =>
    removed(world, world.agent.deregisterService(id), `Unknown service ID "${id}"`),
  'agent/check/deregister/': (world, _exchange, id) =>
    removed(world, world.agent.deregisterCheck(id), `Unknown check ID "${id}"`),
  'agent/check/pass/': ttl('pass'),
  'agent/check/warn/': ttl('warn'),
  'agent/check/fail/': ttl('fail'),
  'agent/check/update/': (world, exchange, id) => {
    const { Status: status = '', Output: output = '' } = decodeBody(BODIES.agentUpdate, bodyOf(exchange));
    if (!['passing', 'warning', 'critical'].includes(status)) {
      throw new ConsulError(400, `Invalid check status: '${status}'`);
    }
    world.agent.updateTtl(id, status, output);
    return bareAnswer();
  },
  'agent/service/maintenance/': (world, { query }, id) => {
    const { enable, reason } = maintenance(query);
    world.agent.setServiceMaintenance(id, enable, reason);
    return bareAnswer();
  },
  'agent/maintenance': (world, { query }) => {
    const { enable, reason } = maintenance(query);
    world.agent.setNodeMaintenance(enable, reason);
    return bareAnswer();
  },
};
