// A tenant's history, read from a log that it shares: its own events alone, each once, in the order of the log, however it is paged.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createClock } from '../../src/adapters/node/clock.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { DomainEvent, EventType } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { allTopics, defaultPartitioning, partitionsOfTenant, topicOf } from '../../src/domain/topics.ts';
import type { HistoryAsked } from '../../src/history/tenant-history.ts';
import { openTenantHistory } from '../../src/history/tenant-history.ts';
import { canHold, historyTypes, slotsOf } from '../../src/history/tenant-slots.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';

const own = 'tnt_own' as TenantId;
const numbers = partitionsOfTenant(own, defaultPartitioning);
const slots = slotsOf(own, defaultPartitioning);

let folder: string;
let log: EventLog;
let events: readonly DomainEvent[];
/** Which of them were decoded. */
const decodedOf = new Set<string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-history-'));
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups: [] };
  const opened = openEventLog({
    ...shape,
    path: join(folder, 'log.db'),
    codec: createCodec(),
    clock: createClock(),
    logger,
  });
  log = { ...opened, read: (range) => watched(opened.read(range)) };
  const made = fc.sample(anyEvent, { numRuns: 600, seed: 4711 });
  events = made.map((event, i) => ({
    ...event,
    // Who is erased has no history.
    tenantId: event.type === 'TenantErased' ? event.tenantId : ([own, 'tnt_other', 'tnt_third'][i % 3] as TenantId),
    partition: numbers[i % numbers.length] ?? 0,
  }));
  await log.appendAll(events);
});
afterAll(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

function nothing(): void {}

async function* watched(entries: AsyncIterable<LogEntry>): AsyncGenerator<LogEntry> {
  for await (const entry of entries) {
    const { topic, partition, offset, appendedAt, size, head } = entry;
    yield {
      topic,
      partition,
      offset,
      appendedAt,
      size,
      head,
      get event() {
        if (head !== null) decodedOf.add(head.tenantId);
        return entry.event;
      },
      get undecodable() {
        return entry.undecodable;
      },
    };
  }
}

const asked = (more: Partial<HistoryAsked> = {}): HistoryAsked => ({
  tenantId: own,
  ranges: slots.map((slot) => ({ ...slot, from: 0, to: Infinity })),
  type: null,
  notificationId: null,
  passedMax: Infinity,
  isOver: () => false,
  ...more,
});

interface Page {
  readonly ids: readonly string[];
  readonly places: readonly number[];
  readonly isAtEnd: boolean;
}

async function pageOf(of: HistoryAsked, limit = Infinity): Promise<Page> {
  const history = openTenantHistory({ log, turns: wholeTurns }, of);
  const ids: string[] = [];
  for (let found = await history.peek(); found !== null && ids.length < limit; found = await history.peek()) {
    ids.push(found.event.eventId);
    await history.take();
  }
  await history.close();
  return { ids, places: history.places(), isAtEnd: history.isAtEnd() };
}

async function inPages(of: HistoryAsked, limit: number): Promise<readonly string[]> {
  const ids: string[] = [];
  let from = of.ranges.map((range) => range.from);
  for (;;) {
    const ranges = of.ranges.map((range, i) => ({ ...range, from: from[i] ?? 0 }));
    const page = await pageOf({ ...of, ranges }, limit);
    ids.push(...page.ids);
    if (page.isAtEnd) return ids;
    from = [...page.places];
  }
}

/** An operator's, of no tenant's history. */
const untold: ReadonlySet<EventType> = new Set([
  'DeadLettered',
  'NotificationsForgotten',
  'TenantErased',
  'TenantForgotten',
]);
const isTold = ({ tenantId, type }: DomainEvent) => tenantId === own && !untold.has(type);
const idsOf = (wanted: readonly DomainEvent[]) => wanted.map(({ eventId }) => eventId).toSorted();

describe('a tenant’s history', () => {
  it('holds each of its events once, in the order of each partition, and nothing of others is decoded', async () => {
    const { ids, isAtEnd } = await pageOf(asked());
    expect(ids.toSorted()).toEqual(idsOf(events.filter(isTold)));
    expect(isAtEnd).toBe(true);
    expect([...decodedOf]).toEqual([own]);
    const told = events.filter(({ eventId }) => ids.includes(eventId));
    const placed = Map.groupBy(told, (event) => `${topicOf(event)} ${event.partition}`);
    for (const inOrder of placed.values()) {
      const places = inOrder.map(({ eventId }) => ids.indexOf(eventId));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });

  it('is the same however it is paged and however little of others is passed over at a time', async () => {
    const whole = (await pageOf(asked())).ids;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 60 }), async (limit, passedMax) => {
        expect(await inPages(asked({ passedMax }), limit)).toEqual(whole);
      }),
      { numRuns: 15 },
    );
  });

  it('pauses when it is told to, and goes on from there', async () => {
    let looks = 0;
    const page = await pageOf(asked({ isOver: () => ++looks > 10 }));
    expect(page.isAtEnd).toBe(false);
    const rest = asked().ranges.map((range, i) => ({ ...range, from: page.places[i] ?? 0 }));
    const { ids } = await pageOf(asked({ ranges: rest }));
    expect([...page.ids, ...ids]).toEqual((await pageOf(asked())).ids);
  });

  it('of one type is read from where that type can be, for every type that there is', async () => {
    for (const type of historyTypes) {
      const ranges = asked().ranges.filter((slot) => canHold(slot, type));
      const { ids } = await pageOf(asked({ ranges, type }));
      expect(ids.toSorted()).toEqual(idsOf(events.filter((event) => isTold(event) && event.type === type)));
    }
    const types = new Set<EventType>(events.map(({ type }) => type));
    expect([...types].filter((type) => !untold.has(type)).toSorted()).toEqual(historyTypes.toSorted());
  });

  it('of one notification has what names it, also among many that were read', async () => {
    const named = events.find(
      (event) => isTold(event) && event.type === 'InboxRead' && event.notificationIds.length > 0,
    );
    if (named?.type !== 'InboxRead') throw new Error('no such event was made');
    const [notificationId = null] = named.notificationIds;
    expect((await pageOf(asked({ notificationId }))).ids).toEqual([named.eventId]);
  });

  it('pauses within a long stretch of an erased tenant’s, with a place that has moved', async () => {
    const gone = 'tnt_gone' as TenantId;
    const [slot] = slots;
    const one = events.find(isTold);
    if (slot === undefined || one === undefined) throw new Error('there are some');
    const last = 5_000;
    const entryAt = (offset: number): LogEntry => {
      const tenantId = offset === last ? own : gone;
      const { type, eventId, occurredAt } = one;
      const head = { type, eventId, occurredAt, tenantId };
      return { ...slot, offset, appendedAt: offset, size: 1, head, event: one, undecodable: null };
    };
    let read = 0;
    const ofGone: Pick<EventLog, 'read' | 'isTenantErased'> = {
      isTenantErased: (id) => id === gone,
      async *read({ from, to, ofErased }) {
        for (let offset = from; offset <= Math.min(last, to - 1); offset++) {
          read++;
          if (ofErased === 'shown' || offset === last) yield entryAt(offset);
        }
      },
    };
    const history = openTenantHistory(
      { log: ofGone, turns: wholeTurns },
      asked({ ranges: [{ ...slot, from: 0, to: last + 1 }], passedMax: 1_000 }),
    );
    expect(await history.peek()).toBeNull();
    expect(history.places()).toEqual([1_000]);
    expect(history.isAtEnd()).toBe(false);
    expect(read).toBeLessThan(1_100);
    expect(history.beginnings()).toEqual([0]);
    await history.close();
  });

  it('has nothing of a tenant that was erased meanwhile', async () => {
    const erased = { ...log, isTenantErased: (id: TenantId) => id === own };
    const history = openTenantHistory({ log: erased, turns: wholeTurns }, asked());
    expect(await history.peek()).toBeNull();
    expect(history.isAtEnd()).toBe(true);
    await history.close();
  });
});
