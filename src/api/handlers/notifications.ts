// Notifications as records: one, many, their attempts; sent again, cancelled.

import type { Commands } from '../../commands/index.ts';
import { DomainError, notFound, unavailable } from '../../domain/errors.ts';
import { isIdOfKey, keyLifetimeMs } from '../../domain/idempotency.ts';
import type { TenantId } from '../../domain/ids.ts';
import { isNotificationId, timeOfNotificationId } from '../../domain/ids.ts';
import { traceContextOf } from '../../domain/trace-context.ts';
import { parseTraceparent } from '../../domain/traceparent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import type { ListedNotification } from '../../projections/notifications/document.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import { reportsOf } from '../../projections/notifications/reports.ts';
import { getNotification, listNotifications, placeKeyOf } from '../../projections/notifications/queries.ts';
import { pageBytesMax } from '../../projections/page-bytes.ts';
import type { Cursors } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { idempotencyKeyOf, idempotentReplayedHeader } from '../idempotency-key.ts';
import type { OwnWrites } from '../own-writes.ts';
import { listText, pageText } from '../page.ts';
import { eventPositionHeader, positionText } from '../position.ts';
import { toAttempts, toRecord, toReport } from '../record.ts';
import { ok } from '../respond.ts';
import type { Waits } from '../waits.ts';
import { filterOf, listQuery, paginationOf, placeOf, readModelsOf } from './notification-list.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'retryNotification' | 'resendNotification' | 'cancelNotification'>;
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
  readonly cursors: Cursors;
  readonly ownWrites: Pick<OwnWrites, 'note' | 'noteItem'>;
  readonly waits: Pick<Waits, 'until'>;
  readonly metrics: Pick<Metrics, 'increment'>;
  readonly clock: Clock;
}

/** A record of the usual kind; a longer one counts with what it has once it is written. */
const recordBytesMax = 64 * 1024;
/** How long a cancel waits for the scheduler's decision. */
const decisionWaitMs = 2000;
/** A notification whose id was made so lately, on whichever process' clock, may not be folded yet: it is waited for as `x-after-position` is. */
const youngMs = 5000;
const youngWaitMs = 2000;

export function createNotificationHandlers(deps: Dependencies) {
  const { commands, reader, turns, cursors, ownWrites, waits, clock, metrics } = deps;
  /** Another tenant's id is waited for as one that doesn't exist. */
  const settled = async (tenantId: TenantId, { id = '' }: Readonly<Record<string, string>>): Promise<void> => {
    if (!isNotificationId(id)) return;
    // The time of one that an Idempotency-Key has given begins with its day, which may be yesterday on this process' clock.
    const mayBeYoungMs = isIdOfKey(id) ? keyLifetimeMs + youngMs : youngMs;
    if (Math.abs(clock.now() - timeOfNotificationId(id)) > mayBeYoungMs) return;
    const isThere = async () => (await getNotification(reader, tenantId, id)) !== null;
    await waits.until({ tenantId, awaited: 'claimed' }, notificationsReadModel.definition.name, youngWaitMs, isThere);
  };

  const found = async (
    tenantId: TenantId,
    { id = '' }: Readonly<Record<string, string>>,
  ): Promise<ListedNotification> => {
    const document = isNotificationId(id) ? await getNotification(reader, tenantId, id) : null;
    if (document === null) throw notFound('notification');
    return document;
  };

  const list = endpoint('bearerOrKey', {
    query: listQuery,
    follows: readModelsOf,
    answerBytesMax: pageBytesMax,
    async handle({ tenant }, { query }) {
      const scope = { tenantId: tenant.id, list: 'notifications' };
      const after = query.cursor === undefined ? null : cursors.decode(query.cursor, scope);
      const filter = filterOf(query);
      const result = await listNotifications(reader, tenant.id, filter, placeOf(query, after));
      const page = await pageText(turns, result.records, toRecord);
      const next = page.cutAfter === null ? result.next : placeKeyOf(filter, page.cutAfter);
      const pagination = paginationOf(query, result, cursors.encode(next, scope));
      return { status: 200, json: listText('data', page, { pagination }) };
    },
  });

  const show = endpoint('bearerOrKey', {
    follows: () => [notificationsReadModel],
    answerBytesMax: recordBytesMax,
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params }) {
      return ok({ notification: toRecord(await found(tenant.id, params)) });
    },
  });

  const showByKey = endpoint('apiKey', {
    follows: () => [notificationsReadModel],
    answerBytesMax: recordBytesMax,
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params }) {
      return ok({ notification: toRecord(await found(tenant.id, params)) });
    },
  });

  const attempts = endpoint('bearerOrKey', {
    follows: () => [notificationsReadModel],
    answerBytesMax: recordBytesMax,
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params }) {
      const document = await found(tenant.id, params);
      const reports = (await reportsOf(reader, tenant.id, document.id)).map(toReport);
      return ok({ notification: toRecord(document), attempts: toAttempts(document), reports });
    },
  });

  const retry = endpoint('bearer', {
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params, headers: sent }) {
      const facts = await found(tenant.id, params);
      const position = await commands.retryNotification(facts, traceContextOf(sent));
      ownWrites.note(tenant.id, position);
      const headers = { [eventPositionHeader]: positionText(position) };
      return { status: 202, body: { message: 'The notification is being sent again.' }, headers };
    },
  });

  const resend = endpoint('bearer', {
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params, headers: sent }) {
      const key = idempotencyKeyOf({ headers: sent });
      const facts = await found(tenant.id, params);
      const accepted = await commands.resendNotification({ facts, key, trace: traceContextOf(sent) });
      const { notificationId, position, isReplayed } = accepted;
      ownWrites.note(tenant.id, position);
      if (facts.channel === 'IN_APP') ownWrites.noteItem(tenant.id, facts.recipient, notificationId);
      metrics.increment(isReplayed ? 'herald_replayed_total' : 'herald_accepted_total');
      const headers = {
        location: `/api/v1/notify/${notificationId}`,
        [eventPositionHeader]: positionText(position),
        ...(isReplayed ? { [idempotentReplayedHeader]: 'true' } : {}),
      };
      return { status: 202, body: { notificationId, notification_id: notificationId, status: 'queued' }, headers };
    },
  });

  const cancel = endpoint('bearer', {
    awaits: ({ tenant }, { params }) => settled(tenant.id, params),
    async handle({ tenant }, { params, headers: sent }) {
      const before = await found(tenant.id, params);
      const position = await commands.cancelNotification(before, parseTraceparent(sent['traceparent']));
      ownWrites.note(tenant.id, position);
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
    await waits.until(
      { tenantId, awaited: 'written' },
      notificationsReadModel.definition.name,
      decisionWaitMs,
      async () => {
        const now = await getNotification(reader, tenantId, id);
        if (now !== null && (ended.has(now.status) || now.round > round)) decided = now;
        return decided !== null;
      },
    );
    return decided;
  };

  return { list, show, showByKey, attempts, retry, resend, cancel };
}

/** Between two attempts the decision may still come: the cancel is kept for the next timer. */
const ended: ReadonlySet<string> = new Set(['CANCELLED', 'DELIVERED', 'FAILED']);
