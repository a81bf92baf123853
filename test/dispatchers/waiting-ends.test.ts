// What was read late is looked for first: what of it was done before a restart whose position had no room to say so is passed over, and the rest goes on.

import { expect, it } from '@jest/globals';

import { createWaitingEnds } from '../../src/dispatchers/waiting-ends.ts';
import { workItemOf } from '../../src/dispatchers/work-item.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { Cancels } from '../../src/ports/cancels.ts';
import { until } from '../support/until.ts';
import { due, requested } from './work-events.ts';

function world(cancels: Cancels) {
  const taken: WorkItem[] = [];
  const unused = () => {
    throw new Error('not asked for here');
  };
  const waitingEnds = createWaitingEnds({
    clock: { now: Date.now, monotonic: () => performance.now(), sleep: () => new Promise(() => {}) },
    logger: { debug() {} },
    lanes: { removeWhere() {} },
    underWay: { add: unused },
    outcomeEvents: { ended: unused, cancelled: unused },
    standing: { isSure: () => true, sure: () => Promise.resolve() },
    report: unused,
    say: unused,
    putOff: unused,
    cancels,
    takeIn: (item) => taken.push(item),
  });
  return { waitingEnds, taken };
}

/** One that is due for a minute. */
function itemOf(finished: number[], offset: number, isRestoring: boolean): WorkItem {
  const tracker = { isRestoring: () => isRestoring, finish: () => finished.push(offset) };
  const event = { ...due(requested(), 2, 1), occurredAt: Date.now() - 60_000 };
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
