// A pass over one partition number: from where its topics begin to the horizon, what has ended is forgotten and what nothing remains of is trimmed.
//
//   page ──> judge ──> forget what has ended, wait until that is folded ──> judge again ──> trim, but for what waits ──> the next page

import { batchPartition, inboxTopic, deadLettersTopic, retentionTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import { timeOfBatchId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import { trimBytesMax, trimEventsMax } from '../ports/event-log.ts';
import type { FieldValue, Page, ReadModelReader } from '../ports/read-model-store.ts';
import { batchesCollection } from '../projections/notifications/batches.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import { notificationsReadModel, recordTopics } from '../projections/notifications/index.ts';
import { bucketStart } from '../projections/notifications/resolutions.ts';
import type { Reach } from '../projections/reach.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Looked } from './end-of-older.ts';
import { endOfOlder } from './end-of-older.ts';
import { forget } from './forget.ts';
import { isKeptForItsKey } from './horizon.ts';
import { batchesOver, endedStatuses, forgettableOf, judge } from './remains.ts';
import type { Forgettable } from './remains.ts';

export interface PassDependencies {
  readonly log: Pick<
    EventLog,
    'append' | 'read' | 'starts' | 'ends' | 'offsetAt' | 'trim' | 'partitioning' | 'isTenantErased'
  >;
  readonly reader: Pick<ReadModelReader, 'get' | 'find' | 'positions' | 'hasCaughtUp'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** How far the records are, of which no event need be left at the end of what they have folded. */
  readonly reach: Reach;
  /** Numbers take turns: what a pass holds the thread for, it rests for. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Something was done. */
  moved(): void;
}

export interface PassOf {
  readonly partition: number;
  readonly signal: AbortSignal;
  /** UTC ms; null: for ever. */
  readonly horizon: number | null;
  readonly statisticsHorizon: number | null;
  /** Those with a horizon that is nearer than everybody's. */
  readonly tenants: ReadonlyMap<TenantId, number>;
  /** Where to go on in each topic: what is before it waits, or was trimmed. Kept from pass to pass. */
  readonly settled: Map<Topic, number>;
  /** Of a log with times of the future, how far each topic was looked through. Kept as well. */
  readonly looked: Map<Topic, Looked>;
}

/** The read model that says what is there. */
const records = notificationsReadModel;

/** Those of suppressions, of what is erased and of what was changed by whom stay for ever: the lists are folded from them. */
const trimmedTopics: readonly Topic[] = [...recordTopics, inboxTopic, deadLettersTopic];

/** Answers whether it was done to its end: not while the records are behind the horizon. @throws Error when a store is away */
export async function passOver(deps: PassDependencies, of: PassOf): Promise<boolean> {
  const { log, reader } = deps;
  const { partition, signal, horizon, statisticsHorizon } = of;
  if (!(await reader.hasCaughtUp(records.definition.name))) return false;
  const positions = await reader.positions(records.definition.name, partition);
  const hasFolded = async (topic: Topic, to: number) =>
    (await deps.reach.reached({ topic, partition }, positions.get(topic) ?? 0, to)) >= to;
  const end = (await log.ends(retentionTopic, [partition]))[partition] ?? 0;
  if (!(await hasFolded(retentionTopic, end))) return false;
  for (const [tenantId, before] of of.tenants) {
    await forgetTenant(deps, of, tenantId, before);
    await forgetBatches(deps, of, tenantId, before);
  }
  if (horizon !== null) {
    const ranges = new Map<Topic, number>();
    for (const topic of trimmedTopics)
      ranges.set(topic, await endOfOlder(deps, of.looked, { topic, partition, signal }, horizon));
    // Of a record nothing is judged before all of it that is older than the horizon is folded.
    for (const [topic, to] of ranges) if (records.topics.includes(topic) && !(await hasFolded(topic, to))) return false;
    for (const [topic, to] of ranges) await walk(deps, of, { topic, to, daysBefore: null });
  }
  if (statisticsHorizon !== null) {
    const to = await endOfOlder(deps, of.looked, { topic: retentionTopic, partition, signal }, statisticsHorizon);
    const staysFrom = await neededFrom(log, partition, to);
    await walk(deps, of, { topic: retentionTopic, to, daysBefore: bucketStart('day', statisticsHorizon), staysFrom });
  }
  return true;
}

/**
 * From where on what says that notifications are forgotten is needed by every rebuild: events that it names may still be there, behind one that waits on Kafka,
 * or for ever where tenants' own retention alone ended them. All of them came before it did.
 */
async function neededFrom({ starts, read, ends, offsetAt }: PassDependencies['log'], partition: number, to: number) {
  let oldestAt = Infinity;
  if (to > ((await starts(retentionTopic))[partition] ?? 0))
    for (const topic of trimmedTopics) {
      const [from = 0, end = 0] = [(await starts(topic))[partition], (await ends(topic))[partition]];
      // Of an erased tenant's too: it is no younger than the first of others, which may be far.
      for await (const { appendedAt } of read({ topic, partition, from, to: end, aheadBytes: 1, ofErased: 'shown' })) {
        oldestAt = Math.min(oldestAt, appendedAt);
        break;
      }
    }
  return oldestAt === Infinity ? Infinity : offsetAt(retentionTopic, partition, oldestAt);
}

interface Walk {
  readonly topic: Topic;
  readonly to: number;
  readonly daysBefore: number | null;
  /** What of it may not be trimmed yet, whatever is left of it; absent: nothing. */
  readonly staysFrom?: number;
}

async function walk(
  deps: PassDependencies,
  of: PassOf,
  { topic, to, daysBefore, staysFrom = Infinity }: Walk,
): Promise<void> {
  const { log } = deps;
  const { partition, signal, settled } = of;
  const start = (await log.starts(topic, [partition]))[partition] ?? 0;
  let from = Math.max(start, settled.get(topic) ?? 0);
  let entries: LogEntry[] = [];
  let bytes = 0;
  const flush = async () => {
    const next = (entries.at(-1)?.offset ?? from - 1) + 1;
    if (next <= from) return;
    await settle(deps, of, { topic, from, to: next, entries, daysBefore, staysFrom });
    settled.set(topic, next);
    from = next;
    [entries, bytes] = [[], 0];
  };
  if (from >= to) return;
  // Of an erased tenant's too: its bytes end as everybody's do, and each of them counts, however long a stretch of them is.
  for await (const entry of log.read({ topic, partition, from, to, ofErased: 'shown' })) {
    if (signal.aborted) return;
    entries.push(entry);
    bytes += entry.size;
    if (entries.length >= trimEventsMax || bytes >= trimBytesMax) await flush();
  }
  await flush();
}

interface JudgedRange {
  readonly topic: Topic;
  readonly from: number;
  readonly to: number;
  readonly entries: readonly LogEntry[];
  readonly daysBefore: number | null;
  readonly staysFrom: number;
}

async function settle(deps: PassDependencies, of: PassOf, { entries, daysBefore, staysFrom, ...range }: JudgedRange) {
  const { reader, log, clock, inTurn, metrics, moved } = deps;
  const { partition, horizon } = of;
  const by = { now: clock.now(), horizon, partitions: log.partitioning.partitions, daysBefore };
  const first = await inTurn(() => judge(reader, entries, by));
  // What the records still have of an erased tenant its erasure names, by these events, which stay until it has.
  const forgettable = first.forgettable.filter(({ tenantId }) => !log.isTenantErased(tenantId));
  for (const one of forgettable) await forgetAll(deps, of, one);
  const judged = forgettable.length === 0 ? first : await inTurn(() => judge(reader, entries, by));
  const isKept = new Set(judged.kept);
  const kept = entries.map(({ offset }) => offset).filter((offset) => offset >= staysFrom || isKept.has(offset));
  const { events } = await inTurn(() => log.trim({ ...range, partition, kept }));
  metrics.increment('herald_trimmed_events_total', {}, events);
  moved();
}

async function forgetAll(deps: PassDependencies, of: PassOf, forgettable: Forgettable): Promise<void> {
  await forget(deps, of, forgettable);
  deps.metrics.increment('herald_forgotten_total', {}, forgettable.notifications.size);
  deps.moved();
}

/** By the records' own order: the log has them among those of everybody else, and keeps them as long. */
async function forgetTenant(deps: PassDependencies, of: PassOf, tenantId: TenantId, before: number): Promise<void> {
  const now = deps.clock.now();
  let after: readonly FieldValue[] | null = null;
  do {
    const page: Page<{ readonly id: NotificationId; readonly listedAt: number }> = await deps.reader.find({
      collection: notificationsCollection.name,
      equals: { tenantId },
      range: { field: 'listedAt', to: before },
      order: { fields: ['listedAt'], direction: 'ascending' },
      filter: { status: endedStatuses },
      fields: ['listedAt'],
      limit: trimEventsMax,
      ...(after === null ? {} : { after }),
    });
    const ids = page.documents.flatMap(({ id, listedAt }) => (isKeptForItsKey(id, listedAt, now) ? [] : [id]));
    const ended = await deps.inTurn(() => forgettableOf(deps.reader, tenantId, ids, { now, horizon: before }));
    for (const [id, { record }] of ended.notifications)
      if (record?.partition !== of.partition) ended.notifications.delete(id);
    if (ended.notifications.size > 0) await forgetAll(deps, of, ended);
    after = page.next;
  } while (after !== null && !of.signal.aborted);
}

/** Once nothing of one is left in any number, by the number in which it was said: a rebuild folds there what was said of it, and then that it is forgotten. */
async function forgetBatches(deps: PassDependencies, of: PassOf, tenantId: TenantId, before: number): Promise<void> {
  const { reader, log, inTurn } = deps;
  const { partitioning } = log;
  const isOld = (id: BatchId) =>
    timeOfBatchId(id) < before && batchPartition(tenantId, id, partitioning) === of.partition;
  let after: readonly FieldValue[] | null = null;
  do {
    const page: Page<{ readonly id: BatchId }> = await reader.find({
      collection: batchesCollection.name,
      equals: { tenantId },
      order: { fields: ['accepted'], direction: 'ascending' },
      fields: ['accepted'],
      limit: trimEventsMax,
      ...(after === null ? {} : { after }),
    });
    const old = page.documents.flatMap(({ id }) => (isOld(id) ? [id] : []));
    const over = await inTurn(() => batchesOver(reader, tenantId, old, partitioning.partitions));
    if (over.batchIds.size > 0) await forgetAll(deps, of, over);
    after = page.next;
  } while (after !== null && !of.signal.aborted);
}
