// What Postmark's webhooks post: one event each. They are not signed, so the token in the address is all that tells who calls.
// https://postmarkapp.com/developer/webhooks/bounce-webhook, .../delivery-webhook, .../spam-complaint-webhook, .../open-tracking-webhook, .../click-webhook

import { z } from 'zod';

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import type { ReadEvent } from './reading.ts';
import { carriedIn, jsonOf, kindOf, taken, timeOf } from './reading.ts';

export const postmarkCallbacks: ProviderCallbacks = {
  secret: null,
  /** Bounces and complaints have the whole mail in them where the webhook is set to include its content. */
  bodyBytesMax: 256 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

const named = z.object({ RecordType: z.string() });

const sent = z.object({
  MessageID: z.string().nullish(),
  ID: z.number().nullish(),
  Type: z.string().nullish(),
  Email: z.string().nullish(),
  Recipient: z.string().nullish(),
  BouncedAt: z.string().nullish(),
  DeliveredAt: z.string().nullish(),
  ReceivedAt: z.string().nullish(),
  Description: z.string().nullish(),
  Details: z.string().nullish(),
  Metadata: z.unknown(),
});

const kinds = {
  Delivery: 'delivered',
  Bounce: 'bounced',
  SpamComplaint: 'complained',
  Open: 'opened',
  Click: 'clicked',
} as const;

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types: the address doesn't exist, or can't. */
const permanentTypes: ReadonlySet<string> = new Set(['HardBounce', 'BadEmailAddress']);
/** Told as bounces, but the mail was taken, or is still being tried. */
const noBounces: ReadonlySet<string> = new Set([
  'Transient',
  'AutoResponder',
  'AddressChange',
  'Subscribe',
  'Unsubscribe',
  'ChallengeVerification',
]);

function read({ body }: CallbackRequest, { now }: CallbackContext): CallbackVerdict {
  return taken([reportOf(jsonOf(body), now)]);
}

function reportOf(told: unknown, now: number): ReadEvent {
  const type = named.safeParse(told).data?.RecordType;
  if (type === undefined) return 'unreadable';
  const kind = kindOf(kinds, type);
  if (kind === null) return 'other';
  const event = sent.safeParse(told).data;
  if (event === undefined) return 'unreadable';
  const isBounce = kind === 'bounced';
  const bounceType = event.Type ?? '';
  if (isBounce && noBounces.has(bounceType)) return 'other';
  const notificationId = carriedIn(event.Metadata);
  if (notificationId === null) return 'foreign';
  const time = event.BouncedAt ?? event.DeliveredAt ?? event.ReceivedAt;
  const recipient = event.Email ?? event.Recipient ?? null;
  // Bounces and complaints alone have an id, which is longer than a number can be: what is told is told by what it says.
  const id = [type, event.ID, event.MessageID, recipient, time].join(':');
  const reason = isBounce ? [bounceType, event.Description, event.Details].filter((part) => (part ?? '') !== '') : [];
  return [
    {
      notificationId,
      kind,
      at: timeOf(time, now),
      id,
      recipient,
      permanent: isBounce && permanentTypes.has(bounceType),
      reason: isBounce ? reason.join(': ') : null,
    },
  ];
}
