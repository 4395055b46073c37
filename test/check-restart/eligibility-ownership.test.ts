/** Whose task it may be: the address that it must own, and the list of what may be restarted. */
import { describe, expect, it } from 'vitest';
import { STANDALONE_TASK, verdictOn } from './ecs-samples.ts';

describe('the address that an instance registered', () => {
  const V6 = '2001:db8::1';
  it.each<[string, readonly string[], string, string]>([
    ['its own', ['10.20.4.77'], '10.20.4.77', 'eligible'],
    ['one of several', ['10.20.4.77', V6], V6, 'eligible'],
    ['another', ['10.20.4.77'], '10.20.4.78', 'ambiguous'],
    ['the beginning of its own', ['10.20.4.77'], '10.20.4.7', 'ambiguous'],
    ['a host name', ['10.20.4.77'], 'orders.internal', 'ambiguous'],
    ['IPv6 in capitals', [V6], '2001:DB8::1', 'eligible'],
    ['IPv6 written out', [V6], '2001:0db8:0:0:0:0:0:0001', 'eligible'],
    ['IPv6 that ECS writes out', ['2001:0db8:0:0:0:0:0:0001'], V6, 'eligible'],
    ['another IPv6', [V6], '2001:db8::2', 'ambiguous'],
    ['what is almost IPv6', [V6], '2001:db8:::1', 'ambiguous'],
    ['a task without addresses', [], '10.20.4.77', 'ambiguous'],
  ])('%s', (_, addresses, address, expected) => {
    for (const requireAddress of [false, true]) {
      expect(verdictOn({ task: { addresses }, context: { address, requireAddress } })).toBe(expected);
    }
  });

  it.each(['', '127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LOCALHOST', '0.0.0.0', '::'])(
    '%j proves nothing: fine, unless an address is required',
    (address) => {
      expect(verdictOn({ context: { address } })).toBe('eligible');
      expect(verdictOn({ context: { address, requireAddress: true } })).toBe('ambiguous');
    },
  );

  it.each(['127.0.0.1.example.com', '127.evil', 'localhost.example.com', '::1x', '10.127.0.1'])(
    '%j only looks like loopback',
    (address) => {
      expect(verdictOn({ context: { address } })).toBe('ambiguous');
    },
  );

  it('is not asked of a task that has no interface of its own', () => {
    const task = { awsvpc: false, addresses: [] };
    expect(verdictOn({ task, context: { address: '10.0.0.9', requireAddress: true } })).toBe('eligible');
    expect(verdictOn({ task, context: { address: '', requireAddress: true } })).toBe('ambiguous');
  });
});

describe('the list of allowed services', () => {
  it.each<[readonly string[], string]>([
    [[], 'foreign-task'],
    [['billing'], 'foreign-task'],
    [['order'], 'foreign-task'],
    [['orders'], 'eligible'],
    [['ord*'], 'eligible'],
    [['billing', 'orders'], 'eligible'],
    [['prod/orders'], 'eligible'],
    [['prod/*'], 'eligible'],
    [['*/orders'], 'eligible'],
    [['stage/orders'], 'foreign-task'],
    [['prod/billing'], 'foreign-task'],
    [['prod'], 'foreign-task'],
    [['pro*'], 'foreign-task'],
    [['*od/ord*'], 'eligible'],
    [['orders/*'], 'foreign-task'],
    [['orders-family'], 'foreign-task'],
  ])('%j: %s', (allowedServices, expected) => {
    expect(verdictOn({ context: { allowedServices } })).toBe(expected);
  });

  it('names the family of a stand-alone task', () => {
    const changes = { facts: { task: STANDALONE_TASK }, policy: { standalone: 'stop' } } as const;
    expect(verdictOn({ ...changes, context: { allowedServices: ['orders-family'] } })).toBe('eligible');
    expect(verdictOn({ ...changes, context: { allowedServices: ['prod/orders-family'] } })).toBe('eligible');
    expect(verdictOn({ ...changes, context: { allowedServices: ['report'] } })).toBe('foreign-task');
  });
});
