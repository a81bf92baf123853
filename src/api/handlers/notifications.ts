// Notifications as records: one, many, their attempts; sent again, cancelled.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { badField, DomainError, notFound, unavailable } from '../../domain/errors.ts';
import { channels, priorities } from '../../domain/events.ts';
import type { BatchId, TenantId } from '../../domain/ids.ts';
import { isNotificationId } from '../../domain/ids.ts';
import { statuses } from '../../domain/notification.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { ListedNotification } from '../../projections/notifications/document.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import type { ListPlace, NotificationFilter, NotificationList } from '../../projections/notifications/queries.ts';
import { getNotification, listNotifications, pageRowsMax } from '../../projections/notifications/queries.ts';
import { waitUntil } from '../../projections/wait.ts';
import type { Cursors } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { eventPositionHeader, positionText } from '../position.ts';
import { toAttempts, toRecord } from '../record.ts';
import { ok } from '../respond.ts';
import { pageLimit, time } from './schemas.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'retryNotification' | 'cancelNotification'>;
  readonly reader: ReadModelReader;
  readonly cursors: Cursors;
  readonly clock: Clock;
}

const text = z.string().min(1).max(2048).optional();

const listQuery = z.strictObject({
  status: z.enum(statuses).optional(),
  channel: z.enum(channels).optional(),
  priority: z.enum(priorities).optional(),
  recipient: text,
  template: text,
  batchId: text,
  from: time.optional(),
  to: time.optional(),
  limit: pageLimit(20),
  cursor: z.string().optional(),
  page: z
    .string()
    .regex(/^[1-9]\d{0,5}$/, 'must be a whole number from 1')
    .transform(Number)
    .optional(),
});

type ListQuery = z.output<typeof listQuery>;

/** How long a cancel waits for the scheduler's decision. */
const decisionWaitMs = 2000;

export function createNotificationHandlers({ commands, reader, cursors, clock }: Dependencies) {
  const found = async (
    tenantId: TenantId,
    { id = '' }: Readonly<Record<string, string>>,
  ): Promise<ListedNotification> => {
    const document = isNotificationId(id) ? await getNotification(reader, tenantId, id) : null;
    if (document === null) throw notFound('notification');
    return document;
  };

  const list = endpoint('bearer', {
    query: listQuery,
    follows: notificationsReadModel,
    async handle({ tenant }, { query }) {
      const scope = { tenantId: tenant.id, list: 'notifications' };
      const after = query.cursor === undefined ? null : cursors.decode(query.cursor, scope);
      const result = await listNotifications(reader, tenant.id, filterOf(query), placeOf(query, after));
      return ok({
        data: result.records.map(toRecord),
        pagination: paginationOf(query, result, cursors.encode(result.next, scope)),
      });
    },
  });

  const show = endpoint('bearer', {
    follows: notificationsReadModel,
    async handle({ tenant }, { params }) {
      return ok({ notification: toRecord(await found(tenant.id, params)) });
    },
  });

  const showByKey = endpoint('apiKey', {
    follows: notificationsReadModel,
    async handle({ tenant }, { params }) {
      return ok({ notification: toRecord(await found(tenant.id, params)) });
    },
  });

  const attempts = endpoint('bearer', {
    follows: notificationsReadModel,
    async handle({ tenant }, { params }) {
      const document = await found(tenant.id, params);
      return ok({ notification: toRecord(document), attempts: toAttempts(document) });
    },
  });

  const retry = endpoint('bearer', {
    async handle({ tenant }, { params }) {
      const position = await commands.retryNotification(await found(tenant.id, params));
      const headers = { [eventPositionHeader]: positionText(position) };
      return { status: 202, body: { message: 'The notification is being sent again.' }, headers };
    },
  });

  const cancel = endpoint('bearer', {
    async handle({ tenant }, { params }) {
      const before = await found(tenant.id, params);
      const position = await commands.cancelNotification(before);
      const headers = { [eventPositionHeader]: positionText(position) };
      const decided = await decisionOn(before);
      if (decided === null) throw unavailable('The cancel is not decided yet. Look at the notification, or ask again.');
      if (decided.status !== 'CANCELLED') {
        throw new DomainError('CONFLICT', `It was too late to cancel the notification: it is ${decided.status}.`);
      }
      return { ...ok({ notification: toRecord(decided) }), headers };
    },
  });

  /** The record once it is cancelled or its round has ended otherwise; null when neither came in time. */
  const decisionOn = async ({ tenantId, id, round }: ListedNotification): Promise<ListedNotification | null> => {
    let decided: ListedNotification | null = null;
    await waitUntil({ reader, clock }, notificationsReadModel.definition.name, decisionWaitMs, async () => {
      const now = await getNotification(reader, tenantId, id);
      if (now !== null && (ended.has(now.status) || now.round > round)) decided = now;
      return decided !== null;
    });
    return decided;
  };

  return { list, show, showByKey, attempts, retry, cancel };
}

/** Between two attempts the decision may still come: the cancel is kept for the next timer. */
const ended: ReadonlySet<string> = new Set(['CANCELLED', 'DELIVERED', 'FAILED']);

function filterOf({
  status,
  channel,
  priority,
  recipient,
  template,
  batchId,
  from,
  to,
}: ListQuery): NotificationFilter {
  return {
    ...(status === undefined ? {} : { status }),
    ...(channel === undefined ? {} : { channel }),
    ...(priority === undefined ? {} : { priority }),
    ...(recipient === undefined ? {} : { recipient }),
    ...(template === undefined ? {} : { templateName: template }),
    ...(batchId === undefined ? {} : { batchId: batchId as BatchId }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

function placeOf({ limit, page, cursor }: ListQuery, after: ListPlace['after'] | null): ListPlace {
  if (page !== undefined && cursor !== undefined) throw badField('page', 'must not be given together with a cursor');
  if (page !== undefined && page * limit > pageRowsMax)
    throw badField('page', `goes down to row ${pageRowsMax}; go on by cursor`);
  return {
    limit,
    ...(after === null || after === undefined ? {} : { after }),
    ...(page === undefined ? {} : { page }),
  };
}

function paginationOf(
  { limit, page, cursor }: ListQuery,
  { total, totalIsExact }: NotificationList,
  nextCursor: string | null,
) {
  const shownPage = cursor === undefined ? (page ?? 1) : null;
  return { limit, total, totalIsExact, nextCursor, page: shownPage, totalPages: Math.ceil(total / limit) };
}
