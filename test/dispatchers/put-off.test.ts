// What leaves for the scheduler is said once it is sure whose it is, and by nobody else.

import { expect, it } from '@jest/globals';

import { createPutOff } from '../../src/dispatchers/put-off.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { OutcomeEvent } from '../../src/dispatchers/outcome-events.ts';
import { requested } from './work-events.ts';

function world() {
  const under = new Set<WorkItem>();
  const said: unknown[] = [];
  const tracker = { isClosed: false, leaveUntilTurn: () => 1_500 };
  const item = { event: requested(), tracker, offset: 7, bytes: 10 } as unknown as WorkItem;
  const asked = Promise.withResolvers<void>();
  const state = { isSure: true, isForgotten: false };
  const putOff = createPutOff({
    clock: { now: () => 1_000_000 },
    underWay: { add: (one) => void under.add(one), drop: (one) => void under.delete(one) },
    outcomeEvents: {
      deferred: (_: WorkItem, dueAt: number, reason: string) => ({ dueAt, reason }),
      cancelled: () => 'cancelled',
    } as never,
    standing: { isSure: () => state.isSure, sure: () => asked.promise },
    say: async (event: OutcomeEvent) => void said.push(event),
    isForgotten: () => state.isForgotten,
  });
  return { under, said, tracker, item, asked, state, putOff };
}

const deferred = { dueAt: 1_001_500, reason: 'window' };

it('it is deferred until its turn', () => {
  const { putOff, item, said, under } = world();
  putOff(item);
  expect(said).toEqual([deferred]);
  expect(under.has(item)).toBe(true);
});

it('what is erased ends', () => {
  const { putOff, item, said, state } = world();
  state.isForgotten = true;
  putOff(item);
  expect(said).toEqual(['cancelled']);
});

it.each([
  ['said after a sleep once the group has answered', false, [deferred]],
  ['not said where its number is lost by then: whoever has it sends it', true, []],
])('it is %s', async (_, isLost, expected) => {
  const { putOff, item, said, under, tracker, asked, state } = world();
  state.isSure = false;
  putOff(item);
  expect([said, under.has(item)]).toEqual([[], true]);
  tracker.isClosed = isLost;
  asked.resolve();
  await asked.promise;
  expect([said, under.has(item)]).toEqual([expected, !isLost]);
});
