import { describe, expect, test } from 'vitest';
import { parseWakeUp, wakeUpBody } from '../../lib/sqs/wake-up.ts';

describe('a wake-up in a message', () => {
  test.each(['wait-over', 'check-bad'] as const)('%s comes back as it was sent', (why) => {
    const sent = { why, atMs: 1_796_040_000_123 };
    expect(parseWakeUp(wakeUpBody(sent))).toEqual(sent);
  });

  test('what a newer deployment says besides is left out', () => {
    expect(parseWakeUp('{"why":"check-bad","atMs":7,"proxyId":"edge"}')).toEqual({ why: 'check-bad', atMs: 7 });
  });

  test.each([
    ['no JSON', 'wake up'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[{"why":"wait-over","atMs":7}]'],
    ['another reason', '{"why":"because","atMs":7}'],
    ['no instant', '{"why":"wait-over"}'],
    ['an instant that is a text', '{"why":"wait-over","atMs":"7"}'],
    ['an instant before 1970', '{"why":"wait-over","atMs":-1}'],
    ['an instant beyond all clocks', '{"why":"wait-over","atMs":1e300}'],
    ['an event of ECS', '{"version":"0","detail-type":"ECS Task State Change","detail":{"lastStatus":"STOPPED"}}'],
  ])('%s is none', (_, body) => {
    expect(parseWakeUp(body)).toBeUndefined();
  });
});
