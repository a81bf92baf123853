// The dashboard's figures.

import { z } from 'zod';

import { badField } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import type { StatisticsRange } from '../../projections/notifications/statistics-range.ts';
import { namedRanges, statisticsBetween, statisticsRange } from '../../projections/notifications/statistics-range.ts';
import { statistics } from '../../projections/notifications/statistics.ts';
import { endpoint } from '../endpoint.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';
import { time } from './schemas.ts';

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly clock: Clock;
}

const statsQuery = z.strictObject({
  range: z.enum(namedRanges).optional(),
  from: time.optional(),
  to: time.optional(),
});

export function createDashboardHandlers({ reader, clock }: Dependencies) {
  const stats = endpoint('bearerOrKey', {
    query: statsQuery,
    follows: () => [notificationsReadModel],
    async handle({ tenant }, { query }) {
      const { series, ...figures } = await statistics(reader, tenant.id, rangeOf(query, clock.now()));
      return ok({ ...figures, series: series.map((point) => ({ ...point, at: isoTime(point.at) })) });
    },
  });

  return { stats };
}

function rangeOf({ range, from, to }: z.output<typeof statsQuery>, now: number): StatisticsRange {
  if (from === undefined && to === undefined) return statisticsRange(range ?? 'today', now);
  if (range !== undefined) throw badField('range', 'must not be given together with from or to');
  if (from !== undefined && to !== undefined && from >= to) throw badField('to', 'must be later than from');
  return statisticsBetween(from, to);
}
