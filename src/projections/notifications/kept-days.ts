// The days of notifications that are forgotten: cells beside those of the records, made of what was counted when retention ended.
//
// The records' own cells are the GROUP BY of the records that are there, so a forgotten one leaves them. Its day goes on counting it in a cell of its own,
// which no rebuild could fold from the records: the event that forgets says what it was.

import type { KeptDay, NotificationsForgotten } from '../../domain/events.ts';
import { deliveredAtOf } from '../../domain/notification.ts';
import type { ReadModelReader, Write } from '../../ports/read-model-store.ts';
import { sorted } from './cell-deltas.ts';
import type { NotificationDocument } from './document.ts';
import { bucketOf } from './latency-histogram.ts';
import { firstReports, reportCellsCollection } from './reports.ts';
import type { ReportCell, ReportsDocument } from './reports.ts';
import { bucketStart } from './resolutions.ts';
import type { StatisticsCell } from './statistics-cells.ts';
import { statisticsCollection } from './statistics-cells.ts';

type Counts = Record<string, number>;

interface GrowingDay {
  readonly counts: Counts;
  readonly latency: Record<string, Counts>;
  readonly reports: Counts;
}

/** What is to be kept of these, by day; of one that is in no list only what was reported of it. */
export function keptOf(documents: readonly NotificationDocument[], reports: readonly ReportsDocument[]): KeptDay[] {
  const days = new Map<number, GrowingDay>();
  const dayOf = (timeMs: number): GrowingDay => {
    const at = bucketStart('day', timeMs);
    const day = days.get(at) ?? { counts: {}, latency: {}, reports: {} };
    days.set(at, day);
    return day;
  };
  for (const document of documents) {
    const { listedAt, channel, priority, status } = document;
    if (listedAt === null) continue;
    const provider = document.provider ?? '';
    const day = dayOf(listedAt);
    addTo(day.counts, `${channel}.${priority}.${status}.${provider}`, 1);
    const deliveredAt = status === 'DELIVERED' ? deliveredAtOf(document) : null;
    if (deliveredAt !== null) {
      const histogram = (day.latency[`${channel}.${priority}.${provider}`] ??= {});
      addTo(histogram, String(bucketOf(deliveredAt - listedAt)), 1);
    }
  }
  for (const document of reports)
    for (const { key, reportedAt } of firstReports(document)) addTo(dayOf(reportedAt).reports, key, 1);
  return [...days].sort(([a], [b]) => a - b).map(([at, day]) => ({ at, ...inOrder(day) }));
}

/** What of an event the kept days follow from. */
type Forgetting = Pick<NotificationsForgotten, 'tenantId' | 'partition' | 'kept' | 'endedDays'>;

/** The cells as they are to be written after these events, in their order. */
export async function keptWrites(
  events: readonly Forgetting[],
  reader: Pick<ReadModelReader, 'get'>,
): Promise<Write[]> {
  const days = new Map<string, GrowingDay & Place>();
  const placesOf = (event: Forgetting): Place[] =>
    [...event.kept.map(({ at }) => at), ...event.endedDays].map((at) => placeOf(event, at));
  const places = new Map(events.flatMap(placesOf).map((place) => [idOf(place), place]));
  if (places.size === 0) return [];
  const ids = [...places.keys()];
  const cells = await reader.get<StatisticsCell>(statisticsCollection.name, ids);
  const reportCells = await reader.get<ReportCell>(reportCellsCollection.name, ids);
  for (const [id, place] of places) {
    const counts = JSON.parse(cells.get(id)?.counts ?? '{}') as Counts;
    const latency = Object.fromEntries(
      Object.entries(cells.get(id)?.latency ?? {}).map(([key, histogram]) => [key, { ...histogram }]),
    );
    days.set(id, { ...place, counts, latency, reports: { ...reportCells.get(id)?.counts } });
  }
  for (const event of events) {
    for (const kept of event.kept) addDay(days, idOf(placeOf(event, kept.at)), kept);
    for (const at of event.endedDays) {
      const place = placeOf(event, at);
      days.set(idOf(place), { ...place, counts: {}, latency: {}, reports: {} });
    }
  }
  return [...days].flatMap(([id, day]) => [
    { collection: statisticsCollection.name, id, document: cellOf(day), isNew: !cells.has(id) },
    { collection: reportCellsCollection.name, id, document: reportCellOf(day), isNew: !reportCells.has(id) },
  ]);
}

/** The ids of what is kept of these days of an event's tenant and number. */
export function keptIds(event: NotificationsForgotten, days: readonly number[]): string[] {
  return days.map((at) => idOf(placeOf(event, at)));
}

type Place = Pick<StatisticsCell, 'tenantId' | 'at' | 'partition'>;

function placeOf({ tenantId, partition }: Pick<NotificationsForgotten, 'tenantId' | 'partition'>, at: number): Place {
  return { tenantId, at, partition };
}

function idOf({ tenantId, at, partition }: Place): string {
  return `${tenantId}:kept:${at}:${partition}`;
}

function addDay(days: ReadonlyMap<string, GrowingDay>, id: string, kept: KeptDay): void {
  const day = days.get(id);
  if (day === undefined) return;
  for (const [key, count] of Object.entries(kept.counts)) addTo(day.counts, key, count);
  for (const [key, count] of Object.entries(kept.reports)) addTo(day.reports, key, count);
  for (const [key, histogram] of Object.entries(kept.latency)) {
    const own = (day.latency[key] ??= {});
    for (const [bucket, count] of Object.entries(histogram)) addTo(own, bucket, count);
  }
}

function addTo(counts: Counts, key: string, by: number): void {
  counts[key] = (counts[key] ?? 0) + by;
}

function inOrder({ counts, latency, reports }: GrowingDay): GrowingDay {
  return { counts: sorted(counts), latency: sorted(latency), reports: sorted(reports) };
}

/** null when nothing is in it. */
function cellOf(day: GrowingDay & Place): StatisticsCell | null {
  const { tenantId, at, partition } = day;
  const { counts, latency } = inOrder(day);
  if (Object.keys(counts).length === 0) return null;
  return { tenantId, resolution: 'kept', at, partition, counts: JSON.stringify(counts), failures: null, latency };
}

function reportCellOf(day: GrowingDay & Place): ReportCell | null {
  const { tenantId, at, partition } = day;
  const { reports: counts } = inOrder(day);
  return Object.keys(counts).length === 0 ? null : { tenantId, resolution: 'kept', at, partition, counts };
}
