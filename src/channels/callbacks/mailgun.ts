// What Mailgun's webhooks post: one event each, with an HMAC over a time and a token beside it (and nothing of the event).
// https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks, .../webhooks/webhook-payloads
//
// How old a time may be isn't said, and deliveries are repeated for 8 h: any is taken.

import { z } from 'zod';

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import type { ReadEvent } from './reading.ts';
import { carriedIn, forged, hmac, isSame, jsonOf, kindOf, taken, timeOf, unreadable } from './reading.ts';

export const mailgunCallbacks: ProviderCallbacks = {
  secret: {
    label: 'Webhook signing key',
    help: "The account's HTTP webhook signing key, for reports of what became of mails.",
    problem: (secret) => (/^[\x21-\x7e]{16,200}$/.test(secret) ? null : 'must be 16 to 200 visible ASCII characters'),
  },
  bodyBytesMax: 64 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

const envelope = z.object({
  signature: z.object({ timestamp: z.string(), token: z.string(), signature: z.string() }),
  'event-data': z.unknown(),
});

function read({ body }: CallbackRequest, { provider, now }: CallbackContext): CallbackVerdict {
  const { callbackSecret: key } = provider;
  if (key === undefined || key === null)
    return forged("No webhook signing key is saved: save Mailgun's as callbackSecret.");
  const { data } = envelope.safeParse(jsonOf(body));
  if (data === undefined) return unreadable;
  const { timestamp, token, signature } = data.signature;
  if (!isSame(Buffer.from(signature, 'hex'), hmac('sha256', key, timestamp, token)))
    return forged('The signature is not one by the webhook signing key that is saved as callbackSecret.');
  return taken([reportOf(data['event-data'], now)]);
}

const named = z.object({ event: z.string() });

/** What it has nothing to say in is left out, empty or null. */
const sent = z.object({
  id: z.string().min(1),
  timestamp: z.number().nullish(),
  recipient: z.string().nullish(),
  severity: z.string().nullish(),
  reason: z.string().nullish(),
  'delivery-status': z
    .object({
      code: z.union([z.number(), z.string()]).nullish(),
      message: z.string().nullish(),
      description: z.string().nullish(),
    })
    .nullish(),
  'user-variables': z.unknown(),
});

const kinds = {
  delivered: 'delivered',
  failed: 'bounced',
  complained: 'complained',
  opened: 'opened',
  clicked: 'clicked',
} as const;

/** The address bounced, now or before; what was given up for other reasons may work the next time. */
const permanentReasons: ReadonlySet<string> = new Set(['bounce', 'suppress-bounce']);

function reportOf(event: unknown, now: number): ReadEvent {
  const name = named.safeParse(event).data?.event;
  if (name === undefined) return 'unreadable';
  const kind = kindOf(kinds, name);
  if (kind === null) return 'other';
  const { data } = sent.safeParse(event);
  if (data === undefined) return 'unreadable';
  const isBounce = kind === 'bounced';
  // A temporary failure is still being tried.
  if (isBounce && data.severity === 'temporary') return 'other';
  const notificationId = carriedIn(data['user-variables']);
  if (notificationId === null) return 'foreign';
  const { id, 'delivery-status': status } = data;
  const recipient = data.recipient ?? null;
  const words = [status?.code, status?.message, status?.description].filter((part) => (part ?? '') !== '');
  const permanent = isBounce && permanentReasons.has(data.reason ?? '');
  const reason = isBounce ? words.join(' ') : null;
  return [{ notificationId, kind, at: timeOf(data.timestamp, now), id, recipient, permanent, reason }];
}
