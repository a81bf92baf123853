// What providers have reported: a document for each notification that anything was reported of, and how many such there are, by time and kind.
//
// They stand apart from the records: a report names a notification by what a provider was given, so it may tell of one that its tenant doesn't have.
// The document's id has both, and nobody's report reaches another tenant's record.

import type { Channel, ProviderReported, ReportKind } from '../../domain/events.ts';
import { reportKinds } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { ReportFacts, ReportsOfNotification } from '../../domain/reports.ts';
import { withReport } from '../../domain/reports.ts';
import type { CollectionDefinition, FieldValue, Page, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import { rowsPerPageMax } from '../../ports/read-model-store.ts';
import { piecesOf } from './cell-pages.ts';
import type { Resolution } from './resolutions.ts';
import { resolutionMs, resolutions } from './resolutions.ts';
import type { StatisticsRange } from './statistics-range.ts';
import { widened } from './statistics-range.ts';

interface ReportsDocument {
  readonly tenantId: TenantId;
  readonly notificationId: NotificationId;
  readonly partition: number;
  readonly channel: Channel;
  readonly reports: ReportsOfNotification;
}

/** Notifications of one tenant and partition number by the time of their first report of each kind. */
interface ReportCell {
  readonly tenantId: TenantId;
  readonly resolution: Resolution;
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
  const id = idOf({ tenantId, notificationId });
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
  reader: Pick<ReadModelReader, 'find'>,
  tenantId: TenantId,
  range: StatisticsRange,
  { channel, provider }: { readonly channel?: Channel | undefined; readonly provider?: string | undefined } = {},
): Promise<ReportedCounts> {
  const sums: Record<ReportKind, number> = { delivered: 0, bounced: 0, complained: 0, opened: 0, clicked: 0 };
  const { from, to } = widened(range);
  for (const piece of piecesOf(from, to, 'day')) {
    let after: readonly FieldValue[] | null = null;
    do {
      const page: Page<ReportCell> = await reader.find<ReportCell>({
        collection: reportCellsCollection.name,
        equals: { tenantId, resolution: piece.resolution },
        range: { field: 'at', from: piece.from, to: piece.to },
        order: { fields: ['at'], direction: 'ascending' },
        limit: rowsPerPageMax,
        ...(after === null ? {} : { after }),
      });
      for (const { counts } of page.documents) {
        for (const [key, count] of Object.entries(counts)) {
          const [ofChannel, ofProvider, kind] = key.split('.');
          if ((channel ?? ofChannel) === ofChannel && (provider ?? ofProvider) === ofProvider)
            sums[kind as ReportKind] += count;
        }
      }
      after = page.next;
    } while (after !== null);
  }
  return sums;
}

export interface ReportChanges {
  told(event: ProviderReported): void;
  writes(reader: Pick<ReadModelReader, 'get'>): Promise<Write[]>;
}

export function createReportChanges(): ReportChanges {
  const events: ProviderReported[] = [];
  return {
    told(event) {
      events.push(event);
    },
    async writes(reader) {
      if (events.length === 0) return [];
      const stored = await reader.get<ReportsDocument>(reportsCollection.name, [...new Set(events.map(idOf))]);
      const documents = new Map<string, ReportsDocument>();
      for (const event of events) {
        const id = idOf(event);
        const { tenantId, notificationId, partition, channel } = event;
        const { reports } = documents.get(id) ?? stored.get(id) ?? { reports: {} };
        documents.set(id, { tenantId, notificationId, partition, channel, reports: withReport(reports, event) });
      }
      const cells = createCellChanges();
      for (const [id, document] of documents) cells.move(stored.get(id) ?? null, document);
      const collection = reportsCollection.name;
      const writes = [...documents].map(([id, document]): Write => {
        return { collection, id, document, isNew: !stored.has(id) };
      });
      return [...writes, ...(await cells.writes(reader))];
    },
  };
}

interface CellDelta extends Omit<ReportCell, 'counts'> {
  readonly counts: Map<string, number>;
}

function createCellChanges() {
  const deltas = new Map<string, CellDelta>();
  const add = ({ tenantId, partition, channel }: ReportsDocument, kind: ReportKind, first: ReportFacts, by: 1 | -1) => {
    for (const resolution of resolutions) {
      const at = first.reportedAt - (first.reportedAt % resolutionMs[resolution]);
      const id = `${tenantId}:${resolution}:${at}:${partition}`;
      const delta = deltas.get(id) ?? { tenantId, resolution, at, partition, counts: new Map<string, number>() };
      deltas.set(id, delta);
      const key = `${channel}.${first.provider}.${kind}`;
      delta.counts.set(key, (delta.counts.get(key) ?? 0) + by);
    }
  };
  return {
    move(before: ReportsDocument | null, after: ReportsDocument): void {
      for (const kind of reportKinds) {
        const was = before?.reports[kind]?.first;
        const is = after.reports[kind]?.first;
        if (was !== undefined && before !== null) add(before, kind, was, -1);
        if (is !== undefined) add(after, kind, is, 1);
      }
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

function idOf({ tenantId, notificationId }: Pick<ProviderReported, 'tenantId' | 'notificationId'>): string {
  return `${tenantId}:${notificationId}`;
}
