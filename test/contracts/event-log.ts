// What every event log holds: order, durability, groups that share partition numbers, fencing, reading back.

import { randomUUID } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createCodec } from '../../src/codec/index.ts';
import { packed } from '../../src/codec/packed.ts';
import type {
  DomainEvent,
  EventType,
  NotificationRequested,
  RecipientErased,
  TenantErased,
} from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { deliveriesTopic, type Topic, topicOf, workTopic } from '../../src/domain/topics.ts';
import {
  type AppendResult,
  type Claim,
  type ConsumeOptions,
  type EventLog,
  type LogEntry,
  type Position,
  StaleOwnerError,
} from '../../src/ports/event-log.ts';
import type { TenantShare } from '../../src/ports/log-survey.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';
import { requested } from '../support/requested.ts';
import { until } from '../support/until.ts';

export interface OpenEventLog {
  readonly log: EventLog;
  /** Closes the log and opens it again, as after a restart. */
  reopen(): Promise<EventLog>;
  /** Puts bytes into the log that do not decode under the schema that they name. */
  plantUndecodable(topic: Topic, partition: number): Promise<Position>;
  /** Puts an event into HIGH EMAIL as the first version of its schema wrote it. */
  plantFormer(event: NotificationRequested): Promise<Position>;
  /** Deletes what a retention would: all below the offset. */
  deleteBelow(position: Position): Promise<void>;
  /** The messages of the errors that it has logged. */
  said(): readonly string[];
  /** Closes what is open and removes the log. */
  close(): Promise<void>;
}

export interface EventLogHarness {
  /** A new log of the default partitioning with all topics, where `group` was made with the log, of the topics given. */
  open(group: string, topics: readonly Topic[]): Promise<OpenEventLog>;
}

const group = 'dispatcher-email';
const high = workTopic('EMAIL', 'HIGH');
const bulk = workTopic('EMAIL', 'BULK');
const topics = [high, bulk, deliveriesTopic];
const all = { eventsMax: 1000, bytesMax: 1_000_000 };

export function eventLogContract(name: string, harness: EventLogHarness): void {
  describe(`event log: ${name}`, () => {
    let opened: OpenEventLog;
    let log: EventLog;

    beforeEach(async () => {
      opened = await harness.open(group, topics);
      ({ log } = opened);
    });
    afterEach(() => opened.close());

    const append = async (...events: DomainEvent[]): Promise<Position[]> =>
      Promise.all(events.map(async (event) => positionOf(await log.append(event))));

    describe('what is erased', () => {
      const erasureOf = (...numbers: readonly number[]): RecipientErased => ({
        type: 'RecipientErased',
        eventId: randomUUID() as RecipientErased['eventId'],
        occurredAt: 1_700_000_000_000,
        tenantId: requested(0, 0).tenantId,
        traceparent: null,
        partition: 0,
        actor: null,
        notificationIds: numbers.map((n) => requested(0, n).notificationId),
        eventIds: [],
      });
      const seen = (entries: readonly LogEntry[]) =>
        entries.map(({ event }) => (event?.type === 'NotificationRequested' ? event.recipient : null));

      it('is shown to nobody, whoever reads it and after every start, and the others are as they were', async () => {
        await append(requested(0, 1), requested(0, 2), requested(0, 3));
        expect(seen(await readAll(log, high, 0))).toEqual(['1', '2', '3']);
        await append(erasureOf(1, 3));
        expect(seen(await readAll(log, high, 0))).toEqual(['', '2', '']);
        expect([1, 2].map((n) => log.isErased(requested(0, n).notificationId))).toEqual([true, false]);
        const [first, second] = await readAll(log, high, 0);
        expect(JSON.stringify(first?.event)).not.toContain('Ada');
        expect(second?.event).toMatchObject({ request: requested(0, 2).request });
        log = await opened.reopen();
        expect(seen(await readAll(log, high, 0))).toEqual(['', '2', '']);
        expect(log.isErased(requested(0, 3).notificationId)).toBe(true);
      });

      it('is written by nobody any more', async () => {
        await append(erasureOf(7));
        const said: LogEntry[] = [];
        const end = log.tail([high], (entry) => said.push(entry));
        await append(requested(0, 7), requested(0, 8));
        await until(() => said.length === 2, { what: 'both to be told' });
        end();
        expect(seen(said)).toEqual(['', '8']);
        expect(seen(await readAll(log, high, 0))).toEqual(['', '8']);
      });
    });

    describe('an erased tenant', () => {
      const erased: TenantErased = {
        type: 'TenantErased',
        eventId: randomUUID() as TenantErased['eventId'],
        occurredAt: 1_700_000_000_000,
        tenantId: requested(0, 0).tenantId,
        traceparent: null,
        partition: 0,
        actor: null,
      };
      const others = (n: number) => ({ ...requested(0, n), tenantId: 'tnt_other' as TenantErased['tenantId'] });

      it('leaves nothing of what it said where its events come encoded', async () => {
        const event = { ...requested(0, 1), recipient: 'y'.repeat(10_000) };
        const encoded = packed(createCodec(), [event]);
        await append(erased);
        const { partition, offset: from } = positionOf(
          (await log.appendEncoded(erased.tenantId, encoded))[0] as AppendResult,
        );
        const sizes: number[] = [];
        const range = { topic: high, partition, from, to: from + 1, ofErased: 'shown' } as const;
        for await (const { size } of log.read(range)) sizes.push(size);
        expect(sizes).toEqual([expect.any(Number)]);
        expect(sizes[0]).toBeLessThan(1000);
      });

      it('is passed over by whoever reads, after every start as well, and the others are as they were', async () => {
        await append(requested(0, 1), others(2), requested(0, 3));
        expect([log.isTenantErased(erased.tenantId), numbersOf(await readAll(log, high, 0))]).toEqual([
          false,
          [1, 2, 3],
        ]);
        await append(erased);
        expect([log.isTenantErased(erased.tenantId), log.isTenantErased(others(2).tenantId)]).toEqual([true, false]);
        await append(requested(0, 4), others(5));
        expect(numbersOf(await readAll(log, high, 0))).toEqual([2, 5]);
        log = await opened.reopen();
        expect(log.isTenantErased(erased.tenantId)).toBe(true);
        const left = await readAll(log, high, 0);
        const { request } = others(2);
        expect(left.map(({ event }) => event)).toMatchObject([2, 5].map((n) => ({ recipient: String(n), request })));
      });

      it('is shown to who removes it, without what it said, and its positions go on', async () => {
        await append(requested(0, 1), erased);
        const [end = 0] = await log.ends(high);
        const shown: LogEntry[] = [];
        for await (const entry of log.read({ topic: high, partition: 0, from: 0, to: end, ofErased: 'shown' }))
          shown.push(entry);
        expect(shown.map(({ event }) => event)).toMatchObject([
          { notificationId: requested(0, 1).notificationId, recipient: '', request: { body: '', template: null } },
        ]);
        expect(end).toBeGreaterThan(0);
      });
    });

    describe('appending', () => {
      it('gives back every type of event as it was appended', async () => {
        const events = fc.sample(anyEvent, { numRuns: 200, seed: 1 });
        const positions = await append(...events);
        const entries = await Promise.all(positions.map((position) => entryAt(log, position)));
        expect(entries.map(({ event }) => event)).toEqual(events);
      });

      it('puts an event into its own topic and partition number', async () => {
        const event = requested(7, 1, 'BULK');
        const [position] = await append(event);
        expect(position).toMatchObject({ topic: topicOf(event), partition: 7 });
      });

      it('keeps the order of the calls within a partition, and answers each with its own ascending position', async () => {
        const positions = await append(...range(2000).map((n) => requested(n % 3, n)));
        for (const partition of [0, 1, 2]) {
          const offsets = positions.filter((position) => position.partition === partition).map(({ offset }) => offset);
          expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
          expect(new Set(offsets).size).toBe(offsets.length);
          const entries = await readAll(log, high, partition);
          expect(entries.map(({ offset }) => offset)).toEqual(offsets);
          expect(numbersOf(entries)).toEqual(range(2000).filter((n) => n % 3 === partition));
        }
      });

      it('begins a partition with offset 0, and its end is past its last event', async () => {
        expect((await append(requested(4, 1)))[0]?.offset).toBe(0);
        const last = (await append(requested(4, 2)))[0]?.offset ?? -1;
        const ends = await log.ends(high);
        expect(ends).toHaveLength(log.partitioning.partitions);
        expect(ends[4]).toBeGreaterThan(last);
        expect(ends[5]).toBe(0);
        expect((await log.ends(high, [4]))[4]).toBe(ends[4]);
        expect((await log.starts(high, [5]))[5]).toBe(0);
      });

      it('rejects an event that is not what its schema says, and takes the next', async () => {
        await expect(log.append({ ...requested(0, 1), round: 'one' } as unknown as DomainEvent)).rejects.toThrow();
        await expect(log.append(requested(log.partitioning.partitions, 1))).rejects.toThrow('partition');
        expect((await log.append(requested(0, 2))).kind).toBe('durable');
      });

      it('takes many at once: each has its own result, in their order, between what is appended before and after', async () => {
        const first = log.append(requested(0, 0));
        const large = { ...requested(1, 1), recipient: 'x'.repeat(100_000) };
        const some = [...fc.sample(anyEvent, { numRuns: 40, seed: 2 }), large];
        const events = [...some, ...range(800).map((n) => requested(n % 3, n + 1))];
        const together = log.appendAll(events);
        const last = log.append(requested(0, 2000));
        const positions = (await together).map(positionOf);
        expect(positions).toMatchObject(events.map((event) => ({ topic: topicOf(event), partition: event.partition })));
        const entries = await Promise.all(positions.slice(0, some.length).map((position) => entryAt(log, position)));
        expect(entries.map(({ event }) => event)).toMatchObject(some);
        const ofFirst = [positionOf(await first), ...positions, positionOf(await last)]
          .filter(({ topic, partition }) => topic === high && partition === 0)
          .map(({ offset }) => offset);
        expect(ofFirst).toEqual(ofFirst.toSorted((a, b) => a - b));
        expect(await log.appendAll([])).toEqual([]);
      });

      it('takes many that are encoded: what is read are the events that they were made of, in the order of the calls', async () => {
        const codec = createCodec();
        const [first, large] = [requested(0, 1), { ...requested(1, 3), recipient: 'y'.repeat(100_000) }];
        const events = [requested(1, 2), large, ...range(600).map((n) => requested(n % 3, n + 4))];
        const appended = [
          log.appendAll([first]),
          log.appendEncoded(first.tenantId, packed(codec, events.slice(0, 300))),
          log.appendEncoded(first.tenantId, packed(codec, events.slice(300))),
        ];
        const positions = (await Promise.all(appended)).flat().map(positionOf);
        expect(positions).toMatchObject([first, ...events].map(({ partition }) => ({ topic: high, partition })));
        for (const partition of [0, 1, 2]) {
          const entries = await readAll(log, high, partition);
          const made = [first, ...events].filter((event) => event.partition === partition);
          expect(entries.map(({ event }) => event)).toMatchObject(made);
          expect(entries).toHaveLength(made.length);
          const offsets = positions.filter((position) => position.partition === partition).map(({ offset }) => offset);
          expect(entries.map(({ offset }) => offset)).toEqual(offsets);
        }
        const outside = packed(codec, [requested(log.partitioning.partitions, 1)]);
        await expect(log.appendEncoded(first.tenantId, outside)).rejects.toThrow('partition');
      });

      it('rejects many of which one is not what its schema says, and takes the next', async () => {
        const wrong = { ...requested(0, 1), round: 'one' } as unknown as DomainEvent;
        await expect(log.appendAll([requested(0, 0), wrong])).rejects.toThrow();
        expect((await log.appendAll([requested(0, 2), requested(1, 2)])).map(({ kind }) => kind)).toEqual([
          'durable',
          'durable',
        ]);
      });

      it('stamps times that never fall within a partition', async () => {
        for (const n of range(20)) await append(requested(0, n));
        const times = (await readAll(log, high, 0)).map(({ appendedAt }) => appendedAt);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(60_000);
      });

      it('is ready, and refuses once it is closed', async () => {
        expect(await log.ready()).toBe(true);
        const queued = log.append(requested(0, 1));
        await log.close();
        expect((await queued).kind).toBe('durable');
        expect((await log.append(requested(0, 2))).kind).toBe('refused');
        const many = await log.appendAll([requested(0, 3), requested(1, 3)]);
        const encoded = packed(createCodec(), [requested(0, 4), requested(1, 4)]);
        const { tenantId } = requested(0, 4);
        expect((await log.appendEncoded(tenantId, encoded)).map(({ kind }) => kind)).toEqual(['refused', 'refused']);
        expect(many.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
        expect(await log.ready()).toBe(false);
      });
    });

    describe('consuming', () => {
      it('owns every partition number once, at position 0 of every topic where the group was made with the log', async () => {
        const consumer = await startConsumer(log);
        await until(() => consumer.claims.size === log.partitioning.partitions);
        for (const claim of consumer.claims.values()) {
          expect([...claim.committed]).toEqual(topics.map((topic) => [topic, { offset: 0, metadata: '' }]));
          expect(claim.signal.aborted).toBe(false);
          expect(claim.isCurrent()).toBe(true);
        }
      });

      it('says null of a group that never committed', async () => {
        const consumer = await startConsumer(log, { group: 'projector-late' });
        const claim = await until(() => consumer.claims.get(0));
        expect([...claim.committed.values()]).toEqual([null, null, null]);
        expect((await log.committed('projector-late', high))[0]).toBeNull();
      });

      it('hands out the events of several topics, each in its order, and none twice', async () => {
        await append(...range(300).map((n) => requested(5, n, n % 3 === 0 ? 'BULK' : 'HIGH')), requested(6, 999));
        const reader = readerOf(await claimOf(log, 5));
        const entries: LogEntry[] = [];
        while (entries.length < 300) {
          const taken = await reader.take({ eventsMax: 70, bytesMax: 1_000_000 });
          expect(taken.length).toBeLessThanOrEqual(70);
          entries.push(...taken);
        }
        expect(numbersOf(entries.filter(({ topic }) => topic === bulk))).toEqual(range(300).filter((n) => n % 3 === 0));
        expect(numbersOf(entries.filter(({ topic }) => topic === high))).toEqual(range(300).filter((n) => n % 3 !== 0));
        expect(await reader.atEnd()).toBe(true);
      });

      it('takes about as many bytes as asked for, and at least one event', async () => {
        await append(...range(50).map((n) => requested(0, n)));
        const [first] = await readAll(log, high, 0);
        const reader = readerOf(await claimOf(log, 0));
        const some = await reader.take({ eventsMax: 1000, bytesMax: 10 * (first?.size ?? 0) });
        expect(some.length).toBeGreaterThan(5);
        expect(some.length).toBeLessThan(15);
        expect(await reader.take({ eventsMax: 1000, bytesMax: 1 })).toHaveLength(1);
      });

      it('reads from the offset that it is told', async () => {
        const positions = await append(...range(10).map((n) => requested(0, n)));
        const claim = await claimOf(log, 0);
        const reader = claim.read(new Map([[high, positions[6]?.offset ?? -1]]));
        expect(numbersOf(await reader.take(all))).toEqual([6, 7, 8, 9]);
      });

      it('waits for an event that is yet to be appended', async () => {
        const reader = readerOf(await claimOf(log, 3));
        for (const n of range(20)) {
          const taken = reader.take(all);
          await append(requested(2, n), requested(3, n));
          expect(numbersOf(await taken)).toEqual([n]);
        }
      });

      it('misses nothing and repeats nothing while it reads what is being appended', async () => {
        const consumer = await startConsumer(log);
        await until(() => consumer.claims.size === log.partitioning.partitions);
        const seen = new Map<number, number[]>();
        for (const [partition, claim] of consumer.claims) void collect(claim, seen, partition);
        for (const burst of range(40)) await append(...range(50).map((n) => requested(n % 12, burst * 50 + n)));
        await until(() => [...seen.values()].flat().length >= 2000);
        for (const [partition, numbers] of seen) {
          expect(numbers).toEqual(range(2000).filter((n) => (n % 50) % 12 === partition));
        }
      });

      it('passes over the types that are not asked for, and finds the rare one behind them', async () => {
        const events = range(3000).map((n) => requested(0, n));
        const rare = fc.sample(anyEvent, { numRuns: 300, seed: 2 }).find(({ type }) => type === 'DeliveryDue');
        await append(
          ...events,
          { ...rare, channel: 'EMAIL', priority: 'HIGH', partition: 0 } as DomainEvent,
          ...events,
        );
        const claim = await claimOf(log, 0, { types: new Set<EventType>(['DeliveryDue']) });
        const reader = readerOf(claim);
        expect(await reader.atEnd()).toBe(false);
        expect((await reader.take(all)).map(({ event }) => event?.type)).toEqual(['DeliveryDue']);
        expect(await reader.atEnd()).toBe(true);
      });

      it('says where each topic is to be read on: past what was passed over, never past what was not handed out', async () => {
        await append(...range(20).map((n) => requested(0, n)), ...range(30).map((n) => requested(0, n, 'BULK')));
        const rare = fc.sample(anyEvent, { numRuns: 300, seed: 2 }).find(({ type }) => type === 'DeliveryDue');
        const due = { ...rare, channel: 'EMAIL', priority: 'HIGH', partition: 0 } as DomainEvent;
        const [first, second] = await append(due, due);
        await append(...range(10).map((n) => requested(0, n)));
        const claim = await claimOf(log, 0, { types: new Set<EventType>(['DeliveryDue']) });
        const reader = readerOf(claim);
        expect(await reader.take({ ...all, eventsMax: 1 })).toMatchObject([{ offset: first?.offset }]);
        expect(reader.position().get(high)).toBe(second?.offset);
        expect(await reader.take(all)).toMatchObject([{ offset: second?.offset }]);
        // It goes on by itself, until another reader of the same topics may take its place.
        reader.take(all).catch(() => undefined);
        const ends = new Map([
          [high, (await log.ends(high))[0]],
          [bulk, (await log.ends(bulk))[0]],
          [deliveriesTopic, 0],
        ]);
        await until(() => sameOffsets(reader.position(), ends), { what: 'all to be passed over' });
        // Whoever goes on from there misses nothing.
        const next = claim.read(reader.position());
        const [third] = await append(due);
        expect(await next.take(all)).toMatchObject([{ offset: third?.offset }]);
      });

      it('hands out what speaks of the others after all of theirs that is older, however much of it nobody asks for', async () => {
        const rare = fc.sample(anyEvent, { numRuns: 300, seed: 2 }).find(({ type }) => type === 'DeliveryDue');
        const dueOf = (priority: 'HIGH' | 'BULK') =>
          ({ ...rare, channel: 'EMAIL', priority, partition: 0 }) as DomainEvent;
        await append(...range(6000).map((n) => requested(0, n)), dueOf('HIGH'));
        await append(dueOf('BULK'));
        await append(dueOf('HIGH'));
        const types = new Set<EventType>(['DeliveryDue']);
        const reader = readerOf(await claimOf(log, 0, { types, afterOthers: new Set([bulk]) }));
        const taken: Topic[] = [];
        while (taken.length < 3) taken.push(...(await reader.take(all)).map(({ topic }) => topic));
        // Before the last one or behind it.
        expect([taken[0], taken.toSorted()]).toEqual([high, [high, bulk, high].toSorted()]);
        expect(await reader.atEnd()).toBe(true);
      });

      it('answers with nothing once so much was passed over, and goes on', async () => {
        const claim = await claimOf(log, 0, { types: new Set<EventType>(['DeliveryDue']) });
        const reader = readerOf(claim);
        const taking = reader.take({ ...all, passedMax: 50 });
        await append(...range(30).map((n) => requested(0, n)), ...range(30).map((n) => requested(0, n, 'BULK')));
        expect(await taking).toEqual([]);
        expect(claim.signal.aborted).toBe(false);
        const reached = reader.position();
        expect((reached.get(high) ?? 0) + (reached.get(bulk) ?? 0)).toBeGreaterThanOrEqual(50);
        const rare = fc.sample(anyEvent, { numRuns: 300, seed: 2 }).find(({ type }) => type === 'DeliveryDue');
        const due = { ...rare, channel: 'EMAIL', priority: 'HIGH', partition: 0 } as DomainEvent;
        const next = reader.take({ ...all, passedMax: 50 });
        const [position] = await append(due);
        expect(await next).toMatchObject([{ offset: position?.offset }]);
      });

      it('goes on from the start of the log when what is to be read next was deleted, and says so', async () => {
        const positions = await append(...range(20).map((n) => requested(0, n)));
        await opened.deleteBelow(positions[8] ?? { topic: high, partition: 0, offset: 0 });
        const reader = readerOf(await claimOf(log, 0));
        expect(numbersOf(await reader.take(all))).toEqual(range(20).slice(8));
        expect(reader.position().get(high)).toBe((await log.ends(high))[0]);
        expect(opened.said()).toEqual(['what was to be read next is deleted; going on from the start']);
      });

      it('goes on from the start without alarm where what is deleted is over', async () => {
        const positions = await append(...range(20).map((n) => requested(0, n)));
        const [first] = positions;
        await opened.deleteBelow(positions[8] ?? { topic: high, partition: 0, offset: 0 });
        const claim = await claimOf(log, 0, { deleted: 'over' });
        const fromBeginning = claim.read(new Map([[high, 0]]));
        expect(numbersOf(await fromBeginning.take(all))).toEqual(range(20).slice(8));
        fromBeginning.close();
        const overtaken = claim.read(new Map([[high, (first?.offset ?? 0) + 1]]));
        expect(numbersOf(await overtaken.take(all))).toEqual(range(20).slice(8));
        overtaken.close();
        expect(opened.said()).toEqual([]);
      });

      it('loses what is trimmed, keeps what is to be kept, and goes on at the same offsets after a restart', async () => {
        const place = { topic: high, partition: 0 };
        const positions = await append(...range(10).map((n) => requested(0, n)));
        const offsets = positions.map(({ offset }) => offset);
        const [end = 0] = await log.ends(high);
        const { events } = await log.trim({ ...place, from: 0, to: offsets[5] ?? 0, kept: [offsets[3] ?? 0] });
        expect(events).toBeGreaterThanOrEqual(3);
        const left = async (): Promise<number[]> => {
          const found: number[] = [];
          for await (const { offset } of log.read({ ...place, from: 0, to: end })) found.push(offset);
          return found;
        };
        const afterwards = await left();
        // A log that loses single events has lost the fifth as well.
        expect([offsets.slice(3), offsets.filter((_, i) => i === 3 || i >= 5)]).toContainEqual(afterwards);
        expect((await log.starts(high))[0]).toBe(offsets[3]);
        await log.trim({ ...place, from: 0, to: end, kept: [] });
        log = await opened.reopen();
        expect([(await log.starts(high))[0], (await log.ends(high))[0], await left()]).toEqual([end, end, []]);
        expect(await append(requested(0, 11))).toMatchObject([{ ...place, offset: end }]);
      });

      it('loses what is trimmed of each topic, also of those that no group has asked about', async () => {
        const positions: Position[] = [];
        for (const priority of ['HIGH', 'BULK', 'DEFAULT'] as const)
          positions.push(...(await append(requested(0, 0, priority))));
        log = await opened.reopen();
        for (const { topic, offset } of positions) {
          await log.trim({ topic, partition: 0, from: 0, to: offset + 1, kept: [] });
          expect((await log.starts(topic))[0]).toBe(offset + 1);
        }
      });

      it('is at the end when everything is taken, and not before', async () => {
        const reader = readerOf(await claimOf(log, 0));
        expect(await reader.atEnd()).toBe(true);
        await append(requested(0, 1), requested(0, 2));
        expect(await reader.atEnd()).toBe(false);
        await reader.take({ ...all, eventsMax: 1 });
        expect(await reader.atEnd()).toBe(false);
        await reader.take(all);
        expect(await reader.atEnd()).toBe(true);
      });

      it('hands out what a former version wrote, lifted: what it did not know is as it was then', async () => {
        const sent = requested(0, 1);
        const passedOn = {
          tracestate: 'a=1',
          baggage: 'b=2',
          replyTo: 'r@b.example',
          cc: ['c@b.example'],
          bcc: ['d@b.example'],
        };
        const position = await opened.plantFormer({ ...sent, request: { ...sent.request, ...passedOn } });
        await append({ ...sent, request: { ...sent.request, ...passedOn } });
        const entries: LogEntry[] = [];
        const reader = readerOf(await claimOf(log, 0));
        while (entries.length < 2) entries.push(...(await reader.take(all)));
        expect(entries[0]).toMatchObject(position);
        expect(entries.map(({ event }) => event)).toMatchObject([
          { ...sent, request: { ...sent.request, replyTo: null, cc: [], bcc: [] } },
          { ...sent, request: passedOn },
        ]);
      });

      it('hands out bytes that do not decode as what they are, and goes on behind them', async () => {
        await append(requested(0, 1));
        const position = await opened.plantUndecodable(high, 0);
        await append(requested(0, 2));
        const reader = readerOf(await claimOf(log, 0));
        const entries: LogEntry[] = [];
        while (entries.length < 3) entries.push(...(await reader.take(all)));
        expect(entries.map(({ event }) => event === null)).toEqual([false, true, false]);
        expect(entries[1]).toMatchObject(position);
        expect(entries[1]?.undecodable?.reason).toBeTruthy();
        expect(Buffer.from(entries[1]?.undecodable?.bytes ?? '', 'base64')).toHaveLength(entries[1]?.size ?? -1);
      });

      it('tells of each event whose it is before it is decoded, and of bytes of which not even that can be read nothing', async () => {
        const sent = [requested(0, 1), requested(0, 2)];
        for (const event of sent) await append(event);
        await opened.plantUndecodable(high, 0);
        const claim = await claimOf(log, 0);
        const entries: LogEntry[] = [];
        const reader = readerOf(claim);
        while (entries.length < 3) entries.push(...(await reader.take(all)));
        const read: LogEntry[] = [];
        for await (const entry of log.read({ topic: high, partition: 0, from: 0, to: 3 })) read.push(entry);
        const heads = [
          ...sent.map(({ type, eventId, occurredAt, tenantId }) => ({ type, eventId, occurredAt, tenantId })),
          null,
        ];
        for (const found of [entries, read]) expect(found.map(({ head }) => head)).toEqual(heads);
      });

      it('hands out to whoever catches up the topics of a number side by side, the oldest event first, in full batches', async () => {
        const event = (n: number): DomainEvent => {
          const one = requested(0, n, n % 3 === 0 ? 'HIGH' : 'BULK');
          return { ...one, request: { ...one.request, body: 'x'.repeat(2000) } };
        };
        for (let n = 0; n < 600; n += 30) await append(...range(30).map((i) => event(n + i)));
        const reader = readerOf(await claimOf(log, 0));
        const batches: (readonly LogEntry[])[] = [];
        for (let taken = 0; taken < 600;) {
          const batch = await reader.take({ eventsMax: 250, bytesMax: 4_000_000 });
          batches.push(batch);
          taken += batch.length;
        }
        const times = batches.flat().map(({ appendedAt }) => appendedAt);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        expect(batches.map(({ length }) => length)).toEqual([250, 250, 100]);
      });

      it('ends a waiting take with nothing, and aborts the claims, when the consumer stops', async () => {
        const consumer = await startConsumer(log);
        const claim = await until(() => consumer.claims.get(0));
        const taken = readerOf(claim).take(all);
        await consumer.stop();
        expect(await taken).toEqual([]);
        expect(claim.signal.aborted).toBe(true);
        expect(claim.isCurrent()).toBe(false);
        expect(await readerOf(claim).take(all)).toEqual([]);
      });
    });

    describe('committing', () => {
      it('keeps position and metadata, for the group and the number alone', async () => {
        const metadata = 'x'.repeat(4096);
        const claim = await claimOf(log, 2);
        await claim.commit([
          { topic: high, offset: 7, metadata },
          { topic: bulk, offset: 3, metadata: '' },
        ]);
        expect((await log.committed(group, high))[2]).toEqual({ offset: 7, metadata });
        expect((await log.committed(group, bulk))[2]).toEqual({ offset: 3, metadata: '' });
        expect((await log.committed(group, high))[1]).toEqual({ offset: 0, metadata: '' });
        expect((await log.committed('projector-inbox', high))[2]).toBeNull();
      });

      it('refuses metadata that is too long, and what is no offset', async () => {
        const claim = await claimOf(log, 2);
        await expect(claim.commit([{ topic: high, offset: 7, metadata: 'x'.repeat(4097) }])).rejects.toThrow('4096');
        await expect(claim.commit([{ topic: high, offset: NaN, metadata: '' }])).rejects.toThrow('offset');
      });

      it('hands out again what was taken and not committed', async () => {
        await append(...range(10).map((n) => requested(0, n)));
        const first = await startConsumer(log);
        const claim = await until(() => first.claims.get(0));
        const taken = await readerOf(claim).take(all);
        await claim.commit([{ topic: high, offset: (taken[3]?.offset ?? 0) + 1, metadata: 'four' }]);
        await first.stop();

        const again = await claimOf(log, 0);
        expect(again.committed.get(high)?.metadata).toBe('four');
        expect(numbersOf(await readerOf(again).take(all))).toEqual([4, 5, 6, 7, 8, 9]);
      });
    });

    describe('a reader that is closed', () => {
      it('takes nothing more, at once, and another one of its claim reads on from anywhere', async () => {
        const claim = await claimOf(log, 0);
        const reader = readerOf(claim);
        await append(...range(10).map((n) => requested(0, n)));
        const taken: LogEntry[] = [];
        while (taken.length < 10) taken.push(...(await reader.take(all)));
        const waiting = reader.take(all);
        reader.close();
        expect(await waiting).toEqual([]);
        const next = claim.read(new Map([[high, taken[3]?.offset ?? 0]]));
        await append(requested(0, 10));
        const again: LogEntry[] = [];
        while (again.length < 8) again.push(...(await next.take(all)));
        expect(numbersOf(again)).toEqual(range(8).map((n) => n + 3));
        expect(await reader.take(all)).toEqual([]);
      });
    });

    describe('sharing a group', () => {
      it('moves half of the numbers to a second member: lost by the first, then owned by the second, never by both', async () => {
        const first = await startConsumer(log);
        await until(() => first.claims.size === 12);
        const before = new Map(first.claims);
        const second = await startConsumer(log);
        await until(() => first.claims.size === 6 && second.claims.size === 6);
        expect([...first.claims.keys(), ...second.claims.keys()].sort((a, b) => a - b)).toEqual(range(12));
        expect(new Set(first.lost)).toEqual(new Set(second.claims.keys()));
        for (const partition of first.lost) expect(before.get(partition)?.signal.aborted).toBe(true);
        for (const claim of first.claims.values()) expect(claim.signal.aborted).toBe(false);
      });

      it('asks the owner of a number that is to move to finish with it, and waits: it commits, then the next begins there', async () => {
        const asked: number[] = [];
        const going = Promise.withResolvers<void>();
        const first = await startConsumer(log, {
          releasing: (partition) => {
            asked.push(partition);
            return going.promise;
          },
        });
        await until(() => first.claims.size === 12);
        const second = await startConsumer(log);
        await until(() => asked.length === 6, { what: 'the numbers to be released' });
        expect(second.claims.size).toBe(0);
        expect(first.lost).toEqual([]);
        for (const partition of asked) {
          const claim = first.claims.get(partition);
          expect(claim?.signal.aborted).toBe(false);
          await until(() => claim?.commit([{ topic: high, offset: 7, metadata: 'last' }]).then(...settled));
        }
        going.resolve();
        await until(() => second.claims.size === 6);
        expect(new Set(second.claims.keys())).toEqual(new Set(asked));
        expect(new Set(first.lost)).toEqual(new Set(asked));
        for (const { committed } of second.claims.values()) expect(committed.get(high)?.metadata).toBe('last');
        expect(first.claims.size).toBe(6);
      });

      it('gives the numbers of a member that stops to the others', async () => {
        const members = [await startConsumer(log), await startConsumer(log), await startConsumer(log)];
        await until(() => members.every(({ claims }) => claims.size === 4));
        await members[0]?.stop();
        await until(() => members.slice(1).every(({ claims }) => claims.size === 6));
        await members[1]?.stop();
        await until(() => members[2]?.claims.size === 12);
      });

      it('redoes at the new owner what the old one had not committed, and fences the old one', async () => {
        await append(...range(120).map((n) => requested(n % 12, n)));
        const first = await startConsumer(log);
        await until(() => first.claims.size === 12);
        const old = new Map(first.claims);
        for (const claim of old.values()) {
          const taken = await readerOf(claim).take(all);
          await claim.commit([{ topic: high, offset: (taken[5]?.offset ?? 0) + 1, metadata: '' }]);
        }
        const second = await startConsumer(log);
        await until(() => second.claims.size === 6);
        for (const [partition, claim] of second.claims) {
          const redone = range(4).map((n) => partition + 12 * (n + 6));
          expect(numbersOf(await readerOf(claim).take(all))).toEqual(redone);
          const stale = old.get(partition)?.commit([{ topic: high, offset: 10, metadata: 'stale' }]);
          await expect(stale).rejects.toMatchObject({ name: 'StaleOwnerError' });
          await expect(stale).rejects.toBeInstanceOf(StaleOwnerError);
          await claim.commit([{ topic: high, offset: 8, metadata: 'fresh' }]);
        }
        const committed = await log.committed(group, high);
        for (const partition of second.claims.keys()) expect(committed[partition]?.metadata).toBe('fresh');
      });

      it('passes over nothing of a number that is lost and regained while a read of it is out', async () => {
        const seen: { readonly partition: number; readonly numbers: number[] }[] = [];
        const owned = new Map<number, Claim>();
        await startConsumer(log, {
          owned(claim) {
            owned.set(claim.partition, claim);
            const numbers = new Map<number, number[]>();
            void collect(claim, numbers, claim.partition);
            seen.push({ partition: claim.partition, numbers: numbers.get(claim.partition) ?? [] });
          },
          lost: () => {},
        });
        const isWhole = () => owned.size === 12 && [...owned.values()].every(({ signal }) => !signal.aborted);
        await until(isWhole, { what: 'all numbers' });
        let appended = 0;
        const moving = new AbortController();
        const appending = (async () => {
          for (; !moving.signal.aborted; appended++) {
            await append(...range(12).map((partition) => requested(partition, appended)));
            // So that a read has nothing to answer, and is out, while numbers move.
            await new Promise((resolve) => setTimeout(resolve, 40));
          }
        })();
        for (const _ of range(4)) {
          const others = await Promise.all(range(3).map(() => startConsumer(log)));
          await until(() => others.some(({ claims }) => claims.size > 0), {
            timeoutMs: 20_000,
            what: 'numbers that move',
          });
          await Promise.all(others.map(({ stop }) => stop()));
          await until(isWhole, { timeoutMs: 20_000, what: 'all numbers again' });
        }
        moving.abort();
        await appending;
        // Nothing is committed: whoever has a number reads it from its first event.
        const latest = () => range(12).map((partition) => seen.findLast((of) => of.partition === partition)?.numbers);
        await until(() => latest().every((numbers) => numbers?.includes(appended - 1)), { what: 'the last events' });
        expect(seen.length).toBeGreaterThan(12);
        for (const { numbers } of seen) expect(numbers).toEqual(range(numbers.length));
      });

      it('gives each later claim on a number the greater generation, and confirms the last one alone', async () => {
        const first = await startConsumer(log);
        await until(() => first.claims.size === 12);
        const before = new Map(first.claims);
        const second = await startConsumer(log);
        await until(() => second.claims.size === 6 && first.claims.size === 6);
        for (const [partition, claim] of second.claims) {
          const lost = before.get(partition);
          expect(claim.generation).toBeGreaterThan(lost?.generation ?? Infinity);
          await until(() => isConfirmed(claim), { what: 'the group to be at rest' });
          await expect(lost?.confirm()).rejects.toBeInstanceOf(StaleOwnerError);
        }
        for (const claim of first.claims.values()) await claim.confirm();
        await second.stop();
        await until(() => first.claims.size === 12);
        for (const [partition, stopped] of second.claims) {
          expect(first.claims.get(partition)?.generation).toBeGreaterThan(stopped.generation);
          await expect(stopped.confirm()).rejects.toBeInstanceOf(StaleOwnerError);
        }
      });

      it('fences an owner that has stopped', async () => {
        const consumer = await startConsumer(log);
        const claim = await until(() => consumer.claims.get(0));
        await consumer.stop();
        const commit = claim.commit([{ topic: high, offset: 1, metadata: '' }]);
        await expect(commit).rejects.toBeInstanceOf(StaleOwnerError);
      });
    });

    describe('the tail', () => {
      it('tells what is appended from now on, of its topics alone, in order, until it is ended', async () => {
        await append(requested(0, 1));
        const told: LogEntry[] = [];
        const end = log.tail([high], (entry) => told.push(entry));
        const positions = await append(...range(100).map((n) => requested(n % 2, n)), requested(0, 500, 'BULK'));
        await until(() => told.length === 100);
        for (const partition of [0, 1]) {
          const ofPartition = told.filter((entry) => entry.partition === partition);
          expect(numbersOf(ofPartition)).toEqual(range(100).filter((n) => n % 2 === partition));
          const offsets = positions.filter((p) => p.partition === partition && p.topic === high).map((p) => p.offset);
          expect(ofPartition.map(({ offset }) => offset)).toEqual(offsets);
        }
        end();
        await append(requested(0, 2));
        const other = new Promise<LogEntry>((resolve) => void log.tail([high], resolve));
        await append(requested(0, 3));
        expect(numbersOf([await other])).toEqual([3]);
        expect(told).toHaveLength(100);
      });
    });

    describe('reading back', () => {
      it('reads a range, the first offset in and the last one out, and stops at the end', async () => {
        const offsets = (await append(...range(600).map((n) => requested(1, n)))).map(({ offset }) => offset);
        const [from = 0, to = 0] = [offsets[10], offsets[590]];
        const entries = await readAll(log, high, 1, from, to);
        expect(numbersOf(entries)).toEqual(range(580).map((n) => n + 10));
        expect(numbersOf(await readAll(log, high, 1, to))).toEqual(range(10).map((n) => n + 590));
        expect(await readAll(log, high, 2)).toEqual([]);
      });

      it('reads the same range with little held ahead', async () => {
        await append(...range(100).map((n) => requested(1, n)));
        const entries: LogEntry[] = [];
        for await (const entry of log.read({ topic: high, partition: 1, from: 0, to: 1_000, aheadBytes: 4096 }))
          entries.push(entry);
        expect(entries.map(contentOf)).toEqual((await readAll(log, high, 1)).map(contentOf));
        expect(entries).toHaveLength(100);
      });

      describe('who has how much in a range', () => {
        // Ids of the form that ours have, and others.
        const tenants = ['tnt_01m8dfkhz3eac9cdqz0yc8rat7', 'tnt_01m8dfkhz3eac9cdqz0yc8rat8', 'tnt_x'] as TenantId[];
        const eventOf = (n: number): NotificationRequested => {
          const event = requested(1, n);
          const body = 'b'.repeat(n % 100 === 0 ? 5_000 : 10 + (n % 7));
          return {
            ...event,
            eventId: randomUUID() as NotificationRequested['eventId'],
            tenantId: tenants[n % 20 === 0 ? 1 : n % 30 === 1 ? 2 : 0] as TenantId,
            request: { ...event.request, body },
          };
        };
        type Wanted = Parameters<EventLog['survey']>[0]['types'];
        const survey = async (from: number, to: number, wanted: readonly TenantId[], types?: Wanted) => {
          const shares = new Map<TenantId, TenantShare>();
          const entries: LogEntry[] = [];
          let reached = from;
          for await (const page of log.survey({ topic: high, partition: 1, from, to, types })) {
            expect(page.to).toBeGreaterThan(reached);
            reached = page.to;
            for (const share of page.shares) {
              const { events = 0, bytes = 0 } = shares.get(share.tenantId) ?? {};
              shares.set(share.tenantId, { ...share, events: share.events + events, bytes: share.bytes + bytes });
            }
            entries.push(...page.entriesOf(new Set(wanted)));
          }
          return { shares, entries: entries.map(contentOf), reached };
        };
        const sharesOf = (entries: readonly LogEntry[]) => {
          const shares = new Map<TenantId, TenantShare>();
          for (const { head, size, offset } of entries) {
            if (head === null) continue;
            const { tenantId } = head;
            const { events = 0, bytes = 0 } = shares.get(tenantId) ?? {};
            shares.set(tenantId, { tenantId, events: events + 1, bytes: bytes + size, last: offset });
          }
          return shares;
        };

        it('is told of each, whatever the form of its events, and what some have is read', async () => {
          await append(...range(1_500).map(eventOf));
          await opened.plantUndecodable(high, 1);
          await append(eventOf(1));
          const entries = await readAll(log, high, 1);
          const [from, to] = [entries[10]?.offset ?? 0, entries[1_400]?.offset ?? 0];
          for (const wanted of [[], tenants.slice(1, 2), tenants.slice(2), tenants.slice(1), tenants]) {
            const whole = await survey(0, Infinity, wanted);
            expect(whole.shares).toEqual(sharesOf(entries));
            expect(whole.reached).toBe((await log.ends(high))[1]);
            const isWanted = ({ head }: LogEntry) => head !== null && wanted.includes(head.tenantId);
            expect(whole.entries).toEqual(entries.filter(isWanted).map(contentOf));
            const part = await survey(from, to, wanted);
            expect(part.shares).toEqual(sharesOf(entries.slice(10, 1_400)));
            expect(part.entries).toEqual(entries.slice(10, 1_400).filter(isWanted).map(contentOf));
          }
          expect((await survey(0, 0, tenants)).reached).toBe(0);
        });

        it('is told of some types alone, up to the end all the same', async () => {
          await append(...range(600).map(eventOf));
          const ofThese = await survey(0, Infinity, tenants, new Set<EventType>(['NotificationRequested']));
          expect(ofThese.entries).toHaveLength(600);
          const ofOthers = await survey(0, Infinity, tenants, new Set<EventType>(['AttemptSucceeded']));
          expect([ofOthers.shares.size, ofOthers.entries.length]).toEqual([0, 0]);
          expect(ofOthers.reached).toBe(ofThese.reached);
        });

        it('tells nothing of what an erased tenant said', async () => {
          await append(...range(60).map(eventOf));
          await append({
            type: 'TenantErased',
            eventId: randomUUID() as TenantErased['eventId'],
            occurredAt: 1_700_000_000_000,
            tenantId: tenants[1] as TenantId,
            traceparent: null,
            partition: 1,
            actor: null,
          });
          const { entries } = await survey(0, Infinity, tenants);
          expect(entries.filter(({ head }) => head?.tenantId === tenants[1])).toEqual([]);
          expect(entries).toHaveLength(57);
        });
      });

      it('finds the offset of a time', async () => {
        for (const n of range(30)) await append(requested(1, n));
        const entries = await readAll(log, high, 1);
        const end = (await log.ends(high))[1];
        const times = entries.map(({ appendedAt }) => appendedAt);
        for (const time of [0, ...times, ...times.map((at) => at + 1)]) {
          const expected = entries.find(({ appendedAt }) => appendedAt >= time)?.offset ?? end;
          expect(await log.offsetAt(high, 1, time)).toBe(expected);
        }
        expect(await log.offsetAt(high, 2, 0)).toBe(0);
      });
    });

    it('keeps events, ends and positions over a restart, and goes on behind them', async () => {
      await append(...range(30).map((n) => requested(n % 2, n)));
      const claim = await claimOf(log, 1);
      await claim.commit([{ topic: high, offset: 5, metadata: 'kept' }]);
      const before = { ends: await log.ends(high), entries: await readAll(log, high, 1) };

      log = await opened.reopen();
      expect(await log.ends(high)).toEqual(before.ends);
      expect((await readAll(log, high, 1)).map(contentOf)).toEqual(before.entries.map(contentOf));
      expect((await log.committed(group, high))[1]).toEqual({ offset: 5, metadata: 'kept' });
      const [position] = await append(requested(1, 30));
      expect(position?.offset).toBeGreaterThanOrEqual(before.ends[1] ?? Infinity);
      const again = await claimOf(log, 1);
      expect(again.committed.get(high)).toEqual({ offset: 5, metadata: 'kept' });
      const times = (await readAll(log, high, 1)).map(({ appendedAt }) => appendedAt);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });
  });
}

interface StartedConsumer {
  readonly claims: Map<number, Claim>;
  /** In the order in which they were lost. */
  readonly lost: number[];
  stop(): Promise<void>;
}

async function startConsumer(log: EventLog, more: Partial<ConsumeOptions> = {}): Promise<StartedConsumer> {
  const claims = new Map<number, Claim>();
  const lost: number[] = [];
  const consumer = await log.consume({
    group,
    topics,
    owned: (claim) => void claims.set(claim.partition, claim),
    lost(partition) {
      expect(claims.get(partition)?.signal.aborted).toBe(true);
      claims.delete(partition);
      lost.push(partition);
    },
    ...more,
  });
  return { claims, lost, stop: () => consumer.stop() };
}

async function claimOf(log: EventLog, partition: number, more: Partial<ConsumeOptions> = {}): Promise<Claim> {
  const { claims } = await startConsumer(log, more);
  return until(() => claims.get(partition), { what: `partition number ${partition}` });
}

/** A group that is sharing out takes no commits for a moment. */
const settled = [() => true, () => false] as const;

function isConfirmed(claim: Claim): Promise<boolean> {
  return claim.confirm().then(
    () => true,
    () => false,
  );
}

/** From where the group has committed. */
function readerOf(claim: Claim) {
  return claim.read(new Map(topics.map((topic) => [topic, claim.committed.get(topic)?.offset ?? 0])));
}

async function collect(claim: Claim, into: Map<number, number[]>, partition: number): Promise<void> {
  const reader = readerOf(claim);
  const numbers: number[] = [];
  into.set(partition, numbers);
  while (!claim.signal.aborted) numbers.push(...numbersOf(await reader.take(all)));
}

/** Without how it is kept until it is decoded. */
function contentOf({ topic, partition, offset, appendedAt, size, head, event, undecodable }: LogEntry): LogEntry {
  return { topic, partition, offset, appendedAt, size, head, event, undecodable };
}

async function readAll(log: EventLog, topic: Topic, partition: number, from = 0, to = Infinity): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const entry of log.read({ topic, partition, from, to })) entries.push(entry);
  return entries;
}

async function entryAt(log: EventLog, { topic, partition, offset }: Position): Promise<LogEntry> {
  const [entry] = await readAll(log, topic, partition, offset, offset + 1);
  if (entry === undefined) throw new Error(`nothing at ${topic} ${partition} ${offset}`);
  return entry;
}

function sameOffsets(a: ReadonlyMap<Topic, number>, b: ReadonlyMap<Topic, number | undefined>): boolean {
  return [...b].every(([topic, offset]) => a.get(topic) === offset);
}

function positionOf(result: AppendResult): Position {
  if (result.kind !== 'durable') throw new Error(`${result.kind}: ${result.reason}`);
  return result.position;
}

/** The n of `requested`. */
function numbersOf(entries: readonly LogEntry[]): number[] {
  return entries.map(({ event }) => (event?.type === 'NotificationRequested' ? Number(event.recipient) : NaN));
}

function range(length: number): number[] {
  return Array.from({ length }, (_, n) => n);
}
