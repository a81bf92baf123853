// The dashboard's figures.

import { z } from 'zod';

import { badField } from '../../domain/errors.ts';
import { channels, priorities } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import { failures } from '../../projections/notifications/failures.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import { countReports } from '../../projections/notifications/reports.ts';
import type { Resolution } from '../../projections/notifications/resolutions.ts';
import { resolutionMs } from '../../projections/notifications/resolutions.ts';
import type { StatisticsRange } from '../../projections/notifications/statistics-range.ts';
import {
  failuresRange,
  namedRanges,
  seriesPointsMax,
  statisticsBetween,
  statisticsRange,
  widened,
} from '../../projections/notifications/statistics-range.ts';
import { statistics } from '../../projections/notifications/statistics.ts';
import { endpoint } from '../endpoint.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';
import { atStreamPosition, streamPositionHeader } from '../stream-position.ts';
import { given, time } from './schemas.ts';

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly log: Pick<EventLog, 'partitioning'>;
  /** UTC ms at which what is asked for up to now ends. */
  readonly rangesEnd: () => number;
}

const provider = z
  .string()
  .min(1)
  .max(100)
  .describe('Of the last attempt that has ended: `smtp`, `twilio`, `custom` for webhooks, `inbox` for in-app ones.')
  .optional();

export const statsQuery = z.strictObject({
  range: z.enum(namedRanges).optional(),
  from: time.optional(),
  to: time.optional(),
  channel: z.enum(channels).optional(),
  priority: z.enum(priorities).optional(),
  provider,
  by: z
    .enum(['minute', 'hour', 'day'])
    .describe('A point of the series: minutes for at most 12 hours, hours for at most 31 days.')
    .optional(),
});

const failuresQuery = z.strictObject({
  from: time.describe('Failed then or later; without `to` up to now.').optional(),
  to: time.describe('Failed before.').optional(),
  channel: z.enum(channels).optional(),
  provider,
  by: z
    .enum(['hour', 'day'])
    .describe('A point of the series: hours for at most 31 days. By default hours for up to 3 days, days beyond.')
    .optional(),
});

export function createDashboardHandlers({ reader, log, rangesEnd }: Dependencies) {
  const stats = endpoint('bearerOrKey', {
    query: statsQuery,
    follows: () => [notificationsReadModel],
    async handle({ tenant }, { query }) {
      const read = () => statisticsOf(reader, tenant.id, query, rangesEnd());
      const { value, position } = await atStreamPosition({ reader, log }, tenant.id, read);
      return { ...ok(value), headers: position === null ? {} : { [streamPositionHeader]: position } };
    },
  });

  const failed = endpoint('bearerOrKey', {
    query: failuresQuery,
    follows: () => [notificationsReadModel],
    async handle({ tenant }, { query }) {
      checkOrder(query);
      const range = withStep(failuresRange(query.from, query.to, rangesEnd()), query.by);
      const found = await failures(reader, tenant.id, range, given(query, ['channel', 'provider']));
      return ok({
        total: found.total,
        causes: found.causes.map(({ failureClass, firstAt, lastAt, ...cause }) => ({
          class: failureClass,
          ...cause,
          firstAt: isoTime(firstAt),
          lastAt: isoTime(lastAt),
        })),
        series: found.series.map(({ at, count }) => ({ at: isoTime(at), count })),
      });
    },
  });

  return { stats, failures: failed };
}

/** The answer of `GET /dashboard/stats`. @throws DomainError BAD_REQUEST */
export async function statisticsOf(
  reader: ReadModelReader,
  tenantId: TenantId,
  query: z.output<typeof statsQuery>,
  now: number,
) {
  const only = given(query, ['channel', 'priority', 'provider']);
  const range = withStep(rangeOf(query, now), query.by);
  const [{ series, ...figures }, reported] = await Promise.all([
    statistics(reader, tenantId, range, only),
    countReports(reader, tenantId, range, only),
  ]);
  return { ...figures, reported, series: series.map((point) => ({ ...point, at: isoTime(point.at) })) };
}

function rangeOf({ range, from, to }: z.output<typeof statsQuery>, now: number): StatisticsRange {
  if (from === undefined && to === undefined) return statisticsRange(range ?? 'today', now);
  if (range !== undefined) throw badField('range', 'must not be given together with from or to');
  checkOrder({ from, to });
  return statisticsBetween(from, to);
}

function checkOrder({ from, to }: { readonly from?: number | undefined; readonly to?: number | undefined }): void {
  if (from !== undefined && to !== undefined && from >= to) throw badField('to', 'must be later than from');
}

/** @throws DomainError BAD_REQUEST where the series would have too many points */
function withStep(range: StatisticsRange, by: Resolution | undefined): StatisticsRange {
  if (by === undefined) return range;
  const { from, to } = widened(range);
  if (to - from > seriesPointsMax[by] * resolutionMs[by])
    throw badField(
      'by',
      `is for a shorter time: ${by === 'hour' ? 'hours for at most 31 days' : 'minutes for at most 12 hours'}`,
    );
  return { ...range, step: by };
}
