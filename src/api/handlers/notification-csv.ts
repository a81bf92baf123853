// The list of notifications as CSV, page after page of it while it is read.

import { unavailable } from '../../domain/errors.ts';
import type { TenantId } from '../../domain/ids.ts';
import { statuses } from '../../domain/notification.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import type { ListPlace, NotificationFilter } from '../../projections/notifications/filter.ts';
import { pageOfStatuses } from '../../projections/notifications/queries.ts';
import { pieceBytes } from '../downloads.ts';
import { endpoint } from '../endpoint.ts';
import { csvHead, csvLine } from '../notification-csv.ts';
import { filterOf, filterQuery, readModelsOf } from './notification-list.ts';

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What a spreadsheet opens: 2 to the power of 20 lines with the head. */
const csvRowsMax = 1_048_575;
const pageRows = 100;
/** What there is waits for no more of it for so long, the head too: rows that few have may lie far behind one another, and what has not begun is refused. */
const silentMs = 2_000;

export function createNotificationCsvHandlers({ reader, turns, clock }: Dependencies) {
  async function* lines(tenantId: TenantId, filter: NotificationFilter, isOver: () => boolean): AsyncGenerator<string> {
    const asked = filter.status === undefined ? statuses : [filter.status];
    let piece = csvHead;
    let writeAt = clock.monotonic() + silentMs;
    let after: ListPlace['after'];
    for (let rows = 0; ;) {
      const place = { limit: pageRows, ...(after === undefined ? {} : { after }) };
      const { records, next } = await pageOfStatuses(reader, tenantId, filter, asked, place);
      for (const record of records) {
        if (turns.isOver()) await turns.next();
        piece += turns.piece(() => csvLine(record));
        if (piece.length < pieceBytes) continue;
        yield piece;
        piece = '';
      }
      if (next === null) break;
      if (clock.monotonic() >= writeAt) {
        if (piece !== '') yield piece;
        piece = '';
        writeAt = clock.monotonic() + silentMs;
      }
      rows += records.length;
      // The answer is cut: nobody takes a part for the whole.
      if (rows >= csvRowsMax || isOver()) throw unavailable(`${rows} rows are told and there are more: ask for less.`);
      after = next;
    }
    yield piece;
  }

  const csv = endpoint('bearerOrKey', {
    query: filterQuery,
    follows: readModelsOf,
    async handle({ tenant }, { query }) {
      const filter = filterOf(query);
      return {
        download: {
          tenantId: tenant.id,
          headers: {
            'content-type': 'text/csv; charset=utf-8; header=present',
            'content-disposition': 'attachment; filename="notifications.csv"',
          },
          pieces: (isOver) => lines(tenant.id, filter, isOver),
        },
      };
    },
  });

  return { csv };
}
