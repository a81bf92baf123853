// The document of one notification: the facts, and beside them what lists and filters need.

import { canonicalContent } from '../../domain/delivery-request.ts';
import type { NotificationContent } from '../../domain/events.ts';
import type { BatchId } from '../../domain/ids.ts';
import type { NotificationFacts, Status } from '../../domain/notification.ts';
import { statusOf } from '../../domain/notification.ts';
import type { CollectionDefinition } from '../../ports/read-model-store.ts';

export interface NotificationDocument extends NotificationFacts {
  readonly status: Status;
  readonly templateName: string | null;
  readonly batchId: BatchId | null;
  /** `requestedAt`; null as long as only later events were seen: such a document is in no list and no statistic. */
  readonly listedAt: number | null;
}

/** A document that queries give out: its request has been seen. */
export interface ListedNotification extends NotificationDocument {
  readonly request: NotificationContent;
  readonly listedAt: number;
}

export function isListed(document: NotificationDocument): document is ListedNotification {
  return document.listedAt !== null;
}

export const notificationsCollection: CollectionDefinition = {
  name: 'notifications',
  fields: {
    tenantId: 'text',
    listedAt: 'number',
    status: 'text',
    channel: 'text',
    priority: 'text',
    recipient: 'text',
    templateName: 'text',
    batchId: 'text',
  },
  indexes: [
    { fields: ['tenantId', 'listedAt'] },
    { fields: ['tenantId', 'status', 'listedAt'] },
    { fields: ['tenantId', 'recipient', 'listedAt'] },
    { fields: ['tenantId', 'templateName', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'batchId', 'listedAt'], sparse: true },
  ],
};

/** Fields in one order, whatever came first: documents of the same facts are the same bytes. */
export function toDocument(facts: NotificationFacts): NotificationDocument {
  const { request } = facts;
  return {
    id: facts.id,
    tenantId: facts.tenantId,
    partition: facts.partition,
    requestedAt: facts.requestedAt,
    channel: facts.channel,
    priority: facts.priority,
    recipient: facts.recipient,
    request: request === null ? null : canonicalContent(request),
    round: facts.round,
    attempts: facts.attempts,
    firstDue: facts.firstDue,
    deferral: facts.deferral,
    cancelledRound: facts.cancelledRound,
    updatedAt: facts.updatedAt,
    status: statusOf(facts),
    templateName: request?.template?.name ?? null,
    batchId: request?.batchId ?? null,
    listedAt: request === null ? null : facts.requestedAt,
    ...(facts.isCut === true ? { isCut: true } : {}),
    ...(facts.resendOf === undefined ? {} : { resendOf: facts.resendOf }),
  };
}
