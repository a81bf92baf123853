// A tenant's history: the events of its notifications, settings and recipients, as the log has them.

import type { IncomingHttpHeaders } from 'node:http';

import { z } from 'zod';

import type { TenantId } from '../../domain/ids.ts';
import { isNotificationId } from '../../domain/ids.ts';
import { historyTypes } from '../../history/tenant-slots.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { pageBytesMax } from '../../projections/page-bytes.ts';
import type { Cursors } from '../cursor.ts';
import { wireForms } from '../docs/wire-forms.ts';
import { pieceBytes } from '../downloads.ts';
import { endpoint } from '../endpoint.ts';
import { toHistoryEvent } from '../history-event.ts';
import type { HistoryQuery, ReadHistory } from '../history-reading.ts';
import { createHistoryReading } from '../history-reading.ts';
import { listText } from '../page.ts';
import { time } from './schemas.ts';

interface Dependencies {
  readonly log: EventLog;
  readonly reader: ReadModelReader;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

const historyLimits = {
  /** A page of JSON looks through so many events that it doesn't tell, 0.1 s of the thread in turns, and so long. */
  pagePassedMax: 20_000,
  pageTimeMs: 2_000,
  /** Lines wait for no more of them for so long. */
  silentMs: 2_000,
  pageEvents: 100,
  /** Of events in one answer, whatever its form: a page of JSON ends at 1 MiB before. */
  eventsMax: 100_000,
} as const;

const eventsQuery = z.strictObject({
  from: time.describe('Taken by the log then or later.').optional(),
  to: time.describe('Taken by the log before.').optional(),
  type: z.enum(historyTypes).optional(),
  notificationId: z
    .string()
    .refine(isNotificationId, 'must be the id of a notification')
    .register(wireForms, { type: 'string' })
    .describe('The events of one notification. Another tenant’s has none.')
    .optional(),
  cursor: z
    .string()
    .describe('A `nextCursor` or `endCursor` of the same `type` and `notificationId`; `from` has no meaning beside it.')
    .optional(),
  limit: z
    .string()
    .regex(/^[1-9]\d{0,5}$/, `must be a whole number from 1 to ${historyLimits.eventsMax}`)
    .transform(Number)
    .refine((limit) => limit <= historyLimits.eventsMax, `must be a whole number from 1 to ${historyLimits.eventsMax}`)
    .register(wireForms, { type: 'integer', minimum: 1, maximum: historyLimits.eventsMax })
    .describe(
      `As JSON ${historyLimits.pageEvents} unless it is given, as NDJSON ${historyLimits.eventsMax.toLocaleString('en')}.`,
    )
    .optional(),
});

type EventsQuery = z.output<typeof eventsQuery>;

export function createEventHandlers(deps: Dependencies) {
  const { turns, clock } = deps;
  const open = createHistoryReading(deps);

  const rendered = async (history: ReadHistory): Promise<string | null> => {
    const found = await history.peek();
    if (found === null) return null;
    if (turns.isOver()) await turns.next();
    return turns.piece(() => JSON.stringify(toHistoryEvent(found)));
  };

  const page = async (tenantId: TenantId, { limit = historyLimits.pageEvents, ...query }: EventsQuery) => {
    const endsAt = clock.monotonic() + historyLimits.pageTimeMs;
    const isOver = () => clock.monotonic() >= endsAt;
    const history = await open(tenantId, asked(query), { passedMax: historyLimits.pagePassedMax, isOver });
    try {
      const texts: string[] = [];
      let bytes = envelopeBytesMax;
      while (texts.length < limit) {
        const text = await rendered(history);
        if (text === null) break;
        bytes += Buffer.byteLength(text) + 1;
        if (bytes > pageBytesMax && texts.length > 0) break;
        texts.push(text);
        await history.take();
      }
      return { status: 200, json: listText('data', { texts, cutAfter: null }, { ...(await history.end()) }) };
    } finally {
      await history.close();
    }
  };

  /**
   * Its last line says where to go on. What was found is written every 2 s at least, however much of others stands between, and where nothing was found for so
   * long the answer ends before it has begun: its head waits for the first line, and nobody waits for that any longer.
   */
  async function* lines(
    tenantId: TenantId,
    { limit = historyLimits.eventsMax, ...query }: EventsQuery,
    isOver: () => boolean,
  ): AsyncGenerator<string> {
    let writeAt = clock.monotonic() + historyLimits.silentMs;
    const isLate = () => clock.monotonic() >= writeAt;
    const pauses = () => isOver() || isLate();
    const history = await open(tenantId, asked(query), { passedMax: Infinity, isOver: pauses });
    try {
      let [piece, count, hasBegun] = ['', 0, false];
      while (count < limit && !isOver()) {
        const text = await rendered(history);
        if (text !== null) {
          piece += `${text}\n`;
          count++;
          await history.take();
        } else if (!isLate() || (piece === '' && !hasBegun)) break;
        if (piece.length < pieceBytes && !isLate()) continue;
        writeAt = clock.monotonic() + historyLimits.silentMs;
        if (piece === '') continue;
        yield piece;
        [piece, hasBegun] = ['', true];
      }
      yield `${piece}${JSON.stringify(await history.end())}\n`;
    } finally {
      await history.close();
    }
  }

  const list = endpoint('bearerOrKey', {
    query: eventsQuery,
    answerBytesMax: pageBytesMax,
    async handle({ tenant }, { query, headers }) {
      if (!asksForLines(headers)) return page(tenant.id, query);
      const pieces = (isOver: () => boolean) => lines(tenant.id, query, isOver);
      return { download: { tenantId: tenant.id, headers: { 'content-type': ndjson }, pieces } };
    },
  });

  return { list };
}

/** The cursors and what stands around the events. */
const envelopeBytesMax = 4096;

const ndjson = 'application/x-ndjson';

function asksForLines({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept.split(',').some((type) => type.split(';')[0]?.trim().toLowerCase() === ndjson);
}

function asked({ notificationId, ...query }: Omit<EventsQuery, 'limit'>): HistoryQuery {
  return { ...query, notificationId };
}
