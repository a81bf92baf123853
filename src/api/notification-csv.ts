// Records as lines of CSV for a person's spreadsheet: texts that it would run as formulas are made harmless.

import { inertCsvField } from '../domain/csv.ts';
import type { ListedNotification } from '../projections/notifications/document.ts';
import { toRecord } from './record.ts';

interface Column {
  readonly name: string;
  readonly about: string;
  of(document: ListedNotification, record: ReturnType<typeof toRecord>): string | number | null;
}

/** Texts that may be long stay with the record: a cell of a spreadsheet holds 32,767 characters. */
export const csvColumns: readonly Column[] = [
  { name: 'id', about: 'the notification', of: ({ id }) => id },
  { name: 'createdAt', about: 'when it was accepted', of: (_, { createdAt }) => createdAt },
  { name: 'channel', about: 'EMAIL, SMS, WEBHOOK or IN_APP', of: ({ channel }) => channel },
  { name: 'recipient', about: 'whom it is for', of: ({ recipient }) => recipient },
  { name: 'priority', about: 'HIGH, DEFAULT or BULK', of: ({ priority }) => priority },
  { name: 'status', about: 'as in the list', of: ({ status }) => status },
  { name: 'template', about: 'the name of its template', of: (_, { template }) => template?.name ?? null },
  { name: 'templateVersion', about: 'the version of that', of: (_, { template }) => template?.version ?? null },
  { name: 'subject', about: 'as rendered', of: (_, { subject }) => subject },
  { name: 'metadata', about: 'the request’s pairs, as JSON', of: (_, { metadata }) => JSON.stringify(metadata) },
  { name: 'batchId', about: 'the batch it came in', of: (_, { batchId }) => batchId },
  { name: 'resendOf', about: 'the notification whose content it has', of: (_, { resendOf }) => resendOf },
  { name: 'provider', about: 'of the last attempt that has ended', of: ({ provider }) => provider },
  { name: 'messageId', about: 'the provider’s own id of the message', of: ({ messageId }) => messageId },
  { name: 'attemptCount', about: 'attempts so far', of: (_, { attemptCount }) => attemptCount },
  { name: 'errorClass', about: 'of the last attempt, where it failed', of: ({ errorClass }) => errorClass },
  { name: 'errorCode', about: 'of the same', of: ({ errorCode }) => errorCode },
  { name: 'lastError', about: 'what the last failed attempt said', of: (_, { lastError }) => lastError },
  { name: 'scheduledAt', about: 'when it was to be sent, if later', of: (_, { scheduledAt }) => scheduledAt },
  { name: 'expiresAt', about: 'until when it was worth sending', of: (_, { expiresAt }) => expiresAt },
  { name: 'updatedAt', about: 'when something last happened to it', of: (_, { updatedAt }) => updatedAt },
  { name: 'deliveredAt', about: 'when it was delivered', of: (_, { deliveredAt }) => deliveredAt },
  { name: 'failedAt', about: 'when it came to be FAILED', of: (_, { failedAt }) => failedAt },
  { name: 'nextRetryAt', about: 'when the next attempt is due', of: (_, { nextRetryAt }) => nextRetryAt },
];

export const csvHead = `${csvColumns.map(({ name }) => name).join(',')}\r\n`;

/** With its line end. */
export function csvLine(document: ListedNotification): string {
  const record = toRecord(document);
  const cells = csvColumns.map(({ of }) => {
    const cell = of(document, record);
    return cell === null ? '' : inertCsvField(String(cell));
  });
  return `${cells.join(',')}\r\n`;
}
