// What the read models' queries cost on MongoDB: every query that the API, the projections and the scheduler can make, recorded as it is sent and explained
// by the server over filled collections.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { openMongoReadModelReader } from '../../../src/adapters/mongodb/read-models/reader.ts';
import type { FieldValue } from '../../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../../src/projections/inbox/index.ts';
import { inboxMarks, inboxSince, itemsByIds, listInbox, unreadIds } from '../../../src/projections/inbox/queries.ts';
import { failures } from '../../../src/projections/notifications/failures.ts';
import type { NotificationFilter } from '../../../src/projections/notifications/filter.ts';
import { countReports } from '../../../src/projections/notifications/reports.ts';
import { getNotification, listNotifications, pageOfStatuses } from '../../../src/projections/notifications/queries.ts';
import {
  namedRanges,
  statisticsBetween,
  statisticsRange,
} from '../../../src/projections/notifications/statistics-range.ts';
import { restOf } from '../../../src/jobs/erasing-tenant.ts';
import { recordedAs } from '../../../src/main/erase-recipient.ts';
import { countOf, newest } from '../../../src/main/erase-tenant.ts';
import type { Status } from '../../../src/domain/notification.ts';
import { statistics } from '../../../src/projections/notifications/statistics.ts';
import { cancelsAsked } from '../../../src/projections/timers/queries.ts';
import { waitForPosition } from '../../../src/projections/wait.ts';
import { notificationsReadModel } from '../../../src/projections/notifications/index.ts';
import { createReach } from '../../../src/projections/reach.ts';
import { passOver } from '../../../src/retention/pass.ts';
import { runScheduler } from '../../../src/scheduler/index.ts';
import { timersFeed } from '../../../src/watch/feeds.ts';
import { readSources } from '../../architecture/sources.ts';
import { openEngines } from '../../projections/engines.ts';
import { noon, notificationIdFor, partition } from '../../projections/histories.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';
import type { Store } from './cheap-queries.ts';
import { budgetOf, clock, expectCheap, inParallel, openStore, sentBy } from './cheap-queries.ts';
import * as filled from '../../support/filled-read-models.ts';
import { outcomeFilters, recordFilters, searchFilters } from '../../support/notification-filters.ts';

const { tenant, recipient, minuteMs } = filled;

/** Where in the source the store was asked to find or to count. */
function watched(store: Store) {
  const sites = new Set<string>();
  const note = () => {
    for (const [, path, line] of new Error().stack?.matchAll(/\/src\/([\w/-]+\.ts):(\d+)/g) ?? [])
      sites.add(`${path}:${line}`);
  };
  const find: Store['find'] = (query) => {
    note();
    return store.find(query);
  };
  const count: Store['count'] = (query, cap) => {
    note();
    return store.count(query, cap);
  };
  const findRanges: Store['findRanges'] = (query) => {
    note();
    return store.findRanges(query);
  };
  return { sites, store: { ...store, find, findRanges, count } };
}

/** They hand every question on as it is: to a read model that is whole, to the one that serves. */
const passOn = new Set(['api/whole-read-models.ts', 'projections/serving-reader.ts']);

/** The places where the source asks a store to find or to count. */
function sitesInSource(): string[] {
  const callsFind = /\b(\w+)\??\.(?:find|findRanges|count)(?:<\w+>)?\((?!\(|\w+ =>)/;
  /** Their `find` is no query. */
  const others = new Set(['registry', 'providers', 'keys', 'records', 'jobs', 'suppressions']);
  return readSources()
    .filter(({ path }) => !path.startsWith('adapters/') && !passOn.has(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => {
        const receiver = callsFind.exec(line)?.[1];
        return receiver === undefined || others.has(receiver) ? [] : [`${path}:${i + 1}`];
      }),
    );
}

describe('MongoDB: the queries of the read models', () => {
  const { connection, db, store: opened } = openStore();
  const { store, sites } = watched(opened);
  beforeAll(() => filled.fillAllButTimers(store), 60_000);
  afterAll(() => store.close());

  it('lists of notifications by every combination of filters, page after page', async () => {
    const filters = [...recordFilters(), ...outcomeFilters(), ...searchFilters()];
    expect(filters).toHaveLength(2 ** 8 + 2 ** 7 + 2 * 63 + 6 * 8 + 7 * 16);
    let keys = 0;
    const sent = await sentBy(db, async () => {
      await inParallel(filters, async (filter) => {
        const { next } = await listNotifications(store, tenant, filter, { limit: 20 });
        if (next === null) return;
        keys++;
        await listNotifications(store, tenant, filter, { limit: 100, after: next });
      });
    });
    expect(keys).toBeGreaterThan(200);
    await expectCheap(db, sent);
  }, 300_000);

  it('pages of what a job retries or cancels, by every combination of filters of records', async () => {
    const wanted: (readonly Status[])[] = [['FAILED'], ['SCHEDULED', 'RETRYING']];
    const filters = [...recordFilters(), ...outcomeFilters()].filter((filter) => !('status' in filter));
    let keys = 0;
    const sent = await sentBy(db, async () => {
      await inParallel(filters, async (filter) => {
        for (const statuses of wanted) {
          const { next } = await pageOfStatuses(store, tenant, filter, statuses, { limit: 100 });
          if (next === null) continue;
          keys++;
          await pageOfStatuses(store, tenant, filter, statuses, { limit: 100, after: next });
        }
      });
    });
    expect(keys).toBeGreaterThan(20);
    await expectCheap(db, sent);
  }, 120_000);

  it('lists of notifications by page number', async () => {
    const filters: NotificationFilter[] = [
      {},
      { status: 'DELIVERED', priority: 'HIGH' },
      { channel: 'SMS', recipient },
    ];
    const sent = await sentBy(db, async () => {
      for (const filter of filters) await listNotifications(store, tenant, filter, { limit: 20, page: 40 });
    });
    await expectCheap(db, sent);
  });

  it('counts, which look at their cap and one row more', async () => {
    const sent = await sentBy(db, async () => {
      for (const equals of [
        { tenantId: tenant },
        { tenantId: tenant, comparedRecipient: recipient },
        { tenantId: tenant, templateName: filled.template },
      ])
        for (const filter of [{}, { channel: 'SMS' }])
          expect((await store.count({ collection: 'notifications_2', equals, filter }, 500)).exact).toBe(false);
    });
    expect(sent.map(budgetOf)).toEqual(Array(6).fill(501));
    await expectCheap(db, sent);
  });

  it('statistics of every range', async () => {
    const now = noon + filled.notifications * minuteMs;
    const between = [1, 60, 180, 181, 4320, 4321, 20_000].map((minutes) =>
      statisticsBetween(noon + minuteMs, noon + minutes * minuteMs),
    );
    const sent = await sentBy(db, async () => {
      for (const range of [
        ...namedRanges.map((name) => statisticsRange(name, now)),
        ...between,
        statisticsBetween(undefined, noon + 1),
      ]) {
        await statistics(store, tenant, range);
        await countReports(store, tenant, range);
      }
      expect((await countReports(store, tenant, statisticsRange('all', now))).delivered).toBe(filled.notifications / 2);
    });
    await expectCheap(db, sent);
  });

  it('failures of every range, with the examples of each cause', async () => {
    const sent = await sentBy(db, async () => {
      for (const range of [statisticsRange('all', noon), statisticsBetween(noon + minuteMs, noon + 5000 * minuteMs)])
        expect((await failures(store, tenant, range, {})).causes).toHaveLength(1);
    });
    await expectCheap(db, sent);
  });

  it('the inbox of a recipient: its list, what is unread, its stream', async () => {
    const sent = await sentBy(db, async () => {
      for (const unreadOnly of [true, false]) {
        const { next } = await listInbox(store, tenant, recipient, { limit: 100, unreadOnly });
        await listInbox(store, tenant, recipient, { limit: 100, unreadOnly, after: keyOf(next) });
      }
      expect((await unreadIds(store, tenant, recipient)).ids.length).toBeGreaterThan(1000);
      await inboxMarks(store, tenant, recipient);
      const start = { sequence: -1, readOffset: -1 };
      const { next } = await inboxSince(store, tenant, recipient, start, 1000);
      expect((await inboxSince(store, tenant, recipient, next, 1000)).items.length).toBeGreaterThan(0);
    });
    await expectCheap(db, sent);
  });

  it('documents by id and positions', async () => {
    const ids = Array.from({ length: 1500 }, (_, i) => notificationIdFor(i + 1));
    const [topic = ''] = inboxReadModel.topics;
    // One that has yet to learn which versions there are.
    const reader = openMongoReadModelReader({ connection, logger, clock });
    const sent = await sentBy(db, async () => {
      await getNotification(reader, tenant, notificationIdFor(1));
      await itemsByIds(reader, tenant, recipient, ids);
      await waitForPosition({ reader, clock }, inboxReadModel, { tenantId: tenant, topic, partition, offset: 0 }, 0);
    });
    reader.close();
    await expectCheap(db, sent);
  });

  it('of the scheduler, the dispatchers and the watchdog: what is decided, what is due, what is to be stopped and what is long done', async () => {
    const { log, metrics, close } = await openEngines();
    await filled.fillTimers(store, clock.now());
    const decided = { collection: 'timers', equals: { partition, decided: 1 } };
    const sent = await sentBy(db, async () => {
      const within = <T>(asked: Promise<T>): Promise<T | null> => asked;
      await timersFeed({ reader: store, log, group: 'timers', clock }).look({ within, ends: async () => [] });
      const ids = Array.from({ length: 3_000 }, (_, i) => notificationIdFor(i + 1));
      expect(await cancelsAsked(store, partition, ids)).toHaveLength(600);
      const scheduler = await runScheduler({ log, store, clock, logger, metrics });
      await until(async () => (await store.count(decided, 1)).count === 0, {
        what: 'the decided timers to be done',
        timeoutMs: 30_000,
      });
      await scheduler.stop();
    });
    await close();
    // As many as before, by an owner after the scheduler.
    await filled.fillTimers(store, clock.now(), 1_000);
    expect(new Set(sent.map(({ find, hint }) => (find === undefined ? null : hint)))).toEqual(
      new Set([
        null,
        undefined,
        ...['nextDueAt', 'tenantId_priority_nextDueAt', 'decided', 'cancelAsked', 'doneAt'].map(
          (field) => `by_partition_${field}_sparse`,
        ),
      ]),
    );
    await expectCheap(db, sent);
  }, 60_000);

  it('what is older than a tenant keeps it, page after page', async () => {
    const { log, metrics, close } = await openEngines();
    const reader = { ...store, hasCaughtUp: async () => true };
    const reach = createReach({ log, readModel: notificationsReadModel });
    const deps = {
      log,
      reader,
      metrics,
      clock,
      reach,
      inTurn: <T>(work: () => Promise<T>) => work(),
      moved: () => undefined,
    };
    const everything = noon + filled.notifications * minuteMs;
    const sent = await sentBy(db, async () => {
      // Of a number that has none of them: nothing of it is forgotten.
      const of = {
        partition: partition + 1,
        signal: new AbortController().signal,
        horizon: null,
        statisticsHorizon: null,
      };
      expect(
        await passOver(deps, {
          ...of,
          tenants: new Map([[tenant, everything]]),
          settled: new Map(),
          looked: new Map(),
        }),
      ).toBe(true);
    });
    await close();
    expect(sent.length).toBeGreaterThan(filled.notifications / 2 / 128);
    await expectCheap(db, sent);
  }, 60_000);

  it('what is still there of an erased tenant, and what its erasure looks for', async () => {
    const sent = await sentBy(db, async () => {
      expect((await restOf(store, tenant)).length).toBeGreaterThan(0);
      expect((await newest(store, tenant)).documents.length).toBeGreaterThan(0);
      expect((await countOf(store, tenant)).count).toBeGreaterThan(0);
    });
    expect(sent.length).toBeGreaterThan(4);
    await expectCheap(db, sent);
  });

  it('how the records spell a recipient that is to be erased, page after page', async () => {
    const sent = await sentBy(db, async () => {
      for (const channel of ['EMAIL', 'SMS'] as const) {
        expect([...(await recordedAs(store, { tenantId: tenant, channel, recipient }))]).toEqual([recipient]);
        await recordedAs(store, { tenantId: tenant, channel, recipient: 'nobody@example.com' });
      }
    });
    expect(sent.length).toBeGreaterThanOrEqual(4);
    await expectCheap(db, sent);
  });

  it('are all of them: no other place in the source asks a store to find or to count', () => {
    const places = sitesInSource();
    expect(places.length).toBeGreaterThan(9);
    expect(places.filter((place) => !sites.has(place))).toEqual([]);
  });
});

function keyOf(next: readonly FieldValue[] | null): readonly FieldValue[] {
  if (next === null) throw new Error('there is no further page');
  return next;
}
