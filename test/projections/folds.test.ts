// The folds of all read models: documents are a function of the history, byte for byte.

import { describe, expect, it } from '@jest/globals';

import type { DeliveryDue, DomainEvent } from '../../src/domain/events.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import type { Document } from '../../src/ports/read-model-store.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import type { InboxDocument, InboxItemDocument } from '../../src/projections/inbox/documents.ts';
import { readModels } from '../../src/projections/index.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { bucketOf } from '../../src/projections/notifications/latency-histogram.ts';
import type { StatisticsCell } from '../../src/projections/notifications/statistics-cells.ts';
import { resolutionMs, resolutions } from '../../src/projections/notifications/resolutions.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import fc from '../support/properties.ts';
import { documentsOf, folded } from './folded.ts';
import { anyHistory, batches, entriesOf, interleaved, lifeOf, tenants, withRepeats } from './histories.ts';
import type { Plan } from './histories.ts';

const anySeed = fc.integer();

/** 150 to 400 attempts in some 100 rounds of one notification. */
const anyLongLife = fc
  .array(fc.constantFrom('final' as const, 'retry' as const, 'reported twice' as const), {
    minLength: 150,
    maxLength: 400,
  })
  .map((steps) => entriesOf(lifeOf(plan({ steps: [...steps, 'succeeded'], isRetriedByHand: true }), 1)));

describe.each(readModels.map((readModel): [string, ReadModel] => [readModel.definition.name, readModel]))(
  'the fold of %s',
  (_, readModel) => {
    it('gives the same bytes however the topics are read side by side and cut into batches', async () => {
      await fc.assert(
        fc.asyncProperty(anyHistory, anySeed, anySeed, async (history, seed, otherSeed) => {
          const grown = await folded(readModel, [history]);
          const rebuilt = await folded(readModel, batches(interleaved(history, seed), otherSeed));
          expect([...rebuilt]).toEqual([...grown]);
        }),
        { numRuns: 150 },
      );
    });

    it('counts nothing twice when events were appended twice', async () => {
      await fc.assert(
        fc.asyncProperty(anyHistory, anySeed, anySeed, async (history, seed, otherSeed) => {
          const once = await folded(readModel, [history]);
          const twice = await folded(readModel, batches(interleaved(withRepeats(history, seed), seed), otherSeed));
          expect(withoutMarks([...twice])).toEqual(withoutMarks([...once]));
        }),
        { numRuns: 150 },
      );
    });
  },
);

describe.each(
  readModels
    .filter(({ foldsOthersAhead }) => foldsOthersAhead)
    .map((readModel): [string, ReadModel] => [readModel.definition.name, readModel]),
)('the fold of %s', (_, readModel) => {
  it('gives the same bytes when those who do not fill the number are folded before their turn, and once more then', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, fc.nat(100), fc.nat(100), async (history, seed, at, from) => {
        const grown = await folded(readModel, [history]);
        const others = history.filter(({ event }) => event.tenantId === tenants[0]);
        const position = Math.floor((history.length * at) / 100);
        const ahead = others.slice(Math.floor((others.length * Math.min(from, at)) / 100));
        const rest = history.slice(position);
        const twice = [history.slice(0, position), ...batches(ahead, seed), ...batches(rest, seed)];
        expect([...(await folded(readModel, twice))]).toEqual([...grown]);
      }),
      { numRuns: 300 },
    );
  });
});

describe.each(readModels.map((readModel): [string, ReadModel] => [readModel.definition.name, readModel]))(
  'the fold of %s over a notification with more rounds than are kept',
  (_, readModel) => {
    it('gives the same bytes however it is read, cut and repeated, and they stay few', async () => {
      await fc.assert(
        fc.asyncProperty(anyLongLife, anySeed, anySeed, async (history, seed, otherSeed) => {
          const grown = await folded(readModel, [history]);
          const cut = batches(interleaved(withRepeats(history, seed), seed), otherSeed);
          expect(withoutMarks([...(await folded(readModel, cut))])).toEqual(withoutMarks([...grown]));
          for (const [, text] of grown) expect(text.length).toBeLessThan(40_000);
        }),
        { numRuns: 10, endOnFailure: true },
      );
    });
  },
);

describe('the statistics', () => {
  it('are the GROUP BY of the records, in every resolution, after every batch', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, async (history, seed) => {
        const cut = batches(interleaved(history, seed), seed);
        for (let upTo = 1; upTo <= cut.length; upTo += 3) {
          const all = await folded(notificationsReadModel, cut.slice(0, upTo));
          const cells = documentsOf<StatisticsCell>(all, 'statistics_2');
          expect(countsOfCells(cells)).toEqual(
            countsOfRecords(documentsOf<NotificationDocument>(all, 'notifications_2')),
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  it('hold the latency of what was delivered, and of nothing else', async () => {
    const all = await folded(notificationsReadModel, [
      entriesOf([...lifeOf(plan({ steps: ['succeeded'] }), 1), ...lifeOf(plan({ steps: ['final'] }), 2)]),
    ]);
    for (const cell of documentsOf<StatisticsCell>(all, 'statistics_2')) {
      // Every event of a life comes 700 ms after the one before; the second one delivers.
      expect(cell.latency).toEqual({ 'EMAIL.DEFAULT.p': { [bucketOf(1400)]: 1 } });
      expect(JSON.parse(cell.counts)).toEqual({ 'EMAIL.DEFAULT.DELIVERED.p': 1, 'EMAIL.DEFAULT.FAILED.p': 1 });
      expect(JSON.parse(cell.failures ?? '{}')).toEqual({ 'EMAIL.provider.p.510': 1 });
    }
  });
});

describe('the counts of a batch', () => {
  it('are those of its records by status, after every batch of events', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, async (history, seed) => {
        const cut = batches(interleaved(withRepeats(history, seed), seed), seed);
        for (let upTo = 1; upTo <= cut.length; upTo += 3) {
          const all = await folded(notificationsReadModel, cut.slice(0, upTo));
          const counts: Counts = {};
          for (const { tenantId, batchId, listedAt, status } of documentsOf<NotificationDocument>(
            all,
            'notifications_2',
          )) {
            const key = `${tenantId} ${status}`;
            if (batchId !== null && listedAt !== null) counts[key] = (counts[key] ?? 0) + 1;
          }
          const told: Counts = {};
          for (const { tenantId, counts: of } of documentsOf<{ tenantId: string; counts: Counts }>(all, 'batches_2'))
            for (const [status, count] of Object.entries(of)) told[`${tenantId} ${status}`] = count;
          expect(told).toEqual(counts);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a record', () => {
  it('is in no list and no statistic as long as only its delivery was seen', async () => {
    const delivered = entriesOf(lifeOf(plan({ steps: ['succeeded'] }), 1)).slice(1);
    const all = await folded(notificationsReadModel, [delivered]);
    expect(documentsOf<NotificationDocument>(all, 'notifications_2')[0]?.listedAt).toBeNull();
    expect(documentsOf(all, 'statistics_2')).toEqual([]);
  });
});

describe('the inbox', () => {
  it('shows an item once it was requested and delivered, in whatever order', async () => {
    const [requested, succeeded] = entriesOf(lifeOf(plan({ channel: 'IN_APP', steps: ['succeeded'] }), 1));
    if (requested === undefined || succeeded === undefined) throw new Error('an in-app life has two events');
    const before = await folded(inboxReadModel, [[succeeded]]);
    expect(documentsOf<InboxDocument>(before, 'inbox_recipients')).toMatchObject([
      { total: 0, unread: 0, pending: [0] },
    ]);
    const after = await folded(inboxReadModel, [[succeeded], [requested]]);
    expect(documentsOf<InboxDocument>(after, 'inbox_recipients')).toMatchObject([{ total: 1, unread: 1, pending: [] }]);
    expect(documentsOf<InboxItemDocument>(after, 'inbox_items')).toMatchObject([{ listedSequence: 0, unread: 1 }]);
  });

  it('counts what its items say', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, async (history, seed) => {
        const all = await folded(inboxReadModel, batches(interleaved(history, seed), seed));
        const items = documentsOf<InboxItemDocument>(all, 'inbox_items').filter(({ listedAt }) => listedAt !== null);
        for (const inbox of documentsOf<InboxDocument>(all, 'inbox_recipients')) {
          const own = items.filter((item) => item.tenantId === inbox.tenantId && item.recipient === inbox.recipient);
          expect(inbox).toMatchObject({
            total: own.length,
            unread: own.filter(({ readAt }) => readAt === null).length,
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  it('writes a content once and reads none: what is delivered and read moves marks alone', async () => {
    const life = lifeOf(plan({ channel: 'IN_APP', steps: ['succeeded'], isRead: true }), 1).map((event) =>
      event.type === 'NotificationRequested'
        ? { ...event, request: { ...event.request, body: 'x'.repeat(200_000) } }
        : event,
    );
    const [requested, ...rest] = entriesOf(life);
    if (requested === undefined) throw new Error('a life begins with its request');
    const grown = await folded(inboxReadModel, [[requested], rest]);
    expect(documentsOf<InboxItemDocument>(grown, 'inbox_items')).toMatchObject([{ listedSequence: 0, unread: null }]);
    const asked: string[] = [];
    const reader = {
      get: async <D extends Document>(collection: string, ids: readonly string[]) => {
        asked.push(collection);
        const stored = ids.flatMap((id): [string, D][] => {
          const text = grown.get(`${collection}/${id}`);
          return text === undefined ? [] : [[id, JSON.parse(text) as D]];
        });
        return new Map(stored);
      },
      secret: () => Promise.reject(new Error('an inbox has none')),
    };
    const writes = [...(await inboxReadModel.fold(rest, reader)), ...(await inboxReadModel.fold([requested], reader))];
    expect(JSON.stringify(writes).length).toBeLessThan(2000);
    expect(new Set(asked)).toEqual(new Set(['inbox_items', 'inbox_recipients']));
  });

  it('lets nobody read the items of another', async () => {
    const life = lifeOf(plan({ channel: 'IN_APP', steps: ['succeeded'], isRead: true }), 1);
    const stolen = life.map((event) => (event.type === 'InboxRead' ? { ...event, recipient: 'mallory' } : event));
    const all = await folded(inboxReadModel, [entriesOf(stolen)]);
    expect(documentsOf<InboxItemDocument>(all, 'inbox_items')).toMatchObject([{ readAt: null, unread: 1 }]);
  });
});

describe('the timers', () => {
  it('of a notification that is delivered at once are never kept', async () => {
    const all = await folded(timersReadModel, [entriesOf(lifeOf(plan({ steps: ['succeeded'] }), 1))]);
    expect([...all]).toEqual([]);
  });

  it('wait for the time that the failure names, once however often the attempt was reported', async () => {
    const life = lifeOf(plan({ steps: ['reported twice'] }), 1).filter(({ type }) => type !== 'DeliveryDue');
    const all = await folded(timersReadModel, [entriesOf(life)]);
    const [timers] = documentsOf<TimersDocument>(all, 'timers');
    expect(Object.values(timers?.timers ?? {})).toMatchObject([{ attempt: 2, firstAttempt: 1, state: 'waiting' }]);
    expect(timers?.nextDueAt).toBe(Object.values(timers?.timers ?? {})[0]?.dueAt);
  });

  it('are due at once when a cancel is asked, also one that came before', async () => {
    const life = lifeOf(plan({ isScheduled: true, isCancelled: true }), 1).slice(0, 3);
    const [requested, deferred, cancel] = life;
    if (requested === undefined || deferred === undefined || cancel === undefined) throw new Error('three events');
    for (const order of [
      [requested, deferred, cancel],
      [requested, cancel, deferred],
    ]) {
      const [timers] = documentsOf<TimersDocument>(await folded(timersReadModel, [entriesOf(order)]), 'timers');
      expect(timers).toMatchObject({ nextDueAt: 0, cancels: [1], doneAt: null });
    }
  });

  it('that have fired leave a cancel to whoever has the notification in hand, until its round has ended', async () => {
    const life = lifeOf(plan({ isScheduled: true, isCancelled: true }), 1);
    const [requested, deferred, cancel] = life;
    const cancelled = life.find(({ type }) => type === 'NotificationCancelled');
    if (deferred?.type !== 'DeliveryDeferred' || requested?.type !== 'NotificationRequested')
      throw new Error('deferred');
    if (cancel === undefined || cancelled === undefined) throw new Error('cancelled');
    const due: DeliveryDue = {
      ...requested,
      type: 'DeliveryDue',
      eventId: eventIdFrom('due', deferred.causeId),
      causeId: deferred.eventId,
      attempt: 1,
      firstAttempt: 1,
      dueAt: deferred.dueAt,
    };
    const of = async (events: readonly DomainEvent[]) =>
      documentsOf<TimersDocument>(await folded(timersReadModel, [entriesOf(events)]), 'timers')[0]?.cancelAsked;
    expect(await of([requested, deferred, due])).toBeNull();
    expect(await of([requested, deferred, cancel])).toBeNull();
    expect(await of([requested, deferred, due, cancel])).toBe(1);
    expect(await of([requested, cancel, deferred, due])).toBe(1);
    expect(await of([requested, deferred, due, cancel, cancelled])).toBeNull();
  });

  it('of later attempts stay when an earlier one, made twice, fails for good: what is RETRYING waits for something', async () => {
    const life = lifeOf(plan({ steps: ['retry', 'retry', 'made twice'] }), 1);
    const [timers] = documentsOf<TimersDocument>(
      await folded(timersReadModel, [entriesOf(life.filter((event) => !isDueOf(event, 3)))]),
      'timers',
    );
    expect(Object.values(timers?.timers ?? {})).toMatchObject([{ attempt: 3, state: 'waiting' }]);
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.nat(), async (history, length) => {
        const told = history.slice(0, length % (history.length + 1));
        const records = documentsOf<NotificationDocument>(
          await folded(notificationsReadModel, [told]),
          'notifications_2',
        );
        const kept = documentsOf<TimersDocument>(await folded(timersReadModel, [told]), 'timers');
        for (const { id, status, attempts } of records) {
          if (status !== 'RETRYING') continue;
          const attempt = (attempts.at(-1)?.attempt ?? 0) + 1;
          const isDue = told.some(({ event }) => isDueOf(event, attempt) && event.notificationId === id);
          const waiting = kept.find(({ notificationId }) => notificationId === id)?.timers ?? {};
          expect(isDue || Object.values(waiting).some((timer) => timer.attempt === attempt)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('end with their round, and keep no request then', async () => {
    const life = lifeOf(plan({ steps: ['retry', 'succeeded'] }), 1);
    const [timers] = documentsOf<TimersDocument>(await folded(timersReadModel, [entriesOf(life)]), 'timers');
    expect(timers).toMatchObject({ timers: {}, nextDueAt: null, decided: null, endedRound: 1 });
    expect(timers?.doneAt).toBe(life.at(-1)?.occurredAt);
  });
});

function isDueOf(event: DomainEvent, attempt: number): event is DeliveryDue {
  return event.type === 'DeliveryDue' && event.attempt === attempt;
}

const aPlan: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'DEFAULT',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: [],
  isRetriedByHand: false,
  isRead: false,
};

function plan(more: Partial<Plan>): Plan {
  return { ...aPlan, ...more };
}

/** Offsets differ where the log does: the marks of the stream follow them. */
function withoutMarks(documents: readonly (readonly [string, string])[]): unknown[] {
  return documents.map(([key, text]) => {
    const {
      lastSequence: _s,
      lastReadOffset: _r,
      readOffset: _o,
      sequence: _q,
      listedSequence: _l,
      ...rest
    } = JSON.parse(text) as Record<string, unknown>;
    return [key, rest];
  });
}

type Counts = Record<string, number>;

function countsOfCells(cells: readonly StatisticsCell[]): Counts {
  const counts: Counts = {};
  for (const { tenantId, resolution, at, counts: requested, failures, latency } of cells) {
    const place = `${tenantId} ${resolution} ${at}`;
    for (const [key, n] of Object.entries(JSON.parse(requested) as Counts)) counts[`${place} ${key}`] = n;
    for (const [key, n] of Object.entries(JSON.parse(failures ?? '{}') as Counts)) counts[`${place} failed ${key}`] = n;
    for (const [key, histogram] of Object.entries(latency))
      counts[`${place} latency ${key}`] = Object.values(histogram).reduce((a, b) => a + b, 0);
  }
  return counts;
}

/** By other means than the fold's: from the attempts. */
function countsOfRecords(records: readonly NotificationDocument[]): Counts {
  const counts: Counts = {};
  const count = (key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);
  for (const { tenantId, requestedAt, listedAt, channel, priority, status, attempts } of records) {
    if (listedAt === null) continue;
    const outcomes = attempts.flatMap(({ outcome }) => (outcome === null ? [] : [outcome]));
    const last = outcomes.at(-1);
    for (const resolution of resolutions) {
      const placeOf = (time: number) => `${tenantId} ${resolution} ${time - (time % resolutionMs[resolution])}`;
      const provider = last?.provider ?? '';
      count(`${placeOf(requestedAt)} ${channel}.${priority}.${status}.${provider}`);
      if (status === 'DELIVERED') count(`${placeOf(requestedAt)} latency ${channel}.${priority}.${provider}`);
      if (status === 'FAILED' && last?.kind === 'failed')
        count(
          `${placeOf(last.occurredAt)} failed ${[channel, last.failureClass, provider, last.code ?? []].flat().join('.')}`,
        );
    }
  }
  return counts;
}
