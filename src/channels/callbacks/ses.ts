// What Amazon SES publishes to a topic of SNS, which posts it here.
// https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html, .../event-publishing-retrieving-sns-examples.html
//
// The notification's id is a message tag. Tags are published by configuration sets alone, not by the notifications of an identity.

import { z } from 'zod';

import { assertNever } from '../../domain/assert-never.ts';
import type { CallbackContext, CallbackRequest, CallbackVerdict, ProviderCallbacks } from '../../ports/callbacks.ts';
import { OutboundError } from '../../ports/outbound.ts';
import type { ReadEvent } from './reading.ts';
import { forged, jsonOf, notificationIdField, notificationIdOfKey, taken, timeOf, unreadable } from './reading.ts';
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

const address = z.object({ emailAddress: z.string(), diagnosticCode: z.string().optional() });
const at = { timestamp: z.string().optional() };

const sent = z.object({
  /** `notificationType` of an identity's notifications, which have no tags. */
  eventType: z.string(),
  mail: z.object({ tags: z.record(z.string(), z.array(z.string())).optional(), destination: z.array(z.string()) }),
  bounce: z
    .object({ bounceType: z.string(), bouncedRecipients: z.array(address), feedbackId: z.string().optional(), ...at })
    .optional(),
  complaint: z.object({ complainedRecipients: z.array(address), feedbackId: z.string().optional(), ...at }).optional(),
  delivery: z.object({ recipients: z.array(z.string()), ...at }).optional(),
  open: z.object(at).optional(),
  click: z.object(at).optional(),
});

function reportsOf({ Message, MessageId }: SnsMessage, now: number): ReadEvent {
  const { data } = sent.safeParse(jsonOf(Buffer.from(Message)));
  if (data === undefined) return 'other';
  const { mail, bounce, complaint, delivery, open, click } = data;
  const told = bounce ?? complaint ?? delivery ?? open ?? click;
  if (told === undefined) return 'other';
  const notificationId = notificationIdOfKey(mail.tags?.[notificationIdField]?.[0]);
  if (notificationId === null) return 'foreign';
  const common = { notificationId, at: timeOf(told.timestamp, now), permanent: false, reason: null };
  const id = bounce?.feedbackId ?? complaint?.feedbackId ?? MessageId;
  if (bounce !== undefined) {
    const permanent = bounce.bounceType === 'Permanent';
    return bounce.bouncedRecipients.map(({ emailAddress: recipient, diagnosticCode: reason = null }) => {
      return { ...common, kind: 'bounced', id: `${id}:${recipient}`, recipient, permanent, reason };
    });
  }
  if (complaint !== undefined)
    return [
      {
        ...common,
        kind: 'complained',
        id,
        recipient: onlyOne(complaint.complainedRecipients.map((one) => one.emailAddress)),
      },
    ];
  if (delivery !== undefined)
    return delivery.recipients.map((recipient) => ({
      ...common,
      kind: 'delivered',
      id: `${id}:${recipient}`,
      recipient,
    }));
  return [{ ...common, kind: open === undefined ? 'clicked' : 'opened', id, recipient: onlyOne(mail.destination) }];
}

/** Several are those of whom it may be: Amazon doesn't know which. */
function onlyOne(addresses: readonly string[]): string | null {
  const [one = null, ...others] = addresses;
  return others.length === 0 ? one : null;
}
