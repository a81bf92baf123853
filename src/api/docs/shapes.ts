// The shapes of answers, for the OpenAPI document and the test that holds the answers to it; nothing checks them while serving.

import { z } from 'zod';

import { breakerStates } from '../../domain/breaker.ts';
import { channels, failureClasses, priorities, providerRoles, reportKinds } from '../../domain/events.ts';
import { statuses } from '../../domain/notification.ts';
import { errorCodes } from '../errors.ts';

export const timestamp = z.iso.datetime({ precision: 3 });
export const text = z.string();
export const count = z.int().min(0);
export const notificationId = text.meta({ pattern: '^notif_[0-9a-z]{26}$' });
export const channel = z.enum(channels);
const providerRole = z.enum(providerRoles);
const jsonObject = z.record(text, z.unknown());
const stringPairs = z.record(text, text);

export const message = z.object({ message: text.describe('A sentence on what was done.') });

export const nextCursor = text
  .nullable()
  .describe('Opaque; send it as `cursor` for what comes next. null: this was the last page.');

export const attempt = z
  .object({
    id: text,
    attemptNumber: z.int().min(1).describe('Goes on from one round to the next.'),
    status: z.enum(['DELIVERED', 'FAILED']),
    provider: text,
    role: providerRole.describe('Which of the channel’s two providers it was made by.'),
    messageId: text.nullable().describe('The provider’s own id of the message, where it gives one.'),
    error: text.nullable().describe('What the receiver said, at most 1 KiB, secrets cut out; null when delivered.'),
    errorCode: text
      .nullable()
      .describe('The receiver’s own code: an HTTP status, an SMTP code, a code of the provider’s.'),
    errorClass: z
      .enum(failureClasses)
      .nullable()
      .describe(
        'Whose it is: the tenant’s or the receiver’s (recipient, credentials, content, blocked, expired), the world’s (provider, network), or ours (system).',
      ),
    attemptedAt: timestamp,
    waitedMs: count.describe('From when it was due until it began.'),
    tookMs: count,
    nextRetryAt: timestamp.nullable().describe('null: this failure ended the round.'),
  })
  .meta({ id: 'Attempt', description: 'One attempt that has ended.' });

export const notification = z
  .object({
    id: notificationId,
    channel,
    recipient: text,
    priority: z.enum(priorities),
    status: z.enum(statuses).describe('PROCESSING shows once an attempt has been in flight for a second.'),
    template: z
      .object({ id: text, name: text, version: z.int().min(1) })
      .nullable()
      .describe('The template as it was when the notification was rendered.'),
    subject: text.nullable(),
    body: text.describe('As rendered.'),
    rawSubject: text.nullable().describe('The request’s own subject, when no template was used.'),
    rawBody: text.nullable().describe('The request’s own body, when no template was used.'),
    data: jsonObject,
    metadata: stringPairs,
    replyTo: text.nullable().describe('The request’s own.'),
    cc: z.array(text),
    bcc: z.array(text),
    transactional: z.boolean().describe('It goes to suppressed recipients, too.'),
    batchId: text.nullable(),
    resendOf: text.nullable().describe('The notification whose content it has: `POST /notifications/:id/resend`.'),
    provider: text.nullable().describe('Of the last attempt.'),
    attemptCount: count,
    lastError: text.nullable(),
    attempts: z.array(attempt).describe('The last one that has ended, if there is one.'),
    createdAt: timestamp,
    scheduledAt: timestamp.nullable().describe('`sendAt`, when it was ahead.'),
    expiresAt: timestamp.nullable().describe('What isn’t delivered by then is FAILED, class `expired`.'),
    updatedAt: timestamp,
    deliveredAt: timestamp.nullable(),
    failedAt: timestamp.nullable().describe('When it came to be FAILED; null: it isn’t.'),
    nextRetryAt: timestamp.nullable(),
  })
  .meta({ id: 'Notification', description: 'The record of a notification.' });

export const inboxItem = z
  .object({
    id: z.uuid().describe('The same 128 bits as the notification’s id.'),
    notificationId,
    tenantId: text,
    recipientId: text,
    title: text.nullable(),
    body: text,
    read: z.boolean(),
    createdAt: timestamp,
    readAt: timestamp.nullable(),
    data: jsonObject,
  })
  .meta({ id: 'InboxItem', description: 'One in-app notification.' });

export const provider = z
  .object({
    id: text,
    tenantId: text,
    channel,
    role: providerRole,
    provider: text,
    apiKey: text.describe('Masked: the first 3 characters, six bullets, the last 4; of a short key bullets alone.'),
    config: jsonObject,
    callbackSecret: text.nullable().describe('Masked in the same way: what its reports are verified by.'),
    callbackUrl: text
      .nullable()
      .describe(
        'Where the provider is to report what becomes of messages. null: it reports nothing, or PUBLIC_URL isn’t set.',
      ),
    enabled: z.boolean().describe('false counts as no provider.'),
    breaker: z
      .enum(breakerStates)
      .describe('open: it fails, or asked for a pause, and isn’t called for a while. half-open: one attempt tries it.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Provider', description: 'A tenant’s provider of one channel, the first one or the fallback.' });

export const report = z
  .object({
    id: text.describe('The same when the provider tells it again.'),
    kind: z.enum(reportKinds),
    at: timestamp.describe('When it happened, as the provider says.'),
    provider: text,
    recipient: text.nullable().describe('Whom it is about: of a mail with copies one of several. null: it isn’t said.'),
    permanent: z.boolean().describe('Of a bounce: the recipient takes nothing at all, and is on the suppression list.'),
    reason: text.nullable().describe('In the provider’s words.'),
  })
  .meta({
    id: 'Report',
    description: 'What a provider tells of a message that it had taken. No status follows from it.',
  });

const providerField = z
  .object({
    name: text,
    path: text.describe('Where it belongs in `POST /providers`, and how errors name it.'),
    label: text,
    type: z.enum(['secret', 'text', 'email', 'integer', 'boolean', 'choice']),
    required: z.boolean(),
    default: z.union([text, z.number(), z.boolean()]).nullable(),
    choices: z.array(text).nullable(),
    min: z.number().nullable(),
    max: z.number().nullable(),
    help: text,
  })
  .meta({ id: 'ProviderField', description: 'One field of a provider’s form.' });

export const channelProviders = z
  .object({
    channel,
    required: z.boolean().describe('Whether nothing can be sent without one.'),
    providers: z.array(z.object({ name: text, label: text, help: text.nullable(), fields: z.array(providerField) })),
  })
  .meta({ id: 'ChannelProviders', description: 'Which providers a channel has, and what each asks for.' });

export const template = z
  .object({
    id: text.meta({ pattern: '^tpl_[0-9a-z]{26}$' }),
    name: text,
    channel,
    subject: text.nullable(),
    body: text,
    strict: z.boolean().describe('Names that the `data` of a notification lack are refused.'),
    version: z.int().min(1).describe('One more with each change.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Template', description: 'A named text with placeholders.' });

export const errorBody = z
  .object({
    code: z.enum(errorCodes),
    error: text.describe('A sentence that says what to do.'),
    details: z
      .array(z.object({ path: text.describe('Dotted: `config.fromEmail`.'), message: text }))
      .describe('Every field that is wrong; empty where it is about no field.'),
    requestId: text,
  })
  .meta({ id: 'Error', description: 'Every refusal of every route.' });

export const accepted = z
  .looseObject({
    notificationId,
    status: z.literal('queued'),
  })
  // Two names of one thing become one name twice in clients whose language has but one way to write it.
  .meta({
    id: 'Accepted',
    description:
      'The notification is in the log: it will be sent. `notification_id` says the same as `notificationId`.',
    additionalProperties: true,
  });
