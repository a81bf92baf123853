// The document of one notification: the facts, and beside them what lists and filters need.

import { canonicalContent } from '../../domain/delivery-request.ts';
import { comparedAddress } from '../../domain/email-address.ts';
import type { FailureClass, NotificationContent } from '../../domain/events.ts';
import type { BatchId } from '../../domain/ids.ts';
import type { NotificationFacts, Status } from '../../domain/notification.ts';
import { lastOutcomeOf, statusOf } from '../../domain/notification.ts';
import type { DocumentShape } from '../../ports/document-shape.ts';
import type { CollectionDefinition } from '../../ports/read-model-store.ts';
import { causeKeyOf, comparedCode } from './failure-causes.ts';

export interface NotificationDocument extends NotificationFacts {
  readonly status: Status;
  readonly templateName: string | null;
  readonly batchId: BatchId | null;
  /** In the one form of all ways to write it. */
  readonly comparedRecipient: string;
  /** These four are of the last attempt that has ended. */
  readonly provider: string | null;
  readonly messageId: string | null;
  readonly errorClass: FailureClass | null;
  readonly errorCode: string | null;
  /** UTC ms at which it came to be FAILED, and of what (`causeKeyOf`); null unless that is its status, and listed. */
  readonly failedAt: number | null;
  readonly cause: string | null;
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

const fields = {
  tenantId: 'text',
  listedAt: 'number',
  status: 'text',
  channel: 'text',
  priority: 'text',
  recipient: 'text',
  templateName: 'text',
  batchId: 'text',
  comparedRecipient: 'text',
  provider: 'text',
  messageId: 'text',
  errorClass: 'text',
  errorCode: 'text',
  failedAt: 'number',
  cause: 'text',
} as const;

const outcomeKeys = ['kind', 'eventId', 'occurredAt', 'provider', 'waitedMs', 'tookMs'];

/** Of nearly all: a resent one, one that was cut or scheduled again, and what a request or an attempt seldom has, are kept as they are. */
const shape: DocumentShape = {
  keys: [
    'id',
    'tenantId',
    'partition',
    'requestedAt',
    'channel',
    'priority',
    'recipient',
    'request',
    'round',
    'attempts',
    'firstDue',
    'deferral',
    'cancelledRound',
    'updatedAt',
    'status',
    'templateName',
    'batchId',
    'comparedRecipient',
    'provider',
    'messageId',
    'errorClass',
    'errorCode',
    'failedAt',
    'cause',
    'listedAt',
  ] satisfies (keyof NotificationDocument)[],
  id: 'id',
  beside: Object.keys(fields),
  inside: {
    request: [
      {
        keys: [
          'subject',
          'body',
          'bodyFormat',
          'rawSubject',
          'rawBody',
          'data',
          'metadata',
          'template',
          'sendAt',
          'batchId',
        ],
      },
    ],
    attempts: [
      {
        keys: ['attempt', 'round', 'startedAt', 'outcome'],
        inside: {
          outcome: [
            { keys: [...outcomeKeys, 'messageId'] },
            { keys: [...outcomeKeys, 'failureClass', 'code', 'message', 'retryAt'] },
          ],
        },
      },
    ],
  },
};

export const notificationsCollection: CollectionDefinition = {
  name: 'notifications_2',
  fields,
  shape,
  indexes: [
    { fields: ['tenantId', 'listedAt'] },
    { fields: ['tenantId', 'status', 'listedAt'] },
    { fields: ['tenantId', 'comparedRecipient', 'listedAt'] },
    { fields: ['tenantId', 'templateName', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'batchId', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'messageId', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'errorClass', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'errorCode', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'errorClass', 'channel', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'errorCode', 'channel', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'failedAt'], sparse: true },
    { fields: ['tenantId', 'cause', 'failedAt'], sparse: true },
  ],
};

/** Fields in one order, whatever came first: documents of the same facts are the same bytes. */
export function toDocument(facts: NotificationFacts): NotificationDocument {
  const { request, channel } = facts;
  const status = statusOf(facts);
  const last = lastOutcomeOf(facts);
  const failed = last?.kind === 'failed' ? last : null;
  const ended = status === 'FAILED' && request !== null ? failed : null;
  return {
    id: facts.id,
    tenantId: facts.tenantId,
    partition: facts.partition,
    requestedAt: facts.requestedAt,
    channel,
    priority: facts.priority,
    recipient: facts.recipient,
    request: request === null ? null : canonicalContent(request),
    round: facts.round,
    attempts: facts.attempts,
    firstDue: facts.firstDue,
    deferral: facts.deferral,
    cancelledRound: facts.cancelledRound,
    updatedAt: facts.updatedAt,
    status,
    templateName: request?.template?.name ?? null,
    batchId: request?.batchId ?? null,
    comparedRecipient: comparedAddress(facts.recipient),
    provider: last?.provider ?? null,
    messageId: last?.kind === 'succeeded' ? last.messageId : null,
    errorClass: failed?.failureClass ?? null,
    errorCode: comparedCode(failed?.code ?? null),
    failedAt: ended?.occurredAt ?? null,
    cause: ended === null ? null : causeKeyOf({ ...ended, channel }),
    listedAt: request === null ? null : facts.requestedAt,
    ...(facts.isCut === true ? { isCut: true } : {}),
    ...(facts.scheduledAgain === undefined ? {} : { scheduledAgain: facts.scheduledAgain }),
    ...(facts.resendOf === undefined ? {} : { resendOf: facts.resendOf }),
  };
}
