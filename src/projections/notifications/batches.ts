// Batches: how many of each one's notifications have which status, kept as the statistics are, and what was said of it when it had been read.
//
// A batch of 10,000 is read as 13 documents at most: one of the batch, and one for each partition number that its notifications have.

import type { BatchAccepted } from '../../domain/events.ts';
import type { BatchId, TenantId } from '../../domain/ids.ts';
import { timeOfBatchId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import { statuses } from '../../domain/notification.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import type { NotificationDocument } from './document.ts';

/** Of the whole batch. */
interface BatchSummary {
  readonly tenantId: TenantId;
  readonly accepted: number;
  readonly rejected: number;
}

/** Of its notifications of one partition number; without a single one it is absent. */
interface BatchCounts {
  readonly tenantId: TenantId;
  /** Statuses in one order, none is 0. */
  readonly counts: Readonly<Partial<Record<Status, number>>>;
}

export const batchesCollection: CollectionDefinition = {
  name: 'batches_2',
  fields: { tenantId: 'text', accepted: 'number' },
  // Of what was said of whole batches: counts have no such field.
  indexes: [{ fields: ['tenantId', 'accepted'], sparse: true }],
};

export interface Batch {
  readonly batchId: BatchId;
  readonly accepted: number;
  readonly rejected: number;
  /** UTC ms. */
  readonly createdAt: number;
  readonly statusCounts: Readonly<Record<Status, number>>;
}

/** null when the tenant has no such batch. As long as it is being read, or if that was broken off, `accepted` is what is there of it. */
export async function getBatch(
  reader: Pick<ReadModelReader, 'get'>,
  tenantId: TenantId,
  batchId: BatchId,
  partitions: number,
): Promise<Batch | null> {
  const found = await findBatch(reader, tenantId, batchId, partitions);
  if (found === null) return null;
  const { summary, there, statusCounts } = found;
  const { accepted, rejected } = summary ?? { accepted: there, rejected: 0 };
  return { batchId, accepted, rejected, createdAt: timeOfBatchId(batchId), statusCounts };
}

/** How many notifications are there of a batch of which nothing was said as a whole; null: something was. */
export async function countUnsummed(
  reader: Pick<ReadModelReader, 'get'>,
  tenantId: TenantId,
  batchId: BatchId,
  partitions: number,
): Promise<number | null> {
  const found = await findBatch(reader, tenantId, batchId, partitions);
  if (found === null) return 0;
  return found.summary === null ? found.there : null;
}

async function findBatch(
  reader: Pick<ReadModelReader, 'get'>,
  tenantId: TenantId,
  batchId: BatchId,
  partitions: number,
): Promise<{ summary: BatchSummary | null; there: number; statusCounts: Record<Status, number> } | null> {
  const ids = [batchId, ...countsIds(tenantId, batchId, partitions)];
  const found = await reader.get<BatchSummary & BatchCounts>(batchesCollection.name, ids);
  const own = [...found].filter(([, document]) => document.tenantId === tenantId);
  if (own.length === 0) return null;
  const statusCounts = Object.fromEntries(statuses.map((status) => [status, 0])) as Record<Status, number>;
  let summary: BatchSummary | null = null;
  for (const [id, document] of own) {
    if (id === batchId) summary = document;
    else for (const [status, count] of entriesOf(document.counts)) statusCounts[status] += count;
  }
  const there = Object.values(statusCounts).reduce((sum, count) => sum + count, 0);
  return { summary, there, statusCounts };
}

export interface BatchChanges {
  accepted(event: BatchAccepted): void;
  /** What was said of the whole batch. */
  forgotten(batchId: BatchId): void;
  /** One record's document before and after; null: there is none. */
  move(before: NotificationDocument | null, after: NotificationDocument | null): void;
  writes(reader: Pick<ReadModelReader, 'get'>): Promise<Write[]>;
}

export function createBatchChanges(): BatchChanges {
  /** null: forgotten. */
  const summaries = new Map<BatchId, BatchSummary | null>();
  const deltas = new Map<string, { readonly tenantId: TenantId; readonly counts: Map<Status, number> }>();
  const add = ({ batchId, listedAt, partition, tenantId, status }: NotificationDocument, by: 1 | -1): void => {
    if (batchId === null || listedAt === null) return;
    const id = countsId(tenantId, batchId, partition);
    const delta = deltas.get(id) ?? { tenantId, counts: new Map<Status, number>() };
    deltas.set(id, delta);
    delta.counts.set(status, (delta.counts.get(status) ?? 0) + by);
  };
  return {
    accepted({ batchId, tenantId, accepted, rejected }) {
      summaries.set(batchId, { tenantId, accepted, rejected });
    },
    forgotten(batchId) {
      summaries.set(batchId, null);
    },
    move(before, after) {
      if (before !== null) add(before, -1);
      if (after !== null) add(after, 1);
    },
    async writes(reader) {
      const collection = batchesCollection.name;
      const writes: Write[] = [...summaries].map(([id, document]) => ({ collection, id, document }));
      const changed = [...deltas].filter(([, { counts }]) => [...counts.values()].some((by) => by !== 0));
      if (changed.length === 0) return writes;
      const ids = changed.map(([id]) => id);
      const stored = await reader.get<BatchCounts>(collection, ids);
      for (const [id, { tenantId, counts }] of changed) {
        const before = stored.get(id);
        const document = { tenantId, counts: summed(before?.counts ?? {}, counts) };
        const isEmpty = Object.keys(document.counts).length === 0;
        writes.push({ collection, id, document: isEmpty ? null : document, isNew: before === undefined });
      }
      return writes;
    },
  };
}

/** Of what is there of its notifications, by partition number. */
export function countsIds(tenantId: TenantId, batchId: BatchId, partitions: number): string[] {
  return Array.from({ length: partitions }, (_, partition) => countsId(tenantId, batchId, partition));
}

function countsId(tenantId: TenantId, batchId: BatchId, partition: number): string {
  return `${tenantId}:${batchId}:${partition}`;
}

function entriesOf(counts: BatchCounts['counts']): [Status, number][] {
  return Object.entries(counts) as [Status, number][];
}

function summed(before: BatchCounts['counts'], changes: ReadonlyMap<Status, number>): BatchCounts['counts'] {
  const sums = statuses.map((status): [Status, number] => [status, (before[status] ?? 0) + (changes.get(status) ?? 0)]);
  return Object.fromEntries(sums.filter(([, count]) => count !== 0));
}
