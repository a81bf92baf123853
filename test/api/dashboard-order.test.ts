// A dashboard's stream where its topics come in another order than they were written in: no notification goes back, whatever was told before a cut, and none is missed.

import { describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { createThreadTurns } from '../../src/adapters/node/thread-turns.ts';
import { parseDashboardMarks } from '../../src/api/dashboard-marks.ts';
import { createDashboardStreams } from '../../src/api/dashboard-stream.ts';
import type { EventStream, StreamMessage } from '../../src/api/event-stream.ts';
import { atStreamPosition } from '../../src/api/stream-position.ts';
import type { NotificationEvent } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { mergeEvent, statusOf } from '../../src/domain/notification.ts';
import type { Topic } from '../../src/domain/topics.ts';
import { defaultPartitioning, deliveriesTopic, partitionsOfTenant, workTopic } from '../../src/domain/topics.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import { recordTopics } from '../../src/projections/notifications/index.ts';
import { requested } from '../support/requested.ts';
import { until } from '../support/until.ts';

const work = workTopic('EMAIL', 'HIGH');
const tenantId = 'tnt_one' as TenantId;
const [partition = 0] = partitionsOfTenant(tenantId, defaultPartitioning);
const silent = (): void => undefined;

/** A log, and a read model that has all of it, or less of a topic; the tail brings what the test says, when it says so. */
function world() {
  const log: LogEntry[] = [];
  const records = new Map<string, NotificationFacts>();
  const foldedBelow = new Map<Topic, number>();
  let tailed: (entry: LogEntry) => void = silent;
  let changed: () => void = silent;
  let beforeRead = async (): Promise<void> => undefined;
  let onEnds: (topic: Topic) => Promise<void> = async () => undefined;
  const of = (topic: Topic, number: number): LogEntry[] =>
    log.filter((entry) => entry.topic === topic && entry.partition === number);
  const deps = {
    log: {
      partitioning: defaultPartitioning,
      tail(_: unknown, listener: (entry: LogEntry) => void) {
        tailed = listener;
        return silent;
      },
      async *read(slot: { topic: Topic; partition: number; from: number; to: number }) {
        await beforeRead();
        for (const entry of of(slot.topic, slot.partition))
          if (entry.offset >= slot.from && entry.offset < slot.to) yield entry;
      },
      ends: async (topic: Topic) => {
        await onEnds(topic);
        return Array.from({ length: defaultPartitioning.partitions }, (_, number) => of(topic, number).length);
      },
    },
    reader: {
      get: async (_: unknown, ids: readonly string[]) =>
        new Map(
          ids.flatMap((id) => {
            const facts = records.get(id);
            return facts === undefined ? [] : [[id, { ...facts, status: statusOf(facts) }]];
          }),
        ),
      positions: async (_: unknown, number: number) =>
        new Map(
          recordTopics.map((topic) => [topic, Math.min(of(topic, number).length, foldedBelow.get(topic) ?? Infinity)]),
        ),
      ahead: async () => null,
      onChange(_: unknown, listener: () => void) {
        changed = listener;
        return silent;
      },
    },
    turns: createThreadTurns({ gauges: silent }),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    clock: createClock(),
  } as unknown as Parameters<typeof createDashboardStreams>[0];
  const streams = createDashboardStreams(deps);

  const written = (topic: Topic, event: NotificationEvent): LogEntry => {
    const offset = of(topic, partition).length;
    const head = { tenantId } as LogEntry['head'];
    const entry = { topic, partition, offset, appendedAt: log.length, size: 1, head, event, undecodable: null };
    log.push(entry);
    records.set(event.notificationId, mergeEvent(records.get(event.notificationId) ?? null, event));
    return entry;
  };
  const idOf = (n: number): NotificationId => `notif_${n}` as NotificationId;
  return {
    idOf,
    asked: (n: number, topic: Topic = work) =>
      written(topic, { ...requested(partition, n), tenantId, notificationId: idOf(n) }),
    delivered: (n: number) =>
      written(deliveriesTopic, {
        ...requested(partition, n),
        tenantId,
        notificationId: idOf(n),
        type: 'AttemptSucceeded',
        attempt: 1,
      } as unknown as NotificationEvent),
    failed: (n: number) =>
      written(deliveriesTopic, {
        ...requested(partition, n),
        tenantId,
        notificationId: idOf(n),
        type: 'AttemptFailed',
        attempt: 1,
        failureClass: 'recipient',
        code: null,
        message: 'gone',
        retryAt: null,
        request: null,
      } as unknown as NotificationEvent),
    begun: (n: number) =>
      written(deliveriesTopic, {
        ...requested(partition, n),
        tenantId,
        notificationId: idOf(n),
        type: 'AttemptStarted',
        attempt: 1,
        provider: 'smtp',
      } as unknown as NotificationEvent),
    /** By the next owner of its number: whoever began it had lost it. */
    deferred: (n: number) =>
      written(deliveriesTopic, {
        ...requested(partition, n),
        tenantId,
        notificationId: idOf(n),
        type: 'DeliveryDeferred',
        attempt: 1,
        reason: 'breaker',
        dueAt: 1_700_003_600_000,
      } as unknown as NotificationEvent),
    askedAgain: (n: number) =>
      written(work, {
        ...requested(partition, n),
        tenantId,
        notificationId: idOf(n),
        type: 'RetryRequested',
        round: 2,
        attempt: 1,
      }),
    /** Of an answer that is made now. */
    position: async () => (await atStreamPosition(deps, tenantId, async () => null)).position,
    tail(...entries: LogEntry[]) {
      for (const entry of entries) tailed(entry);
      changed();
    },
    fold(topic: Topic, below: number) {
      foldedBelow.set(topic, below);
      changed();
    },
    onEnds(call: (topic: Topic) => Promise<void>) {
      onEnds = call;
    },
    onRead(call: () => Promise<void>) {
      beforeRead = call;
    },
    async open(lastEventId: string | null, by: TenantId = tenantId, cutAfter = Infinity) {
      const told: string[] = [];
      let id = '';
      const stream = {
        send(message: StreamMessage) {
          id = message.id ?? id;
          const data = 'json' in message ? JSON.parse(message.json) : null;
          told.push(data === null ? 'connected' : `${data.notificationId} ${data.status}`);
          return true;
        },
        hasRoom: true,
        room: async () => told.length < cutAfter,
        end: silent,
      } as unknown as EventStream;
      const close = streams.add(by, stream, await streams.beginning(by, lastEventId));
      await until(() => told.length > 0, { what: 'connected' });
      return { told, close, lastId: () => id };
    },
  };
}

/** The log's tail brings the outcome; the work, which was before it, hasn't come. */
async function outcomeTold() {
  const one = world();
  const stream = await one.open(null);
  const [asked, delivered] = [one.asked(1), one.delivered(1)];
  one.tail(delivered);
  await until(() => stream.told.length === 2, { what: 'DELIVERED' });
  return { one, stream, asked };
}

/** Work that is folded behind its outcome: no list has it yet. */
function outcomeFolded() {
  const one = world();
  one.fold(work, 0);
  one.asked(1);
  one.delivered(1);
  return one;
}

it('cut after the outcome and before the work came, it is not told of the work when it is resumed', async () => {
  const { one, stream } = await outcomeTold();
  stream.close();
  const resumed = await one.open(stream.lastId());
  one.tail(one.asked(2));
  await until(() => resumed.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
  expect(resumed.told).toEqual(['connected', 'notif_2 QUEUED']);
});

it('work that comes behind its outcome is not told, and is behind the next id', async () => {
  const { one, stream, asked } = await outcomeTold();
  one.tail(asked);
  one.tail(one.delivered(2));
  await until(() => stream.told.length === 3, { what: 'the next one' });
  expect(stream.told).toEqual(['connected', 'notif_1 DELIVERED', 'notif_2 DELIVERED']);
  const marks = parseDashboardMarks(stream.lastId(), partitionsOfTenant(tenantId, defaultPartitioning));
  expect(marks?.offset(work, partition)).toBe(1);
});

it('what was missed is told, also where its outcome comes while it is read', async () => {
  const one = world();
  const stream = await one.open(null);
  stream.close();
  const asked = one.asked(1);
  let delivered: LogEntry | null = null;
  one.onRead(async () => {
    if (delivered === null) one.tail(asked, (delivered = one.delivered(1)));
  });
  const resumed = await one.open(stream.lastId());
  await until(() => resumed.told.length === 3, { what: 'both' });
  expect(resumed.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_1 DELIVERED']);
});

it('work that comes while its outcome is caught up with is not told behind it', async () => {
  const one = world();
  const stream = await one.open(null);
  stream.close();
  one.delivered(1);
  let isRead = false;
  one.onRead(async () => {
    if (isRead) return;
    isRead = true;
    const late = one.asked(1);
    one.delivered(1);
    one.tail(late);
  });
  const resumed = await one.open(stream.lastId());
  one.tail(one.asked(2));
  await until(() => resumed.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
  expect(resumed.told).toEqual(['connected', 'notif_1 DELIVERED', 'notif_2 QUEUED']);
});

it('work that comes when its outcome is forgotten, since so many others were told of, is not told', async () => {
  const one = world();
  // Each has a part of what is remembered: a hundred at least.
  for (let n = 0; n < 600; n++) await one.open(null, `tnt_other${n}` as TenantId);
  const stream = await one.open(null);
  // Of a topic of its own: no other's mark is past it.
  const [asked, delivered] = [one.asked(0, workTopic('EMAIL', 'BULK')), one.delivered(0)];
  one.tail(delivered);
  for (let n = 1; n <= 150; n++) one.tail(one.asked(n));
  await until(() => stream.told.length === 152, { what: 'all' });
  one.tail(asked);
  one.tail(one.asked(200));
  await until(() => stream.told.includes('notif_200 QUEUED'), { what: 'the last one' });
  expect(stream.told.filter((told) => told.startsWith('notif_0 '))).toEqual(['notif_0 DELIVERED']);
});

it('a new stream is told of work that is folded behind its outcome, and then what has become of it', async () => {
  const one = outcomeFolded();
  const stream = await one.open(null);
  expect(stream.told).toEqual(['connected']);
  one.fold(work, Infinity);
  one.tail(one.asked(2));
  await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
  expect(stream.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_1 DELIVERED', 'notif_2 QUEUED']);
  stream.close();
  // Resumed it hears of neither again.
  const resumed = await one.open(stream.lastId());
  one.tail(one.asked(3));
  await until(() => resumed.told.includes('notif_3 QUEUED'), { what: 'what comes then' });
  expect(resumed.told).toEqual(['connected', 'notif_3 QUEUED']);
});

it.each(['the tail', 'the read model'])(
  'of a tenant of whom something is forgotten work is told of also where %s comes with its outcome a moment later',
  async (later) => {
    const one = world();
    for (let n = 0; n < 600; n++) await one.open(null, `tnt_other${n}` as TenantId);
    const stream = await one.open(null);
    for (let n = 1; n <= 150; n++) one.tail(one.asked(n));
    await until(() => stream.told.length === 151, { what: 'all' });
    const [asked, delivered] = [one.asked(200), one.delivered(200)];
    if (later === 'the tail') one.tail(asked);
    else {
      one.fold(deliveriesTopic, 0);
      one.tail(asked, delivered);
    }
    await new Promise((done) => setTimeout(done, 100));
    if (later === 'the tail') one.tail(delivered);
    else one.fold(deliveriesTopic, Infinity);
    await until(() => stream.told.includes('notif_200 DELIVERED'), { what: 'the last one' });
    expect(stream.told.slice(151)).toEqual(['notif_200 QUEUED', 'notif_200 DELIVERED']);
  },
);

it.each([
  [1, ['connected']],
  [2, ['connected', 'notif_1 QUEUED']],
])('a new stream that is cut behind %i messages is told of such work once it is resumed', async (count, toldBefore) => {
  const one = outcomeFolded();
  const stream = await one.open(null, tenantId, count);
  one.fold(work, Infinity);
  await until(() => stream.told.length === count, { what: 'the last message' });
  await new Promise((done) => setTimeout(done, 100));
  expect(stream.told).toEqual(toldBefore);
  stream.close();
  const resumed = await one.open(stream.lastId());
  one.tail(one.asked(2));
  await until(() => resumed.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
  expect(resumed.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_1 DELIVERED', 'notif_2 QUEUED']);
});

it('a stream that begins where an answer ends is told of such work too, which the answer may lack', async () => {
  const one = outcomeFolded();
  const stream = await one.open(await one.position());
  one.fold(work, Infinity);
  one.tail(one.asked(2));
  await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
  expect(stream.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_1 DELIVERED', 'notif_2 QUEUED']);
});

/** Of a stream that is up to date, and was cut. */
async function idOfTold(one: ReturnType<typeof world>): Promise<string> {
  const stream = await one.open(null);
  one.tail(one.asked(0));
  await until(() => stream.told.length === 2, { what: 'a change' });
  stream.close();
  return stream.lastId();
}

describe.each(['new', 'resumed'])('a %s stream, where brokers say the ends of topics a moment apart', (kind) => {
  it.each([deliveriesTopic, work])(
    'has the outcome as the last word of what is sent before that of %s',
    async (late) => {
      const one = world();
      const lastId = kind === 'new' ? null : await idOfTold(one);
      let calls = 0;
      const written: LogEntry[] = [];
      one.onEnds(async (topic) => {
        if (topic !== late) return;
        await new Promise((done) => setTimeout(done, 5));
        // What is resumed is first asked for whether it is of this log.
        if (++calls === (lastId === null ? 1 : 2)) written.push(one.asked(1), one.delivered(1));
      });
      const stream = await one.open(lastId);
      await until(() => written.length > 0, { what: 'the end' });
      await new Promise((done) => setTimeout(done, 50));
      // The tail brings them a moment later, up to 200 ms on Kafka.
      one.tail(...written);
      one.tail(one.asked(2));
      await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
      expect(stream.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_1 DELIVERED', 'notif_2 QUEUED']);
    },
  );

  it('is not told of a failure behind what was asked for since', async () => {
    const one = world();
    const lastId = kind === 'new' ? null : await idOfTold(one);
    one.asked(1);
    let calls = 0;
    let failed: LogEntry | null = null;
    one.onEnds(async (topic) => {
      if (topic !== work || ++calls !== (lastId === null ? 1 : 2)) return;
      failed = one.failed(1);
      one.askedAgain(1);
    });
    const stream = await one.open(lastId);
    await until(() => stream.told.length > 1, { what: 'what was missed' });
    await new Promise((done) => setTimeout(done, 50));
    if (failed !== null) one.tail(failed);
    one.tail(one.asked(2));
    await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
    expect(stream.told.filter((told) => told.endsWith('FAILED'))).toEqual([]);
  });
});

describe('what was begun and then put off, which is no change that is told', () => {
  it.each(['new', 'resumed'])('is told to a %s stream as what it is again, with what else was missed', async (kind) => {
    const one = world();
    if (kind === 'new') one.fold(work, 0);
    const lastId = kind === 'new' ? null : await idOfTold(one);
    one.fold(deliveriesTopic, kind === 'new' ? 0 : Infinity);
    one.asked(1);
    one.begun(1);
    one.deferred(1);
    const stream = await one.open(lastId);
    one.fold(work, Infinity);
    one.fold(deliveriesTopic, Infinity);
    one.tail(one.asked(2));
    await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
    expect(stream.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_2 QUEUED']);
  });

  it('is told also where the beginning alone was missed', async () => {
    const one = world();
    const stream = await one.open(null);
    one.tail(one.asked(1));
    await until(() => stream.told.length === 2, { what: 'QUEUED' });
    stream.close();
    one.begun(1);
    one.deferred(1);
    const resumed = await one.open(stream.lastId());
    one.tail(one.asked(2));
    await until(() => resumed.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
    expect(resumed.told).toEqual(['connected', 'notif_1 QUEUED', 'notif_2 QUEUED']);
  });

  it('is told as begun where what led to its status comes a moment later', async () => {
    const one = world();
    const lastId = await idOfTold(one);
    one.asked(1);
    one.begun(1);
    const later: LogEntry[] = [];
    one.onRead(async () => {
      if (later.length === 0) later.push(one.failed(1), one.askedAgain(1));
    });
    const stream = await one.open(lastId);
    await until(() => stream.told.includes('notif_1 PROCESSING'), { what: 'what was missed' });
    one.tail(...later);
    one.tail(one.asked(2));
    await until(() => stream.told.includes('notif_2 QUEUED'), { what: 'what comes then' });
    expect(stream.told.slice(1)).toEqual([
      'notif_1 QUEUED',
      'notif_1 PROCESSING',
      'notif_1 FAILED',
      'notif_1 QUEUED',
      'notif_2 QUEUED',
    ]);
  });

  it('is told of a tenant of whom something is forgotten', async () => {
    const one = world();
    for (let n = 0; n < 600; n++) await one.open(null, `tnt_other${n}` as TenantId);
    const stream = await one.open(null);
    for (let n = 1; n <= 150; n++) one.tail(one.asked(n));
    await until(() => stream.told.length === 151, { what: 'all' });
    one.tail(one.asked(200), one.begun(200), one.deferred(200), one.asked(201));
    await until(() => stream.told.includes('notif_201 QUEUED'), { what: 'the last one' });
    expect(stream.told.slice(151)).toEqual(['notif_200 QUEUED', 'notif_201 QUEUED']);
  });
});
