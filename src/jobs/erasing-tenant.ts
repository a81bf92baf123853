// A tenant erased: all that the log has of it is named to the read models, which drop it, and taken away where that can be.
//
//   TenantErased, stores emptied ──> folded everywhere ──> the tenant's numbers, topic by topic ──> TenantForgotten; the events are removed
//     └──> what the records have still (of a log that has lost its beginning), kept days ──> what said so is removed ──> files overwritten
//
// Every step may be taken twice: the events say the same again, and what is gone is gone.

import { erasedIdsMax } from '../domain/erasure.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import { partitionsOfTenant, placesInLog, retentionTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { LogEntry, Position } from '../ports/event-log.ts';
import type { StoredJob } from '../ports/job-store.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { readModels } from '../projections/index.ts';
import type { NotificationDocument } from '../projections/notifications/document.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import { reportCellsCollection } from '../projections/notifications/reports.ts';
import { statisticsCollection } from '../projections/notifications/statistics-cells.ts';
import { waitForPosition } from '../projections/wait.ts';
import { erasedReadEvents, erasedReadMs, recordsWaitMs } from './limits.ts';
import { erasedCount, eventsRead } from './erasure-progress.ts';
import type { LogMark, ReadOn, TakesLong, WorkDependencies } from './work.ts';

/** Where it is: in the log, and then behind it. */
interface Steps {
  readonly log: ReturnType<typeof placesInLog>;
  /** Of the log as it says itself what went: last. */
  readonly said: readonly { readonly topic: Topic; readonly partition: number }[];
}

export function erasingTenant({ commands, reader, clock, log, bytes, metrics }: WorkDependencies) {
  const stepsOf = (tenantId: TenantId): Steps => {
    const numbers = partitionsOfTenant(tenantId, log.partitioning);
    return {
      log: placesInLog(tenantId, log.partitioning),
      said: numbers.map((partition) => ({ topic: retentionTopic, partition })),
    };
  };

  /** Whether every read model has these. Waits as long as for anything of the records; once more it only looks: a job that waits has a place, and there are few. */
  const areFolded = async (
    tenantId: TenantId,
    positions: readonly Position[],
    asked: 'first' | 'again',
  ): Promise<boolean> => {
    const waitMs = asked === 'first' ? recordsWaitMs : 0;
    const waits = readModels.flatMap((readModel) =>
      positions.map((position) => waitForPosition({ reader, clock }, readModel, { ...position, tenantId }, waitMs)),
    );
    return (await Promise.all(waits)).every((isReached) => isReached);
  };

  /** Whether the log has still what was said first, and these; one that was put back from an earlier time hasn't, however far it has grown since. */
  const areSaid = async (tenantId: TenantId, positions: readonly Position[]): Promise<boolean> => {
    if (!log.isTenantErased(tenantId)) return false;
    const ends = await Promise.all(positions.map(({ topic }) => log.ends(topic)));
    return positions.every(({ partition, offset }, i) => offset < (ends[i]?.[partition] ?? 0));
  };

  /** One that names nothing stands behind all that were appended before it. */
  const forgetNothing = async (tenantId: TenantId): Promise<readonly Position[]> => {
    const numbers = partitionsOfTenant(tenantId, log.partitioning);
    const nothing = { tenantId, notificationIds: [], batchIds: [], endedDays: [] };
    return Promise.all(numbers.map((partition) => commands.forgetOfTenant({ ...nothing, partition })));
  };

  const forget = async (tenantId: TenantId, named: Named): Promise<void> => {
    for (const page of inEvents(named)) await commands.forgetOfTenant({ tenantId, ...page });
  };

  /** Answers where to go on in the partition, null: that was all of it; and how many notifications were asked for in what it has read. */
  const readPartition = async (tenantId: TenantId, from: Position, removes: Removes) => {
    const { topic, partition, offset } = from;
    const end = (await log.ends(topic, [partition]))[partition] ?? 0;
    const until = clock.monotonic() + erasedReadMs;
    const named = nothingOf(partition);
    const [gone, changed]: [Position[], Position[]] = [[], []];
    let next = offset;
    let requested = 0;
    for await (const entry of log.read({ topic, partition, from: offset, to: end, ofErased: 'shown' })) {
      next = entry.offset + 1;
      const fate = fateOf(entry, tenantId, removes);
      if (fate === 'goes') gone.push(entry);
      if (fate === 'changes') changed.push(entry);
      if (fate !== 'stays' && entry.event !== null) note(entry.event, named);
      if (fate === 'goes' && entry.head?.type === 'NotificationRequested') requested++;
      if (next - offset >= erasedReadEvents || gone.length >= erasedIdsMax || clock.monotonic() >= until) break;
    }
    await forget(tenantId, named);
    await bytes?.overwrite(changed);
    await bytes?.remove(gone);
    metrics.increment(eventsRead, {}, next - offset);
    metrics.increment(erasedCount, {}, requested);
    return { next: next < end && next > offset ? next : null, requested };
  };

  /** Answers how many notifications; null: there was nothing. */
  const forgetRest = async (tenantId: TenantId): Promise<number | null> => {
    const rest = await restOf(reader, tenantId);
    for (const named of rest) await forget(tenantId, named);
    const count = rest.reduce((sum, { notificationIds }) => sum + notificationIds.size, 0);
    metrics.increment(erasedCount, {}, count);
    return rest.length === 0 ? null : count;
  };

  return async (job: StoredJob, { place, offset, awaited }: LogMark, takesLong: TakesLong): Promise<ReadOn> => {
    const { tenantId, done } = job;
    const steps = stepsOf(tenantId);
    const on = (next: number | null, more = 0): ReadOn => {
      const mark = next === null ? { place: place + 1, offset: 0 } : { place, offset: next };
      return { next: { kind: 'log', ...mark }, done: done + more };
    };
    // The same until it is folded: of a read model that stays behind, what is said anew each time never is.
    const waitsFor = (positions: readonly Position[]): ReadOn => {
      return { next: { kind: 'log', place, offset, awaited: positions }, done };
    };
    const asked = awaited === undefined ? 'first' : 'again';
    const isBegun = place > 0 || offset > 0 || awaited !== undefined;
    // Whatever was done in that log is undone with it.
    if (isBegun && !(await areSaid(tenantId, awaited ?? [])))
      return { next: { kind: 'log', place: 0, offset: 0 }, done: 0 };
    if (place === 0 && offset === 0) {
      const positions = awaited ?? (await commands.eraseTenant(tenantId));
      // From then on nothing of it is folded any more: what is named goes for good.
      if (!(await areFolded(tenantId, positions, asked))) return waitsFor(positions);
    }
    const at = steps.log[place];
    if (at !== undefined) {
      const { next, requested } = await readPartition(tenantId, { ...at, offset }, 'events');
      return on(next, requested);
    }
    const behind = place - steps.log.length;
    if (behind === 0) {
      const said = awaited ?? (await forgetNothing(tenantId));
      if (!(await areFolded(tenantId, said, asked))) return waitsFor(said);
      const rest = await forgetRest(tenantId);
      return rest === null ? on(null) : on(offset, rest);
    }
    const said = steps.said[behind - 1];
    if (said !== undefined) {
      return bytes === null ? on(null) : on((await readPartition(tenantId, { ...said, offset }, 'everything')).next);
    }
    // What others, who hadn't heard of it yet, may have saved meanwhile.
    await commands.eraseTenant(tenantId);
    if (bytes !== null && !(await takesLong(bytes.scrub))) return on(offset);
    return { next: { kind: 'end' }, done: Math.max(done, job.total) };
  };
}

/** `everything`: also what said that it goes. */
type Removes = 'events' | 'everything';

function fateOf({ head, event, undecodable }: LogEntry, tenantId: TenantId, removes: Removes) {
  if (head?.tenantId !== tenantId) {
    const stray = undecodable?.bytes ?? (event?.type === 'DeadLettered' ? event.bytes : '');
    if (!Buffer.from(stray, 'base64').includes(tenantId)) return 'stays';
    return event === null ? 'changes' : 'goes';
  }
  switch (head.type) {
    case 'TenantErased':
      return 'stays';
    case 'TenantForgotten':
      return removes === 'everything' ? 'goes' : 'stays';
    case 'NotificationsForgotten':
      return removes === 'everything' ? 'stays' : 'changes';
    default:
      return removes === 'everything' ? 'stays' : 'goes';
  }
}

/** Of one partition number. */
interface Named {
  readonly partition: number;
  readonly notificationIds: Set<NotificationId>;
  readonly batchIds: Set<BatchId>;
  readonly endedDays: Set<number>;
}

function nothingOf(partition: number): Named {
  return { partition, notificationIds: new Set(), batchIds: new Set(), endedDays: new Set() };
}

function note(event: DomainEvent, { notificationIds, batchIds }: Named): void {
  if ('notificationId' in event) notificationIds.add(event.notificationId);
  if (event.type === 'InboxRead') for (const id of event.notificationIds) notificationIds.add(id);
  if (event.type === 'BatchAccepted') batchIds.add(event.batchId);
}

/** So many as one event names. */
function inEvents({ partition, ...named }: Named) {
  const [ids, batches, days] = [[...named.notificationIds], [...named.batchIds], [...named.endedDays]];
  const count = Math.ceil(Math.max(ids.length, batches.length, days.length) / erasedIdsMax);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i * erasedIdsMax, (i + 1) * erasedIdsMax];
    return {
      partition,
      notificationIds: ids.slice(from, to),
      batchIds: batches.slice(from, to),
      endedDays: days.slice(from, to),
    };
  });
}

/** A page of what the read models still have: records that the log doesn't tell of any more, and days that were kept. */
export async function restOf(reader: ReadModelReader, tenantId: TenantId): Promise<Named[]> {
  const numbers = new Map<number, Named>();
  const of = (partition: number): Named => {
    const named = numbers.get(partition) ?? nothingOf(partition);
    numbers.set(partition, named);
    return named;
  };
  const { documents } = await reader.find<NotificationDocument>({
    collection: notificationsCollection.name,
    equals: { tenantId },
    order: { fields: ['listedAt'], direction: 'ascending' },
    limit: erasedIdsMax,
    bytesMax: restBytesMax,
  });
  for (const { id, partition, batchId } of documents) {
    const named = of(partition);
    named.notificationIds.add(id);
    if (batchId !== null) named.batchIds.add(batchId);
  }
  for (const collection of [statisticsCollection.name, reportCellsCollection.name]) {
    const kept = await reader.find<{ readonly at: number; readonly partition: number }>({
      collection,
      equals: { tenantId, resolution: 'kept' },
      order: { fields: ['at'], direction: 'ascending' },
      limit: erasedIdsMax,
      bytesMax: restBytesMax,
    });
    for (const { at, partition } of kept.documents) of(partition).endedDays.add(at);
  }
  return [...numbers.values()];
}

const restBytesMax = 1024 * 1024;
