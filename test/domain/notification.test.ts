// The facts of a notification: whatever the order, the repeats and the splits of its history, they are the same, and so is its status.

import { describe, expect, it } from '@jest/globals';

import type { DeliveryRequest, NotificationEvent } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { attemptCountOf, deliveredAtOf, mergeEvent, nextRetryAtOf, statusOf } from '../../src/domain/notification.ts';
import { lastChangeOf } from '../../src/domain/status-change.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';

const id = 'notif_01hzx5v6k2m8n4q7r9t3w5y8za';
const at = Date.UTC(2026, 10, 21, 12);

/** Any events of one notification. Rounds and attempts are few, so that they meet. */
const anyHistory = fc.array(
  fc
    .tuple(anyEvent, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }), fc.boolean())
    .filter(([event]) => isNotificationEvent(event))
    .map(([event, round, attempt, isAtSendAt]) => {
      const numbered = 'attempt' in event ? { attempt } : {};
      const timed = event.type === 'DeliveryDue' && isAtSendAt ? { dueAt: event.request.sendAt ?? event.dueAt } : {};
      return { ...event, notificationId: id, tenantId: 'tnt_1', round, ...numbered, ...timed } as NotificationEvent;
    }),
  { minLength: 1, maxLength: 12 },
);

const historyAndOrder = anyHistory.chain((history) =>
  fc.record({
    history: fc.constant(history),
    reordered: fc
      .tuple(fc.shuffledSubarray(history, { minLength: history.length }), fc.subarray(history))
      .map(([shuffled, repeated]) => [...shuffled, ...repeated]),
  }),
);

describe('the facts of a notification', () => {
  it('are the same in whatever order, and however often, its events are told', () => {
    fc.assert(
      fc.property(historyAndOrder, ({ history, reordered }) => {
        expect(factsOf(reordered)).toEqual(factsOf(history));
      }),
      { numRuns: 300 },
    );
  });

  it('are the same when they were stored as JSON after every event', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let stored: string | null = null;
        for (const event of history) {
          stored = JSON.stringify(
            mergeEvent(stored === null ? null : (JSON.parse(stored) as NotificationFacts), event),
          );
        }
        expect(stored).toBe(JSON.stringify(factsOf(history)));
      }),
    );
  });

  it('give the same status however they came', () => {
    fc.assert(
      fc.property(historyAndOrder, ({ history, reordered }) => {
        expect(statusOf(factsOf(reordered))).toBe(statusOf(factsOf(history)));
        expect(nextRetryAtOf(factsOf(reordered))).toBe(nextRetryAtOf(factsOf(history)));
        expect(deliveredAtOf(factsOf(reordered))).toBe(deliveredAtOf(factsOf(history)));
      }),
    );
  });
});

describe('more attempts than are kept', () => {
  /** Up to 300 numbers, of each a few tellings: in more rounds than one, started, failed and succeeded. */
  const anyLongHistory = fc
    .tuple(
      fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { minLength: 90, maxLength: 260 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 0, max: 3 })), { maxLength: 40 }),
    )
    .map(([numbers, more]) => [
      requested(),
      ...numbers.map((attempt) => inRound(failed(attempt, { retryAt: null }))),
      ...more.map(([attempt, how]) =>
        inRound([started(attempt), succeeded(attempt), failed(attempt, { retryAt: at + 1 }), deferred(at)][how]),
      ),
    ]);
  const longHistoryAndOrder = anyLongHistory.chain((history) =>
    fc.record({
      history: fc.constant(history),
      reordered: fc
        .tuple(fc.shuffledSubarray(history, { minLength: history.length }), fc.subarray(history))
        .map(([shuffled, repeated]) => [...shuffled, ...repeated]),
    }),
  );

  it('leave the first one and the newest 100, with all that was told of them, whatever the order and the repeats', () => {
    fc.assert(
      fc.property(longHistoryAndOrder, ({ history, reordered }) => {
        const facts = factsOf(reordered);
        expect(facts).toEqual(factsOf(history));
        const told = [
          ...new Set(
            history.flatMap((event) =>
              'causeId' in event && 'attempt' in event && event.type !== 'DeliveryDeferred' ? [event.attempt] : [],
            ),
          ),
        ];
        const numbers = told.sort((a, b) => a - b);
        expect(facts.attempts.map(({ attempt }) => attempt)).toEqual([
          ...new Set([numbers[0], ...numbers.slice(-100)]),
        ]);
        // All that was told of each of them counts: as if nothing else had been told.
        for (const kept of [facts.attempts[0], facts.attempts.at(-1)]) {
          const alone = factsOf(history.filter((event) => !('attempt' in event) || event.attempt === kept?.attempt));
          expect(kept).toEqual(alone.attempts[0]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are the same facts when they were stored as JSON after every event', () => {
    fc.assert(
      fc.property(anyLongHistory, (history) => {
        let stored: string | null = null;
        for (const event of history) {
          stored = JSON.stringify(
            mergeEvent(stored === null ? null : (JSON.parse(stored) as NotificationFacts), event),
          );
        }
        expect(stored).toBe(JSON.stringify(factsOf(history)));
      }),
      { numRuns: 20 },
    );
  });

  it('keep their count and the times of the first and of the delivery, and a repeat of one left out changes nothing', () => {
    const history = Array.from({ length: 800 }, (_, i) => inRound(failed(i + 1, { retryAt: null })));
    const facts = factsOf([requested(), ...history, inRound(succeeded(801))]);
    expect(attemptCountOf(facts)).toBe(801);
    expect(facts.attempts).toHaveLength(101);
    expect([facts.attempts[0]?.attempt, facts.attempts[1]?.attempt]).toEqual([1, 702]);
    expect(statusOf(facts)).toBe('DELIVERED');
    expect(deliveredAtOf(facts)).toBe(at + 1000);
    for (const again of history.slice(1, 400)) expect(mergeEvent(facts, again)).toEqual(facts);
  });

  it('of thousands of rounds that a log or a document holds already are cut as they are merged', () => {
    const attempts = Array.from(
      { length: 13_501 },
      (_, i) => factsOf([requested(), inRound(failed(i + 1, { retryAt: null }))]).attempts,
    );
    const before = { ...factsOf([requested()]), round: 1688, attempts: attempts.flat() };
    const facts = mergeEvent(before, inRound(succeeded(13_502)));
    expect(facts.attempts).toHaveLength(101);
    expect(attemptCountOf(facts)).toBe(13_502);
    expect(statusOf(facts)).toBe('DELIVERED');
  });
});

describe('the status of a notification', () => {
  it('is QUEUED once requested, and SCHEDULED when it is to be sent later', () => {
    expect(statusOf(factsOf([requested()]))).toBe('QUEUED');
    expect(statusOf(factsOf([requested({ sendAt: at + 5000 })]))).toBe('SCHEDULED');
  });

  it('stays SCHEDULED until the timer has fired, then is QUEUED', () => {
    const scheduled = [requested({ sendAt: at + 5000 }), deferred(at + 5000)];
    expect(statusOf(factsOf(scheduled))).toBe('SCHEDULED');
    expect(statusOf(factsOf([...scheduled, due(1)]))).toBe('QUEUED');
  });

  it('is SCHEDULED again when a person retries before its time what a restore has held, until the timer has fired', () => {
    const request = { sendAt: at + 60_000 };
    const [round, attempt] = [2, 2];
    const retried = [
      requested(request),
      failed(1, { retryAt: null }),
      event('RetryRequested', { round, attempt, request }),
    ];
    expect(statusOf(factsOf(retried))).toBe('SCHEDULED');
    const fired = [...retried, event('DeliveryDue', { round, attempt, dueAt: request.sendAt, request })];
    expect(statusOf(factsOf(fired))).toBe('QUEUED');
    expect(statusOf(factsOf(fired.toReversed()))).toBe('QUEUED');
    const retriedLater = [...retried.slice(0, 2), event('RetryRequested', { round, attempt, request: { sendAt: at } })];
    expect(statusOf(factsOf(retriedLater))).toBe('QUEUED');
    const retriedOnceMore = [...fired, event('RetryRequested', { round: 3, attempt: 3, request: { sendAt: at } })];
    expect(statusOf(factsOf(retriedOnceMore))).toBe('QUEUED');
  });

  it('is PROCESSING while an attempt is known to be in flight', () => {
    expect(statusOf(factsOf([requested(), started(1)]))).toBe('PROCESSING');
  });

  it('is RETRYING after a failure with a next attempt, and names its time', () => {
    const facts = factsOf([requested(), failed(1, { retryAt: at + 9000 })]);
    expect(statusOf(facts)).toBe('RETRYING');
    expect(nextRetryAtOf(facts)).toBe(at + 9000);
  });

  it('names the time of a deferral that came after the failure', () => {
    const facts = factsOf([requested(), failed(1, { retryAt: at + 9000 }), deferred(at + 60_000, 2)]);
    expect(nextRetryAtOf(facts)).toBe(at + 60_000);
  });

  describe('of an attempt that was begun by who lost its number, and deferred by the next owner,', () => {
    const dueAt = at + 3_600_000;
    const begunAgain = (attempt: number) => ({ ...started(attempt), occurredAt: dueAt + 5 });

    it('is what it was before that: it can be cancelled, and names its time', () => {
      for (const lost of [
        [started(2), deferred(dueAt, 2)],
        [deferred(dueAt, 2), started(2)],
      ]) {
        const facts = factsOf([requested(), failed(1, { retryAt: at + 9000 }), ...lost]);
        expect([statusOf(facts), nextRetryAtOf(facts)]).toEqual(['RETRYING', dueAt]);
        expect(lastChangeOf(facts)).toEqual(lastChangeOf(factsOf([requested(), failed(1, { retryAt: at + 9000 })])));
      }
      expect(statusOf(factsOf([requested(), started(1), deferred(dueAt)]))).toBe('QUEUED');
    });

    it('is PROCESSING once it is begun again after its time, in whatever order that is told', () => {
      const [lost, again] = [started(2), begunAgain(2)];
      const waited = [requested(), failed(1, { retryAt: at + 9000 }), deferred(dueAt, 2), due(2)];
      for (const history of [
        [lost, ...waited, again],
        [again, ...waited, lost],
      ]) {
        const facts = factsOf(history);
        expect(statusOf(facts)).toBe('PROCESSING');
        expect(facts.attempts[1]).toMatchObject({ startedAt: at + 1000, startedAgainAt: dueAt + 5 });
      }
      expect(statusOf(factsOf([lost, ...waited, again, deferred(dueAt + 60_000, 2)]))).toBe('RETRYING');
      expect(statusOf(factsOf([lost, ...waited, again, succeeded(2)]))).toBe('DELIVERED');
    });

    it('is PROCESSING once it is begun after its time, and what its outcome says', () => {
      const waited = [requested(), failed(1, { retryAt: at + 9000 }), deferred(dueAt, 2), due(2)];
      expect(statusOf(factsOf([...waited, begunAgain(2)]))).toBe('PROCESSING');
      expect(statusOf(factsOf([...waited, started(2), succeeded(2)]))).toBe('DELIVERED');
      expect(statusOf(factsOf([...waited, started(2), failed(2, { retryAt: null })]))).toBe('FAILED');
    });
  });

  it('is FAILED after the last failure, and QUEUED in the new round of a retry by hand', () => {
    const ended = [requested(), failed(1, { retryAt: null })];
    expect(statusOf(factsOf(ended))).toBe('FAILED');
    expect(statusOf(factsOf([...ended, retryRequested(2)]))).toBe('QUEUED');
  });

  it('is DELIVERED once an attempt of the round succeeded, also when it was reported as failed before or after', () => {
    expect(statusOf(factsOf([requested(), failed(1, { retryAt: at + 1 }), succeeded(1)]))).toBe('DELIVERED');
    expect(statusOf(factsOf([requested(), succeeded(1), failed(1, { retryAt: null })]))).toBe('DELIVERED');
  });

  it('is CANCELLED when the timer was taken away, and not merely asked to be', () => {
    const waiting = [requested(), failed(1, { retryAt: at + 9000 }), event('CancelRequested', {})];
    expect(statusOf(factsOf(waiting))).toBe('RETRYING');
    expect(statusOf(factsOf([...waiting, event('NotificationCancelled', { causeId: 'x' })]))).toBe('CANCELLED');
  });
});

function factsOf(history: readonly NotificationEvent[]): NotificationFacts {
  let facts: NotificationFacts | null = null;
  for (const told of history) facts = mergeEvent(facts, told);
  if (facts === null) throw new Error('a history has an event');
  return facts;
}

let eventIds = 0;

function event(type: NotificationEvent['type'], fields: object): NotificationEvent {
  return {
    type,
    eventId: `event-${++eventIds}`,
    occurredAt: at + 1000,
    tenantId: 'tnt_1',
    traceparent: null,
    notificationId: id,
    requestedAt: at,
    channel: 'EMAIL',
    priority: 'DEFAULT',
    recipient: 'ada@example.com',
    round: 1,
    partition: 3,
    ...fields,
  } as unknown as NotificationEvent;
}

function requested(more: Partial<DeliveryRequest> = {}): NotificationEvent {
  return event('NotificationRequested', { request: { body: 'Hello', sendAt: null, ...more } });
}

function deferred(dueAt: number, attempt = 1): NotificationEvent {
  return event('DeliveryDeferred', { causeId: 'w', attempt, firstAttempt: 1, reason: 'scheduled', dueAt, request: {} });
}

function due(attempt: number): NotificationEvent {
  return event('DeliveryDue', { causeId: 'd', attempt, firstAttempt: 1, dueAt: at, request: {} });
}

function started(attempt: number): NotificationEvent {
  return event('AttemptStarted', { causeId: 'w', attempt, provider: 'smtp' });
}

function succeeded(attempt: number): NotificationEvent {
  return event('AttemptSucceeded', {
    causeId: 'w',
    attempt,
    provider: 'smtp',
    messageId: null,
    waitedMs: 1,
    tookMs: 2,
  });
}

function failed(attempt: number, { retryAt }: { retryAt: number | null }): NotificationEvent {
  const how = { provider: 'smtp', failureClass: 'provider', code: '451', message: 'later', waitedMs: 1, tookMs: 2 };
  return event('AttemptFailed', { causeId: 'w', attempt, firstAttempt: 1, ...how, retryAt, request: null });
}

/** Eight attempts a round. */
function inRound(told: NotificationEvent | undefined): NotificationEvent {
  if (told === undefined || !('attempt' in told)) throw new Error('an event of an attempt');
  return { ...told, round: Math.ceil(told.attempt / 8) };
}

function retryRequested(round: number): NotificationEvent {
  return event('RetryRequested', { round, attempt: 2, request: { sendAt: null } });
}
