// What was read late is looked for first: what of it a person wants stopped ends, what was done before a restart whose position had no room to say so is
// passed over, and the rest goes on, though a store that is slow hasn't answered.

import { expect, it } from '@jest/globals';

import { nextTurn } from '../../src/dispatchers/next-turn.ts';
import { createWaitingEnds } from '../../src/dispatchers/waiting-ends.ts';
import { workItemOf } from '../../src/dispatchers/work-item.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { AskedCancel, Cancels } from '../../src/ports/cancels.ts';
import { until } from '../support/until.ts';
import { due, requested } from './work-events.ts';

/** @param second resolves when it is over */
function world(cancels: Cancels, second: () => Promise<void> = () => new Promise(() => {})) {
  const taken: WorkItem[] = [];
  const stopped: unknown[] = [];
  const unused = () => {
    throw new Error('not asked for here');
  };
  const waitingEnds = createWaitingEnds({
    clock: { now: Date.now, monotonic: () => performance.now(), sleep: second },
    logger: { debug() {} },
    lanes: { removeWhere() {} },
    underWay: { add() {} },
    outcomeEvents: { ended: unused, cancelled: (item) => stopped.push(item) as never },
    standing: { isSure: () => true, sure: () => Promise.resolve() },
    report: unused,
    say: async () => {},
    putOff: unused,
    cancels,
    takeIn: (item) => taken.push(item),
  });
  return { waitingEnds, taken, stopped };
}

/** One that is due for a minute. */
function itemOf(finished: number[], offset: number, isRestoring: boolean, partition = 0): WorkItem {
  const tracker = { isRestoring: () => isRestoring, finish: () => finished.push(offset) };
  const event = { ...due(requested(), 2, 1), occurredAt: Date.now() - 60_000, partition };
  const place = { number: { isOver: false }, offset, bytes: 0, order: offset };
  return workItemOf(event, { ...place, tracker: tracker as unknown as WorkItem['tracker'] });
}

it('what has ended before a restart is finished without a word, where not all is told of what lagged then', async () => {
  const finished: number[] = [];
  const items = [true, true, false].map((isRestoring, offset) => itemOf(finished, offset, isRestoring));
  const { waitingEnds, taken } = world({
    asked: async () => [],
    ended: async (all) => all.filter(({ notificationId }) => notificationId !== items[1]?.event.notificationId),
  });
  for (const item of items) expect(waitingEnds.looksFirst(item)).toBe(true);
  await until(() => taken.length === 2);
  expect(taken).toEqual(items.slice(1));
  expect(finished).toEqual([0]);
});

it('what a number has that is lost meanwhile is not taken in', async () => {
  const answer = Promise.withResolvers<[]>();
  const { waitingEnds, taken } = world({ asked: () => answer.promise, ended: async () => [] });
  const [lost, kept] = [itemOf([], 0, false), itemOf([], 1, false)];
  for (const item of [lost, kept]) waitingEnds.looksFirst(item);
  lost.number = { isOver: true };
  answer.resolve([]);
  await until(() => taken.length === 1);
  expect(taken).toEqual([kept]);
});

it('what is read at once isn’t looked for', () => {
  const { waitingEnds } = world({ asked: async () => [], ended: async () => [] });
  const item = itemOf([], 0, false);
  expect(waitingEnds.looksFirst({ ...item, event: { ...item.event, occurredAt: Date.now() } })).toBe(false);
  expect(waitingEnds.looksFirst({ ...item, event: requested() })).toBe(false);
});

it('what a clock that is ahead has made due is looked for, however long it stood in the log', () => {
  const { waitingEnds } = world({ asked: async () => [], ended: async () => [] });
  const item = itemOf([], 0, false);
  const ofAhead = { ...item, event: { ...item.event, occurredAt: Date.now() + 60_000 } };
  expect(waitingEnds.looksFirst(ofAhead)).toBe(true);
});

it('what the other numbers have answered within the second counts, though one hasn’t', async () => {
  const [first, unknown] = [itemOf([], 0, false, 3), itemOf([], 1, false, 0)];
  const [stopped, kept] = [itemOf([], 2, false, 1), itemOf([], 3, false, 2)];
  const second = Promise.withResolvers<void>();
  const asked: Cancels['asked'] = async (partition) => {
    if (partition === 0) return new Promise<never>(() => {});
    if (partition === 2) setImmediate(second.resolve);
    return [stopped.event];
  };
  const of = world({ asked, ended: async () => [] }, () => second.promise);
  // What comes while the first is asked for is asked for together.
  for (const item of [first, unknown, stopped, kept]) of.waitingEnds.looksFirst(item);
  await until(() => of.taken.length > 1);
  expect(of.taken).toEqual([first, unknown, kept]);
  expect(of.stopped).toEqual([stopped]);
});

it('that one number can’t be asked for takes nothing from the others', async () => {
  const [first, unknown, stopped] = [itemOf([], 0, false, 3), itemOf([], 1, false, 0), itemOf([], 2, false, 1)];
  const asked: Cancels['asked'] = async (partition) => {
    if (partition === 0) throw new Error('away');
    return [stopped.event];
  };
  const of = world({ asked, ended: async () => [] });
  for (const item of [first, unknown, stopped]) of.waitingEnds.looksFirst(item);
  await until(() => of.taken.length > 1);
  expect(of.stopped).toEqual([stopped]);
});

it('a store that is slow is asked for a number once at a time, and what comes meanwhile is taken in without', async () => {
  const answers: ((found: AskedCancel[]) => void)[] = [];
  const asked = () => new Promise<AskedCancel[]>((resolve) => answers.push(resolve));
  const second = () => new Promise<void>((resolve) => setImmediate(resolve));
  const of = world({ asked, ended: async () => [] }, second);
  const items = Array.from({ length: 20 }, (_, offset) => itemOf([], offset, false));
  for (const [n, item] of items.entries()) {
    of.waitingEnds.looksFirst(item);
    await until(() => of.taken.length === n + 1);
  }
  expect(answers).toHaveLength(1);
  answers[0]?.([]);
  await nextTurn();
  of.waitingEnds.looksFirst(itemOf([], 20, false));
  expect(answers).toHaveLength(2);
});
