// An erased recipient in the read models: what was folded before and what is folded anew are the same bytes, and nobody else's are touched.

import { describe, expect, it } from '@jest/globals';

import { createErasures, erasedRecipient } from '../../src/domain/erasure.ts';
import type { NotificationEvent, RecipientErased } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import type { EventId, NotificationId } from '../../src/domain/ids.ts';
import type { InboxDocument } from '../../src/projections/inbox/documents.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { readModels } from '../../src/projections/index.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { DecodedEntry, ReadModel } from '../../src/projections/read-model.ts';
import fc from '../support/properties.ts';
import { documentsOf, folded } from './folded.ts';
import type { Plan } from './histories.ts';
import { anyHistory, batches, entriesOf, interleaved, lifeOf, noon, partition } from './histories.ts';

const anySeed = fc.integer();
const named = readModels.map((readModel): [string, ReadModel] => [readModel.definition.name, readModel]);

describe.each(named)('an erasure in the fold of %s', (_, readModel) => {
  it('gives what folding the log anew gives, whenever it is met and whatever comes after it', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, anySeed, async (history, seed, otherSeed) => {
        const erasure = erasureOfFirst(history);
        const met = asRead(interleaved([...history, ...entriesOf([erasure])], seed), erasure);
        const grown = await folded(readModel, batches(met, otherSeed));
        const anew = await folded(readModel, [asKnown([...history, ...entriesOf([erasure])], erasure)]);
        expect([...grown]).toEqual([...anew]);
      }),
      { numRuns: 200 },
    );
  });

  it('gives the same in whatever batches it comes, also to a recipient of whom there is more afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.nat(100), anySeed, async (history, at, seed) => {
        const until = Math.ceil((history.length * at) / 100);
        const erasure = erasureOfFirst(history.slice(0, Math.max(until, 1)));
        const events = history.map(({ event }) => event);
        const met = asRead(entriesOf(events.toSpliced(until, 0, erasure)), erasure);
        const each = await folded(
          readModel,
          met.map((entry) => [entry]),
        );
        expect([...(await folded(readModel, batches(met, seed)))]).toEqual([...each]);
      }),
      { numRuns: 200 },
    );
  });

  it('leaves every document of others as it was', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anySeed, async (history, seed) => {
        const erasure = erasureOfFirst(history);
        const erasures = createErasures();
        erasures.note(erasure);
        const others = history.filter(({ event }) => erasures.shown(event) === event);
        const before = await folded(readModel, batches(others, seed));
        const after = await folded(readModel, batches([...history, ...entriesOf([erasure])], seed));
        for (const [key, text] of before) if (isOfOneNotification(key)) expect(after.get(key)).toBe(text);
      }),
      { numRuns: 100 },
    );
  });
});

describe('an erased record', () => {
  it('counts in the statistics and in its batch as it did', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const before = await folded(notificationsReadModel, [history]);
        const after = await folded(notificationsReadModel, [history, entriesOf([erasureOfFirst(history)])]);
        const counted = (key: string) => /^(statistics|batches|report_statistics)/.test(key);
        expect([...after].filter(([key]) => counted(key))).toEqual([...before].filter(([key]) => counted(key)));
      }),
      { numRuns: 100 },
    );
  });

  it('says nothing of whom it was for and what it said', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const erasure = erasureOfFirst(history);
        const all = await folded(notificationsReadModel, [history, entriesOf([erasure])]);
        const records = documentsOf<NotificationDocument>(all, 'notifications_2');
        for (const record of records.filter(({ id }) => erasure.notificationIds.includes(id))) {
          expect(record).toMatchObject({ recipient: erasedRecipient, comparedRecipient: '', messageId: null });
          expect(record.request ?? { body: '', data: '{}', metadata: {} }).toMatchObject({ body: '', data: '{}' });
          expect(JSON.stringify(record)).not.toMatch(/Ada|gold|Hello/);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("isn't erased by another tenant", async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const erasure = { ...erasureOfFirst(history), tenantId: 'tnt_mallory' } as RecipientErased;
        for (const readModel of readModels)
          expect([...(await folded(readModel, [history, entriesOf([erasure])]))]).toEqual([
            ...(await folded(readModel, [history])),
          ]);
      }),
      { numRuns: 50 },
    );
  });
});

describe('an erased inbox', () => {
  it('begins anew with what comes to it later, in whatever batches, as it does folded anew', async () => {
    const [first, erasure] = [lifeOf(read, 1), erasureOfFirst(entriesOf(lifeOf(read, 1)))];
    const all = entriesOf([...first, erasure, ...lifeOf({ ...read, isRead: false }, 2)]);
    const met = asRead(all, erasure);
    const anew = await folded(inboxReadModel, [asKnown(all, erasure)]);
    expect(documentsOf<InboxDocument>(anew, 'inbox_recipients')).toMatchObject([{ total: 1, lastReadOffset: -1 }]);
    for (const cut of [[met], met.map((one) => [one]), [met.slice(0, first.length), met.slice(first.length)]])
      expect([...(await folded(inboxReadModel, cut))]).toEqual([...anew]);
  });
});

/** An item that is delivered and read. */
const read: Plan = {
  tenant: 0,
  channel: 'IN_APP',
  priority: 'DEFAULT',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: true,
};

/** Of whoever the first notification was for, all of the history. */
function erasureOfFirst(history: readonly DecodedEntry[]): RecipientErased {
  const events = history
    .map(({ event }) => event)
    .filter((event): event is NotificationEvent => isNotificationEvent(event));
  const [first] = events;
  const isMeant = (event: NotificationEvent) =>
    event.tenantId === first?.tenantId && event.channel === first.channel && event.recipient === first.recipient;
  return {
    type: 'RecipientErased',
    eventId: 'erasure' as EventId,
    occurredAt: noon,
    tenantId: first?.tenantId ?? ('tnt_a' as never),
    traceparent: null,
    partition,
    actor: null,
    notificationIds: [
      ...new Set(events.filter(isMeant).map(({ notificationId }) => notificationId)),
    ] as NotificationId[],
    eventIds: [],
  };
}

/** Each entry as a reader of the log sees it who knows the erasure once he has met it. */
function asRead(entries: readonly DecodedEntry[], erasure: RecipientErased): DecodedEntry[] {
  const erasures = createErasures();
  return entries.map((entry) => {
    if (entry.event === erasure) erasures.note(erasure);
    return { ...entry, event: erasures.shown(entry.event) };
  });
}

/** As somebody sees it who knew the erasure before he began. */
function asKnown(entries: readonly DecodedEntry[], erasure: RecipientErased): DecodedEntry[] {
  const erasures = createErasures();
  erasures.note(erasure);
  return entries.map((entry) => ({ ...entry, event: erasures.shown(entry.event) }));
}

function isOfOneNotification(key: string): boolean {
  return /^(notifications_2|searchable_2|timers|inbox_items|inbox_contents|provider_reports)\//.test(key);
}
