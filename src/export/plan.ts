// What of the log an export is to hold: offsets of each partition, fixed before anything is read. So a second run reads the very same.

import { allTopics, deliveriesTopic, workTopics } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { TableName } from './columns.ts';
import { type Filter, partitionsOf, topicsOf } from './filter.ts';
import type { Manifest, Range } from './manifest.ts';
import { asOfOf, ExportRefusedError } from './manifest.ts';

/** A log that is read beside whoever writes it. */
export interface ExportedLog extends Pick<EventLog, 'partitioning' | 'read' | 'ends' | 'offsetAt'> {
  /** Made with the log, for good. */
  readonly id: string;
}

export interface Wanted {
  readonly table: TableName;
  readonly filter: Filter;
  /** UTC ms of the append; null: from the log's beginning, to its end. */
  readonly from: number | null;
  readonly to: number | null;
  /** What is exported already. */
  readonly since: Manifest | null;
}

/** @throws ExportRefusedError when the log isn't the one that was exported before, or was put back from an older backup */
export async function rangesOf(log: ExportedLog, wanted: Wanted): Promise<Range[]> {
  const { table, filter, since } = wanted;
  if (since !== null) checkLog(log, since);
  const before = new Map(since?.ranges.map((range) => [placeOf(range.topic, range.partition), range.to]));
  const ranges: Range[] = [];
  for (const topic of topicsOf(filter, topicsOfTable[table])) {
    const ends = await log.ends(topic);
    for (const partition of partitionsOf(filter, log.partitioning)) {
      const end = ends[partition] ?? 0;
      const at = (timeMs: number) => log.offsetAt(topic, partition, timeMs);
      const to = wanted.to === null ? end : Math.min(await at(wanted.to), end);
      const from =
        since === null ? (wanted.from === null ? 0 : await at(wanted.from)) : before.get(placeOf(topic, partition));
      ranges.push({ topic, partition, ...bounds(from ?? 0, to, { topic, partition, end }), events: 0 });
    }
  }
  return ranges;
}

/**
 * Up to when an export knows the log, where it is asked before the ranges are: a later row of one knows all that an earlier one does, in whatever order their
 * ranges are exported. ISO 8601, and behind the last export's, whatever the clock says.
 */
export function knownUpTo(clock: Pick<Clock, 'now'>, { to, since }: Pick<Wanted, 'to' | 'since'>): string {
  const known = Math.min(clock.now(), to ?? Infinity);
  return new Date(Math.max(known, since === null ? 0 : Date.parse(asOfOf(since)) + 1)).toISOString();
}

/** What follows is read first: of what it follows from nothing is missing then, whatever is appended meanwhile. */
const ofNotifications: readonly Topic[] = [deliveriesTopic, ...workTopics];

const topicsOfTable: Readonly<Record<TableName, readonly Topic[]>> = {
  events: allTopics,
  notifications: ofNotifications,
  attempts: ofNotifications,
};

function bounds(from: number, to: number, { topic, partition, end }: { topic: Topic; partition: number; end: number }) {
  if (from > end)
    throw new ExportRefusedError(
      `${topic}, partition ${partition} ends at ${end}, and the last export went on to ${from}: the log was put back from a backup since. Export it anew.`,
    );
  return { from, to: Math.max(from, to) };
}

/** @throws ExportRefusedError */
export function checkLog({ id, partitioning }: ExportedLog, { log }: Pick<Manifest, 'log'>): void {
  if (log.id === id && log.partitions === partitioning.partitions) return;
  throw new ExportRefusedError(`The export is of another log (${log.id}) than this one (${id}).`);
}

/** Offsets of what was lost go to other events: what is left of an export would be of both. @throws ExportRefusedError when the log ends before it */
export async function checkEnds(log: Pick<ExportedLog, 'ends'>, { ranges }: Pick<Manifest, 'ranges'>): Promise<void> {
  for (const { topic, partition, to, end } of await endsBefore(log, ranges))
    throw new ExportRefusedError(
      `${topic}, partition ${partition} ends at ${end}, and the export goes on to ${to}: the log was put back from a backup since. Remove what there is, and export it anew.`,
    );
}

/** The ranges that go further than the log does. */
export async function endsBefore(log: Pick<ExportedLog, 'ends'>, ranges: readonly Range[]) {
  const ends = new Map<string, readonly number[]>();
  for (const topic of new Set(ranges.map((range) => range.topic))) ends.set(topic, await log.ends(topic));
  return ranges
    .map((range) => ({ ...range, end: ends.get(range.topic)?.[range.partition] ?? 0 }))
    .filter(({ to, end }) => end < to);
}

function placeOf(topic: Topic, partition: number): string {
  return `${topic} ${partition}`;
}
