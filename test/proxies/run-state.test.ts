import { describe, expect, it } from 'vitest';
import { close, kill, RUNNING, type RunState, run, settle } from '../../lib/proxies/run-state.ts';
import { plan, running, short, task } from './make.ts';

const STOPPING: RunState = { phase: 'stopping', kill: false };
const KILLING: RunState = { phase: 'stopping', kill: true };
const CLOSED: RunState = { phase: 'stopped', kill: false };
const KILLED: RunState = { phase: 'stopped', kill: true };
const ALL = [RUNNING, STOPPING, KILLING, CLOSED, KILLED];

describe('run state', () => {
  it.each([
    ['close', close, [STOPPING, STOPPING, KILLING, CLOSED, KILLED]],
    ['kill', kill, [KILLING, KILLING, KILLING, KILLING, KILLING]],
    ['run', run, [RUNNING, RUNNING, RUNNING, RUNNING, RUNNING]],
  ] as const)('%s', (_name, change, expected) => expect(ALL.map((state) => change(state))).toEqual(expected));

  it.each([close, kill, run])('%s twice is %s once', (change) => {
    for (const state of ALL) expect(change(change(state))).toEqual(change(state));
  });

  it('settles: a close at once, a kill when nothing is left', () => {
    expect(ALL.map((state) => settle(state, false))).toEqual([RUNNING, CLOSED, KILLING, CLOSED, KILLED]);
    expect(ALL.map((state) => settle(state, true))).toEqual([RUNNING, CLOSED, KILLED, CLOSED, KILLED]);
  });
});

describe('a pass', () => {
  const given = { states: [running()], tasks: [task()] };

  it.each([STOPPING, CLOSED])('in %j leaves everything as it is', (runState) => {
    const result = plan({ ...given, tasks: [], missing: ['task/1'], runState });
    expect(short(result)).toEqual(['report - closed']);
    expect(result.changed).toEqual([]);
    expect(result.runState).toEqual(CLOSED);
  });

  it('in a kill stops all, and is done when all are gone', () => {
    const first = plan({ ...given, runState: KILLING });
    expect([short(first), first.runState]).toEqual([['stop task/1 killed'], KILLING]);
    const last = plan({ ...given, tasks: [task({ lastStatus: 'STOPPED' })], runState: KILLING });
    expect([short(last), last.runState]).toEqual([['forget web-proxy killed'], KILLED]);
  });

  it('in a kill is not done while a cluster cannot be read', () => {
    const result = plan({ ...given, doubtfulClusters: { prod: 'timeout' }, runState: KILLING });
    expect([result.runState, result.states.size]).toEqual([KILLING, 1]);
  });

  it.each([
    [
      'a task of ours that names no proxy',
      { tasks: [task({ desiredStatus: 'STOPPED', proxyId: undefined } as object)] },
    ],
    ['a cluster that cannot be read', { doubtfulClusters: { prod: 'timeout' } }],
  ])('in a kill is not done because of %s', (_name, left) => {
    expect(plan({ ...left, runState: KILLING }).runState).toEqual(KILLING);
    expect(plan({ runState: KILLING }).runState).toEqual(KILLED);
  });
});
