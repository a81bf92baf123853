// Which of the dashboard's changes an answer has in it already: the id of the stream at which that is to be gone on from, so that counts and changes join
// without a gap or a repeat.

import type { TenantId } from '../domain/ids.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';
import { foldedBelow } from '../ports/folded-ahead.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import { marksAt } from './dashboard-marks.ts';

export const streamPositionHeader = 'x-stream-position';

interface FoldedMarks {
  readonly marks: DashboardMarks;
  /** Nothing behind them is folded. A tenant that fills a number may have been folded before its turn until it did. */
  readonly areExact: boolean;
}

/** How far the read model has come with what the tenant has on its numbers. */
export async function foldedMarks(
  reader: ReadModelReader,
  tenantId: TenantId,
  partitions: readonly number[],
): Promise<FoldedMarks> {
  const { name } = notificationsReadModel.definition;
  const ofNumber = async (partition: number) => {
    const [position, ahead] = await Promise.all([reader.positions(name, partition), reader.ahead(name, partition)]);
    return [partition, { folded: foldedBelow(position, ahead, tenantId), ahead }] as const;
  };
  const numbers = new Map(await Promise.all(partitions.map(ofNumber)));
  return {
    marks: marksAt(partitions, (topic, partition) => numbers.get(partition)?.folded.get(topic) ?? 0),
    areExact: ![...numbers.values()].some(({ ahead }) => ahead?.behind.has(tenantId) === true),
  };
}

export interface AtPosition<T> {
  readonly value: T;
  /** Where a stream goes on that tells just what `value` doesn't have; null: it can't be told, since the read model moved on while it was read. */
  readonly position: string | null;
}

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly log: Pick<EventLog, 'partitioning'>;
}

/** Read again when the read model moved meanwhile: under load it moves each 25 to 300 ms, and a read takes some. */
const readsMax = 4;
/** What takes longer is read once: it would not fit between two moves, and costs more than it is worth. */
const quickMs = 20;

/** Resolves as `read` does. */
export async function atStreamPosition<T>(
  { reader, log }: Dependencies,
  tenantId: TenantId,
  read: () => Promise<T>,
): Promise<AtPosition<T>> {
  const partitions = partitionsOfTenant(tenantId, log.partitioning);
  let before = await foldedMarks(reader, tenantId, partitions);
  for (let reads = 1; ; reads++) {
    const startedAt = performance.now();
    const value = await read();
    const after = await foldedMarks(reader, tenantId, partitions);
    if (!after.areExact) return { value, position: null };
    if (after.marks.text === before.marks.text) return { value, position: after.marks.text };
    if (reads === readsMax || performance.now() - startedAt > quickMs) return { value, position: null };
    before = after;
  }
}
