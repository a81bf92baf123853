// What providers report: the same documents and counts in any order, and never a change of the record.

import { describe, expect, it } from '@jest/globals';

import type { ProviderReported } from '../../src/domain/events.ts';
import { reportKinds } from '../../src/domain/events.ts';
import type { EventId, NotificationId } from '../../src/domain/ids.ts';
import { batchesCollection } from '../../src/projections/notifications/batches.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { ShownReport } from '../../src/projections/notifications/reports.ts';
import { reportsOf } from '../../src/projections/notifications/reports.ts';
import { statisticsCollection } from '../../src/projections/notifications/statistics-cells.ts';
import { resolutionMs, resolutions } from '../../src/projections/notifications/resolutions.ts';
import fc from '../support/properties.ts';
import type { Folded } from './folded.ts';
import { documentsOf, folded } from './folded.ts';
import { anyHistory, batches, entriesOf, interleaved, noon, partition, tenants, withRepeats } from './histories.ts';

interface ToldReport {
  readonly of: number;
  readonly tenant: number;
  readonly kind: number;
  readonly provider: string;
  readonly afterMs: number;
  readonly permanent: boolean;
}

const anyReport: fc.Arbitrary<ToldReport> = fc.record({
  of: fc.nat(3),
  tenant: fc.nat(1),
  kind: fc.nat(reportKinds.length - 1),
  provider: fc.constantFrom('sendgrid', 'resend'),
  afterMs: fc.integer({ min: 0, max: 3 * 24 * 60 * 60 * 1000 }),
  permanent: fc.boolean(),
});
const anyReports = fc.array(anyReport, { minLength: 1, maxLength: 25 });
const anySeed = fc.nat();

function reported({ of, tenant, kind, provider, afterMs, permanent }: ToldReport, i: number): ProviderReported {
  return {
    type: 'ProviderReported',
    eventId: `report-${i}` as EventId,
    occurredAt: noon + afterMs + 1000,
    tenantId: tenants[tenant] as ProviderReported['tenantId'],
    traceparent: null,
    notificationId: `notif_${of}` as NotificationId,
    partition,
    channel: 'EMAIL',
    provider,
    report: reportKinds[kind] ?? 'delivered',
    reportedAt: noon + afterMs,
    recipient: 'ada@example.com',
    permanent,
    reason: null,
  };
}

/** Beside a history of notifications. */
function withReports(history: Parameters<typeof interleaved>[0], reports: readonly ToldReport[]) {
  return entriesOf([...history.map(({ event }) => event), ...reports.map(reported)]);
}

function firstAmong(events: readonly ProviderReported[]): ProviderReported[] {
  const firsts = new Map<string, ProviderReported>();
  for (const event of events) {
    const key = `${event.tenantId} ${event.notificationId} ${event.report}`;
    const before = firsts.get(key);
    const isEarlier =
      before === undefined ||
      event.reportedAt < before.reportedAt ||
      (event.reportedAt === before.reportedAt && event.eventId < before.eventId);
    if (isEarlier) firsts.set(key, event);
  }
  return [...firsts.values()];
}

describe('what providers report', () => {
  it('gives the same documents however its history is read, cut and repeated', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anyReports, anySeed, anySeed, async (history, reports, seed, other) => {
        const all = withReports(history, reports);
        const shuffled = entriesOf(
          batches(withRepeats(all, seed), other)
            .toReversed()
            .flat()
            .map(({ event }) => event),
        );
        const cut = batches(shuffled, other);
        expect(reportsIn(await folded(notificationsReadModel, cut))).toEqual(
          reportsIn(await folded(notificationsReadModel, [all])),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('changes nothing of any record and its statistics', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anyReports, anySeed, async (history, reports, seed) => {
        const events = history.flatMap(({ event }) => ('notificationId' in event ? [event] : []));
        // The reports are about notifications that the history has.
        const about = reports.map((report, i) => {
          const { notificationId = reported(report, i).notificationId } = events[report.of % events.length] ?? {};
          return { ...reported(report, i), notificationId };
        });
        const all = entriesOf([...about, ...history.map(({ event }) => event), ...about]);
        const withThem = await folded(notificationsReadModel, batches(interleaved(all, seed), seed));
        const without = await folded(notificationsReadModel, [history]);
        expect(documentsOf(without, notificationsCollection.name)).not.toHaveLength(0);
        for (const { name } of [notificationsCollection, statisticsCollection, batchesCollection])
          expect(documentsOf(withThem, name)).toEqual(documentsOf(without, name));
      }),
      { numRuns: 60 },
    );
  });

  it('is counted once a notification and kind, by the time of its first report, after every batch', async () => {
    await fc.assert(
      fc.asyncProperty(anyReports, anySeed, async (reports, seed) => {
        const all = entriesOf(reports.map(reported));
        const cut = batches(withRepeats(all, seed), seed);
        for (let upTo = 1; upTo <= cut.length; upTo += 2) {
          const ids = new Set(cut.slice(0, upTo).flatMap((batch) => batch.map(({ event }) => event.eventId)));
          const told = reports.map((report, i) => ({ report, i })).filter(({ i }) => ids.has(`report-${i}` as EventId));
          const cells = documentsOf<Cell>(
            await folded(notificationsReadModel, cut.slice(0, upTo)),
            'report_statistics',
          );
          expect(countsOfCells(cells)).toEqual(
            countsOf(
              reports,
              told.map(({ i }) => i),
            ),
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  it('shows the first and the last report of each kind, by time', async () => {
    const opened = [5, 1, 3].map((afterMs) => ({ ...plain, kind: reportKinds.indexOf('opened'), afterMs }));
    const delivered = { ...plain, kind: reportKinds.indexOf('delivered'), afterMs: 0 };
    const all = await folded(notificationsReadModel, [entriesOf([...opened, delivered].map(reported))]);
    const shown = await shownOf(all, 0);
    expect(shown.map(({ kind, reportedAt }) => [kind, reportedAt - noon])).toEqual([
      ['delivered', 0],
      ['opened', 1],
      ['opened', 5],
    ]);
  });

  it('by one tenant’s provider is never shown of another tenant’s notification', async () => {
    const all = await folded(notificationsReadModel, [entriesOf([plain].map(reported))]);
    expect(await shownOf(all, 0)).toHaveLength(1);
    expect(await shownOf(all, 1)).toEqual([]);
  });
});

const plain: ToldReport = { of: 0, tenant: 0, kind: 0, provider: 'sendgrid', afterMs: 0, permanent: false };

function shownOf(all: Folded, tenant: number): Promise<readonly ShownReport[]> {
  const reader = {
    get: async <D extends object>(collection: string, ids: readonly string[]) =>
      new Map(
        ids.flatMap((id) => {
          const text = all.get(`${collection}/${id}`);
          return text === undefined ? [] : [[id, JSON.parse(text) as D] as const];
        }),
      ),
  };
  return reportsOf(reader, tenants[tenant] as ProviderReported['tenantId'], 'notif_0' as NotificationId);
}

interface Cell {
  readonly tenantId: string;
  readonly resolution: string;
  readonly at: number;
  readonly counts: Readonly<Record<string, number>>;
}

function reportsIn(all: Folded): [string, string][] {
  return [...all].filter(([key]) => key.startsWith('provider_reports/') || key.startsWith('report_statistics/'));
}

function countsOfCells(cells: readonly Cell[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { tenantId, resolution, at, counts } of cells) {
    for (const [key, count] of Object.entries(counts)) sums[`${tenantId} ${resolution} ${at} ${key}`] = count;
  }
  return sums;
}

/** The GROUP BY over the first reports of those that were told. */
function countsOf(reports: readonly ToldReport[], told: readonly number[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const toldIds = new Set(told.map((i) => `report-${i}`));
  const firsts = firstAmong(reports.map(reported).filter(({ eventId }) => toldIds.has(eventId)));
  for (const { tenantId, reportedAt, provider, report } of firsts) {
    for (const resolution of resolutions) {
      const at = reportedAt - (reportedAt % resolutionMs[resolution]);
      const key = `${tenantId} ${resolution} ${at} EMAIL.${provider}.${report}`;
      sums[key] = (sums[key] ?? 0) + 1;
    }
  }
  return sums;
}
