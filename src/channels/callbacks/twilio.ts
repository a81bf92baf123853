// What Twilio posts to a message's StatusCallback: a form, signed with the account's auth token over the address and the fields.
// https://www.twilio.com/docs/messaging/guides/track-outbound-message-status, https://www.twilio.com/docs/usage/security#validating-requests
//
// The notification's id is in the address that was sent with the message. No time is told: it is when the report came.

import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import {
  forged,
  headerOf,
  hmac,
  isSame,
  kindOf,
  notificationIdField,
  notificationIdOfKey,
  taken,
  unreadable,
} from './reading.ts';

export const twilioCallbacks: ProviderCallbacks = {
  secret: null,
  bodyBytesMax: 64 * 1024,
  read: (request, context) => Promise.resolve(read(request, context)),
};

const kinds = { delivered: 'delivered', undelivered: 'bounced', failed: 'bounced', read: 'opened' } as const;

/** https://www.twilio.com/docs/api/errors: unknown handset, landline or unreachable carrier, not a mobile number, the recipient has sent STOP. */
const permanentCodes: ReadonlySet<string> = new Set(['30005', '30006', '21614', '21610']);

function read(request: CallbackRequest, { provider, now }: CallbackContext): CallbackVerdict {
  const { url } = request;
  if (url === null) return forged('The signature can’t be verified: the service knows no PUBLIC_URL.');
  // Of a name that comes twice the first value counts.
  const fields = new Map([...new URLSearchParams(request.body.toString('utf8'))].toReversed());
  const names = [...fields.keys()].sort();
  const text = names.map((name) => `${name}${fields.get(name)}`).join('');
  const given = Buffer.from(headerOf(request, 'x-twilio-signature'), 'base64');
  if (!isSame(given, hmac('sha1', provider.apiKey, url, text)))
    return forged('The signature is not one by the auth token of the account, over the address of PUBLIC_URL.');
  const [sid, status, code] = ['MessageSid', 'MessageStatus', 'ErrorCode'].map((name) => fields.get(name));
  if (sid === undefined || status === undefined) return unreadable;
  const kind = kindOf(kinds, status);
  if (kind === null) return taken(['other']);
  const notificationId = notificationIdOfKey(new URL(url).searchParams.get(notificationIdField));
  if (notificationId === null) return taken(['foreign']);
  const isBounce = kind === 'bounced';
  const report = {
    notificationId,
    kind,
    at: now,
    id: `${sid}:${status}`,
    recipient: fields.get('To') ?? null,
    permanent: isBounce && permanentCodes.has(code ?? ''),
    reason: isBounce ? `${status}${code === undefined ? '' : `, error ${code}`}` : null,
  };
  return taken([[report]]);
}
