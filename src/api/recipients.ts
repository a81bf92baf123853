// What a recipient of each channel looks like.

import { assertNever } from '../domain/assert-never.ts';
import { asciiAddress, emailAddressRule } from '../domain/email-address.ts';
import type { Channel } from '../domain/events.ts';
import type { Outbound } from '../ports/outbound.ts';

const urlMax = 2048;
const inboxRecipientMax = 256;

const e164 = /^\+[1-9]\d{6,14}$/;

/** What is wrong with a recipient; null when nothing is. */
export function recipientProblem(
  channel: Channel,
  recipient: string,
  outbound: Pick<Outbound, 'problemWithUrl'>,
): string | null {
  switch (channel) {
    case 'EMAIL':
      return asciiAddress(recipient) === null ? emailAddressRule : null;
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

function webhookProblem(recipient: string, outbound: Pick<Outbound, 'problemWithUrl'>): string | null {
  if (recipient.length > urlMax) return `must have at most ${urlMax} characters`;
  // URL parsers drop some of these silently.
  if (/[\s\p{Cc}]/u.test(recipient)) return 'must be a URL without spaces and control characters';
  return outbound.problemWithUrl(recipient);
}
