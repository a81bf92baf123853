// The queries of the read models, on the embedded store: what they find, in which order, and that totals equal what lists show.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DomainEvent } from '../../src/domain/events.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import type { BatchId, EventId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { FieldValue, ReadModelReader } from '../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { inboxMarks, inboxSince, itemsByIds, listInbox, unreadIds } from '../../src/projections/inbox/queries.ts';
import { bucketEndMs, bucketOf, percentileMs } from '../../src/projections/notifications/latency-histogram.ts';
import { getNotification, listNotifications } from '../../src/projections/notifications/queries.ts';
import type { NotificationFilter } from '../../src/projections/notifications/filter.ts';
import { checkedTotalMax, countedTotalMax } from '../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { resolutionMs } from '../../src/projections/notifications/resolutions.ts';
import { statisticsBetween, statisticsRange } from '../../src/projections/notifications/statistics-range.ts';
import { piecesOf } from '../../src/projections/notifications/cell-pages.ts';
import { statistics } from '../../src/projections/notifications/statistics.ts';
import type { DecodedEntry, ReadModel } from '../../src/projections/read-model.ts';
import fc from '../support/properties.ts';
import type { Engines } from './engines.ts';
import { openEngines } from './engines.ts';
import type { Plan, Step } from './histories.ts';
import { entriesOf, lifeOf, noon, notificationIdFor, tenants } from './histories.ts';

let engines: Engines;
const [tenant, otherTenant] = tenants as [TenantId, TenantId];
const minute = resolutionMs.minute;

beforeAll(async () => {
  engines = await openEngines();
  for (const readModel of [notificationsReadModel, inboxReadModel]) await engines.store.prepare(readModel.definition);
});

afterAll(() => engines.close());

const count = 60;
const steps: Step[][] = [['succeeded'], ['final'], ['retry'], [], ['started']];

/** 60 notifications, one every 20 s from noon on, every third of the other tenant. */
const plans: Plan[] = Array.from({ length: count }, (_, i) => ({
  tenant: i % 3 === 2 ? 1 : 0,
  channel: channels[i % 4]!,
  priority: priorities[i % 3]!,
  recipient: i % 2,
  template: i % 5 === 0,
  requestedAfterMs: i * 20_000,
  isScheduled: i % 7 === 0,
  isCancelled: false,
  steps: steps[i % steps.length]!,
  isRetriedByHand: false,
  isRead: false,
}));

describe('the records', () => {
  beforeAll(() => fold(notificationsReadModel, entriesOf(plans.flatMap((plan, i) => lifeOf(plan, i + 1)))));

  it('are found by id, and not by another tenant', async () => {
    const id = notificationIdFor(1);
    expect(await getNotification(engines.store, tenant, id)).toMatchObject({ id, status: 'DELIVERED' });
    expect(await getNotification(engines.store, otherTenant, id)).toBeNull();
    expect(await getNotification(engines.store, tenant, notificationIdFor(999))).toBeNull();
  });

  it('are listed newest first, each once, page after page', async () => {
    const ids: string[] = [];
    let after: readonly FieldValue[] | null = null;
    do {
      const page: Awaited<ReturnType<typeof listNotifications>> = await listNotifications(
        engines.store,
        tenant,
        {},
        { limit: 7, ...(after === null ? {} : { after }) },
      );
      expect(page).toMatchObject({ total: 40, totalIsExact: true });
      ids.push(...page.records.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(ids).toEqual(idsWhere(() => true));
  });

  it('are listed by page number as by keyset', async () => {
    const page = await listNotifications(engines.store, tenant, {}, { limit: 7, page: 3 });
    expect(page.records.map(({ id }) => id)).toEqual(idsWhere(() => true).slice(14, 21));
    expect((await listNotifications(engines.store, tenant, {}, { limit: 7, page: 99 })).records).toEqual([]);
  });

  it.each<[string, NotificationFilter, (plan: Plan, i: number) => boolean]>([
    ['status', { status: 'FAILED' }, ({ steps: of }) => of[0] === 'final'],
    ['channel', { channel: 'SMS' }, ({ channel }) => channel === 'SMS'],
    [
      'priority and status',
      { priority: 'HIGH', status: 'DELIVERED' },
      ({ priority, steps: of }) => priority === 'HIGH' && of[0] === 'succeeded',
    ],
    ['recipient', { recipient: 'user-1' }, ({ recipient }) => recipient === 1],
    ['template', { templateName: 'welcome' }, ({ template }) => template],
    [
      'recipient, template and channel',
      { recipient: 'user-0', templateName: 'welcome', channel: 'EMAIL' },
      (of) => of.recipient === 0 && of.template && of.channel === 'EMAIL',
    ],
    ['time on whole minutes', { from: noon + 2 * minute, to: noon + 5 * minute }, (_, i) => i >= 6 && i < 15],
    ['time within minutes', { from: noon + 30_000, to: noon + 100_000 }, (_, i) => i >= 2 && i < 5],
    ['batch', { batchId: 'batch_none' as never }, () => false],
  ])('are filtered by %s, and counted', async (_, filter, wanted) => {
    const expected = idsWhere(wanted);
    const list = await listNotifications(engines.store, tenant, filter, { limit: 100 });
    expect(list.records.map(({ id }) => id)).toEqual(expected);
    expect(list).toMatchObject({ total: expected.length, totalIsExact: true, next: null });
  });

  it('are counted exactly in any range of time, its ends within minutes or on them, open or not, by the request and by the failure', async () => {
    const end = fc.option(fc.integer({ min: noon - 90_000, max: noon + 22 * minute }), { nil: undefined });
    const onMinute = fc.option(
      fc.integer({ min: -2, max: 22 }).map((nth) => noon + nth * minute),
      { nil: undefined },
    );
    const of = {
      from: fc.oneof(end, onMinute),
      to: fc.oneof(end, onMinute),
      isOfFailures: fc.boolean(),
      channel: fc.constantFrom(undefined, channels[1]),
    };
    await fc.assert(
      fc.asyncProperty(fc.record(of), async ({ from, to, isOfFailures, channel }) => {
        const range = isOfFailures ? { failedFrom: from, failedTo: to } : { from, to };
        const asked = Object.fromEntries(
          Object.entries({ ...range, channel }).filter(([, value]) => value !== undefined),
        );
        const { records, total, totalIsExact } = await listNotifications(engines.store, tenant, asked, { limit: 100 });
        expect([total, totalIsExact]).toEqual([records.length, true]);
      }),
      { numRuns: 300 },
    );
  });

  it('are looked at up to a bound where no index and no cell counts them: the total is said to be at least that', async () => {
    const caps: number[] = [];
    const reader: ReadModelReader = {
      ...engines.store,
      count: (query, cap) => (caps.push(cap), engines.store.count(query, cap)),
    };
    await listNotifications(reader, tenant, { batchId: 'a-batch' as BatchId }, { limit: 10 });
    await listNotifications(reader, tenant, { recipient: 'user-1' }, { limit: 10 });
    await listNotifications(reader, tenant, { recipient: 'user-1', channel: 'SMS' }, { limit: 10 });
    await listNotifications(
      reader,
      tenant,
      { errorCode: '550', channel: 'EMAIL', failedFrom: noon + 1 },
      { limit: 10 },
    );
    expect(caps).toEqual([countedTotalMax, checkedTotalMax, checkedTotalMax, checkedTotalMax]);
  });

  it('give the statistics of a range that equal what the list of it shows', async () => {
    const from = noon + 3 * minute;
    const to = noon + 11 * minute;
    const told = await statistics(engines.store, tenant, { from: from + 1, to: to - 1, step: 'minute' });
    const { records } = await listNotifications(engines.store, tenant, { from, to }, { limit: 100 });
    expect(told.total).toBe(records.length);
    for (const [status, n] of Object.entries(told.statusCounts))
      expect(n).toBe(records.filter((of) => of.status === status).length);
    for (const [channel, n] of Object.entries(told.channelCounts))
      expect(n).toBe(records.filter((of) => of.channel === channel).length);
    for (const [priority, n] of Object.entries(told.priorityCounts))
      expect(n).toBe(records.filter((of) => of.priority === priority).length);
    const { DELIVERED, FAILED } = told.statusCounts;
    expect(told.successRate).toBe(Math.round((100 * DELIVERED) / (DELIVERED + FAILED)));
    expect(told.failedRate).toBe(100 - told.successRate);
    expect(told.series).toHaveLength(8);
    expect(told.series.map(({ at }) => at)).toEqual(Array.from({ length: 8 }, (_, i) => from + i * minute));
    expect(told.series.reduce((sum, { requested }) => sum + requested, 0)).toBe(records.length);
  });

  it('give the same totals over all time as over the day', async () => {
    const all = await statistics(engines.store, tenant, statisticsRange('all', noon));
    const today = await statistics(engines.store, tenant, statisticsRange('today', noon));
    expect({ ...all, series: [] }).toEqual({ ...today, series: [] });
    expect(all.series).toHaveLength(1);
    expect(today.series).toHaveLength(24);
    // An unscheduled one is delivered 1.4 s after its request: the histogram is at most 3.2 % above.
    expect(all.latency.p50).toBeGreaterThanOrEqual(1400);
    expect(all.latency.p50).toBeLessThanOrEqual(1445);
  });

  it('give rates of 100 and 0 and no latency where nothing was sent', async () => {
    const none = await statistics(engines.store, 'tnt_nobody' as TenantId, statisticsRange('24h', noon));
    expect(none).toMatchObject({
      total: 0,
      successRate: 100,
      failedRate: 0,
      latency: { p50: null, p95: null, p99: null },
    });
    expect(none.series.every(({ requested }) => requested === 0)).toBe(true);
  });
});

describe('ranges of statistics', () => {
  it.each([
    ['today', 24, resolutionMs.hour],
    ['24h', 25, resolutionMs.hour],
    ['7d', 8, resolutionMs.day],
    ['30d', 31, resolutionMs.day],
  ] as const)(
    '%s has a series of %d points without a gap, also across a year and in its first minute',
    async (range, points, step) => {
      for (const now of [Date.UTC(2027, 0, 1, 0, 0, 30), Date.UTC(2028, 1, 29, 23, 20, 59, 999)]) {
        const { series } = await statistics(engines.store, tenant, statisticsRange(range, now));
        expect(series).toHaveLength(points);
        expect(series.every(({ at }, i) => at % step === 0 && at === (series[0]?.at ?? 0) + i * step)).toBe(true);
        const last = series.at(-1)?.at ?? 0;
        if (range !== 'today') expect(now >= last && now < last + step).toBe(true);
      }
    },
  );

  it('end with the minute of now, and today is the UTC day', () => {
    const now = noon + 90_500;
    expect(statisticsRange('24h', now)).toEqual({
      from: noon + 2 * minute - resolutionMs.day,
      to: noon + 2 * minute,
      step: 'hour',
    });
    expect(statisticsRange('today', now)).toEqual({
      from: noon - resolutionMs.day / 2,
      to: noon + resolutionMs.day / 2,
      step: 'hour',
    });
    expect(statisticsRange('7d', now).to - statisticsRange('7d', now).from).toBe(7 * resolutionMs.day);
    expect(statisticsBetween(noon, noon + minute).step).toBe('minute');
    expect(statisticsBetween(undefined, undefined)).toEqual(statisticsRange('all', now));
  });

  it('are covered without gap and overlap by few cells', () => {
    const minutes = fc.integer({ min: 0, max: 100 * 24 * 60 });
    fc.assert(
      fc.property(minutes, minutes, (a, b) => {
        const [from, to] = [Math.min(a, b) * minute, Math.max(a, b) * minute];
        let [reached, cells] = [from, 0];
        for (const piece of piecesOf(from, to, 'day')) {
          expect(piece.from).toBe(reached);
          expect(piece.from % resolutionMs[piece.resolution]).toBe(0);
          reached = piece.to;
          cells += (piece.to - piece.from) / resolutionMs[piece.resolution];
        }
        expect(reached).toBe(to);
        expect(cells).toBeLessThanOrEqual(2 * 59 + 2 * 23 + (to - from) / resolutionMs.day);
      }),
    );
  });
});

describe('the latency histogram', () => {
  it('never understates a percentile, and overstates it by 3.2 % at most', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(10_000_000_000), { minLength: 1, maxLength: 50 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (values, share) => {
          const counts = new Map<number, number>();
          for (const value of values) counts.set(bucketOf(value), (counts.get(bucketOf(value)) ?? 0) + 1);
          const exact = values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(values.length * share)) - 1]!;
          const told = percentileMs(counts, share)!;
          expect(told).toBeGreaterThanOrEqual(exact);
          expect(told).toBeLessThanOrEqual(exact * 1.032);
        },
      ),
    );
  });

  it('tells percentiles by nearest rank: of none nothing, of one that one', () => {
    const counts = new Map(Array.from({ length: 60 }, (_, i) => [bucketOf(i + 1), 1]));
    expect([0.5, 0.95, 0.99, 1].map((share) => percentileMs(counts, share))).toEqual([30, 57, 60, 60]);
    expect(percentileMs(new Map([[bucketOf(7), 1000]]), 0.99)).toBe(7);
    expect(percentileMs(new Map(), 0.5)).toBeNull();
    expect(bucketOf(-5)).toBe(0);
  });

  it('has buckets that follow one another', () => {
    for (let bucket = 0; bucket < 900; bucket++) {
      expect(bucketOf(bucketEndMs(bucket))).toBe(bucket);
      expect(bucketOf(bucketEndMs(bucket) + 1)).toBe(bucket + 1);
    }
  });
});

describe('the inbox of a recipient', () => {
  const recipient = 'user-0';
  const ids = Array.from({ length: 6 }, (_, i) => notificationIdFor(500 + i));
  const lives = ids.map((_, i) =>
    lifeOf(
      {
        ...plans[0]!,
        isScheduled: false,
        channel: 'IN_APP',
        steps: ['succeeded'],
        requestedAfterMs: i * 1000,
        recipient: 0,
      },
      500 + i,
    ),
  );
  const entries = entriesOf([
    ...lives.flat(),
    readBy(recipient, ids.slice(0, 2), noon + 60_000),
    readBy(recipient, [ids[2]!], noon + 70_000),
  ]);
  const requests = entries.filter(({ event }) => event.type === 'NotificationRequested');
  const successes = entries.filter(({ event }) => event.type === 'AttemptSucceeded');
  const reads = entries.filter(({ event }) => event.type === 'InboxRead');

  it('begins empty, at the end of its stream', async () => {
    expect(await listInbox(engines.store, tenant, recipient, { limit: 20 })).toEqual({
      items: [],
      unreadCount: 0,
      next: null,
    });
    expect(await inboxMarks(engines.store, tenant, recipient)).toEqual({ sequence: -1, readOffset: -1 });
  });

  it('tells a stream nothing beyond an item whose request is still to be folded, then all in order', async () => {
    const start = { sequence: -1, readOffset: -1 };
    await fold(inboxReadModel, successes);
    // Number 2 is requested last: 3, 4 and 5 are shown, and told after it.
    await fold(
      inboxReadModel,
      requests.filter((_, i) => i !== 2),
    );
    const early = await inboxSince(engines.store, tenant, recipient, start, 100);
    expect(early.items.map(({ notificationId }) => notificationId)).toEqual([ids[0], ids[1]]);
    expect(await inboxMarks(engines.store, tenant, recipient)).toEqual({ sequence: 1, readOffset: -1 });
    await fold(inboxReadModel, requests.slice(2, 3));
    const late = await inboxSince(engines.store, tenant, recipient, early.next, 3);
    expect(late.items.map(({ notificationId }) => notificationId)).toEqual([ids[2], ids[3], ids[4]]);
    expect(late.more).toBe(true);
    const last = await inboxSince(engines.store, tenant, recipient, late.next, 3);
    expect(last).toMatchObject({ items: [{ notificationId: ids[5] }], reads: [], more: false });
    expect(await inboxSince(engines.store, tenant, recipient, last.next, 3)).toMatchObject({
      items: [],
      reads: [],
      next: last.next,
    });
  });

  it('lists items newest first, with what is unread of them', async () => {
    const first = await listInbox(engines.store, tenant, recipient, { limit: 4 });
    expect(first.items.map(({ notificationId }) => notificationId)).toEqual(ids.slice(2).toReversed());
    expect(first.unreadCount).toBe(6);
    const rest = await listInbox(engines.store, tenant, recipient, { limit: 4, after: first.next! });
    expect(rest.items.map(({ notificationId }) => notificationId)).toEqual([ids[1], ids[0]]);
    expect((await unreadIds(engines.store, tenant, recipient)).ids).toEqual(ids.toReversed());
  });

  it('says once what was read, with the time of the first reading', async () => {
    const before = await inboxMarks(engines.store, tenant, recipient);
    await fold(inboxReadModel, reads);
    const news = await inboxSince(engines.store, tenant, recipient, before, 100);
    expect(news.reads.map(({ ids: of, readAt }) => ({ ids: of.toSorted(), readAt }))).toEqual([
      { ids: ids.slice(0, 2), readAt: noon + 60_000 },
      { ids: [ids[2]], readAt: noon + 70_000 },
    ]);
    expect((await inboxSince(engines.store, tenant, recipient, news.next, 100)).reads).toEqual([]);
    const unread = await listInbox(engines.store, tenant, recipient, { limit: 20, unreadOnly: true });
    expect(unread.items.map(({ notificationId }) => notificationId)).toEqual(ids.slice(3).toReversed());
    expect(unread.unreadCount).toBe(3);
    const items = await itemsByIds(engines.store, tenant, recipient, ids);
    expect(items.get(ids[0]!)).toMatchObject({ readAt: noon + 60_000 });
    expect((await itemsByIds(engines.store, otherTenant, recipient, ids)).size).toBe(0);
  });

  function readBy(reader: string, notificationIds: readonly NotificationId[], occurredAt: number): DomainEvent {
    const eventId = `read-${occurredAt}` as EventId;
    return {
      type: 'InboxRead',
      eventId,
      occurredAt,
      tenantId: tenant,
      traceparent: null,
      recipient: reader,
      partition: 5,
      notificationIds,
    };
  }
});

/** Writes what the fold makes of the entries, beside whatever position there is. */
async function fold(readModel: ReadModel, entries: readonly DecodedEntry[]): Promise<void> {
  const owner = await engines.store.own(readModel.definition.name, 5, { generation: 1 });
  await engines.store.transact(owner, new Map(), await readModel.fold(entries, engines.store));
}

/** Ids of the tenant's plans that pass, newest first. */
function idsWhere(wanted: (plan: Plan, i: number) => boolean): string[] {
  return plans
    .flatMap((plan, i) => (plan.tenant === 0 && wanted(plan, i) ? [notificationIdFor(i + 1)] : []))
    .toReversed();
}
