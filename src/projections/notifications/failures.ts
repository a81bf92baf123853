// What failed in a range of time, and of what: counted from the cells, as many as it has buckets, with examples from the records of each cause.
//
// A notification is counted while it is FAILED, at the time of the failure that made it so: one that was sent again isn't a failure any more, and if it fails
// again it is one of then.

import type { Channel, FailureClass } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { Query, ReadModelReader } from '../../ports/read-model-store.ts';
import { failuresInCells, piecesOf } from './cell-pages.ts';
import { notificationsCollection } from './document.ts';
import type { FailureCause } from './failure-causes.ts';
import { causeOfKey, comparedCode } from './failure-causes.ts';
import { bucketStart } from './resolutions.ts';
import { filledSeries } from './series.ts';
import { countsIn, readOnce } from './statistics-cells.ts';
import type { StatisticsRange } from './statistics-range.ts';
import { timeMaxMs, widened } from './statistics-range.ts';

/** All that are given hold. */
export interface FailuresOnly {
  readonly channel?: Channel;
  readonly provider?: string;
  readonly errorClass?: FailureClass;
  readonly errorCode?: string;
}

export interface FailedOfCause {
  readonly failureClass: FailureClass;
  readonly provider: string;
  readonly code: string | null;
  readonly count: number;
  /** UTC ms, within the range. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest. */
  readonly examples: readonly NotificationId[];
}

export interface Failures {
  readonly total: number;
  /** The most frequent first. */
  readonly causes: readonly FailedOfCause[];
  readonly series: readonly { readonly at: number; readonly count: number }[];
}

/** Of each two pages of three rows are looked at, a channel. */
export const causesMax = 50;
const examplesMax = 3;

/** `from` and `to` widen to whole minutes. */
export async function failures(
  reader: ReadModelReader,
  tenantId: TenantId,
  range: StatisticsRange,
  only: FailuresOnly,
): Promise<Failures> {
  const within = widened(range);
  const points = new Map<number, { at: number; count: number }>();
  const counts = new Map<string, number>();
  let total = 0;
  await eachFailure(reader, tenantId, within, only, (key, count, cellAt) => {
    const at = bucketStart(within.step, cellAt);
    points.set(at, { at, count: (points.get(at)?.count ?? 0) + count });
    counts.set(key, (counts.get(key) ?? 0) + count);
    total += count;
  });
  // Cells come in no order: causes of as many come in that of their keys.
  const found = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, count]): CountedFailure => ({ key, ...causeOfKey(key), count }));
  const causes = [...Map.groupBy(found, shownCause).values()]
    .map((ofCause) => ({ ofCause, count: sumOf(ofCause) }))
    .sort((a, b) => b.count - a.count)
    .slice(0, causesMax);
  const shown = await Promise.all(causes.map(({ ofCause }) => shownOf(reader, tenantId, within, ofCause)));
  // Of one that has none any more all were sent again since it was counted.
  return {
    total,
    causes: shown.filter((cause) => cause !== null),
    series: filledSeries(points, within, (at) => ({ at, count: 0 })),
  };
}

/** How many FAILED records there are of which cause, that came to be so in [from, to), both on whole minutes or absent. */
export async function countFailures(
  reader: ReadModelReader,
  tenantId: TenantId,
  range: { readonly from?: number | undefined; readonly to?: number | undefined },
  only: FailuresOnly,
): Promise<number> {
  const { from = 0, to = timeMaxMs } = range;
  let total = 0;
  await eachFailure(reader, tenantId, { from, to, step: 'day' }, only, (_, count) => (total += count));
  return total;
}

interface CountedFailure extends FailureCause {
  /** Of its cause. */
  readonly key: string;
  readonly count: number;
}

/** Calls back with a cause, how many failed of it, and the time at which their cell begins. */
async function eachFailure(
  reader: ReadModelReader,
  tenantId: TenantId,
  { from, to, step }: StatisticsRange,
  only: FailuresOnly,
  told: (key: string, count: number, at: number) => void,
): Promise<void> {
  const isCounted = readOnce((key) => isOf(only, causeOfKey(key)));
  for await (const cells of failuresInCells(reader, tenantId, piecesOf(from, to, step)))
    for (const { at, failures: counts } of cells)
      for (const [key, count] of countsIn(counts)) if (isCounted(key)) told(key, count, at);
}

function isOf({ channel, provider, errorClass, errorCode }: FailuresOnly, cause: FailureCause): boolean {
  return (
    (channel === undefined || channel === cause.channel) &&
    (provider === undefined || provider === cause.provider) &&
    (errorClass === undefined || errorClass === cause.failureClass) &&
    (errorCode === undefined || comparedCode(errorCode) === cause.code)
  );
}

/** Channels are told apart by the filter alone. */
function shownCause({ failureClass, provider, code }: CountedFailure): string {
  return JSON.stringify([failureClass, provider, code]);
}

function sumOf(failuresOfCause: readonly CountedFailure[]): number {
  return failuresOfCause.reduce((sum, { count }) => sum + count, 0);
}

async function shownOf(
  reader: ReadModelReader,
  tenantId: TenantId,
  { from, to }: StatisticsRange,
  ofCause: readonly CountedFailure[],
): Promise<FailedOfCause | null> {
  const found = async (direction: Query['order']['direction'], limit: number) => {
    const pages = await Promise.all(
      ofCause.map(({ key }) =>
        reader.find<{ readonly failedAt: number }>({
          collection: notificationsCollection.name,
          equals: { tenantId, cause: key },
          range: { field: 'failedAt', from, to },
          order: { fields: ['failedAt'], direction },
          limit,
          fields: ['failedAt'],
        }),
      ),
    );
    return pages.flatMap(({ documents }) => documents);
  };
  const [newest, oldest] = await Promise.all([found('descending', examplesMax), found('ascending', 1)]);
  const [one] = ofCause;
  if (one === undefined || newest.length === 0 || oldest.length === 0) return null;
  newest.sort((a, b) => b.failedAt - a.failedAt);
  return {
    failureClass: one.failureClass,
    provider: one.provider,
    code: one.code,
    count: sumOf(ofCause),
    firstAt: Math.min(...oldest.map(({ failedAt }) => failedAt)),
    lastAt: Math.max(...newest.map(({ failedAt }) => failedAt)),
    examples: newest.slice(0, examplesMax).map(({ id }) => id as NotificationId),
  };
}
