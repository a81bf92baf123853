// Projectors on the embedded engines: effects exactly once, over crashes, takeovers and failing stores; rebuilds equal what grew.

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { DeadLettered, NotificationsForgotten } from '../../src/domain/events.ts';
import type { EventId } from '../../src/domain/ids.ts';
import type { SqliteEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { deadLettersTopic, topicOf } from '../../src/domain/topics.ts';
import type { Claim, LogEntry } from '../../src/ports/event-log.ts';
import { StaleOwnerError } from '../../src/ports/event-log.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { inboxSince, listInbox } from '../../src/projections/inbox/queries.ts';
import { projectedReadModels, readModels } from '../../src/projections/index.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { listNotifications } from '../../src/projections/notifications/queries.ts';
import { statisticsRange } from '../../src/projections/notifications/statistics-range.ts';
import { statistics } from '../../src/projections/notifications/statistics.ts';
import { timersReadModel } from '../../src/projections/timers/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { Turns } from '../../src/projections/turns.ts';
import { createTurns } from '../../src/projections/turns.ts';
import { rebuild } from '../../src/projections/rebuild.ts';
import type { RebuildProgress } from '../../src/projections/rebuild.ts';
import { waitForPosition } from '../../src/projections/wait.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import type { Plan } from './histories.ts';
import { anyHistory, lifeOf, noon, notificationIdFor, partition, tenants } from './histories.ts';

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});

afterEach(() => engines.close());

describe('a projector', () => {
  it('goes on where it stopped', async () => {
    await appendAll(engines.log, deliveries(1, 30));
    await foldToEnd();
    engines = await engines.reopen();
    await appendAll(engines.log, deliveries(31, 30));
    await foldToEnd();
    expect(await deliveredCount()).toBe(60);
    // Two events of each of the 30 for the records, the success alone for the inbox, the request alone for the search.
    expect(engines.counted.get('herald_folded_events_total')).toBe(120);
  });

  it('rests between small batches to gather more, and not between those that are large by their bodies', async () => {
    const large = { body: 'x'.repeat(195 * 1024) };
    const events = deliveries(1, 40).map((event) =>
      event.type === 'NotificationRequested' ? { ...event, request: { ...event.request, ...large } } : event,
    );
    let rests = 0;
    const sleep = (...args: Parameters<Engines['clock']['sleep']>) => {
      // What is folded ahead of a number of others waits as well, 100 ms at a time, the longer the slower the machine.
      if (args[0] < 100) rests++;
      return engines.clock.sleep(...args);
    };
    await appendAll(engines.log, events);
    const clock = { ...engines.clock, sleep };
    const projector = await runProjector({ ...engines, clock, readModel: notificationsReadModel });
    await until(async () => (await deliveredCount()) === 40, { what: 'all to be folded' });
    // What came last may be a small batch. With a rest after each there are 20 and more.
    expect(rests).toBeLessThan(5);
    await projector.stop();
  });

  it('counts every event once while owners take numbers from one another', async () => {
    const running = [await runProjector({ ...engines, readModel: notificationsReadModel })];
    for (let round = 0; round < 5; round++) {
      await appendAll(engines.log, deliveries(1 + round * 100, 100));
      running.push(await runProjector({ ...engines, readModel: notificationsReadModel }));
      if (round % 2 === 1) await running.shift()?.stop();
    }
    await until(async () => (await deliveredCount()) === 500, { what: 'all to be folded' });
    await Promise.all(running.map((projector) => projector.stop()));
    const totals = await statistics(engines.store, tenants[0]!, statisticsRange('all', 0));
    expect(totals).toMatchObject({ total: 500, statusCounts: { DELIVERED: 500 }, successRate: 100, failedRate: 0 });
  });

  it('whose number was taken over by one who came late owns it again and folds on, with a word', async () => {
    const projector = await runProjector({ ...engines, readModel: notificationsReadModel });
    await appendAll(engines.log, deliveries(1, 10));
    await until(async () => (await deliveredCount()) === 10);
    for (const [round, generation] of [firstGeneration, firstGeneration + 5].entries()) {
      await engines.store.own('notifications_2', partition, { generation });
      await appendAll(engines.log, deliveries(11 + 10 * round, 10));
      await until(async () => (await deliveredCount()) === 20 + 10 * round, { what: 'the number to be folded again' });
      expect(engines.counted.get('herald_numbers_owned_again_total')).toBe(round + 1);
    }
    await projector.stop();
    expect(engines.counted.get('herald_fold_failures_total')).toBe(0);
    const totals = await statistics(engines.store, tenants[0]!, statisticsRange('all', 0));
    expect(totals).toMatchObject({ total: 30, statusCounts: { DELIVERED: 30 } });
  });

  it('whose number is by right of a newer claim asks the group, and writes nothing while that gives it to another', async () => {
    let asked = 0;
    let isOurs = true;
    const log = withClaims(engines.log, (claim) => ({
      ...claim,
      async confirm() {
        asked++;
        if (!isOurs) throw new StaleOwnerError('the number is of another member');
      },
    }));
    const projector = await runProjector({ ...engines, log, readModel: notificationsReadModel });
    await appendAll(engines.log, deliveries(1, 10));
    await until(async () => (await deliveredCount()) === 10);
    isOurs = false;
    const owner = await engines.store.own('notifications_2', partition, { generation: firstGeneration + 1 });
    await appendAll(engines.log, deliveries(11, 10));
    await until(() => asked === 2, { what: 'the group to be asked twice' });
    await engines.store.transact(owner, new Map(), []);
    expect(await deliveredCount()).toBe(10);
    isOurs = true;
    await until(async () => (await deliveredCount()) === 20, { what: 'the number to be folded again' });
    await projector.stop();
  });

  it('that breaks on one number begins that number again, and says so', async () => {
    let broken = 0;
    const log = withClaims(engines.log, (claim) => ({
      ...claim,
      read(from) {
        if (claim.partition === partition && broken++ < 3) throw new TypeError('a bug');
        return claim.read(from);
      },
    }));
    const projector = await runProjector({ ...engines, log, readModel: notificationsReadModel });
    await appendAll(engines.log, deliveries(1, 10));
    await until(async () => (await deliveredCount()) === 10, { what: 'the number to be folded' });
    await projector.stop();
    expect(engines.counted.get('herald_numbers_owned_again_total')).toBe(3);
  });

  it('that stands still keeps nothing waiting that is filled beside it', async () => {
    let inHand = 0;
    const turns: Turns = {
      ...createTurns(engines.clock),
      begun() {
        inHand++;
        return () => void inHand--;
      },
    };
    const { store } = engines;
    const failing = { ...store, transact: () => Promise.reject(new Error('a bug of the fold')) };
    const projector = await runProjector({ ...engines, turns, store: failing, readModel: notificationsReadModel });
    await appendAll(engines.log, deliveries(1, 1));
    await until(() => (engines.counted.get('herald_fold_failures_total') ?? 0) >= 2, { what: 'two failures' });
    await until(() => inHand === 0, { what: 'a moment between two tries' });
    await projector.stop();
  });

  it('stands still while the store is away, says so, and passes over nothing', async () => {
    let isAway = true;
    const { store } = engines;
    const failing = {
      ...store,
      transact: (...args: Parameters<typeof store.transact>) =>
        isAway ? Promise.reject(new Error('the disk is full')) : store.transact(...args),
    };
    const projector = await runProjector({ ...engines, store: failing, readModel: notificationsReadModel });
    await appendAll(engines.log, deliveries(1, 10));
    await until(() => (engines.counted.get('herald_fold_failures_total') ?? 0) >= 2, { what: 'two failures' });
    expect(await deliveredCount()).toBe(0);
    isAway = false;
    await until(async () => (await deliveredCount()) === 10);
    await projector.stop();
  });

  it('keeps where it is in topics of which it wants nothing, with what it folds and now and then by itself', async () => {
    const transacted: number[] = [];
    const { store } = engines;
    const watched = {
      ...store,
      transact: (...args: Parameters<typeof store.transact>) => {
        transacted.push(args[1].size);
        return store.transact(...args);
      },
    };
    const scheduler = await runProjector({ ...engines, store: watched, readModel: timersReadModel });
    const requests = deliveries(1, 10_100).filter(({ type }) => type === 'NotificationRequested');
    const topic = topicOf(requests[0]!);
    const position = async () => (await engines.store.positions('timers', partition)).get(topic) ?? 0;
    await appendAll(engines.log, requests.slice(0, 50));
    await appendAll(engines.log, deliveries(20_000, 1).slice(1));
    await until(async () => (await position()) === 50, { what: 'the fold of the one delivery to note all' });
    // An idle number writes nothing of its own.
    expect(transacted).toEqual([2]);
    await appendAll(engines.log, requests.slice(50));
    await until(async () => (await position()) >= 10_050, { what: 'much that was passed over to be noted' });
    expect(transacted.length).toBeLessThanOrEqual(3);
    await scheduler.stop();
  });

  it.each([
    [60, 100],
    [4, 195],
  ])('reads the documents of a batch half a MiB at a time, however small its %s events are', async (count, kib) => {
    const body = 'x'.repeat(kib * 1024);
    const events = deliveries(1, count).map((event) =>
      'request' in event && event.request !== null ? { ...event, request: { ...event.request, body } } : event,
    );
    await appendAll(
      engines.log,
      events.filter(({ type }) => type === 'NotificationRequested'),
    );
    await foldToEnd();
    await appendAll(
      engines.log,
      events.filter(({ type }) => type !== 'NotificationRequested'),
    );
    let most = 0;
    const { store } = engines;
    const get = async <D extends object>(...args: Parameters<typeof store.get<D>>) => {
      const found = await store.get<D>(...args);
      most = Math.max(most, JSON.stringify([...found.values()]).length);
      return found;
    };
    await foldToEnd({ ...engines, store: { ...store, get } }, [notificationsReadModel]);
    expect(await deliveredCount()).toBe(count);
    expect(most).toBeGreaterThan(kib * 1024);
    expect(most).toBeLessThanOrEqual(512 * 1024);
  });

  it('cuts a document that is too large, says which, and folds everything else as ever', async () => {
    const said: unknown[] = [];
    const logger = { ...engines.logger, error: (message: string, fields?: object) => said.push([message, fields]) };
    engines = { ...engines, logger };
    const huge = lifeOf({ ...delivered, steps: ['retry', 'succeeded'] }, 2).map((event) =>
      'request' in event && event.request !== null
        ? { ...event, request: { ...event.request, body: '\u0001'.repeat(1024 * 1024) } }
        : event,
    );
    const id = notificationIdFor(2);
    await appendAll(engines.log, [...deliveries(1, 1), ...huge, ...deliveries(3, 1)]);
    await foldToEnd(engines, readModels);
    expect(await deliveredCount()).toBe(3);
    const record = (await engines.store.get<NotificationDocument>('notifications_2', [id])).get(id);
    expect(record).toMatchObject({ isCut: true, status: 'DELIVERED', request: { data: '{"name":"Ada"}' } });
    expect(record?.request?.body.length).toBeLessThan(200);
    expect(engines.counted.get('herald_documents_cut_total')).toBeGreaterThanOrEqual(2);
    expect(engines.counted.get('herald_fold_failures_total')).toBe(0);
    expect(said).toContainEqual([
      'a document is too large and is cut',
      expect.objectContaining({ readModel: 'notifications_2', partition, id, isShortened: true }),
    ]);
    expect(said).toContainEqual([
      'a document is too large and is cut',
      expect.objectContaining({ readModel: 'timers', partition, id, isShortened: false }),
    ]);
    const [rebuilt] = await rebuild({ ...engines, readModels: projectedReadModels, onProgress: () => undefined });
    expect(rebuilt?.comparison).toMatchObject({ equal: true });
  });

  it('brings nothing back that was forgotten when it folds from the beginning, however much it does not ask for lies between', async () => {
    const inApp: Plan = { ...delivered, channel: 'IN_APP' };
    const [requested, sent] = lifeOf(inApp, 1);
    const failures = Array.from({ length: 5_000 }, (_, i) => lifeOf({ ...delivered, steps: ['final'] }, 10 + i)).flat();
    await appendAll(engines.log, [requested!]);
    await appendAll(engines.log, failures);
    await appendAll(engines.log, [sent!]);
    await appendAll(engines.log, [forgotten([1])]);
    await appendAll(engines.log, lifeOf(inApp, 2));
    await foldToEnd(engines, [inboxReadModel]);
    const { items } = await listInbox(engines.store, tenants[0]!, 'user-0', { limit: 10 });
    expect(items.map(({ notificationId }) => notificationId)).toEqual([notificationIdFor(2)]);
    const { items: news } = await inboxSince(engines.store, tenants[0]!, 'user-0', { sequence: -1, readOffset: -1 }, 9);
    expect(news.map(({ notificationId }) => notificationId)).toEqual([notificationIdFor(2)]);
  });

  it('puts bytes that do not decode among the dead letters, once, and goes on', async () => {
    const [first] = await appendAll(engines.log, deliveries(1, 3));
    await spoil(first!.offset);
    await foldToEnd();
    const letters = await deadLetters();
    expect(letters.map(({ event }) => event)).toMatchObject([
      { type: 'DeadLettered', partition, topic: first!.topic, offset: first!.offset },
    ]);
    expect((letters[0]!.event as DeadLettered).bytes).toBe(Buffer.from([255]).toString('base64'));
    // The first request is lost; its delivery and the two others are not.
    expect(await deliveredCount()).toBe(2);
    await rebuild({ ...engines, readModels, onProgress: () => undefined });
    expect(await deadLetters()).toHaveLength(1);
  });
});

describe('a rebuild', () => {
  it('gives the documents that grew, byte for byte, and leaves them in use', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyHistory, { minLength: 2, maxLength: 4 }), async (histories) => {
        const own = await openEngines();
        try {
          for (const history of histories) {
            await appendAll(
              own.log,
              history.map(({ event }) => event),
            );
            await foldToEnd(own);
          }
          const results = await rebuild({ ...own, readModels: projectedReadModels, onProgress: () => undefined });
          const differing = results.flatMap(({ comparison }) => comparison.differing);
          expect({ differing, equal: results.map(({ comparison }) => comparison.equal) }).toEqual({
            differing: [],
            equal: [true, true, true],
          });
        } finally {
          await own.close();
        }
      }),
      { numRuns: 12 },
    );
  });

  it('folds what the old one had not seen, says how far it is, and mends what was spoilt', async () => {
    await appendAll(engines.log, deliveries(1, 20));
    await foldToEnd();
    const owner = await engines.store.own('notifications_2', partition, { generation: 100 });
    await engines.store.transact(owner, new Map(), [
      { collection: 'notifications_2', id: 'notif_nobody_sent_this', document: { tenantId: tenants[0], listedAt: 1 } },
    ]);
    await appendAll(engines.log, deliveries(21, 20));
    const seen: RebuildProgress[] = [];
    const [result] = await rebuild({
      ...engines,
      readModels: [notificationsReadModel],
      onProgress: (progress) => seen.push(progress),
    });
    expect(result).toMatchObject({
      events: 80,
      comparison: { equal: false, differing: ['notifications_2/notif_nobody_sent_this'] },
    });
    expect(seen.at(-1)).toEqual({ done: 80, total: 80 });
    expect(await deliveredCount()).toBe(40);
    await foldToEnd();
    expect(await deliveredCount()).toBe(40);
  });
});

describe('waiting for a position', () => {
  it('is over as soon as it is folded, and in vain after its time', async () => {
    const [at] = await appendAll(engines.log, deliveries(1, 1));
    await engines.store.prepare(notificationsReadModel.definition);
    const deps = { reader: engines.store, clock: engines.clock };
    const position = { ...at!, tenantId: tenants[0]! };
    expect(await waitForPosition(deps, notificationsReadModel, position, 20)).toBe(false);
    const waiting = waitForPosition(deps, notificationsReadModel, position, 10_000);
    await foldToEnd();
    expect(await waiting).toBe(true);
  });

  it('is not needed for a topic that the read model does not follow', async () => {
    const elsewhere = { tenantId: tenants[0]!, topic: deadLettersTopic, partition, offset: 7 };
    const deps = { reader: engines.store, clock: engines.clock };
    expect(await waitForPosition(deps, notificationsReadModel, elsewhere, 10_000)).toBe(true);
  });
});

/** The first claims of a log, as this log counts: each number was taken from nobody, then given. */
const firstGeneration = 2;

function withClaims(log: SqliteEventLog, change: (claim: Claim) => Claim): SqliteEventLog {
  return { ...log, consume: (options) => log.consume({ ...options, owned: (claim) => options.owned(change(claim)) }) };
}

/** Notifications delivered at once: two events each. */
function deliveries(from: number, count: number) {
  return Array.from({ length: count }, (_, i) => lifeOf(delivered, from + i)).flat();
}

function forgotten(numbers: readonly number[]): NotificationsForgotten {
  return {
    type: 'NotificationsForgotten',
    eventId: '00000000-0000-8000-8000-000000000001' as EventId,
    occurredAt: noon,
    tenantId: tenants[0]!,
    traceparent: null,
    partition,
    sequence: 1,
    follows: null,
    notificationIds: numbers.map(notificationIdFor),
    batchIds: [],
    kept: [],
    endedDays: [],
  };
}

const delivered: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'DEFAULT',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: false,
};

/** Runs the projectors until they have taken all that the log holds. */
async function foldToEnd(own: Engines = engines, models = projectedReadModels): Promise<void> {
  for (const readModel of models) {
    const projector = await runProjector({ ...own, readModel });
    await until(async () => isFolded(own, readModel), { what: `${readModel.definition.name} to be folded` });
    await projector.stop();
  }
}

async function isFolded(own: Engines, readModel: (typeof readModels)[number]): Promise<boolean> {
  const offsets = await own.store.positions(readModel.definition.name, partition);
  for (const topic of readModel.topics) {
    let last = -1;
    const end = (await own.log.ends(topic))[partition] ?? 0;
    for await (const entry of own.log.read({ topic, partition, from: 0, to: end })) {
      if (entry.event === null || (readModel.types?.has(entry.event.type) ?? true)) last = entry.offset;
    }
    if ((offsets.get(topic) ?? 0) <= last) return false;
  }
  return true;
}

async function deliveredCount(): Promise<number> {
  const { total } = await listNotifications(engines.store, tenants[0]!, { status: 'DELIVERED' }, { limit: 1 });
  return total;
}

async function deadLetters(): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const entry of engines.log.read({ topic: deadLettersTopic, partition, from: 0, to: 100 }))
    entries.push(entry);
  return entries;
}

/** Overwrites the first event's bytes in the file. */
async function spoil(offset: number): Promise<void> {
  const db = new DatabaseSync(join(engines.folder, 'log.db'));
  const { changes } = db
    .prepare(
      `UPDATE events SET bytes = x'ff' WHERE "partition" = ? AND "offset" = ? AND topic <> (SELECT id FROM topics WHERE name = 'notifications.deliveries')`,
    )
    .run(partition, offset);
  db.close();
  expect(Number(changes)).toBe(1);
}
