/** One valid input of each kind, to be damaged. */

export const CHECK = {
  Node: 'n1',
  CheckID: 'c1',
  Name: 'http',
  Status: 'critical',
  Output: 'x',
  ServiceID: 'web-1',
  ServiceName: 'web',
  ServiceTags: ['v1'],
  Type: 'http',
  Definition: { Interval: '10s' },
  CreateIndex: 7,
  ModifyIndex: 8,
};
export const INSTANCE = {
  Node: 'n1',
  ServiceID: 'web-1',
  ServiceName: 'web',
  ServiceKind: 'connect-proxy',
  ServiceAddress: '10.0.0.1',
  ServicePort: 80,
  ServiceMeta: { 'task-id': 'x' },
  NodeMeta: {},
  ServiceTags: [],
  ServiceProxy: { DestinationServiceName: 'web', DestinationServiceID: 'web-1' },
};
export const POLICY = {
  rules: [
    {
      match: { service: 'web-*', check: 'x' },
      checkRestart: { limit: 3, interval: '10s', grace: '90s', ignoreWarnings: false },
      mode: 'restart',
      action: 'stop-task',
      standalone: 'skip',
      protection: 'respect',
    },
    { match: {}, brakes: { restart: { attempts: 2, interval: '30m', delay: '15s', mode: 'delay' }, inFlight: '10%' } },
  ],
  brakes: {
    perMinute: 10,
    serviceBreaker: { share: 0.5, minInstances: 4, retry: '10m' },
    estateBreaker: { share: 0.5, minServices: 5 },
  },
};
export const ITEM = {
  pk: 'state',
  sk: 'check#x',
  schema: 1,
  version: 1,
  data: {
    node: 'n',
    checkId: 'c',
    checkName: 'c',
    serviceId: 's',
    serviceName: 's',
    namespace: '',
    partition: '',
    key: 'k',
    state: { taskArn: 'a', seenMs: 1, streak: { sinceMs: 1, countedFromMs: 1 } },
    claims: [],
    refused: [],
    brakes: { inFlight: [] },
    atMs: 1,
    reported: {},
    text: '{}',
    modifyIndex: '1',
  },
};
export const SCENARIO = {
  name: 'x',
  duration: '10s',
  poll: '1s',
  policy: { limit: 1, interval: '1s', grace: '0s' },
  tasks: { t: { service: 's' } },
  checks: [{ id: 'c', task: 't', timeline: [['0s', 'critical']] }],
  consul: [{ from: '1s', to: '2s', answer: 'error' }],
  expect: { restarts: [{ task: 't', at: '1s' }] },
};
export const DOCUMENT = {
  service: 'web',
  execMode: 'task',
  taskDefinition: 'envoy:3',
  cluster: 'prod',
  command: ['envoy'],
  environment: { A: 'b' },
};
