// What a recipient of each channel looks like.

import { assertNever } from '../domain/assert-never.ts';
import type { Channel } from '../domain/events.ts';
import type { Outbound } from '../ports/outbound.ts';

const emailMax = 254;
const urlMax = 2048;
const inboxRecipientMax = 256;

/** RFC 5321 without quoted local parts and address literals: one bare address, its domain with a dot. */
const email =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/i;
const e164 = /^\+[1-9]\d{6,14}$/;

/** What is wrong with a recipient; null when nothing is. */
export function recipientProblem(
  channel: Channel,
  recipient: string,
  outbound: Pick<Outbound, 'problemWithUrl'>,
): string | null {
  switch (channel) {
    case 'EMAIL':
      return isEmail(recipient)
        ? null
        : `must be one email address of at most ${emailMax} characters, such as ada@example.com`;
    case 'SMS':
      return e164.test(recipient) ? null : 'must be a phone number in E.164 form, such as +14155550123';
    case 'WEBHOOK':
      return webhookProblem(recipient, outbound);
    case 'IN_APP':
      return inboxRecipientProblem(recipient);
    default:
      return assertNever(channel);
  }
}

export function inboxRecipientProblem(recipient: string): string | null {
  if (recipient.trim() === '') return 'must not be empty';
  return recipient.length <= inboxRecipientMax ? null : `must have at most ${inboxRecipientMax} characters`;
}

function isEmail(text: string): boolean {
  if (text.length > emailMax || text.startsWith('.') || text.includes('..') || text.includes('.@')) return false;
  return email.test(text);
}

function webhookProblem(recipient: string, outbound: Pick<Outbound, 'problemWithUrl'>): string | null {
  if (recipient.length > urlMax) return `must have at most ${urlMax} characters`;
  // URL parsers drop some of these silently.
  if (/[\s\p{Cc}]/u.test(recipient)) return 'must be a URL without spaces and control characters';
  return outbound.problemWithUrl(recipient);
}
