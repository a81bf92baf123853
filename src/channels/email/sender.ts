// Who a mail comes from: the fields that every email provider's config has.

import { z } from 'zod';

import { oneLine } from '../settings-check.ts';

export const senderFields = {
  fromName: oneLine(200).describe('The name that recipients see, e.g. Acme Billing.'),
  fromEmail: z
    .email('must be an email address')
    .max(254, 'must have at most 254 characters')
    .describe('The address that mails come from; its domain must be verified with the provider.'),
  replyTo: z
    .email('must be an email address')
    .max(254, 'must have at most 254 characters')
    .optional()
    .describe('The address that answers go to where a request names none. Without it they go to fromEmail.'),
  unsubscribeUrl: z
    .string()
    .max(400, 'must have at most 400 characters')
    .regex(
      /^https:\/\/(?=[!-~]*\{(?:recipient|notificationId)\})[^\s<>"`\\^{}]+(?:\{(?:recipient|notificationId)\}[^\s<>"`\\^{}]*)+$/,
      'must be a URL that begins with https:// and holds {recipient} or {notificationId}',
    )
    .optional()
    .meta({
      title: 'Unsubscribe URL',
      description:
        'Your own address for one-click unsubscribing (RFC 8058), with {recipient} or {notificationId} in it: in the header of BULK mails in place of the one that Herald serves.',
    }),
};

export interface Sender {
  readonly fromName: string;
  readonly fromEmail: string;
}

/** `"Name" <address>` (RFC 5322 3.4) with the name as it is: for JSON APIs, which encode it themselves. */
export function senderText(sender: Sender): string {
  return `${quoted(sender.fromName)} <${sender.fromEmail}>`;
}

/** The same in ASCII: a name beyond it as encoded words (RFC 2047). */
export function senderHeader(sender: Sender): string {
  const name = isPlainHeader(sender.fromName) ? quoted(sender.fromName) : encodedWords(sender.fromName).join(' ');
  return `${name} <${sender.fromEmail}>`;
}

/** A header's text (RFC 2047): what isn't printable ASCII as encoded words, and what would be read as one, so that readers show what was written. */
export function headerText(text: string): string {
  return isPlainHeader(text) ? text : encodedWords(text).join(' ');
}

/** It would be a line that is too long for a header, and can't be folded (RFC 5322 2.1.1). */
const longWord = /[^ ]{900}/;

function isPlainHeader(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !text.includes('=?') && !longWord.test(text);
}

function quoted(name: string): string {
  return `"${name.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** An encoded word has at most 75 characters (RFC 2047 2): 12 for its frame leave 63, which is 60 of base64, 45 bytes. */
const wordBytesMax = 45;

function encodedWords(text: string): string[] {
  const words: string[] = [];
  let held = '';
  for (const character of text) {
    if (Buffer.byteLength(held + character) > wordBytesMax) {
      words.push(held);
      held = '';
    }
    held += character;
  }
  words.push(held);
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`);
}
