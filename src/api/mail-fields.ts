// The fields of a request that not every channel has: where answers to a mail go to, who gets a copy, whether a suppressed recipient gets it.

import { z } from 'zod';

import { asciiAddress, emailAddressRule } from '../domain/email-address.ts';
import type { ErrorDetail } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';

/** Of cc and of bcc each. */
const copiesMax = 10;

const copies = z.array(z.string()).max(copiesMax);

export const mailFields = {
  replyTo: z
    .string()
    .describe('EMAIL: the address that answers go to. As the provider’s config says unless it is said here.')
    .optional(),
  cc: copies
    .describe('EMAIL: who gets a copy, seen by all. Whether the mail was delivered is judged by `recipient` alone.')
    .optional(),
  bcc: copies.describe('EMAIL: who gets a copy, seen by nobody else.').optional(),
  transactional: z
    .boolean()
    .describe('EMAIL and SMS: true sends to a suppressed recipient, too: a password reset, a receipt.')
    .optional(),
};

interface MailTexts {
  readonly replyTo?: string | undefined;
  readonly cc?: readonly string[] | undefined;
  readonly bcc?: readonly string[] | undefined;
  readonly transactional?: boolean | undefined;
}

/** What is wrong with them: each address by its own path. */
export function copiesProblems(
  channel: Channel,
  { replyTo, cc, bcc, transactional }: MailTexts,
): readonly ErrorDetail[] {
  if (transactional !== undefined && channel !== 'EMAIL' && channel !== 'SMS')
    return [{ path: 'transactional', message: 'is for EMAIL and SMS alone' }];
  if (replyTo === undefined && cc === undefined && bcc === undefined) return none;
  const given = Object.entries({ replyTo, cc, bcc }).filter(([, value]) => value !== undefined);
  if (channel !== 'EMAIL') return given.map(([path]) => ({ path, message: 'is for EMAIL alone' }));
  return given.flatMap(([path, value]) => {
    const addresses = typeof value === 'string' ? [[path, value] as const] : placed(path, value ?? []);
    return addresses
      .filter(([, address]) => asciiAddress(address) === null)
      .map(([at]) => ({ path: at, message: emailAddressRule }));
  });
}

const none: readonly ErrorDetail[] = [];

function placed(path: string, addresses: readonly string[]): (readonly [string, string])[] {
  return addresses.map((address, i) => [`${path}.${i}`, address] as const);
}
