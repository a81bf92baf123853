// Forgetting: what is named goes from every read model and its day counts it as before; a rebuild of what is left of the log gives the same; a stale link says nothing.

import { describe, expect, it } from '@jest/globals';

import type { NotificationsForgotten } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import type { EventId } from '../../src/domain/ids.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { readModels } from '../../src/projections/index.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { keptOf } from '../../src/projections/notifications/kept-days.ts';
import type { StatisticsCell } from '../../src/projections/notifications/statistics-cells.ts';
import fc from '../support/properties.ts';
import type { Folded } from './folded.ts';
import { documentsOf, folded } from './folded.ts';
import { anyHistory, entriesOf, noon, partition, tenants } from './histories.ts';

const dayMs = 24 * 60 * 60 * 1000;
const [tenantId] = tenants as [(typeof tenants)[number]];

function forgotten(records: readonly NotificationDocument[], more: Partial<NotificationsForgotten> = {}) {
  const event: NotificationsForgotten = {
    type: 'NotificationsForgotten',
    eventId: '00000000-0000-8000-8000-000000000001' as EventId,
    occurredAt: noon + dayMs,
    tenantId,
    traceparent: null,
    partition,
    sequence: 1,
    follows: null,
    notificationIds: records.map(({ id }) => id),
    batchIds: [],
    kept: keptOf(records, []),
    endedDays: [],
    ...more,
  };
  return entriesOf([event]);
}

/** Those of a tenant. */
function recordsIn(all: Folded): NotificationDocument[] {
  return documentsOf<NotificationDocument>(all, 'notifications_2').filter((record) => record.tenantId === tenantId);
}

/** By day, of its cells and the kept ones together. */
function daysOf(all: Folded): Map<string, number> {
  const days = new Map<string, number>();
  for (const cell of documentsOf<StatisticsCell>(all, 'statistics_2')) {
    if (cell.resolution !== 'day' && cell.resolution !== 'kept') continue;
    for (const [key, count] of Object.entries(JSON.parse(cell.counts) as Record<string, number>)) {
      const of = `${cell.tenantId} ${cell.at} ${key}`;
      days.set(of, (days.get(of) ?? 0) + count);
    }
  }
  return new Map([...days].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const isOf = (ids: ReadonlySet<string>, { event }: DecodedEntry) =>
  isNotificationEvent(event) && ids.has(event.notificationId);

describe('what is forgotten', () => {
  it('is in no read model any more, and its day counts it as before', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const before = await folded(notificationsReadModel, [history]);
        const records = recordsIn(before);
        const told = forgotten(records);
        expect(daysOf(await folded(notificationsReadModel, [history, told]))).toEqual(daysOf(before));
        for (const readModel of readModels) {
          const after = await folded(readModel, [history, told]);
          for (const { id } of records) expect([...after.keys()].filter((key) => key.endsWith(`/${id}`))).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is the same in one batch with what it names, and where none of its events are left', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const records = recordsIn(await folded(notificationsReadModel, [history]));
        const told = forgotten(records);
        const ids = new Set<string>(records.map(({ id }) => id));
        const trimmed = history.filter((entry) => !isOf(ids, entry));
        const grown = await folded(notificationsReadModel, [history, told]);
        expect([...(await folded(notificationsReadModel, [[...history, ...told]]))]).toEqual([...grown]);
        expect([...(await folded(notificationsReadModel, [trimmed, told]))]).toEqual([...grown]);
      }),
      { numRuns: 60 },
    );
  });

  it('leaves the same inboxes in whichever batches it is folded, with what was there and what came after', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anyHistory, fc.nat(), async (history, later, some) => {
        const records = recordsIn(await folded(notificationsReadModel, [history]));
        const told = forgotten(records.filter((_, i) => (some >> (i % 16)) % 2 === 0));
        const ids = new Set<string>(records.map(({ id }) => id));
        const all = [...history, ...told, ...later.filter((entry) => !isOf(ids, entry))];
        const grown = await folded(
          inboxReadModel,
          all.map((entry) => [entry]),
        );
        expect([...(await folded(inboxReadModel, [all]))]).toEqual([...grown]);
      }),
      { numRuns: 100 },
    );
  });

  it('counts once when two have said it side by side: the first in the log, and what follows that', async () => {
    const record = { ...(await anyRecord()), tenantId };
    const first = forgotten([record]);
    const stale = forgotten([record], { eventId: '00000000-0000-8000-8000-000000000002' as EventId });
    const next = forgotten([], {
      eventId: '00000000-0000-8000-8000-000000000003' as EventId,
      sequence: 2,
      follows: first[0]?.event.eventId ?? null,
      kept: keptOf([record], []),
    });
    const once = daysOf(await folded(notificationsReadModel, [first]));
    const total = (days: ReadonlyMap<string, number>) => [...days.values()].reduce((sum, count) => sum + count, 0);
    expect(total(once)).toBe(1);
    expect(daysOf(await folded(notificationsReadModel, [first, stale]))).toEqual(once);
    expect(total(daysOf(await folded(notificationsReadModel, [first, stale, next])))).toBe(2);
  });

  it('is counted no longer once its day has ended', async () => {
    const record = { ...(await anyRecord()), tenantId };
    const first = forgotten([record]);
    const ended = forgotten([], {
      eventId: '00000000-0000-8000-8000-000000000002' as EventId,
      sequence: 2,
      follows: first[0]?.event.eventId ?? null,
      kept: [],
      endedDays: keptOf([record], []).map(({ at }) => at),
    });
    expect(daysOf(await folded(notificationsReadModel, [first, ended]))).toEqual(new Map());
  });
});

async function anyRecord(): Promise<NotificationDocument> {
  const [history] = fc.sample(anyHistory, { numRuns: 1, seed: 1 });
  const [record] = documentsOf<NotificationDocument>(
    await folded(notificationsReadModel, [history ?? []]),
    'notifications_2',
  );
  if (record === undefined) throw new Error('a history without a notification');
  return record;
}
