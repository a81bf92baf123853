// A notification and its attempts as text: a head, and a time line of what became of it.

import type { toAttempts, toRecord } from '../../api/record.ts';
import { coloured, dim, printable, printableLines } from './printable.ts';

export type NotificationRecord = ReturnType<typeof toRecord>;
export type Attempt = ReturnType<typeof toAttempts>[number];

/** Of a body so much is shown. */
const bodyCharactersMax = 2000;

export function notificationText(record: NotificationRecord, attempts: readonly Attempt[]): string {
  const { id, status, channel, recipient, priority } = record;
  const head = `${printable(id)}  ${coloured(status, printable(status))}  ${printable(`${channel} to ${recipient}, ${priority}`)}`;
  return [head, ...fieldsOf(record), '', bodyOf(record.body), '', ...timeLine(record, attempts), ''].join('\n');
}

/** One line of an attempt, without its time. */
export function attemptText({ attemptNumber, status, provider, tookMs, ...failure }: Attempt): string {
  const by = `attempt ${attemptNumber} by ${printable(provider)}`;
  if (status === 'DELIVERED') return `${by}: ${coloured('DELIVERED', 'delivered')} in ${duration(tookMs)}`;
  const { errorClass, errorCode, error, nextRetryAt } = failure;
  const cause = [errorClass, errorCode].filter((one) => one !== null).map(printable);
  const next = nextRetryAt === null ? '' : `; again at ${nextRetryAt}`;
  return `${by}: ${coloured('FAILED', 'failed')} after ${duration(tookMs)} (${cause.join(', ')}): ${printable(error ?? '')}${next}`;
}

function fieldsOf({ subject, template, metadata, scheduledAt }: NotificationRecord): string[] {
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
  const fields: readonly (readonly [string, string | null])[] = [
    ['subject', subject],
    ['template', template === null ? null : `${template.name}, version ${template.version}`],
    ['metadata', pairs.length === 0 ? null : pairs.join(' ')],
    ['send at', scheduledAt],
  ];
  return fields.flatMap(([name, value]) => (value === null ? [] : [`  ${dim(name.padEnd(9))} ${printable(value)}`]));
}

function bodyOf(body: string): string {
  const more = body.length - bodyCharactersMax;
  const shown = printableLines(body.slice(0, bodyCharactersMax), '  ');
  return more > 0 ? `${shown}\n  ${dim(`... and ${more} more characters`)}` : shown;
}

function timeLine(record: NotificationRecord, attempts: readonly Attempt[]): string[] {
  const { createdAt, status, attemptCount, nextRetryAt, scheduledAt, updatedAt } = record;
  const begin = Date.parse(createdAt);
  const since = (time: string) => dim(`+${duration(Date.parse(time) - begin)}`.padStart(11));
  const [first] = attempts;
  const unseen = (first?.attemptNumber ?? attemptCount + 1) - 1;
  const lines = [`${createdAt}  accepted`];
  if (unseen > 0) lines.push(`${dim('...'.padStart(11))}  ${unseen} more, not shown`);
  for (const attempt of attempts) lines.push(`${since(endOf(attempt))}  ${attemptText(attempt)}`);
  if (status === 'SCHEDULED' && scheduledAt !== null) lines.push(`${since(scheduledAt)}  to be sent`);
  else if (status === 'RETRYING' && nextRetryAt !== null) lines.push(`${since(nextRetryAt)}  next attempt`);
  else if (status === 'CANCELLED') lines.push(`${since(updatedAt)}  cancelled`);
  else if (status === 'QUEUED' || status === 'PROCESSING') lines.push(`${''.padStart(11)}  ${status.toLowerCase()}`);
  return lines;
}

function endOf({ attemptedAt, tookMs }: Attempt): string {
  return new Date(Date.parse(attemptedAt) + tookMs).toISOString();
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}
