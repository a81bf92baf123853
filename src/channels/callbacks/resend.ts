// What Resend's webhooks post: one event each, signed as Svix does (Standard Webhooks).
// https://resend.com/docs/webhooks/emails/bounced, .../emails/failed, .../emails/suppressed,
// https://resend.com/docs/webhooks/verify-webhooks-requests, https://docs.svix.com/receiving/verifying-payloads/how-manual

import { z } from 'zod';

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import type { ReadEvent } from './reading.ts';
import { forged, headerOf, hmac, isSame, jsonOf, kindOf, notificationIdOfKey, taken, timeOf } from './reading.ts';

const prefix = 'whsec_';
/** As the scheme asks for; each try is signed anew, with its own time. */
const toleranceMs = 5 * 60_000;

export const resendCallbacks: ProviderCallbacks = {
  secret: {
    label: 'Webhook signing secret',
    help: 'The signing secret of the webhook, which begins with whsec_, for reports of what became of mails.',
    problem: (secret) =>
      secret.startsWith(prefix) && keyOf(secret).length >= 16 ? null : 'must be whsec_ and base64 of 16 bytes or more',
  },
  bodyBytesMax: 64 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64');
}

function read(request: CallbackRequest, { provider, now }: CallbackContext): CallbackVerdict {
  const { callbackSecret: secret } = provider;
  if (secret === undefined || secret === null)
    return forged("No signing secret of the webhook is saved: save Resend's as callbackSecret.");
  const [id, timestamp, signatures] = ['svix-id', 'svix-timestamp', 'svix-signature'].map((name) =>
    headerOf(request, name),
  ) as [string, string, string];
  const expected = hmac('sha256', keyOf(secret), `${id}.${timestamp}.`, request.body);
  const isSigned = signatures
    .split(' ')
    .some((text) => text.startsWith('v1,') && isSame(Buffer.from(text.slice('v1,'.length), 'base64'), expected));
  if (id === '' || !isSigned) return forged('The signature is not one by the secret that is saved as callbackSecret.');
  if (!(Math.abs(now - Number(timestamp) * 1000) <= toleranceMs))
    return forged('The signature is older than 5 minutes, or of a time to come.');
  return taken([reportOf(jsonOf(request.body), id, now)]);
}

const named = z.object({ type: z.string() });

const sent = z.object({
  created_at: z.string().nullish(),
  data: z.object({
    to: z.array(z.string()).nullish(),
    cc: z.array(z.string()).nullish(),
    bcc: z.array(z.string()).nullish(),
    tags: z
      .union([z.record(z.string(), z.string()), z.array(z.object({ name: z.string(), value: z.string() }))])
      .nullish(),
    bounce: z.object({ message: z.string().nullish(), type: z.string().nullish() }).nullish(),
    failed: z.object({ reason: z.string().nullish() }).nullish(),
    suppressed: z.object({ message: z.string().nullish() }).nullish(),
  }),
});

const kinds = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.failed': 'bounced',
  'email.suppressed': 'bounced',
  'email.complained': 'complained',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
} as const;

function reportOf(told: unknown, id: string, now: number): ReadEvent {
  const type = named.safeParse(told).data?.type;
  if (type === undefined) return 'unreadable';
  const kind = kindOf(kinds, type);
  if (kind === null) return 'other';
  const event = sent.safeParse(told).data;
  if (event === undefined) return 'unreadable';
  const { created_at: time, data } = event;
  const { to, cc, bcc, tags, bounce, failed, suppressed } = data;
  const tag = Array.isArray(tags)
    ? tags.find(({ name }) => name === 'notificationId')?.value
    : tags?.['notificationId'];
  const notificationId = notificationIdOfKey(tag);
  if (notificationId === null) return 'foreign';
  // Of a mail with copies it isn't said whom it is about.
  const [recipient = null, ...others] = [...(to ?? []), ...(cc ?? []), ...(bcc ?? [])];
  const isBounce = kind === 'bounced';
  return [
    {
      notificationId,
      kind,
      at: timeOf(time, now),
      id,
      recipient: others.length === 0 ? recipient : null,
      // Of one that failed Resend itself couldn't send it: a quota, a domain. Who is suppressed bounced before.
      permanent: isBounce && type !== 'email.failed' && (bounce?.type ?? 'Permanent') === 'Permanent',
      reason: isBounce ? (bounce?.message ?? suppressed?.message ?? failed?.reason ?? null) : null,
    },
  ];
}
