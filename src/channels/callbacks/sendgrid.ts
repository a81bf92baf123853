// What SendGrid's event webhook posts: an array of events, signed as a whole with an ECDSA key of the account.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event,
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features

import type { KeyObject } from 'node:crypto';
import { createPublicKey, verify } from 'node:crypto';

import { z } from 'zod';

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import type { ReadEvent } from './reading.ts';
import { carriedIn, forged, headerOf, jsonOf, kindOf, taken, timeOf, unreadable } from './reading.ts';

export const sendgridCallbacks: ProviderCallbacks = {
  secret: {
    label: 'Verification key',
    help: 'The public key that the signed event webhook shows, for its reports of what became of mails.',
    problem: (secret) =>
      keyOf(secret) === null ? 'must be the verification key of the event webhook: base64, it begins with MFkw' : null,
  },
  /** Its batches have up to 768 KiB. */
  bodyBytesMax: 1024 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

function read(request: CallbackRequest, { provider, now }: CallbackContext): CallbackVerdict {
  const key = keyOf(provider.callbackSecret ?? '');
  if (key === null) return forged('No verification key of the event webhook is saved: save it as callbackSecret.');
  const timestamp = headerOf(request, 'x-twilio-email-event-webhook-timestamp');
  const signature = Buffer.from(headerOf(request, 'x-twilio-email-event-webhook-signature'), 'base64');
  const signed = Buffer.concat([Buffer.from(timestamp), request.body]);
  if (!verify('sha256', signed, key, signature))
    return forged('The signature is not one of the account whose verification key is saved as callbackSecret.');
  const events = z.array(z.unknown()).safeParse(jsonOf(request.body));
  return events.success ? taken(events.data.map((event) => reportOf(event, now))) : unreadable;
}

const named = z.object({ event: z.string() });

const sent = z.object({
  sg_event_id: z.string().min(1),
  email: z.string().nullish(),
  timestamp: z.number().nullish(),
  type: z.string().nullish(),
  reason: z.string().nullish(),
});

const kinds = {
  delivered: 'delivered',
  bounce: 'bounced',
  dropped: 'bounced',
  spamreport: 'complained',
  open: 'opened',
  click: 'clicked',
} as const;

/** Of a mail that SendGrid drops by itself: the address is on its own list. */
const droppedForGood: ReadonlySet<string> = new Set(['Bounced Address', 'Invalid']);

function reportOf(event: unknown, now: number): ReadEvent {
  const name = named.safeParse(event).data?.event;
  if (name === undefined) return 'unreadable';
  const kind = kindOf(kinds, name);
  if (kind === null) return 'other';
  const { data } = sent.safeParse(event);
  if (data === undefined) return 'unreadable';
  // Custom arguments stand beside the fields of each event.
  const notificationId = carriedIn(event);
  if (notificationId === null) return 'foreign';
  const { sg_event_id: id } = data;
  const recipient = data.email ?? null;
  const reason = data.reason ?? null;
  // A bounce of type "blocked" is a mail that was turned away, not an address that doesn't exist.
  const permanent = name === 'dropped' ? droppedForGood.has(reason ?? '') : data.type !== 'blocked';
  const at = timeOf(data.timestamp, now);
  return [{ notificationId, kind, at, id, recipient, permanent: kind === 'bounced' && permanent, reason }];
}

function keyOf(secret: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ec' ? key : null;
  } catch {
    return null;
  }
}
