// What the dashboard's stream announces: never backwards, whatever the order in which events are heard of.

import { describe, expect, it } from '@jest/globals';

import type { NotificationEvent } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import { createStatusFilter, statusChangeOf } from '../../src/domain/status-change.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';

const notificationEvent = anyEvent.filter(isNotificationEvent);

const event = (type: string, more: object = {}) =>
  ({
    type,
    notificationId: 'notif_a',
    round: 1,
    attempt: 1,
    request: { sendAt: null },
    retryAt: null,
    message: 'no',
    ...more,
  }) as unknown as NotificationEvent;

const told = (events: readonly NotificationEvent[]): string[] => {
  const filter = createStatusFilter(() => 10);
  return events.flatMap((one) => {
    const change = statusChangeOf(one);
    return change !== null && filter.isLater(one.notificationId, change) ? [change.status] : [];
  });
};

describe('the announced statuses', () => {
  it('follow a notification from its request to its end', () => {
    const events = [
      event('NotificationRequested'),
      event('AttemptStarted'),
      event('AttemptFailed', { retryAt: 5 }),
      event('DeliveryDue', { attempt: 2 }),
      event('AttemptFailed', { attempt: 2 }),
      event('RetryRequested', { round: 2, attempt: 3 }),
      event('AttemptSucceeded', { round: 2, attempt: 3 }),
    ];
    expect(told(events)).toEqual(['QUEUED', 'PROCESSING', 'RETRYING', 'FAILED', 'QUEUED', 'DELIVERED']);
  });

  it('say SCHEDULED before QUEUED when it is for later', () => {
    const events = [
      event('NotificationRequested', { request: { sendAt: 9 } }),
      event('DeliveryDeferred'),
      event('DeliveryDue'),
      event('AttemptSucceeded'),
    ];
    expect(told(events)).toEqual(['SCHEDULED', 'QUEUED', 'DELIVERED']);
  });

  it('say it of a retry that waits for its time, too', () => {
    const request = { sendAt: 9 };
    const events = [
      event('NotificationRequested', { request }),
      event('AttemptFailed'),
      event('RetryRequested', { round: 2, attempt: 2, occurredAt: 5, request }),
      event('DeliveryDeferred', { round: 2, attempt: 2, dueAt: 9, request }),
      event('DeliveryDue', { round: 2, attempt: 2, dueAt: 9, request }),
      event('AttemptSucceeded', { round: 2, attempt: 2 }),
    ];
    expect(told(events)).toEqual(['SCHEDULED', 'FAILED', 'SCHEDULED', 'QUEUED', 'DELIVERED']);
  });

  it('leave out what comes late or twice', () => {
    const events = [
      event('AttemptSucceeded'),
      event('NotificationRequested'),
      event('AttemptStarted', { attempt: 2 }),
      event('AttemptSucceeded'),
      event('NotificationCancelled'),
    ];
    expect(told(events)).toEqual(['DELIVERED']);
    expect(told([event('NotificationCancelled'), event('AttemptFailed', { attempt: 7, retryAt: 5 })])).toEqual([
      'CANCELLED',
    ]);
  });

  it('ascend in rank and repeat nothing, in any order of any events', () => {
    fc.assert(
      fc.property(fc.array(notificationEvent, { maxLength: 30 }), (events) => {
        const filter = createStatusFilter(() => 1000);
        const last = new Map<string, number>();
        for (const one of events) {
          const change = statusChangeOf(one);
          if (change === null || !filter.isLater(one.notificationId, change)) continue;
          expect(change.rank).toBeGreaterThan(last.get(one.notificationId) ?? -1);
          last.set(one.notificationId, change.rank);
        }
        for (const one of events) {
          const change = statusChangeOf(one);
          if (change !== null) expect(filter.isLater(one.notificationId, change)).toBe(false);
        }
      }),
    );
  });

  it('are remembered for so many notifications at most, the one longest silent forgotten first', () => {
    const filter = createStatusFilter(() => 2);
    const change = statusChangeOf(event('AttemptSucceeded'));
    if (change === null) throw new Error('a success is a change');
    for (const id of ['a', 'b', 'c']) expect(filter.isLater(id as never, change)).toBe(true);
    expect(filter.isLater('c' as never, change)).toBe(false);
    expect(filter.isLater('b' as never, change)).toBe(false);
    expect(filter.isLater('a' as never, change)).toBe(true);
  });
});
