// What providers have reported: a document for each notification that anything was reported of, and how many such there are, by time and kind.
//
// They stand apart from the records: a report names a notification by what a provider was given, so it may tell of one that its tenant doesn't have.
// The document's id has both, and nobody's report reaches another tenant's record.

import { erasedReports } from '../../domain/erasure.ts';
import type { Channel, ProviderReported, ReportKind } from '../../domain/events.ts';
import { reportKinds } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { ReportFacts, ReportsOfNotification } from '../../domain/reports.ts';
import { withReport } from '../../domain/reports.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import type { CellReader } from './cell-pages.ts';
import { cellsOf, piecesOf, withKept } from './cell-pages.ts';
import type { StoredResolution } from './resolutions.ts';
import { resolutionMs, resolutions } from './resolutions.ts';
import type { StatisticsRange } from './statistics-range.ts';
import { widened } from './statistics-range.ts';

export interface ReportsDocument {
  readonly tenantId: TenantId;
  readonly notificationId: NotificationId;
  readonly partition: number;
  readonly channel: Channel;
  readonly reports: ReportsOfNotification;
}

/** Notifications of one tenant and partition number by the time of their first report of each kind. */
export interface ReportCell {
  readonly tenantId: TenantId;
  readonly resolution: StoredResolution;
  readonly at: number;
  readonly partition: number;
  /** How many, by `CHANNEL.provider.kind`; the keys ascend, none is 0. */
  readonly counts: Readonly<Record<string, number>>;
}

export const reportsCollection: CollectionDefinition = {
  name: 'provider_reports',
  fields: { tenantId: 'text' },
  indexes: [],
};

export const reportCellsCollection: CollectionDefinition = {
  name: 'report_statistics',
  fields: { tenantId: 'text', resolution: 'text', at: 'number' },
  indexes: [{ fields: ['tenantId', 'resolution', 'at'] }],
};

export interface ShownReport extends ReportFacts {
  readonly kind: ReportKind;
}

/** Of each kind the first and the last one, by time. */
export async function reportsOf(
  reader: Pick<ReadModelReader, 'get'>,
  tenantId: TenantId,
  notificationId: NotificationId,
): Promise<readonly ShownReport[]> {
  const id = reportsIdOf({ tenantId, notificationId });
  const reports = (await reader.get<ReportsDocument>(reportsCollection.name, [id])).get(id)?.reports ?? {};
  return reportKinds
    .flatMap((kind) => {
      const { first, last } = reports[kind] ?? {};
      if (first === undefined || last === undefined) return [];
      return first.eventId === last.eventId ? [{ kind, ...first }] : [first, last].map((one) => ({ kind, ...one }));
    })
    .sort((a, b) => a.reportedAt - b.reportedAt || reportKinds.indexOf(a.kind) - reportKinds.indexOf(b.kind));
}

export type ReportedCounts = Readonly<Record<ReportKind, number>>;

/** How many notifications were reported for the first time in the range, of each kind; `from` and `to` widen to whole minutes. */
export async function countReports(
  reader: CellReader,
  tenantId: TenantId,
  range: StatisticsRange,
  { channel, provider }: { readonly channel?: Channel | undefined; readonly provider?: string | undefined } = {},
): Promise<ReportedCounts> {
  const sums: Record<ReportKind, number> = { delivered: 0, bounced: 0, complained: 0, opened: 0, clicked: 0 };
  const { from, to } = widened(range);
  const pieces = withKept(piecesOf(from, to, 'day'), { from, to });
  for await (const cells of cellsOf<ReportCell>(reader, reportCellsCollection, tenantId, pieces)) {
    for (const { counts } of cells) {
      for (const [key, count] of Object.entries(counts)) {
        const [ofChannel, ofProvider, kind] = key.split('.');
        if ((channel ?? ofChannel) === ofChannel && (provider ?? ofProvider) === ofProvider)
          sums[kind as ReportKind] += count;
      }
    }
  }
  return sums;
}

export interface ReportChanges {
  told(event: ProviderReported): void;
  forgotten(of: Pick<ProviderReported, 'tenantId' | 'notificationId'>): void;
  erased(of: Pick<ProviderReported, 'tenantId' | 'notificationId'>): void;
  writes(reader: Pick<ReadModelReader, 'get'>): Promise<Write[]>;
}

export function createReportChanges(): ReportChanges {
  /** In the order in which they came. */
  const changes: { readonly id: string; readonly event: ProviderReported | null }[] = [];
  const erased = new Set<string>();
  return {
    told(event) {
      changes.push({ id: reportsIdOf(event), event });
    },
    forgotten(of) {
      changes.push({ id: reportsIdOf(of), event: null });
    },
    erased(of) {
      erased.add(reportsIdOf(of));
    },
    async writes(reader) {
      if (changes.length + erased.size === 0) return [];
      const collection = reportsCollection.name;
      const stored = await reader.get<ReportsDocument>(collection, [
        ...new Set([...changes.map(({ id }) => id), ...erased]),
      ]);
      const documents = new Map<string, ReportsDocument | null>();
      for (const { id, event } of changes) {
        const before = documents.get(id) ?? (documents.has(id) ? null : stored.get(id)) ?? null;
        documents.set(id, event === null ? null : reported(before, event));
      }
      for (const id of erased) {
        const document = documents.get(id) ?? (documents.has(id) ? undefined : stored.get(id));
        if (document !== undefined) documents.set(id, { ...document, reports: erasedReports(document.reports) });
      }
      const cells = createCellChanges();
      const writes: Write[] = [];
      for (const [id, document] of documents) {
        const before = stored.get(id) ?? null;
        if (before === null && document === null) continue;
        cells.move(before, document);
        writes.push({ collection, id, document, isNew: before === null });
      }
      return [...writes, ...(await cells.writes(reader))];
    },
  };
}

function reported(before: ReportsDocument | null, event: ProviderReported): ReportsDocument {
  const { tenantId, notificationId, partition, channel } = event;
  return { tenantId, notificationId, partition, channel, reports: withReport(before?.reports ?? {}, event) };
}

/** What a document counts as: the first report of each kind, by the key of its cells. */
export function firstReports({ channel, reports }: ReportsDocument): { key: string; reportedAt: number }[] {
  return reportKinds.flatMap((kind) => {
    const first = reports[kind]?.first;
    return first === undefined ? [] : [{ key: `${channel}.${first.provider}.${kind}`, reportedAt: first.reportedAt }];
  });
}

export function reportsIdOf({
  tenantId,
  notificationId,
}: Pick<ProviderReported, 'tenantId' | 'notificationId'>): string {
  return `${tenantId}:${notificationId}`;
}

interface CellDelta extends Omit<ReportCell, 'counts'> {
  readonly counts: Map<string, number>;
}

function createCellChanges() {
  const deltas = new Map<string, CellDelta>();
  const add = (document: ReportsDocument, by: 1 | -1) => {
    const { tenantId, partition } = document;
    for (const { key, reportedAt } of firstReports(document)) {
      for (const resolution of resolutions) {
        const at = reportedAt - (reportedAt % resolutionMs[resolution]);
        const id = `${tenantId}:${resolution}:${at}:${partition}`;
        const delta = deltas.get(id) ?? { tenantId, resolution, at, partition, counts: new Map<string, number>() };
        deltas.set(id, delta);
        delta.counts.set(key, (delta.counts.get(key) ?? 0) + by);
      }
    }
  };
  return {
    move(before: ReportsDocument | null, after: ReportsDocument | null): void {
      if (before !== null) add(before, -1);
      if (after !== null) add(after, 1);
    },
    async writes(reader: Pick<ReadModelReader, 'get'>): Promise<Write[]> {
      const changed = [...deltas].filter(([, { counts }]) => [...counts.values()].some((by) => by !== 0));
      if (changed.length === 0) return [];
      const collection = reportCellsCollection.name;
      const ids = changed.map(([id]) => id);
      const stored = await reader.get<ReportCell>(collection, ids);
      return changed.map(([id, { counts: changes, ...cell }]): Write => {
        const counts = summed(stored.get(id)?.counts ?? {}, changes);
        const isEmpty = Object.keys(counts).length === 0;
        return { collection, id, document: isEmpty ? null : { ...cell, counts }, isNew: !stored.has(id) };
      });
    },
  };
}

function summed(stored: ReportCell['counts'], changes: ReadonlyMap<string, number>): ReportCell['counts'] {
  const keys = [...new Set([...Object.keys(stored), ...changes.keys()])].sort();
  const sums = keys.map((key): [string, number] => [key, (stored[key] ?? 0) + (changes.get(key) ?? 0)]);
  return Object.fromEntries(sums.filter(([, count]) => count !== 0));
}
