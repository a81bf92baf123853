// What Postmark's webhooks post: one event each. They are not signed, so the token in the address is all that tells who calls.
// https://postmarkapp.com/developer/webhooks/bounce-webhook, .../delivery-webhook, .../spam-complaint-webhook, .../open-tracking-webhook, .../click-webhook

import { z } from 'zod';

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import type { ReadEvent } from './reading.ts';
import { jsonOf, notificationIdOfKey, taken, timeOf, unreadable } from './reading.ts';

export const postmarkCallbacks: ProviderCallbacks = {
  secret: null,
  /** Bounces and complaints have the whole mail in them where the webhook is set to include its content. */
  bodyBytesMax: 256 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

const sent = z.object({
  RecordType: z.string(),
  MessageID: z.string().optional(),
  ID: z.number().optional(),
  Type: z.string().optional(),
  Email: z.string().optional(),
  Recipient: z.string().optional(),
  BouncedAt: z.string().optional(),
  DeliveredAt: z.string().optional(),
  ReceivedAt: z.string().optional(),
  Description: z.string().optional(),
  Details: z.string().optional(),
  Metadata: z.record(z.string(), z.unknown()).optional(),
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
  const { data } = sent.safeParse(jsonOf(body));
  return data === undefined ? unreadable : taken([reportOf(data, now)]);
}

function reportOf(event: z.infer<typeof sent>, now: number): ReadEvent {
  const { RecordType: type, Type: bounceType = '' } = event;
  const kind = Object.hasOwn(kinds, type) ? kinds[type as keyof typeof kinds] : null;
  if (kind === null || (kind === 'bounced' && noBounces.has(bounceType))) return 'other';
  const notificationId = notificationIdOfKey(event.Metadata?.['notificationId']);
  if (notificationId === null) return 'foreign';
  const time = event.BouncedAt ?? event.DeliveredAt ?? event.ReceivedAt;
  const recipient = event.Email ?? event.Recipient ?? null;
  // Bounces and complaints alone have an id, which is longer than a number can be: what is told is told by what it says.
  const id = [type, event.ID, event.MessageID, recipient, time].join(':');
  const isBounce = kind === 'bounced';
  const reason = isBounce ? [bounceType, event.Description, event.Details].filter((part) => part !== undefined) : [];
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
