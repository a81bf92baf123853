// When a notification is to be sent, and until when it is worth sending: the fields of a request, and the rules between them.

import { z } from 'zod';

import type { Expiry } from '../domain/delivery-request.ts';
import type { ErrorDetail } from '../domain/errors.ts';
import { wireForms } from './docs/wire-forms.ts';

const dayMs = 24 * 60 * 60 * 1000;
const sendAheadDaysMax = 90;
/** A year: whatever is worth sending for longer needs no end. */
const ttlSecondsMax = 365 * 24 * 60 * 60;

const sendTime = z.string().register(wireForms, {
  type: 'string',
  format: 'date-time',
  description: `At most ${sendAheadDaysMax} days ahead; a time past is now. Until then the notification is SCHEDULED.`,
});

const expiryTime = z.string().register(wireForms, {
  type: 'string',
  format: 'date-time',
  description:
    'What isn’t delivered by then is FAILED, class `expired`, without a further attempt. After `sendAt`, where both are given.',
});

const ttl = z
  .int(`must be a whole number from 1 to ${ttlSecondsMax}`)
  .min(1, `must be a whole number from 1 to ${ttlSecondsMax}`)
  .max(ttlSecondsMax, `must be a whole number from 1 to ${ttlSecondsMax}`)
  .describe('In place of `expiresAt`: so many seconds after `sendAt`, or after now where there is none.');

/** The rules between them are told by `timesOf`. */
export const timeFields = {
  sendAt: sendTime.optional(),
  expiresAt: expiryTime.optional(),
  ttlSeconds: ttl.optional(),
};

export interface Times {
  /** UTC ms. */
  readonly sendAt: number | null;
  readonly expiry: Expiry | null;
}

interface TimeTexts {
  readonly sendAt?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly ttlSeconds?: number | undefined;
}

/** A time past is no error: the same request may come again later, and then it is. */
export function timesOf(fields: TimeTexts, now: number, details: ErrorDetail[]): Times {
  const sendAt = fields.sendAt === undefined ? null : timeOf('sendAt', fields.sendAt, details);
  if (sendAt !== null && sendAt > now + sendAheadDaysMax * dayMs)
    details.push({ path: 'sendAt', message: `must be at most ${sendAheadDaysMax} days ahead` });
  return { sendAt, expiry: expiryOf(fields, sendAt, details) };
}

function expiryOf(
  { expiresAt: text, ttlSeconds }: TimeTexts,
  sendAt: number | null,
  details: ErrorDetail[],
): Expiry | null {
  if (text !== undefined && ttlSeconds !== undefined) {
    details.push({ path: 'ttlSeconds', message: 'must not be given together with expiresAt' });
    return null;
  }
  if (ttlSeconds !== undefined) return { kind: 'after', ms: ttlSeconds * 1000 };
  const at = text === undefined ? null : timeOf('expiresAt', text, details);
  if (at !== null && sendAt !== null && at <= sendAt)
    details.push({ path: 'expiresAt', message: 'must be after sendAt' });
  return at === null ? null : { kind: 'at', at };
}

const dateTime = z.iso.datetime({ offset: true });

/** null: it isn't one, and said so. */
function timeOf(path: string, text: string, details: ErrorDetail[]): number | null {
  if (dateTime.safeParse(text).success) return Date.parse(text);
  details.push({ path, message: 'must be an ISO 8601 time with its zone, such as 2027-01-31T09:00:00Z' });
  return null;
}
