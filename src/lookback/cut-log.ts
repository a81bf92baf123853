// The log as it was at a moment: of each partition what it had taken until then, by the time of the append, and nothing that was appended since.

import type { EventLog } from '../ports/event-log.ts';
import type { Topic } from '../domain/topics.ts';
import type { ReadableLog } from '../projections/rebuild-pass.ts';

/** A log that is read beside whoever writes it. */
export interface LogBeside extends ReadableLog, Pick<EventLog, 'offsetAt'> {
  /** Made with the log, for good. */
  readonly id: string;
}

/** Where each partition of each topic is cut: the offset behind its last event. */
export type Cut = ReadonlyMap<Topic, readonly number[]>;

/** @param timeMs UTC; what was appended in this very ms belongs to it. @throws Error when the log can't be read */
export async function cutAt(log: LogBeside, topics: readonly Topic[], timeMs: number): Promise<Cut> {
  const cut = new Map<Topic, readonly number[]>();
  for (const topic of topics) {
    const ends = await log.ends(topic);
    const at = ends.map(async (end, partition) => Math.min(end, await log.offsetAt(topic, partition, timeMs + 1)));
    cut.set(topic, await Promise.all(at));
  }
  return cut;
}

/** The same log, which ends at the cut. */
export function cutLog(log: LogBeside, cut: Cut): LogBeside {
  const endOf = (topic: Topic, partition: number): number => cut.get(topic)?.[partition] ?? 0;
  return {
    id: log.id,
    partitioning: log.partitioning,
    ends: async (topic) => cut.get(topic) ?? Array.from({ length: log.partitioning.partitions }, () => 0),
    read: (range) => log.read({ ...range, to: Math.min(range.to, endOf(range.topic, range.partition)) }),
    offsetAt: async (topic, partition, timeMs) =>
      Math.min(await log.offsetAt(topic, partition, timeMs), endOf(topic, partition)),
  };
}
