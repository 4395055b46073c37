/** What runs in the local stack, and the policy it runs under: short times, for the patience of a person who watches. */
import type { SampleSpec } from './sample-task.ts';

/** Three services that opt in by the document's rules, by its rules, and by their own Meta. */
export const SAMPLE_SERVICES: readonly SampleSpec[] = [
  { name: 'web', count: 3, check: 'http' },
  { name: 'api', count: 2, check: 'http' },
  {
    name: 'worker',
    count: 1,
    check: 'ttl',
    meta: { 'check-restart-limit': '2', 'check-restart-interval': '5s', 'check-restart-grace': '5s' },
  },
];

/** A restart every minute, for as long as somebody watches, needs a larger budget than production does. */
const BUDGET = { attempts: 10, interval: '5m', delay: '5s' };

/** `web`: (3 - 1) × 4 s = 8 s from critical to the restart; `api`: 5 s. */
export const SAMPLE_POLICY = {
  rules: [
    {
      match: { service: 'web' },
      checkRestart: { limit: 3, interval: '4s', grace: '5s' },
      brakes: { restart: BUDGET },
    },
    {
      match: { service: 'api' },
      checkRestart: { limit: 2, interval: '5s', grace: '5s' },
      brakes: { restart: BUDGET },
    },
    { match: { service: 'worker' }, brakes: { restart: BUDGET } },
    {
      match: { service: 'sidecar' },
      checkRestart: { limit: 2, interval: '3s', grace: '3s' },
      brakes: { restart: BUDGET },
    },
  ],
};

/** Families that proxies may be run from. */
export const PROXY_FAMILIES: readonly string[] = ['gateway', 'sidecar'];

/** A proxy without a parent: its ID, and its document in Consul KV. */
export const GATEWAY = {
  id: 'gateway',
  document: { service: 'gateway', taskDefinition: 'gateway', cluster: 'default' },
};

/** A proxy of each instance of a service, as the instance's registration declares it. */
export const SIDECARS = {
  service: 'worker',
  declaration: {
    tags: ['managed-proxy'],
    meta: { 'proxy-task-definition': 'sidecar', 'proxy-cluster': 'default' },
  },
};
