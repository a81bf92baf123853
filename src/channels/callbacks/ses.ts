// What Amazon SES publishes to a topic of SNS, which posts it here.
// https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html, .../event-publishing-retrieving-sns-examples.html
//
// The notification's id is a message tag. Tags are published by configuration sets alone, not by the notifications of an identity.

import { z } from 'zod';

import { assertNever } from '../../domain/assert-never.ts';
import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import { OutboundError } from '../../ports/outbound.ts';
import type { ReadEvent } from './reading.ts';
import {
  forged,
  jsonOf,
  kindOf,
  notificationIdField,
  notificationIdOfKey,
  taken,
  timeOf,
  unreadable,
} from './reading.ts';
import type { SnsMessage, SnsVerifier } from './sns.ts';
import { createSnsVerifier, snsMessageOf } from './sns.ts';
import type { SnsDependencies } from './sns-certificates.ts';

export function sesCallbacks(dependencies: SnsDependencies): ProviderCallbacks {
  const sns = createSnsVerifier(dependencies);
  return {
    secret: null,
    /** A message of SNS. */
    bodyBytesMax: 256 * 1024,
    async read(request, context) {
      try {
        return await read(sns, request, context);
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error;
        return { kind: 'unavailable', message: `Amazon SNS can't be reached: ${error.code}.` };
      }
    },
  };
}

async function read(
  sns: SnsVerifier,
  { body }: CallbackRequest,
  { provider, now, signal }: CallbackContext,
): Promise<CallbackVerdict> {
  const message = snsMessageOf(jsonOf(body));
  if (message === null) return unreadable;
  const topic = provider.config['snsTopicArn'];
  if (topic !== undefined && topic !== message.TopicArn)
    return forged('The message is of another topic than snsTopicArn.');
  // Of the topic; without its name the account's own, where it has to be then.
  const region = topic === undefined ? provider.config['region'] : message.TopicArn.split(':')[3];
  const by = { tenantId: provider.tenantId, region: typeof region === 'string' ? region : '', now, signal };
  if (!(await sns.isSigned(message, by)))
    return forged('The signature is not one of Amazon SNS in the region of snsTopicArn or, without it, of the config.');
  switch (message.Type) {
    case 'SubscriptionConfirmation':
      return (await sns.confirm(message, by))
        ? taken(['other'])
        : { kind: 'unavailable', message: 'Amazon SNS did not take the confirmation of the subscription.' };
    case 'UnsubscribeConfirmation':
      return taken(['other']);
    case 'Notification':
      return taken([reportsOf(message, now)]);
    default:
      return assertNever(message.Type);
  }
}

/** An identity's notifications say `notificationType`, and have no tags. */
const named = z.object({ eventType: z.string().nullish(), notificationType: z.string().nullish() });

const kinds = {
  Bounce: 'bounced',
  /** It was taken, and then not sent: Amazon has found a virus in it. */
  Reject: 'bounced',
  Complaint: 'complained',
  Delivery: 'delivered',
  Open: 'opened',
  Click: 'clicked',
} as const;

const address = z.object({ emailAddress: z.string(), diagnosticCode: z.string().nullish() });
const at = { timestamp: z.string().nullish() };

const sent = z.object({
  mail: z.object({ tags: z.record(z.string(), z.array(z.string())).nullish(), destination: z.array(z.string()) }),
  bounce: z
    .object({ bounceType: z.string(), bouncedRecipients: z.array(address), feedbackId: z.string().nullish(), ...at })
    .nullish(),
  complaint: z.object({ complainedRecipients: z.array(address), feedbackId: z.string().nullish(), ...at }).nullish(),
  delivery: z.object({ recipients: z.array(z.string()), ...at }).nullish(),
  open: z.object(at).nullish(),
  click: z.object(at).nullish(),
  reject: z.object({ reason: z.string().nullish(), ...at }).nullish(),
});

function reportsOf({ Message, MessageId }: SnsMessage, now: number): ReadEvent {
  const event = jsonOf(Buffer.from(Message));
  const name = named.safeParse(event).data;
  const kind = kindOf(kinds, name?.eventType ?? name?.notificationType ?? '');
  // Also the sentence that says that the topic was set up.
  if (kind === null) return 'other';
  const { data } = sent.safeParse(event);
  const { bounce, complaint, delivery, open, click, reject } = data ?? {};
  const told = bounce ?? complaint ?? delivery ?? open ?? click ?? reject;
  if (data === undefined || told === undefined || told === null) return 'unreadable';
  const { mail } = data;
  const notificationId = notificationIdOfKey(mail.tags?.[notificationIdField]?.[0]);
  if (notificationId === null) return 'foreign';
  const common = { notificationId, at: timeOf(told.timestamp, now), permanent: false, reason: reject?.reason ?? null };
  const id = bounce?.feedbackId ?? complaint?.feedbackId ?? MessageId;
  if (bounce) {
    const permanent = bounce.bounceType === 'Permanent';
    return bounce.bouncedRecipients.map(({ emailAddress: recipient, diagnosticCode }) => {
      const reason = diagnosticCode ?? null;
      return { ...common, kind, id: `${id}:${recipient}`, recipient, permanent, reason };
    });
  }
  if (complaint) {
    const recipient = onlyOne(complaint.complainedRecipients.map((one) => one.emailAddress));
    return [{ ...common, kind, id, recipient }];
  }
  if (delivery)
    return delivery.recipients.map((recipient) => ({ ...common, kind, id: `${id}:${recipient}`, recipient }));
  return [{ ...common, kind, id, recipient: onlyOne(mail.destination) }];
}

/** Several are those of whom it may be: Amazon doesn't know which. */
function onlyOne(addresses: readonly string[]): string | null {
  const [one = null, ...others] = addresses;
  return others.length === 0 ? one : null;
}
