// What the records say of a notification that a request asks for again.

import type { Records, Recorded } from '../commands/accept-once.ts';
import { unavailable } from '../domain/errors.ts';
import type { Expiry } from '../domain/delivery-request.ts';
import type { AskedFor } from '../domain/idempotency.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import { partitionOf, workTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ListedNotification } from '../projections/notifications/document.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { getNotification, whichNotifications } from '../projections/notifications/queries.ts';
import { gathered } from './gathered.ts';
import { waitForPosition } from '../projections/wait.ts';

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly log: Pick<EventLog, 'ends' | 'partitioning'>;
  readonly clock: Clock;
}

/** How long a request waits until the records have what the log has. */
const foldWaitMs = 2000;

export function createNotificationRecords({ reader, log, clock }: Dependencies): Records {
  // Hardly ever is there one: what stands beside the documents says so, of all that are asked for together.
  const isThere = gathered((ids: readonly NotificationId[]) => whichNotifications(reader, ids));
  const find = async (tenantId: TenantId, ids: readonly NotificationId[]): Promise<Recorded | null> => {
    const there = await Promise.all(ids.map(isThere));
    for (const id of ids.filter((_, i) => there[i] !== null)) {
      const found = await getNotification(reader, tenantId, id);
      if (found !== null) return recorded(found);
    }
    return null;
  };
  return {
    find,
    async findSurely({ tenantId, channel, recipient, priority }, notificationId) {
      const topic = workTopic(channel, priority);
      const partition = partitionOf({ tenantId, channel, recipient, notificationId }, log.partitioning);
      const offset = ((await log.ends(topic, [partition]))[partition] ?? 0) - 1;
      const last = { tenantId, topic, partition, offset };
      if (offset >= 0 && !(await waitForPosition({ reader, clock }, notificationsReadModel, last, foldWaitMs)))
        throw unavailable(
          'It is not known yet what became of the former request with this Idempotency-Key. Try again.',
        );
      return find(tenantId, [notificationId]);
    },
  };
}

function recorded(found: ListedNotification): Recorded {
  const { id, requestedAt, batchId, channel, priority, partition } = found;
  return {
    notificationId: id,
    requestedAt,
    batchId,
    // It is in there already, so whoever waits for its partition's beginning waits for nothing.
    position: { topic: workTopic(channel, priority), partition, offset: 0 },
    askedFor: found.isCut === true ? null : askedForBy(found),
  };
}

/** As it was asked for: what a template has filled in follows from its name and the data. */
function askedForBy({ channel, recipient, priority, request, resendOf }: ListedNotification): AskedFor {
  const { template, subject, body, rawSubject, rawBody, data, metadata, sendAt, expiresAt = null } = request;
  const { replyTo = null, cc = [], bcc = [], transactional = false } = request;
  const expiry: Expiry | null = expiresAt === null ? null : { kind: 'at', at: expiresAt };
  const own =
    template === null ? { subject: rawSubject ?? subject, body: rawBody ?? body } : { subject: null, body: null };
  const asked = { channel, recipient, priority, template: template?.name ?? null, ...own, data, metadata };
  return { ...asked, sendAt, expiry, replyTo, cc, bcc, transactional, resendOf: resendOf ?? null };
}
